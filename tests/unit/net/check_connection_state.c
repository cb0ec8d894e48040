/*
 * Tests of daemon/net/connection_state: a connection that is saved and loaded by the next process goes on
 * where it was, under its number, and a client that has gone meanwhile is told as gone.
 */
#include "daemon/base/descriptors.h"
#include "daemon/base/stats.h"
#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/connection_state.h"
#include "daemon/net/connections.h"
#include "proto/record.h"
#include "proto/reply.h"
#include "tests/support/suite.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS 200

struct probe {
	struct event_base *base;
	struct stats stats;
	struct access *access;
	struct connections *set;
	unsigned served;
	unsigned finished;
	unsigned closed;
	conn_id closed_id;
	enum end end;
	struct buffer state;
	struct record record;
	struct descriptors given;
};

static struct probe probe;

/* PING is answered; WAIT is not, until the test does; BIG is answered with a megabyte. */
static void
on_request(void *arg, struct connection *c, const struct request *request)
{
	static char big[1 << 20];
	struct probe *p = arg;
	p->served++;
	if (slice_equal(request->argv[0], SLICE("WAIT"))) {
		connection_wait(c);
		return;
	}
	if (slice_equal(request->argv[0], SLICE("BIG"))) {
		reply_write_bulk(connection_out(c), (struct slice){big, sizeof big});
	} else {
		reply_write_simple(connection_out(c), "PONG");
	}
	connection_written(c);
}

static void
on_expected(void *arg, conn_id id, unsigned ahead)
{
	(void)arg;
	(void)id;
	(void)ahead;
}

static void
on_finished(void *arg, struct connection *c)
{
	struct probe *p = arg;
	(void)c;
	p->finished++;
}

static void
on_closed(void *arg, struct connection *c, enum end end, const char *why)
{
	struct probe *p = arg;
	(void)why;
	p->closed++;
	p->closed_id = connection_identity(c)->id;
	p->end = end;
}

static const struct connections_hooks hooks = {
	.request = on_request,
	.expect = on_expected,
	.finished = on_finished,
	.closed = on_closed,
};

static const struct connections_limits limits = {
	.request = {.bytes = 65536, .arguments = 128},
	.output_bytes = 4 << 20,
};

static void
setup(void)
{
	const struct access_user users[] = {ACCESS_LOGIN("alice", "secret", RIGHTS_USUAL)};
	probe = (struct probe){.base = event_base_new(), .access = access_new(users, 1)};
	probe.set = connections_new(probe.base, &limits, &hooks, &probe, &probe.stats);
	ck_assert_ptr_nonnull(probe.set);
	buffer_init(&probe.state, 1 << 24);
}

static void
teardown(void)
{
	connections_free(probe.set);
	access_free(probe.access);
	event_base_free(probe.base);
	buffer_done(&probe.state);
	descriptors_close(&probe.given);
	ck_assert_int_eq(probe.stats.clients_connected, 0);
}

static void
turns(void)
{
	for (int i = 0; i < TURNS; i++) {
		event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		connections_serve(probe.set, INT64_MAX);
		connections_turn(probe.set, INT64_MAX);
	}
}

static int
client(void)
{
	int pair[2];
	const struct peer peer = {.uid = 1000, .pid = 77, .address = "unix", .user = 5};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_ptr_nonnull(connections_add(probe.set, pair[1], &peer, true, true));
	return pair[0];
}

static void
message(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static const char *
hear(int fd)
{
	static char text[4096];
	ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool
save(void *arg, struct connection *c)
{
	connection_save(c, &probe.record, arg);
	return true;
}

/* The old process ends; its descriptors have other numbers in the new one. */
static void
leave(void)
{
	struct descriptors old = {0};
	record_save(&probe.record, &probe.state);
	connections_each(probe.set, save, &old);
	record_begin(&probe.record, RECORD_END);
	record_end(&probe.record);
	ck_assert(!probe.record.failed && !old.failed);
	for (size_t i = old.count; i-- > 0;) {
		descriptors_add(&probe.given, dup(old.list[i].fd));
	}
	descriptors_done(&old);
	connections_free(probe.set);
	probe.set = connections_new(probe.base, &limits, &hooks, &probe, &probe.stats);
}

/* How many connections were loaded; the state may have failed. */
static unsigned
arrive(size_t bytes)
{
	struct record *r = &probe.record;
	unsigned loaded = 0;
	ck_assert(record_load(r, (struct slice){buffer_bytes(&probe.state), bytes}));
	while (record_next(r) == RECORD_CONNECTION) {
		loaded += connection_load(probe.set, r, &probe.given, probe.access) != NULL;
	}
	return loaded;
}

static void
hand_over(unsigned count)
{
	leave();
	ck_assert_uint_eq(arrive(buffer_length(&probe.state)), count);
	ck_assert(!probe.record.failed);
}

START_TEST(half_a_request_is_completed_by_what_comes)
{
	int fd = client();
	message(fd, "PING\r\n*1\r\n$4\r\nPI");
	turns();
	ck_assert_str_eq(hear(fd), "+PONG\r\n");
	hand_over(1);
	turns();
	ck_assert_str_eq(hear(fd), "");
	message(fd, "NG\r\n");
	turns();
	ck_assert_str_eq(hear(fd), "+PONG\r\n");
	ck_assert_uint_eq(probe.served, 2);
	close(fd);
	turns();
	ck_assert_uint_eq(probe.closed, 1);
}
END_TEST

START_TEST(what_waits_is_answered_later_and_what_stands_behind_it_after_that)
{
	int fd = client();
	const struct reply seven = {.type = REPLY_INT, .n = 7};
	message(fd, "WAIT\r\nPING\r\n");
	turns();
	hand_over(1);
	turns();
	ck_assert_uint_eq(probe.served, 1);
	struct connection *c = connections_find(probe.set, 1);
	ck_assert(connection_waits(c));
	connection_answered(c);
	connection_reply(c, &seven);
	turns();
	ck_assert_str_eq(hear(fd), ":7\r\n+PONG\r\n");
	close(fd);
}
END_TEST

START_TEST(an_answer_that_was_not_read_arrives_whole)
{
	static char bytes[65536];
	int fd = client();
	size_t heard = 0;
	message(fd, "BIG\r\nPING\r\n");
	turns();
	hand_over(1);
	for (int i = 0; i < 40; i++) {
		ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
		heard += n > 0 ? (size_t)n : 0;
		turns();
	}
	ck_assert_uint_eq(heard, strlen("$1048576\r\n") + (1 << 20) + strlen("\r\n+PONG\r\n"));
	ck_assert_uint_eq(probe.served, 2);
	close(fd);
}
END_TEST

START_TEST(a_client_stays_who_it_is)
{
	int fd = client(), gone = client(), other = client();
	struct identity *who = connection_identity(connections_find(probe.set, 3));
	who->protocol = 3;
	who->requests = 41;
	who->last = VERB_CLIENT_SETNAME;
	who->label = strdup("worker");
	who->lib_name = strdup("lib");
	who->user = access_find(probe.access, SLICE("alice"));
	close(gone);
	turns();
	hand_over(2);
	who = connection_identity(connections_find(probe.set, 3));
	ck_assert_int_eq(who->protocol, 3);
	ck_assert_uint_eq(who->requests, 41);
	ck_assert_int_eq(who->last, VERB_CLIENT_SETNAME);
	ck_assert_str_eq(who->label, "worker");
	ck_assert_str_eq(who->lib_name, "lib");
	ck_assert_ptr_null(who->lib_ver);
	ck_assert_str_eq(who->user->name, "alice");
	ck_assert_int_eq(who->peer.pid, getpid()); /* of the socket, whatever the record says */
	ck_assert(who->local && who->release);
	message(other, "PING\r\n");
	turns();
	ck_assert_str_eq(hear(other), "+PONG\r\n");
	close(client());
	ck_assert_ptr_nonnull(connections_find(probe.set, 4));
	close(fd);
	close(other);
}
END_TEST

START_TEST(a_half_closed_client_is_told_once_and_gets_its_answer)
{
	int fd = client();
	message(fd, "WAIT\r\n");
	shutdown(fd, SHUT_WR);
	turns();
	ck_assert_uint_eq(probe.finished, 1);
	hand_over(1);
	turns();
	ck_assert_uint_eq(probe.finished, 1);
	ck_assert_uint_eq(probe.closed, 0);
	struct connection *c = connections_find(probe.set, 1);
	connection_answered(c);
	reply_write_simple(connection_out(c), "LATE");
	connection_written(c);
	turns();
	ck_assert_str_eq(hear(fd), "+LATE\r\n");
	ck_assert_uint_eq(probe.closed, 1);
	close(fd);
}
END_TEST

START_TEST(a_connection_without_its_descriptor_is_told_as_gone)
{
	int fd = client();
	turns();
	leave();
	descriptors_close(&probe.given);
	ck_assert_uint_eq(arrive(buffer_length(&probe.state)), 1);
	ck_assert_ptr_null(connections_find(probe.set, 1));
	turns();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_uint_eq(probe.closed_id, 1);
	ck_assert_int_eq(probe.end, END_GONE);
	close(fd);
}
END_TEST

START_TEST(requests_that_were_read_and_not_served_are_served_without_more_input)
{
	enum { COUNT = 300 };
	static char pings[COUNT * 6 + 1];
	int fd = client();
	for (int i = 0; i < COUNT; i++) {
		memcpy(pings + (size_t)i * 6, "PING\r\n", 6);
	}
	message(fd, pings);
	event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	connections_serve(probe.set, 0);
	connections_turn(probe.set, 0);
	ck_assert_uint_gt(probe.served, 0);
	ck_assert_uint_lt(probe.served, COUNT);
	hand_over(1);
	turns();
	ck_assert_uint_eq(probe.served, COUNT);
	ck_assert_uint_eq(strlen(hear(fd)), COUNT * strlen("+PONG\r\n"));
	close(fd);
}
END_TEST

START_TEST(no_connection_is_loaded_twice)
{
	int fd = client();
	turns();
	hand_over(1);
	ck_assert_uint_eq(arrive(buffer_length(&probe.state)), 0);
	ck_assert(probe.record.failed);
	close(fd);
}
END_TEST

START_TEST(a_state_that_is_cut_off_fails)
{
	int fd = client();
	message(fd, "*1\r\n$4\r\nPI");
	turns();
	leave();
	for (size_t n = buffer_length(&probe.state) - 1; n > strlen("holdfast state 1\n"); n -= 7) {
		arrive(n);
		ck_assert(probe.record.failed);
	}
	close(fd);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("connection_state", setup, teardown, half_a_request_is_completed_by_what_comes,
		what_waits_is_answered_later_and_what_stands_behind_it_after_that,
		an_answer_that_was_not_read_arrives_whole, a_client_stays_who_it_is,
		a_half_closed_client_is_told_once_and_gets_its_answer,
		a_connection_without_its_descriptor_is_told_as_gone,
		requests_that_were_read_and_not_served_are_served_without_more_input,
		no_connection_is_loaded_twice, a_state_that_is_cut_off_fails);
}
