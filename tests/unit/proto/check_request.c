/*
 * check_request: requests as they come over the wire, whole, in pieces, and wrong (PROTOCOL.md 1).
 */
#include "proto/request.h"

#include "tests/support/suite.h"
#include "tests/support/transcript.h"

#include <stdlib.h>
#include <string.h>

static const struct request_limits limits = {4096, 64};

/* The bytes give the transcript, however they arrive. */
static void
gives_bytes(const char *bytes, size_t n, const char *expected)
{
	for (unsigned pace = 0; pace < 20; pace++) {
		char *got = transcript_requests(bytes, n, &limits, pace);

		ck_assert_msg(strcmp(got, expected) == 0, "pace %u of %s\ngave\n%s\nnot\n%s", pace, bytes,
			got, expected);
		free(got);
	}
}

static void
gives(const char *bytes, const char *expected)
{
	gives_bytes(bytes, strlen(bytes), expected);
}

START_TEST(a_line_ends_with_lf_or_crlf)
{
	gives("LOCK a\n", "\"LOCK\" \"a\"\nleft 0\n");
	gives("LOCK a\r\n", "\"LOCK\" \"a\"\nleft 0\n");
	gives("LOCK a\r\nUNLOCK a\nCHECK", "\"LOCK\" \"a\"\n\"UNLOCK\" \"a\"\nleft 5\n");
	gives("LOCK a\r", "left 7\n");
}
END_TEST

START_TEST(blanks_separate_and_never_count)
{
	gives("  LOCK \t a\v\fb  \r\n", "\"LOCK\" \"a\" \"b\"\nleft 0\n");
	gives("LOCK a\rb\n", "\"LOCK\" \"a\" \"b\"\nleft 0\n");
}
END_TEST

START_TEST(empty_lines_are_no_requests)
{
	gives("\r\n\n   \r\n*0\r\n*-1\r\nPING\r\n\n", "\"PING\"\nleft 0\n");
	gives("", "left 0\n");
}
END_TEST

START_TEST(double_quotes_undo_escapes)
{
	gives("ECHO \"a b\"\n", "\"ECHO\" \"a b\"\nleft 0\n");
	gives("ECHO \"\\n\\r\\t\\x41\\\"\\\\\\q\"\n", "\"ECHO\" \"\\n\\r\\tA\\\"\\\\q\"\nleft 0\n");
	gives("ECHO \"\\a\\b\"\n", "\"ECHO\" \"\\x07\\x08\"\nleft 0\n");
	gives("ECHO \"\\x4\" \"\\xzz\"\n", "\"ECHO\" \"x4\" \"xzz\"\nleft 0\n");
	gives("ECHO \"\"\n", "\"ECHO\" \"\"\nleft 0\n");
	gives("ECHO pre\"fix ed\"\n", "\"ECHO\" \"prefix ed\"\nleft 0\n");
}
END_TEST

START_TEST(single_quotes_undo_only_their_own)
{
	gives("ECHO 'a \\n\"b' 'it\\'s'\n", "\"ECHO\" \"a \\\\n\\\"b\" \"it's\"\nleft 0\n");
}
END_TEST

START_TEST(a_quote_must_be_closed_and_end_its_argument)
{
	static const char *const error = "-ERR Protocol error: unbalanced quotes in request\n";

	gives("ECHO \"a\n", error);
	gives("ECHO 'a\n", error);
	gives("ECHO \"a\"b\n", error);
	gives("ECHO \"a\\\"\n", error);
	gives("ECHO 'a'\"b\"\n", error);
	gives("ECHO \"a\\\n", error);
}
END_TEST

START_TEST(an_array_of_bulk_strings_is_a_request)
{
	gives("*2\r\n$4\r\nLOCK\r\n$3\r\na\nb\r\n", "\"LOCK\" \"a\\nb\"\nleft 0\n");
	gives("*1\r\n$0\r\n\r\n", "\"\"\nleft 0\n");
	gives_bytes("*1\r\n$3\r\n\0\xff\r\r\n", 13, "\"\\x00\\xff\\r\"\nleft 0\n");
	gives("*2\r\n$4\r\nLOCK\r\n$3\r\nab", "left 20\n");
}
END_TEST

START_TEST(both_forms_mix_in_one_stream)
{
	gives("PING\r\n*1\r\n$4\r\nPING\r\nECHO \"x\"\n*2\r\n$4\r\nECHO\r\n$1\r\ny\r\n",
		"\"PING\"\n\"PING\"\n\"ECHO\" \"x\"\n\"ECHO\" \"y\"\nleft 0\n");
}
END_TEST

START_TEST(an_array_that_is_none_is_refused)
{
	gives("*x\r\n", "-ERR Protocol error: invalid multibulk length\n");
	gives("*+1\r\n", "-ERR Protocol error: invalid multibulk length\n");
	gives("*01\r\n", "-ERR Protocol error: invalid multibulk length\n");
	gives("*\r\n", "-ERR Protocol error: invalid multibulk length\n");
	gives("*1\rx", "-ERR Protocol error: invalid multibulk length\n");
	gives("*1\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'\n");
	gives("*1\r\n\x1b", "-ERR Protocol error: expected '$', got '\\x1b'\n");
	gives("*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\n");
	gives("*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\n");
	gives("*1\r\n$99999999999999999999\r\n", "-ERR Protocol error: invalid bulk length\n");
	gives("*1\r\n$2\r\nabc\r\n", "-ERR Protocol error: a bulk string of 2 bytes does not end in CRLF\n");
}
END_TEST

START_TEST(a_header_without_an_end_is_refused_early)
{
	gives("*1111111111111111111111111111111111111111111",
		"-ERR Protocol error: invalid multibulk length\n");
	gives("*1\r\n$0000000000000000000000000000000000000000",
		"-ERR Protocol error: invalid bulk length\n");
}
END_TEST

START_TEST(limits_are_exact)
{
	char line[5000];

	memset(line, 'a', sizeof(line));
	line[4095] = '\n';
	{
		char *got = transcript_requests(line, 4096, &limits, TRANSCRIPT_WHOLE);

		ck_assert_uint_eq(strlen(got), 4095 + 3 + strlen("left 0\n"));
		free(got);
	}
	line[4095] = 'a';
	line[4096] = '\n';
	gives_bytes(line, 4097, "-ERR Protocol error: too big a request, the limit is 4096 bytes\n");
	gives("*65\r\n", "-ERR Protocol error: invalid multibulk length, the limit is 64 arguments\n");
	gives("*64\r\n", "left 5\n");
	/* 4 + 7 + 4083 + 2 bytes are the limit */
	gives("*1\r\n$4083\r\n", "left 11\n");
	gives("*1\r\n$4084\r\n", "-ERR Protocol error: too big a request, the limit is 4096 bytes\n");
	gives("a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a "
	      "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a\n",
		"-ERR Protocol error: too many arguments, the limit is 64\n");
}
END_TEST

START_TEST(the_bulk_strings_of_one_request_share_its_limit)
{
	char text[5000] = "*2\r\n$4000\r\n";
	size_t n = strlen(text);

	memset(text + n, 'b', 4000);
	memcpy(text + n + 4000, "\r\n$100\r\n", 9);
	gives_bytes(text, n + 4008, "-ERR Protocol error: too big a request, the limit is 4096 bytes\n");
}
END_TEST

START_TEST(a_limit_lowered_in_the_middle_of_a_line_refuses_it)
{
	static struct request request;
	struct request_parser parser = {0};
	struct request_limits low = {64, 64};
	struct reply error;
	char line[200];

	memset(line, 'a', sizeof(line));
	ck_assert_int_eq(request_parse(&parser, line, 100, &limits, &request, &error), 0);
	ck_assert_int_eq(request_parse(&parser, line, 200, &low, &request, &error), -1);
}
END_TEST

START_TEST(nothing_is_touched_before_a_request_is_whole)
{
	static struct request request;
	struct request_parser parser = {0};
	struct reply error;
	char line[] = "ECHO \"a\\n\" 'b";
	char array[] = "*2\r\n$1\r\na\r\n$1\r\n";

	request.argc = 77;
	ck_assert_int_eq(request_parse(&parser, line, strlen(line), &limits, &request, &error), 0);
	parser = (struct request_parser){0};
	ck_assert_int_eq(request_parse(&parser, array, strlen(array), &limits, &request, &error), 0);
	ck_assert_uint_eq(request.argc, 77);
	ck_assert_str_eq(line, "ECHO \"a\\n\" 'b");
}
END_TEST

/* A million bytes, one at a time: quadratic work would be 10^12 steps and would never end. */
START_TEST(a_request_that_trickles_in_costs_no_more)
{
	static struct request request;
	static char line[REQUEST_BYTES_MAX];
	struct request_limits wide = {REQUEST_BYTES_MAX, REQUEST_ARGUMENTS_MAX};
	size_t early = 0;
	struct request_parser parser = {0};
	struct reply error;

	memset(line, 'a', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (size_t n = 1; n < sizeof(line); n++)
		early += request_parse(&parser, line, n, &wide, &request, &error) != 0;
	ck_assert_int_eq(
		request_parse(&parser, line, sizeof(line), &wide, &request, &error), (ssize_t)sizeof(line));

	memcpy(line, "*1\r\n$1048000\r\n", 14);
	memcpy(line + 14 + 1048000, "\r\n", 2);
	for (size_t n = 1; n < 14 + 1048002; n++)
		early += request_parse(&parser, line, n, &wide, &request, &error) != 0;
	ck_assert_int_eq(request_parse(&parser, line, 14 + 1048002, &wide, &request, &error), 14 + 1048002);
	ck_assert_uint_eq(early, 0);
}
END_TEST

START_TEST(the_form_of_a_request_is_told)
{
	static struct request request;
	struct request_parser parser = {0};
	struct reply error;
	char line[] = "PING\n";
	char array[] = "*1\r\n$4\r\nPING\r\n";

	ck_assert_int_eq(request_parse(&parser, line, 5, &limits, &request, &error), 5);
	ck_assert(request.line);
	ck_assert_int_eq(request_parse(&parser, array, 14, &limits, &request, &error), 14);
	ck_assert(!request.line);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("request", NULL, NULL, a_line_ends_with_lf_or_crlf, blanks_separate_and_never_count,
		empty_lines_are_no_requests, double_quotes_undo_escapes, single_quotes_undo_only_their_own,
		a_quote_must_be_closed_and_end_its_argument, an_array_of_bulk_strings_is_a_request,
		both_forms_mix_in_one_stream, an_array_that_is_none_is_refused,
		a_header_without_an_end_is_refused_early, limits_are_exact,
		the_bulk_strings_of_one_request_share_its_limit,
		a_limit_lowered_in_the_middle_of_a_line_refuses_it,
		nothing_is_touched_before_a_request_is_whole, a_request_that_trickles_in_costs_no_more,
		the_form_of_a_request_is_told);
}
