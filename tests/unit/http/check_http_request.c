/*
 * Tests of daemon/http/http_request: heads of requests, whole and in pieces, good and bad.
 */
#include "daemon/http/page.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct http_request request;

/* The status of the request; 0: it is incomplete. */
static unsigned
read_text(const char *text)
{
	return http_request_read(&request, slice_of(text), false) ? request.status : 0;
}

static void
is(struct slice slice, const char *text)
{
	ck_assert_msg(slice_equal(slice, slice_of(text)), "%.*s, not %s", (int)slice.n, slice.p, text);
}

START_TEST(a_request_has_a_path_and_a_query)
{
	ck_assert_uint_eq(read_text("GET /locks.json?match=a%2F*&count=3 HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	is(request.path, "/locks.json");
	is(request.query, "match=a%2F*&count=3");
	is(http_request_value(&request, "match"), "a%2F*");
	is(http_request_value(&request, "count"), "3");
	is(http_request_value(&request, "coun"), "");
	ck_assert(!request.head && request.minor == 1);
	ck_assert_uint_eq(read_text("HEAD / HTTP/1.0\n\n"), 200);
	is(request.path, "/");
	is(request.query, "");
	ck_assert(request.head && request.minor == 0);
}
END_TEST

START_TEST(every_prefix_of_a_request_is_incomplete)
{
	static const char text[] = "GET /metrics HTTP/1.1\r\nAccept:  a/b, c/d\t\r\nHost: [::1]:80\r\n\r\n";

	for (size_t n = 0; n < sizeof text - 1; n++)
		ck_assert(!http_request_read(&request, (struct slice){text, n}, false));
	ck_assert_uint_eq(read_text(text), 200);
	is(request.accept, "a/b, c/d");
	/* If no more can come, it is refused. */
	ck_assert(http_request_read(&request, (struct slice){text, sizeof text - 3}, true));
	ck_assert_uint_eq(request.status, 431);
}
END_TEST

START_TEST(what_is_no_request_is_refused_at_its_first_line)
{
	static const char *const lines[] = {"LOCK a", "*1", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.2",
		"GET / HTTP/2.0", "GET / HTTP/1.1 ", "GET x HTTP/1.1", "GET http://h/ HTTP/1.1", "",
		"GET /\x01 HTTP/1.1", "GET / HTTP/1.1\x7f"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char text[64];

		snprintf(text, sizeof text, "%s\r\n", lines[i]);
		ck_assert_msg(read_text(text) == 400, "%s", lines[i]);
		ck_assert_ptr_nonnull(request.why);
	}
	ck_assert_uint_eq(read_text("POST / HTTP/1.1\r\n"), 405);
	ck_assert_uint_eq(read_text("get / HTTP/1.1\r\n\r\n"), 200);
	ck_assert_uint_eq(read_text("GET / HTTP/1.1\r\nno colon\r\n"), 400);
	ck_assert_uint_eq(read_text("GET / HTTP/1.1\r\na: \x02\r\n"), 400);
}
END_TEST

START_TEST(only_a_numeric_host_or_localhost_is_an_address)
{
	static const struct {
		const char *host;
		bool address;
	} hosts[] = {{"127.0.0.1", true}, {"127.0.0.1:5626", true}, {"[::1]:5626", true}, {"localhost", true},
		{"LocalHost:1", true}, {"", true}, {"a.example", false}, {"127.0.0.1.evil", false},
		{"localhost.evil", false}, {"app-07:5626", false}};

	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		char text[128];

		snprintf(text, sizeof text, "GET / HTTP/1.1\r\nhOsT:%s\r\n\r\n", hosts[i].host);
		ck_assert_uint_eq(read_text(text), 200);
		ck_assert_msg(request.by_address == hosts[i].address, "%s", hosts[i].host);
	}
	ck_assert_uint_eq(read_text("GET / HTTP/1.1\r\n\r\n"), 200);
	ck_assert(request.by_address);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("http_request", NULL, NULL, a_request_has_a_path_and_a_query,
		every_prefix_of_a_request_is_incomplete, what_is_no_request_is_refused_at_its_first_line,
		only_a_numeric_host_or_localhost_is_an_address);
}
