/*
 * Tests of daemon/connection over real sockets and a real loop: whatever a client sends, or does not read,
 * each request is served once and in order, its end is noticed, and nobody else suffers.
 */
#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/base/tls.h"
#include "daemon/net/connection.h"
#include "daemon/net/connection_state.h"
#include "daemon/net/connection_tls.h"
#include "daemon/net/connections.h"
#include "daemon/net/passing.h"
#include "daemon/net/socket.h"
#include "proto/reply.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS_MAX 100000
#define CROWD     150 /* enough for the next ones to be announced */

/* All connections, and what their hooks were told. */
struct probe {
	struct event_base *base;
	struct stats stats;
	struct connections *set;
	struct connection *last; /* the one the latest request came from */
	unsigned served;
	unsigned served_before_wait;
	unsigned served_finished; /* while the end of file was known */
	unsigned finished;
	unsigned closed;
	uint64_t closed_user; /* whose the last one was */
	enum end end;
	char why[64];
	char seen[4096]; /* first words of the requests, each followed by a blank */
	int taken_fd;
	struct connection *victim;  /* of KILL */
	conn_id expected[2][CROWD]; /* which were to come next but one, and next */
	unsigned expected_n[2];
};

static struct probe probe;

/* PING is answered; WAIT is not, until somebody does; OWE is, by a push; BIG n is answered with n bytes; FD
 * takes the descriptor; WALK takes long; HOLD is answered, and that is held back. */
static void
on_request(void *arg, struct connection *c, const struct request *request)
{
	struct probe *p = arg;
	struct slice verb = request->argv[0];
	size_t n = strlen(p->seen);
	p->last = c;
	p->served++;
	p->served_finished += connection_is_finished(c);
	if (n < sizeof p->seen - 64) {
		snprintf(p->seen + n, sizeof p->seen - n, "%.*s ", (int)verb.n, verb.p);
	}
	if (slice_equal(verb, SLICE("WAIT"))) {
		p->served_before_wait = p->served - 1;
		connection_wait(c);
		return;
	}
	if (slice_equal(verb, SLICE("OWE"))) {
		connection_owe(c);
		return;
	}
	if (slice_equal(verb, SLICE("KILL"))) {
		connection_cut(p->victim, END_ABANDONED, "killed");
	}
	if (slice_equal(verb, SLICE("WALK"))) {
		connections_strained(p->set);
	}
	if (slice_equal(verb, SLICE("FD"))) {
		p->taken_fd = connection_take_fd(c);
	}
	if (slice_equal(verb, SLICE("BIG"))) {
		size_t bytes = (size_t)atoi(request->argv[1].p);
		char *text = calloc(1, bytes);
		reply_write_bulk(connection_out(c), (struct slice){text, bytes});
		free(text);
	} else if (slice_equal(verb, SLICE("QUIT"))) {
		reply_write_simple(connection_out(c), "OK");
		connection_close(c, END_CLEAN, "quit");
	} else if (slice_equal(verb, SLICE("CUT"))) {
		reply_write_simple(connection_out(c), "never seen");
		connection_cut(c, END_ABANDONED, "cut");
	} else {
		reply_write_simple(connection_out(c), "PONG");
	}
	connection_written(c);
	if (slice_equal(verb, SLICE("HOLD"))) {
		connection_hold_back(c);
	}
}

static void
on_expected(void *arg, conn_id id, unsigned ahead)
{
	struct probe *p = arg;
	ck_assert_uint_eq(ahead, ahead > 1 ? 2 : 1);
	if (p->expected_n[2 - ahead] < CROWD) {
		p->expected[2 - ahead][p->expected_n[2 - ahead]++] = id;
	}
}

static void
on_finished(void *arg, struct connection *c)
{
	struct probe *p = arg;
	p->last = c;
	p->finished++;
}

static void
on_closed(void *arg, struct connection *c, enum end end, const char *why)
{
	struct probe *p = arg;
	p->last = NULL;
	p->closed++;
	p->closed_user = connection_identity(c)->peer.user;
	p->end = end;
	snprintf(p->why, sizeof p->why, "%s", why);
}

static const struct connections_hooks hooks = {
	.request = on_request,
	.expect = on_expected,
	.finished = on_finished,
	.closed = on_closed,
};

static const struct connections_limits limits = {
	.request = {.bytes = 65536, .arguments = 128},
	.output_bytes = 1 << 20,
};

static void
setup(void)
{
	probe = (struct probe){.base = event_base_new(), .taken_fd = -1};
	stats_init(&probe.stats);
	probe.set = connections_new(probe.base, &limits, &hooks, &probe, &probe.stats);
	ck_assert_ptr_nonnull(probe.set);
}

static void
teardown(void)
{
	connections_free(probe.set);
	event_base_free(probe.base);
	ck_assert_int_eq(probe.stats.clients_connected, 0);
}

static void
turn_until(int64_t until_ns)
{
	event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	connections_serve(probe.set, until_ns);
	connections_turn(probe.set, until_ns);
}

static void
turn(void)
{
	turn_until(INT64_MAX);
}

/* A turn that is over when the clock is looked at first. */
static void
turn_short(void)
{
	turn_until(0);
}

/* Turns while anything happens: nothing in these tests comes from elsewhere. */
static void
schedule(void)
{
	int64_t before;
	unsigned closed;
	int idle = 0;
	for (int i = 0; i < TURNS_MAX && idle < 3; i++) {
		before = probe.stats.net_input_bytes + probe.stats.net_output_bytes;
		closed = probe.closed + probe.served;
		turn();
		bool same = before == probe.stats.net_input_bytes + probe.stats.net_output_bytes &&
			    closed == probe.closed + probe.served && !connections_busy(probe.set);
		idle = same ? idle + 1 : 0;
	}
	ck_assert_int_eq(idle, 3);
}

/* A client's end; the daemon's is added to the set. */
static int
client_local_as(bool release, uint64_t user)
{
	int pair[2];
	const struct peer peer = {.uid = 0, .address = "unix", .user = user};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_ptr_nonnull(connections_add(probe.set, pair[1], &peer, true, release));
	return pair[0];
}

static int
client_local(void)
{
	return client_local_as(true, 1);
}

static int
client_tcp(bool release)
{
	const struct peer peer = {.uid = -1, .address = "127.0.0.1:1"};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&at, sizeof at), 0);
	ck_assert_int_eq(listen(listening, 1), 0);
	ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&at, &n), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	int accepted = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ck_assert_int_ge(accepted, 0);
	close(listening);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_ptr_nonnull(connections_add(probe.set, accepted, &peer, false, release));
	return fd;
}

static void
message(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What the client can read right now, as text. */
static const char *
hear(int fd)
{
	static char text[4096];
	ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool
hears_the_end(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void
answer(struct connection *c)
{
	const struct reply reply = {.type = REPLY_INT, .n = 7};
	connection_answered(c);
	connection_reply(c, &reply);
}

static size_t
open_descriptors(void)
{
	size_t n = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (readdir(directory)) {
		n++;
	}
	closedir(directory);
	return n;
}

START_TEST(pipelined_requests_are_answered_in_order)
{
	int fd = client_local();
	message(fd, "PING\r\n*1\r\n$4\r\nPING\r\nBIG 1\r\n\r\nPING\n");
	schedule();
	ck_assert_str_eq(probe.seen, "PING PING BIG PING ");
	ck_assert_mem_eq(hear(fd), "+PONG\r\n+PONG\r\n$1\r\n\0\r\n+PONG\r\n", 28);
	close(fd);
}
END_TEST

START_TEST(a_request_may_be_split_at_any_byte)
{
	static const char text[] = "*2\r\n$4\r\nPING\r\n$2\r\nhi\r\nPING \"a b\"\r\n";
	for (size_t at = 1; at < sizeof text - 1; at++) {
		int fd = client_local();
		probe.served = 0;
		ck_assert_int_eq(send(fd, text, at, 0), (ssize_t)at);
		schedule();
		message(fd, text + at);
		schedule();
		ck_assert_uint_eq(probe.served, 2);
		ck_assert_str_eq(hear(fd), "+PONG\r\n+PONG\r\n");
		close(fd);
		schedule();
	}
}
END_TEST

static void
crowd_says(const int *clients, const char *first)
{
	for (int i = 0; i < CROWD; i++) {
		message(clients[i], i == 0 ? first : "PING\r\n");
	}
}

/* The loop takes as many events at once as there were, from a few on. */
static void
crowd_comes(int *clients)
{
	for (int i = 0; i < CROWD; i++) {
		clients[i] = client_local();
	}
	for (int i = 0; i < 3; i++) {
		crowd_says(clients, "PING\r\n");
		schedule();
	}
	for (int i = 0; i < CROWD; i++) {
		ck_assert_str_eq(hear(clients[i]), "+PONG\r\n+PONG\r\n+PONG\r\n");
	}
	probe.served = 0;
	memset(probe.expected_n, 0, sizeof probe.expected_n);
}

static void
crowd_done(const int *clients)
{
	for (int i = 0; i < CROWD; i++) {
		close(clients[i]);
	}
	schedule();
}

START_TEST(of_many_that_spoke_the_next_ones_are_announced)
{
	int clients[CROWD];
	crowd_comes(clients);
	crowd_says(clients, "PING\r\n");
	turn();
	ck_assert_uint_eq(probe.served, CROWD);
	ck_assert_uint_eq(probe.expected_n[0], CROWD - 4);
	ck_assert_uint_eq(probe.expected_n[1], CROWD - 4);
	for (unsigned i = 0; i < CROWD - 4; i++) {
		ck_assert_uint_eq(probe.expected[0][i], i + 3);
		ck_assert_uint_eq(probe.expected[1][i], i + 2);
	}
	crowd_done(clients);
}
END_TEST

START_TEST(who_is_cut_before_its_turn_is_not_served)
{
	int clients[CROWD];
	crowd_comes(clients);
	crowd_says(clients, "KILL\r\n");
	probe.victim = connections_find(probe.set, 5);
	turn();
	ck_assert_uint_eq(probe.served, CROWD - 1);
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_str_eq(probe.why, "killed");
	ck_assert_str_eq(hear(clients[4]), "");
	ck_assert_str_eq(hear(clients[5]), "+PONG\r\n");
	crowd_done(clients);
}
END_TEST

START_TEST(a_turn_that_has_lasted_long_enough_leaves_the_rest_to_the_next_one)
{
	int clients[CROWD];
	unsigned served = 0;
	crowd_comes(clients);
	crowd_says(clients, "PING\r\n");
	for (int i = 0; i < CROWD && probe.served < CROWD; i++) {
		turn_short();
		ck_assert_uint_gt(probe.served, served);
		ck_assert_uint_le(probe.served - served, CONNECTION_CLOCK_WORDS / CONNECTION_VISIT_WORDS);
		served = probe.served;
	}
	ck_assert_uint_eq(probe.served, CROWD);
	for (int i = 0; i < CROWD; i++) {
		ck_assert_str_eq(hear(clients[i]), "+PONG\r\n");
	}
	ck_assert(!connections_busy(probe.set));
	crowd_done(clients);
}
END_TEST

/* LOCKS with a pattern that no name matches takes milliseconds, and its answer is short. */
START_TEST(a_turn_that_is_over_ends_behind_a_request_that_took_long)
{
	int client = client_local(), other = client_local_as(true, 2);
	message(client, "WALK\r\nWALK\r\nWALK\r\n");
	message(other, "PING\r\n");
	turn_short();
	ck_assert_uint_eq(probe.served, 1);
	turn_short();
	ck_assert_str_eq(hear(other), "+PONG\r\n");
	ck_assert_uint_le(probe.served, 3);
	schedule();
	ck_assert_str_eq(hear(client), "+PONG\r\n+PONG\r\n+PONG\r\n");
	close(client);
	close(other);
}
END_TEST

/* So many requests at once. */
static void
crowd_pipelines(const int *clients, const char *request, int count)
{
	char text[8192] = "";
	ck_assert_uint_lt(strlen(request) * (size_t)count, sizeof text);
	for (int i = 0; i < count; i++) {
		strcat(text, request);
	}
	for (int i = 0; i < CROWD; i++) {
		message(clients[i], text);
	}
}

START_TEST(a_crowd_that_pipelines_keeps_another_user_waiting_for_one_of_its_turns_only)
{
	int clients[CROWD], other = client_local_as(true, 2);
	crowd_comes(clients);
	crowd_pipelines(clients, "PING\r\n", 1000);
	for (int i = 0; i < 10; i++) {
		turn_short();
	}
	for (int i = 0; i < 3; i++) {
		unsigned served = probe.served;
		message(other, "PING\r\n");
		for (int n = 0; n < 2; n++) {
			turn_short();
		}
		ck_assert_str_eq(hear(other), "+PONG\r\n");
		ck_assert_uint_le(probe.served - served, 2 * CONNECTION_TURN_MAX + 1);
	}
	close(other);
	crowd_done(clients);
}
END_TEST

START_TEST(a_crowd_that_arrives_first_is_served_only_once_before_another_user)
{
	int clients[CROWD], other = client_local_as(true, 2);
	crowd_comes(clients);
	crowd_pipelines(clients, "PING\r\n", CONNECTION_TURN_MAX);
	message(other, "WAIT\r\n");
	turn();
	ck_assert_uint_ge(probe.served, CONNECTION_TURN_MAX * CROWD);
	ck_assert_uint_le(probe.served_before_wait, CONNECTION_TURN_MAX);
	close(other);
	crowd_done(clients);
}
END_TEST

START_TEST(whoever_logs_in_waits_in_another_line_from_then_on)
{
	int clients[CROWD], other = client_local();
	crowd_comes(clients);
	message(other, "PING\r\n");
	schedule();
	ck_assert_str_eq(hear(other), "+PONG\r\n");
	struct connection *c = probe.last;
	crowd_pipelines(clients, "PING\r\n", 1000);
	turn_short();
	message(other, "PING\r\n");
	for (int n = 0; n < 3; n++) {
		turn_short();
	}
	ck_assert_str_eq(hear(other), "");
	connection_belongs(c, 7);
	for (int n = 0; n < 2; n++) {
		turn_short();
	}
	ck_assert_str_eq(hear(other), "+PONG\r\n");
	close(other);
	crowd_done(clients);
}
END_TEST

START_TEST(long_answers_make_a_turn_of_a_connection_shorter)
{
	int fd = client_local();
	for (int i = 0; i < 64; i++) {
		message(fd, "BIG 10000\r\n");
	}
	turn_short();
	ck_assert_uint_le(probe.served, 2 * CONNECTION_TURN_WORDS / (10000 / CONNECTION_WORD_BYTES) + 2);
	close(fd);
}
END_TEST

START_TEST(ends_of_one_user_do_not_wait_for_those_of_another)
{
	int clients[CROWD], other = client_local_as(true, 2);
	crowd_comes(clients);
	for (int i = 0; i < CROWD; i++) {
		close(clients[i]);
	}
	close(other);
	for (int i = 0; i < CROWD / 2 && probe.closed_user != 2; i++) {
		turn_short();
	}
	ck_assert_uint_eq(probe.closed_user, 2);
	ck_assert_uint_lt(probe.closed, CROWD / 2);
	schedule();
	ck_assert_uint_eq(probe.closed, CROWD + 1);
}
END_TEST

START_TEST(connections_that_have_ended_are_counted_for_their_user)
{
	int first = client_local_as(true, 2), second = client_local_as(true, 2),
	    other = client_local_as(true, 3);
	close(first);
	close(second);
	close(other);
	event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	connections_serve(probe.set, INT64_MAX);
	ck_assert_uint_eq(connections_ended_of(probe.set, 1), 0);
	ck_assert_uint_eq(connections_ended_of(probe.set, 2), 2);
	ck_assert_uint_eq(connections_ended_of(probe.set, 3), 1);
	connections_turn(probe.set, 0);
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_uint_eq(connections_ended_of(probe.set, 2), 1);
	schedule();
	ck_assert_uint_eq(probe.closed, 3);
	ck_assert_uint_eq(connections_ended_of(probe.set, 2) + connections_ended_of(probe.set, 3), 0);
}
END_TEST

START_TEST(later_requests_wait_behind_one_that_waits)
{
	int fd = client_local();
	message(fd, "WAIT\r\nPING\r\n");
	schedule();
	message(fd, "PING\r\n");
	schedule();
	ck_assert_str_eq(probe.seen, "WAIT ");
	ck_assert_str_eq(hear(fd), "");
	answer(probe.last);
	schedule();
	ck_assert_str_eq(probe.seen, "WAIT PING PING ");
	ck_assert_str_eq(hear(fd), ":7\r\n+PONG\r\n+PONG\r\n");
	close(fd);
}
END_TEST

START_TEST(an_end_of_file_lets_what_was_sent_finish)
{
	int fd = client_local();
	message(fd, "WAIT\r\nPING\r\nPI");
	shutdown(fd, SHUT_WR);
	schedule();
	ck_assert_uint_eq(probe.finished, 1);
	ck_assert_uint_eq(probe.closed, 0);
	ck_assert(connection_is_finished(probe.last));
	answer(probe.last);
	schedule();
	ck_assert_str_eq(hear(fd), ":7\r\n+PONG\r\n");
	ck_assert(hears_the_end(fd));
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_GONE);
	close(fd);
}
END_TEST

START_TEST(an_end_of_file_is_known_before_what_came_with_it_is_served)
{
	int local = client_local();
	int remote = client_tcp(false);
	message(local, "PING\r\n");
	message(remote, "PING\r\n");
	schedule();
	ck_assert_uint_eq(probe.served_finished, 0);
	/* An answer that is unread would make the close a reset. */
	ck_assert_str_eq(hear(remote), "+PONG\r\n");
	message(local, "PING\r\n");
	shutdown(local, SHUT_WR);
	schedule();
	ck_assert_uint_eq(probe.served_finished, 1);
	message(remote, "PING\r\nPING\r\n");
	close(remote);
	schedule();
	ck_assert_uint_eq(probe.served_finished, 3);
	ck_assert_uint_eq(probe.closed, 2);
	close(local);
}
END_TEST

/* The kernel reports the bytes and the end as one arrival. */
START_TEST(an_end_behind_a_part_of_a_tls_record_is_noticed)
{
	char why[TLS_WHY_MAX];
	struct tls_context *context = tls_context_new(TLS_SERVER, &(struct tls_settings){0});
	ck_assert(context && tls_context_load(context, why));
	for (int reset = 0; reset < 2; reset++) {
		const struct linger linger = {.l_onoff = reset};
		int client = client_tcp(false);
		struct connection *c = connections_find(probe.set, connections_last_id(probe.set));
		ck_assert(connection_begin_tls(c, context, false));
		message(client, "\x16\x03\x01");
		ck_assert_int_eq(setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
		close(client);
		schedule();
		ck_assert_int_eq(probe.closed, reset + 1);
		ck_assert_int_eq(probe.stats.tls_failures, reset + 1);
	}
	tls_context_free(context);
}
END_TEST

START_TEST(a_reset_behind_bytes_that_need_no_answer_is_noticed)
{
	static const char *const last[] = {"PI", "PI", "\r\n", "\r\n", "PING\r\nPI", "PING\r\nPI"};
	for (unsigned i = 0; i < sizeof last / sizeof *last; i++) {
		int client = i % 2 ? client_tcp(false) : client_local();
		message(client, "PING\r\n");
		schedule();
		message(client, last[i]);
		close(client); /* a reset: it has not read its answer */
		schedule();
		ck_assert_uint_eq(probe.closed, i + 1);
	}
}
END_TEST

START_TEST(an_end_of_file_waits_for_a_push_that_is_due)
{
	int fd = client_tcp(false);
	message(fd, "OWE\r\nOWE\r\nPING\r\n");
	shutdown(fd, SHUT_WR);
	schedule();
	ck_assert_str_eq(hear(fd), "+PONG\r\n");
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(probe.closed, 0);
		connection_paid(probe.last);
		reply_write_simple(connection_out(probe.last), "pushed");
		connection_written(probe.last);
		schedule();
		ck_assert_str_eq(hear(fd), "+pushed\r\n");
	}
	ck_assert(hears_the_end(fd));
	ck_assert_uint_eq(probe.closed, 1);
	close(fd);
}
END_TEST

/* What the client sends is served, and no turn ends meanwhile. */
static int
client_held_back(void)
{
	int fd = client_tcp(true);
	message(fd, "HOLD\r\n");
	while (probe.served == 0) {
		event_base_loop(probe.base, EVLOOP_ONCE);
		connections_serve(probe.set, INT64_MAX);
	}
	connections_flush(probe.set);
	ck_assert_int_lt(connections_held_until(probe.set), INT64_MAX);
	ck_assert_str_eq(hear(fd), "");
	return fd;
}

START_TEST(an_answer_that_is_held_back_comes_with_what_follows)
{
	int fd = client_held_back();
	reply_write_simple(connection_out(probe.last), "pushed");
	connection_written(probe.last);
	ck_assert_int_eq(connections_held_until(probe.set), INT64_MAX);
	connections_flush(probe.set);
	ck_assert_str_eq(hear(fd), "+PONG\r\n+pushed\r\n");
	close(fd);
}
END_TEST

START_TEST(an_answer_that_is_held_back_comes_alone_if_nothing_follows)
{
	int fd = client_held_back();
	int64_t until_ms = connections_held_until(probe.set);
	while (connections_held_until(probe.set) < INT64_MAX) {
		turn();
	}
	ck_assert_int_ge(clock_ms(), until_ms);
	ck_assert_str_eq(hear(fd), "+PONG\r\n");
	close(fd);
}
END_TEST

START_TEST(a_connection_whose_answer_is_held_back_can_end)
{
	int fd = client_held_back();
	connection_cut(probe.last, END_GONE, "cut");
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(connections_held_until(probe.set), INT64_MAX);
	close(fd);
}
END_TEST

START_TEST(who_does_not_wait_for_his_push_is_noticed)
{
	int fd = client_local();
	message(fd, "OWE\r\n");
	shutdown(fd, SHUT_WR);
	schedule();
	ck_assert_uint_eq(probe.closed, 0);
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
}
END_TEST

START_TEST(a_local_client_that_dies_while_it_waits_ends_at_once)
{
	int fd = client_local();
	message(fd, "WAIT\r\n");
	schedule();
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_GONE);
	ck_assert_uint_eq(connections_count(probe.set), 0);
}
END_TEST

START_TEST(a_reset_that_came_with_a_request_that_waits_is_found_by_a_probe)
{
	int alive = client_local();
	message(alive, "WAIT\r\n");
	schedule();
	struct connection *waiting = probe.last;
	ck_assert_int_eq(connections_probe(probe.set, 0), CONNECTION_PROBE_MS);
	for (unsigned i = 0; i < 2; i++) {
		int client = i == 0 ? client_local() : client_tcp(false);
		message(client, "PING\r\n");
		schedule();
		message(client, "WAIT\r\n");
		close(client); /* a reset: it has not read its answer */
		schedule();
		ck_assert_uint_eq(probe.closed, i);
		int64_t now_ms = (i + 1) * CONNECTION_PROBE_MS;
		ck_assert_int_eq(connections_probe(probe.set, now_ms - 1), now_ms);
		ck_assert(!connections_busy(probe.set));
		ck_assert_int_eq(connections_probe(probe.set, now_ms), INT64_MAX);
		schedule();
		ck_assert_uint_eq(probe.closed, i + 1);
	}
	answer(waiting);
	message(alive, "WAIT\r\n");
	schedule();
	ck_assert_str_eq(hear(alive), ":7\r\n");
	ck_assert_int_eq(connections_probe(probe.set, 0), 3 * CONNECTION_PROBE_MS);
	close(alive);
}
END_TEST

START_TEST(few_connections_are_probed_at_a_time)
{
	int clients[CONNECTION_PROBES + 2];
	for (int i = 0; i < CONNECTION_PROBES + 2; i++) {
		clients[i] = client_local();
		message(clients[i], "WAIT\r\n");
	}
	schedule();
	ck_assert_int_eq(connections_probe(probe.set, 1000), 1000 + CONNECTION_PROBE_MS);
	close(clients[0]); /* it is probed no more, and is in the way of no other */
	close(clients[CONNECTION_PROBES]);
	schedule();
	ck_assert_uint_eq(probe.closed, 2);
	ck_assert_int_eq(connections_probe(probe.set, 1000 + CONNECTION_PROBE_MS), INT64_MAX);
	for (int i = 1; i < CONNECTION_PROBES + 2; i++) {
		if (i != CONNECTION_PROBES) {
			close(clients[i]);
		}
	}
}
END_TEST

START_TEST(a_local_client_that_closed_is_noticed_after_its_end_of_file)
{
	int fd = client_local();
	message(fd, "WAIT\r\n");
	shutdown(fd, SHUT_WR);
	schedule();
	ck_assert_uint_eq(probe.closed, 0);
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_GONE);
}
END_TEST

START_TEST(a_tcp_close_is_abandoned_unless_the_listener_releases)
{
	int fd = client_tcp(false);
	message(fd, "PING\r\n");
	schedule();
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_ABANDONED);
	fd = client_tcp(true);
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 2);
	ck_assert_int_eq(probe.end, END_GONE);
}
END_TEST

START_TEST(a_close_at_a_socket_for_a_proxy_is_abandoned)
{
	int fd = client_local_as(false, 1);
	message(fd, "PING\r\n");
	schedule();
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_ABANDONED);
	/* A half-close that is waited out, and then the hang-up. */
	fd = client_local_as(false, 1);
	message(fd, "WAIT\r\n");
	shutdown(fd, SHUT_WR);
	schedule();
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 2);
	ck_assert_int_eq(probe.end, END_ABANDONED);
}
END_TEST

/* More than is taken in while nothing is served, so that reading has paused. */
static size_t
flood(int fd, const char *line)
{
	size_t put = 0;
	ssize_t n = 0;
	for (int i = 0; i < 1000000 && n >= 0; i++) {
		n = send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
		put += n > 0 ? (size_t)n : 0;
		if (i % 64 == 0 || n < 0) {
			turn();
		}
		if (n < 0 && errno == EAGAIN) {
			turn();
			n = send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
			put += n > 0 ? (size_t)n : 0;
		}
	}
	return put;
}

START_TEST(a_client_that_is_not_read_is_bounded_and_still_watched)
{
	int fd = client_local();
	message(fd, "WAIT\r\n");
	schedule();
	flood(fd, "PING\r\n");
	ck_assert_int_le(probe.stats.net_input_bytes, CONNECTION_IN_BYTES + CONNECTION_READ_BYTES);
	ck_assert_uint_eq(probe.closed, 0);
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_GONE);
}
END_TEST

/* The answer comes before the turn of the client, and is written after it. */
START_TEST(a_client_whose_answer_is_not_written_yet_is_served_before_it_is_read)
{
	int fd = client_local();
	message(fd, "WAIT\r\n");
	schedule();
	for (size_t waits = 1; waits <= 100; waits++) {
		while (send(fd, "WAIT\r\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
		}
		event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		answer(probe.last);
		connections_serve(probe.set, INT64_MAX);
		ck_assert_uint_eq(probe.served, waits + 1);
		ck_assert_int_le(
			probe.stats.net_input_bytes, (int64_t)(waits * 6 + 2 * CONNECTION_READ_BYTES));
		connections_turn(probe.set, INT64_MAX);
		ck_assert_uint_eq(probe.closed, 0);
	}
	close(fd);
}
END_TEST

START_TEST(a_half_closed_client_that_is_not_read_is_told_as_finished)
{
	int fd = client_local();
	message(fd, "WAIT\r\n");
	schedule();
	size_t sent = flood(fd, "PING\r\n") / 6;
	shutdown(fd, SHUT_WR);
	schedule();
	ck_assert_uint_eq(probe.finished, 1);
	ck_assert_uint_eq(probe.closed, 0);
	answer(probe.last);
	size_t heard = 0;
	while (!probe.closed || heard < sent * 7 + 4) {
		char room[65536];
		turn();
		ssize_t n = recv(fd, room, sizeof room, MSG_DONTWAIT);
		heard += n > 0 ? (size_t)n : 0;
		ck_assert(n != 0 || (probe.closed && heard == sent * 7 + 4));
	}
	ck_assert_uint_eq(heard, sent * 7 + 4);
	ck_assert_int_eq(probe.end, END_GONE);
	close(fd);
}
END_TEST

START_TEST(a_reset_is_noticed_while_the_client_is_not_read)
{
	const struct linger hard = {.l_onoff = 1};
	int fd = client_tcp(true);
	message(fd, "WAIT\r\n");
	schedule();
	flood(fd, "PING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\n");
	ck_assert_uint_eq(probe.closed, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
	close(fd);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_ABANDONED);
}
END_TEST

START_TEST(a_client_that_never_reads_stalls_only_itself)
{
	int bad = client_local();
	int good = client_local();
	flood(bad, "BIG 1000\r\n");
	unsigned served = probe.served;
	schedule();
	ck_assert_uint_eq(probe.served, served);
	/* What the kernel takes, what may wait, and one answer more. */
	ck_assert_uint_lt(served, 2000);
	message(good, "PING\r\n");
	schedule();
	ck_assert_str_eq(hear(good), "+PONG\r\n");
	ck_assert_uint_eq(probe.closed, 0);
	close(bad);
	close(good);
}
END_TEST

START_TEST(a_stalled_client_goes_on_where_it_was_when_it_reads)
{
	int fd = client_local();
	size_t asked = flood(fd, "BIG 1000\r\n") / 10;
	size_t heard = 0;
	shutdown(fd, SHUT_WR);
	while (!probe.closed) {
		char room[65536];
		ssize_t n = recv(fd, room, sizeof room, MSG_DONTWAIT);
		heard += n > 0 ? (size_t)n : 0;
		turn();
	}
	for (ssize_t n = 1; n > 0;) {
		char room[65536];
		n = recv(fd, room, sizeof room, MSG_DONTWAIT);
		heard += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_eq(heard, asked * (1000 + 9));
	ck_assert_int_eq(probe.end, END_GONE);
	close(fd);
}
END_TEST

START_TEST(unread_pushes_beyond_the_limit_cut_the_client)
{
	char text[1000] = {0};
	int fd = client_local();
	message(fd, "PING\r\n");
	schedule();
	struct connection *c = probe.last;
	for (int i = 0; i < 10000 && !probe.closed; i++) {
		reply_write_bulk(connection_out(c), (struct slice){text, sizeof text});
		connection_written(c);
		turn();
	}
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_int_eq(probe.end, END_ABANDONED);
	ck_assert_str_eq(probe.why, "output limit");
	ck_assert_int_eq(probe.stats.client_output_closed, 1);
	close(fd);
}
END_TEST

START_TEST(a_million_pipelined_requests_do_not_starve_others)
{
	int flooder = client_local();
	int other = client_local();
	char *many = malloc(60000);
	for (int i = 0; i < 10000; i++) {
		memcpy(many + i * 6, "PING\r\n", 6);
	}
	ck_assert_int_eq(send(flooder, many, 60000, 0), 60000);
	free(many);
	turn();
	unsigned before = probe.served;
	message(other, "PING\r\n");
	turn();
	ck_assert_str_eq(hear(other), "+PONG\r\n");
	ck_assert_uint_le(probe.served - before, 2 * CONNECTION_TURN_MAX + 1);
	size_t heard = 0;
	for (int i = 0; i < TURNS_MAX && heard < 70000; i++) {
		turn();
		heard += strlen(hear(flooder));
	}
	ck_assert_uint_eq(heard, 70000);
	close(flooder);
	close(other);
}
END_TEST

START_TEST(a_pipeline_longer_than_any_buffer_is_answered_whole)
{
	int fd = client_local();
	char room[65536];
	size_t asked = 0;
	size_t heard = 0;
	while (heard < 200000 * 7) {
		ssize_t n = 1;
		while (asked < 200000 && n > 0) {
			n = send(fd, "PING\r\n", 6, MSG_DONTWAIT | MSG_NOSIGNAL);
			ck_assert(n == 6 || errno == EAGAIN);
			asked += n > 0;
		}
		turn();
		ck_assert_uint_eq(probe.closed, 0);
		ssize_t got = recv(fd, room, sizeof room, MSG_DONTWAIT);
		heard += got > 0 ? (size_t)got : 0;
	}
	ck_assert_uint_eq(probe.served, 200000);
	close(fd);
}
END_TEST

START_TEST(garbage_is_answered_once_and_closed)
{
	static const char *const garbage[] = {
		"*1\r\n+PING\r\n",
		"*99999999999\r\n",
		"*2\r\n$-5\r\n",
		"PING \"open\r\n",
		"*1\r\n$999999999\r\n",
		"*1\r\n$4\r\nPINGxx",
	};
	for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
		int fd = client_local();
		probe.closed = 0;
		probe.served = 0;
		message(fd, garbage[i]);
		message(fd, "PING\r\n");
		schedule();
		const char *text = hear(fd);
		ck_assert_msg(strncmp(text, "-ERR Protocol error", 19) == 0, "%s: %s", garbage[i], text);
		ck_assert_ptr_eq(strstr(text, "\r\n"), text + strlen(text) - 2);
		ck_assert(hears_the_end(fd));
		ck_assert_uint_eq(probe.closed, 1);
		ck_assert_uint_eq(probe.served, 0);
		ck_assert_int_eq(probe.end, END_ABANDONED);
		close(fd);
	}
	ck_assert_int_eq(probe.stats.client_protocol_errors, 6);
}
END_TEST

START_TEST(random_bytes_do_no_harm)
{
	unsigned seed = 4711;
	for (int round = 0; round < 300; round++) {
		int fd = client_local();
		char bytes[512];
		for (size_t i = 0; i < sizeof bytes; i++) {
			static const char likely[] = "*$\r\n019\" 'PINGWAT+:-";
			bytes[i] = rand_r(&seed) % 8 ? likely[(size_t)rand_r(&seed) % (sizeof likely - 1)]
						     : (char)rand_r(&seed);
		}
		ck_assert_int_gt(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), 0);
		schedule();
		close(fd);
		schedule();
	}
	ck_assert_uint_eq(connections_count(probe.set), 0);
}
END_TEST

/* Half a request of so many bytes: they are kept until the rest comes. */
static int
client_with_half(uint64_t user, size_t bytes)
{
	int fd = client_local_as(true, user);
	char *text = malloc(bytes);
	int n = snprintf(text, bytes, "*2\r\n$4\r\nPING\r\n$60000\r\n");
	memset(text + n, 'x', bytes - (size_t)n);
	ck_assert_int_eq(send(fd, text, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
	free(text);
	schedule();
	return fd;
}

START_TEST(who_keeps_most_makes_room_and_the_largest_goes_first)
{
	struct connections_limits tight = limits;
	tight.buffer_bytes = 200000;
	connections_set_limits(probe.set, &tight);
	int other = client_with_half(2, 55000), small = client_with_half(1, 20000);
	int large = client_with_half(1, 59000);
	ck_assert_uint_eq(probe.closed, 0);
	/* What comes last is served last, and is not what has to go. */
	int more = client_with_half(1, 40000);
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_str_eq(probe.why, "buffer limit");
	ck_assert_int_eq(probe.end, END_ABANDONED);
	ck_assert_uint_eq(probe.closed_user, 1);
	ck_assert(hears_the_end(large));
	for (int i = 0; i < 50; i++) {
		close(client_with_half(1, 59000));
		ck_assert_uint_eq(probe.closed_user, 1);
	}
	ck_assert(!hears_the_end(other));
	ck_assert_uint_le(connections_buffered(probe.set), tight.buffer_bytes);
	close(other);
	close(small);
	close(large);
	close(more);
	schedule();
	ck_assert_uint_eq(connections_buffered(probe.set), 0);
}
END_TEST

START_TEST(a_lower_limit_cuts_those_that_are_silent)
{
	struct connections_limits tight = limits;
	int small = client_with_half(1, 20000), large = client_with_half(1, 59000);
	int other = client_with_half(2, 55000);
	size_t before = connections_buffered(probe.set);
	tight.buffer_bytes = before;
	connections_set_limits(probe.set, &tight);
	schedule();
	ck_assert_uint_eq(probe.closed, 0);
	tight.buffer_bytes = before - 1;
	connections_set_limits(probe.set, &tight);
	ck_assert_uint_le(connections_buffered(probe.set), tight.buffer_bytes);
	schedule();
	ck_assert_uint_eq(probe.closed, 1);
	ck_assert_str_eq(probe.why, "buffer limit");
	ck_assert_int_eq(probe.end, END_ABANDONED);
	ck_assert_int_eq(probe.stats.client_output_closed, 1);
	ck_assert(hears_the_end(large));
	ck_assert(!hears_the_end(small));
	ck_assert(!hears_the_end(other));
	close(small);
	close(large);
	close(other);
	schedule();
	ck_assert_uint_eq(connections_buffered(probe.set), 0);
}
END_TEST

START_TEST(what_a_connection_keeps_goes_along_to_another_user)
{
	struct connections_limits tight = limits;
	tight.buffer_bytes = 200000;
	connections_set_limits(probe.set, &tight);
	int moves = client_local_as(true, 1);
	message(moves, "WAIT\r\n");
	schedule();
	struct connection *moved = probe.last;
	char *text = malloc(50000);
	memset(text, 'x', 50000);
	for (int i = 0; i < 3; i++) {
		(void)send(moves, text, 50000, MSG_NOSIGNAL);
		schedule();
	}
	free(text);
	int one = client_with_half(2, 59000);
	connection_belongs(moved, 3);
	int two = client_with_half(2, 59000), three = client_with_half(2, 59000),
	    four = client_with_half(2, 59000);
	ck_assert_uint_ge(probe.closed, 1);
	ck_assert_uint_eq(probe.closed_user, 2);
	ck_assert(!hears_the_end(moves));
	close(moves);
	close(one);
	close(two);
	close(three);
	close(four);
	schedule();
	ck_assert_uint_eq(connections_buffered(probe.set), 0);
}
END_TEST

/* Of a kind that a request can use. */
static int
gift_make(void)
{
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	close(ends[1]);
	return ends[0];
}

static void
pass(int fd, const char *text, const int *passed, size_t count)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct iovec bytes = {.iov_base = (void *)text, .iov_len = strlen(text)};
	struct msghdr message = {.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), passed, count * sizeof(int));
	ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)strlen(text));
}

START_TEST(a_passed_descriptor_is_kept_for_its_request_only)
{
	int fd = client_local();
	int gift = gift_make();
	const int gifts[] = {gift, gift, gift, gift};
	size_t before = open_descriptors();
	pass(fd, "PING\r\n", gifts, 1);
	schedule();
	ck_assert_uint_eq(open_descriptors(), before);
	pass(fd, "PING\r\n", gifts, 4);
	schedule();
	ck_assert_uint_le(open_descriptors(), before);
	pass(fd, "F", gifts, 1);
	schedule();
	message(fd, "D\r\n");
	schedule();
	ck_assert_int_ge(probe.taken_fd, 0);
	ck_assert(fcntl(probe.taken_fd, F_GETFD) & FD_CLOEXEC);
	close(probe.taken_fd);
	message(fd, "WAIT\r\n");
	schedule();
	for (int i = 0; i < 20; i++) {
		pass(fd, "PING\r\n", gifts, 1);
		schedule();
	}
	ck_assert_uint_le(open_descriptors(), before + 1);
	answer(probe.last);
	schedule();
	ck_assert_uint_eq(open_descriptors(), before);
	close(fd);
	schedule();
	ck_assert_uint_eq(open_descriptors(), before - 2);
	close(gift);
}
END_TEST

START_TEST(few_descriptors_are_kept_for_requests_that_wait_and_the_others_know_it)
{
	int fds[CONNECTION_HELD_FDS + 1];
	struct connection *waiting[CONNECTION_HELD_FDS + 1];
	int gift = gift_make();
	for (size_t i = 0; i <= CONNECTION_HELD_FDS; i++) {
		fds[i] = client_local();
		message(fds[i], "WAIT\r\n");
		schedule();
		waiting[i] = probe.last;
	}
	size_t before = open_descriptors();
	for (size_t i = 0; i <= CONNECTION_HELD_FDS; i++) {
		pass(fds[i], "FD\r\n", &gift, 1);
		schedule();
	}
	ck_assert_uint_eq(open_descriptors(), before + CONNECTION_HELD_FDS);
	answer(waiting[CONNECTION_HELD_FDS]);
	schedule();
	ck_assert_int_eq(probe.taken_fd, PASSING_LOST);
	/* Served at once, it need not be kept. */
	pass(fds[CONNECTION_HELD_FDS], "FD\r\n", &gift, 1);
	schedule();
	ck_assert_int_ge(probe.taken_fd, 0);
	close(probe.taken_fd);
	answer(waiting[0]);
	schedule();
	ck_assert_int_ge(probe.taken_fd, 0);
	close(probe.taken_fd);
	for (size_t i = 0; i <= CONNECTION_HELD_FDS; i++) {
		close(fds[i]);
	}
	schedule();
	ck_assert_uint_eq(open_descriptors(), before - 2 * (CONNECTION_HELD_FDS + 1));
	close(gift);
}
END_TEST

START_TEST(a_descriptor_that_finds_no_room_is_known_to_be_lost)
{
	struct rlimit limit, none;
	int fd = client_local();
	int gift = gift_make();
	message(fd, "PING\r\n");
	schedule();
	pass(fd, "FD\r\n", &gift, 1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	schedule();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(probe.taken_fd, PASSING_LOST);
	close(gift);
	close(fd);
}
END_TEST

/* As during a hand-over: what has arrived is served later, and the end of its process closes it. */
START_TEST(a_connection_that_ends_before_what_has_arrived_is_served_is_forgotten)
{
	int fd = client_local(), other = client_local();
	struct connection *c;

	message(fd, "WAIT\r\n");
	schedule();
	c = probe.last;
	message(fd, "WAIT\r\n");
	message(other, "WAIT\r\n");
	event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	ck_assert_uint_eq(connections_arrived(probe.set), 2);
	connection_close(c, END_GONE, "the test ends it");
	while (connections_count(probe.set) > 1)
		connections_turn(probe.set, INT64_MAX);
	ck_assert_uint_eq(connections_arrived(probe.set), 1);
	connections_serve(probe.set, INT64_MAX);
	ck_assert_ptr_ne(probe.last, c);
	close(fd);
	close(other);
}
END_TEST

START_TEST(a_closing_connection_writes_and_serves_no_more)
{
	int fd = client_local();
	message(fd, "PING\r\nQUIT\r\nPING\r\n");
	schedule();
	ck_assert_str_eq(hear(fd), "+PONG\r\n+OK\r\n");
	ck_assert(hears_the_end(fd));
	ck_assert_str_eq(probe.seen, "PING QUIT ");
	ck_assert_int_eq(probe.end, END_CLEAN);
	close(fd);
}
END_TEST

START_TEST(a_cut_connection_writes_nothing)
{
	int fd = client_local();
	message(fd, "CUT\r\nPING\r\n");
	schedule();
	ck_assert_str_eq(hear(fd), "");
	ck_assert_str_eq(probe.seen, "CUT ");
	ck_assert_str_eq(probe.why, "cut");
	close(fd);
}
END_TEST

START_TEST(a_number_finds_its_connection_until_it_ends)
{
	int fds[300];
	for (int i = 0; i < 300; i++) {
		fds[i] = client_local();
	}
	for (conn_id id = 1; id <= 300; id++) {
		struct connection *c = connections_find(probe.set, id);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_eq(connection_identity(c)->id, id);
	}
	for (int i = 0; i < 300; i += 2) {
		close(fds[i]);
	}
	schedule();
	for (conn_id id = 1; id <= 300; id++) {
		ck_assert_int_eq(connections_find(probe.set, id) != NULL, id % 2 == 0);
	}
	struct connection *c = connections_find(probe.set, 2);
	ck_assert_int_eq(connection_renumber(c), 0);
	ck_assert_ptr_null(connections_find(probe.set, 2));
	ck_assert_ptr_eq(connections_find(probe.set, 301), c);
	for (int i = 1; i < 300; i += 2) {
		close(fds[i]);
	}
	schedule();
	ck_assert_uint_eq(connections_count(probe.set), 0);
}
END_TEST

START_TEST(an_idle_connection_costs_less_than_a_kilobyte)
{
	int fds[400];
	message(client_local(), "PING\r\n");
	schedule();
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 400; i++) {
		fds[i] = client_local();
		message(fds[i], "BIG 5000\r\n");
		schedule();
		ck_assert_int_eq(recv(fds[i], (char[8192]){0}, 8192, 0), 5000 + 9);
	}
	size_t after = mallinfo2().uordblks;
	ck_assert_uint_lt((after - before) / 400, 1024);
}
END_TEST

START_TEST(lower_limits_hold_for_what_comes)
{
	struct connections_limits tight = limits;
	int fd = client_local();
	tight.request.bytes = 100;
	connections_set_limits(probe.set, &tight);
	message(fd, "*1\r\n$200\r\n");
	schedule();
	ck_assert_ptr_nonnull(strstr(hear(fd), "100 bytes"));
	ck_assert_uint_eq(probe.closed, 1);
	close(fd);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("connection", setup, teardown, pipelined_requests_are_answered_in_order,
		a_request_may_be_split_at_any_byte, of_many_that_spoke_the_next_ones_are_announced,
		who_is_cut_before_its_turn_is_not_served,
		a_turn_that_has_lasted_long_enough_leaves_the_rest_to_the_next_one,
		a_turn_that_is_over_ends_behind_a_request_that_took_long,
		a_crowd_that_pipelines_keeps_another_user_waiting_for_one_of_its_turns_only,
		a_crowd_that_arrives_first_is_served_only_once_before_another_user,
		whoever_logs_in_waits_in_another_line_from_then_on,
		long_answers_make_a_turn_of_a_connection_shorter,
		ends_of_one_user_do_not_wait_for_those_of_another,
		connections_that_have_ended_are_counted_for_their_user,
		later_requests_wait_behind_one_that_waits, an_end_of_file_lets_what_was_sent_finish,
		an_end_of_file_is_known_before_what_came_with_it_is_served,
		an_end_behind_a_part_of_a_tls_record_is_noticed,
		a_reset_behind_bytes_that_need_no_answer_is_noticed,
		an_end_of_file_waits_for_a_push_that_is_due,
		an_answer_that_is_held_back_comes_with_what_follows,
		an_answer_that_is_held_back_comes_alone_if_nothing_follows,
		a_connection_whose_answer_is_held_back_can_end, who_does_not_wait_for_his_push_is_noticed,
		a_local_client_that_dies_while_it_waits_ends_at_once,
		a_reset_that_came_with_a_request_that_waits_is_found_by_a_probe,
		few_connections_are_probed_at_a_time,
		a_local_client_that_closed_is_noticed_after_its_end_of_file,
		a_close_at_a_socket_for_a_proxy_is_abandoned,
		a_tcp_close_is_abandoned_unless_the_listener_releases,
		a_client_that_is_not_read_is_bounded_and_still_watched,
		a_client_whose_answer_is_not_written_yet_is_served_before_it_is_read,
		a_half_closed_client_that_is_not_read_is_told_as_finished,
		a_reset_is_noticed_while_the_client_is_not_read, a_client_that_never_reads_stalls_only_itself,
		a_stalled_client_goes_on_where_it_was_when_it_reads,
		unread_pushes_beyond_the_limit_cut_the_client,
		a_million_pipelined_requests_do_not_starve_others,
		a_pipeline_longer_than_any_buffer_is_answered_whole, garbage_is_answered_once_and_closed,
		random_bytes_do_no_harm, a_passed_descriptor_is_kept_for_its_request_only,
		few_descriptors_are_kept_for_requests_that_wait_and_the_others_know_it,
		a_descriptor_that_finds_no_room_is_known_to_be_lost,
		a_connection_that_ends_before_what_has_arrived_is_served_is_forgotten,
		a_closing_connection_writes_and_serves_no_more, a_cut_connection_writes_nothing,
		a_number_finds_its_connection_until_it_ends, an_idle_connection_costs_less_than_a_kilobyte,
		lower_limits_hold_for_what_comes, who_keeps_most_makes_room_and_the_largest_goes_first,
		a_lower_limit_cuts_those_that_are_silent, what_a_connection_keeps_goes_along_to_another_user);
}
