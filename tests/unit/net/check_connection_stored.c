/*
 * Tests of daemon/net/connection_stored, and of the entries of connection_state: the mark of a connection
 * says at each moment whether another process could go on with it, and a process that does finds its client
 * as it was.
 */
#include "daemon/base/fdstore.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/connection_state.h"
#include "daemon/net/connection_stored.h"
#include "daemon/net/connections.h"
#include "proto/record.h"
#include "proto/reply.h"
#include "tests/support/suite.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS 20

static struct {
	struct event_base *base;
	struct stats stats;
	struct access *access;
	struct connections *set;
	struct notify notify;
	int manager; /* the other end */
	struct fdstore store;
	struct connections *before; /* of the process that was killed; NULL: none was */
	struct fdstore store_before;
	uint8_t marks[CONNECTIONS_BUSY_BYTES];
	bool waits; /* in the core */
	bool busy;  /* while the latest request was served */
	conn_id asked;
	struct buffer entries;
	int fd;     /* of the client */
	int socket; /* of the daemon */
} p;

static bool
busy(void)
{
	return connections_busy_at(p.marks, 0);
}

/* WAIT is answered later, QUIT ends the connection. */
static void
on_request(void *arg, struct connection *c, const struct request *request)
{
	(void)arg;
	p.busy = busy();
	if (slice_equal(request->argv[0], SLICE("WAIT"))) {
		connection_wait(c);
		return;
	}
	reply_write_simple(connection_out(c), "PONG");
	connection_written(c);
	if (slice_equal(request->argv[0], SLICE("QUIT"))) {
		connection_close(c, END_CLEAN, "quit");
	}
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
	(void)arg;
	(void)c;
}

static void
on_closed(void *arg, struct connection *c, enum end end, const char *why)
{
	(void)arg;
	(void)c;
	(void)end;
	(void)why;
}

static bool
on_rests(void *arg, conn_id id)
{
	(void)arg;
	p.asked = id;
	return !p.waits;
}

static const struct connections_hooks hooks = {.request = on_request,
	.expect = on_expected,
	.finished = on_finished,
	.closed = on_closed,
	.rests = on_rests};

static const struct connections_limits limits = {
	.request = {.bytes = 65536, .arguments = 128}, .output_bytes = 4 << 20};

static void
users(const char *password)
{
	const struct access_user all[] = {ACCESS_LOGIN("alice", password, RIGHTS_USUAL)};

	access_free(p.access);
	p.access = access_new(all, 1);
	ck_assert_ptr_nonnull(p.access);
}

static void
process_begins(void)
{
	memset(p.marks, 0, sizeof(p.marks));
	fdstore_init(&p.store, &p.notify);
	p.set = connections_new(p.base, &limits, &hooks, NULL, &p.stats);
	ck_assert_ptr_nonnull(p.set);
	connections_store_in(p.set, &p.store);
	connections_mark_in(p.set, p.marks);
}

static void
setup(void)
{
	int pair[2];

	memset(&p, 0, sizeof(p));
	p.base = event_base_new();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	p.notify = (struct notify){.fd = pair[0], .store_max = 100};
	p.manager = pair[1];
	buffer_init(&p.entries, 1 << 20);
	users("secret");
	process_begins();
}

static void
teardown(void)
{
	connections_free(p.set);
	fdstore_done(&p.store);
	if (p.before != NULL) {
		connections_store_in(p.before, &p.store_before);
		connections_free(p.before);
		fdstore_done(&p.store_before);
	}
	ck_assert_int_eq(p.stats.clients_kept, 0);
	access_free(p.access);
	event_base_free(p.base);
	buffer_done(&p.entries);
	close(p.notify.fd);
	close(p.manager);
	close(p.fd);
}

static void
turns(void)
{
	for (int i = 0; i < TURNS; i++) {
		event_base_loop(p.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		connections_serve(p.set, INT64_MAX);
		connections_turn(p.set, INT64_MAX);
	}
}

/* A connection that is stored, at rest. */
static struct connection *
stored(void)
{
	const struct peer peer = {.uid = 1000, .pid = 77, .address = "unix", .user = 5};
	struct connection *c;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	p.fd = pair[0];
	p.socket = pair[1];
	c = connections_add(p.set, pair[1], &peer, true, true);
	ck_assert_ptr_nonnull(c);
	ck_assert(!connection_is_stored(c));
	ck_assert(connection_store(c));
	ck_assert(busy());
	turns();
	ck_assert(!busy());
	ck_assert_uint_eq(p.asked, connection_identity(c)->id);
	ck_assert_int_eq(p.stats.clients_kept, 1);
	return c;
}

static void
message(const char *text)
{
	ck_assert_int_eq(send(p.fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	turns();
}

static const char *
hear(void)
{
	static char text[4096];
	ssize_t n = recv(p.fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(a_request_is_under_way_until_its_answer_was_written)
{
	struct connection *c = stored();
	const struct reply seven = {.type = REPLY_INT, .n = 7};

	message("PING\r\n");
	ck_assert(p.busy);
	ck_assert(!busy());
	message("WAIT\r\n");
	ck_assert(busy());
	/* The core has answered, and the answer waits to be written. */
	connection_answered(c);
	connection_reply(c, &seven);
	connections_flush(p.set);
	ck_assert_str_eq(hear(), "+PONG\r\n:7\r\n");
	ck_assert(busy());
	turns();
	ck_assert(!busy());
}
END_TEST

START_TEST(half_a_request_is_under_way_until_it_is_whole)
{
	stored();
	message("PI");
	ck_assert(busy());
	message("NG\r\n");
	ck_assert(!busy());
}
END_TEST

START_TEST(a_promise_of_the_core_is_under_way)
{
	stored();
	p.waits = true;
	message("PING\r\n");
	ck_assert(busy());
	p.waits = false;
	message("PING\r\n");
	ck_assert(!busy());
}
END_TEST

START_TEST(what_the_client_is_about_to_be_told_is_under_way)
{
	struct connection *c = stored();

	connection_touch(c);
	ck_assert(busy());
	reply_write_simple(connection_out(c), "news");
	connection_written(c);
	connections_flush(p.set);
	ck_assert(busy());
	turns();
	ck_assert(!busy());
	ck_assert_str_eq(hear(), "+news\r\n");
}
END_TEST

START_TEST(a_stream_and_a_half_closed_client_do_not_go_on)
{
	struct connection *c = stored();

	connection_identity(c)->streams = true;
	message("PING\r\n");
	ck_assert(busy());
	connection_identity(c)->streams = false;
	message("PING\r\n");
	ck_assert(!busy());
	message("WAIT\r\n");
	connection_answered(c);
	shutdown(p.fd, SHUT_WR);
	turns();
	ck_assert(busy());
}
END_TEST

START_TEST(a_connection_that_ends_is_over_though_another_process_has_its_socket)
{
	char byte;
	int has;

	stored();
	ck_assert_int_eq(recv(p.manager, &byte, 1, MSG_DONTWAIT), 1);
	/* As the manager has it. */
	has = dup(p.socket);
	message("QUIT\r\n");
	ck_assert(busy());
	ck_assert_str_eq(hear(), "+PONG\r\n");
	ck_assert_int_eq(recv(p.fd, &byte, 1, MSG_DONTWAIT), 0);
	ck_assert_uint_eq(p.store.used, 0);
	close(has);
}
END_TEST

START_TEST(what_is_stored_no_longer_stays_marked)
{
	struct connection *c = stored();

	connection_unstore(c);
	ck_assert(!connection_is_stored(c));
	message("PING\r\n");
	ck_assert_str_eq(hear(), "+PONG\r\n");
	ck_assert(busy());
	ck_assert(connection_store(c));
	turns();
	/* It has the next slot now. */
	ck_assert(busy());
	ck_assert(!connections_busy_at(p.marks, 1));
}
END_TEST

START_TEST(marks_go_along_to_other_memory)
{
	uint8_t marks[CONNECTIONS_BUSY_BYTES] = {0};
	struct connection *c = stored();

	message("WAIT\r\n");
	connections_mark_in(p.set, marks);
	ck_assert(connections_busy_at(marks, 0));
	connection_answered(c);
	message("PING\r\n");
	ck_assert(!connections_busy_at(marks, 0));
	ck_assert(busy());
	connections_mark_in(p.set, NULL);
	message("PING\r\n");
	ck_assert(!connections_busy_at(marks, 0));
}
END_TEST

/* The process is killed: what it had is lost, but for what the manager passes to the next one. */
static void
crash(struct connection *c, int socket)
{
	struct keep_view keep = {.session = 42, .pushed = true};
	struct notify_fd fds[1] = {{.fd = dup(socket), .name = "hf0"}};
	size_t count = 1;
	struct record r;

	record_save(&r, &p.entries);
	connection_enter(c, &r, &keep);
	p.before = p.set;
	p.store_before = p.store;
	process_begins();
	fdstore_take(&p.store, fds, &count);
	ck_assert_uint_eq(count, 0);
}

static struct connection *
returned(struct keep_view *keep)
{
	struct record r;

	ck_assert(record_load(&r, (struct slice){buffer_bytes(&p.entries), buffer_length(&p.entries)}));
	ck_assert_uint_eq(record_next(&r), RECORD_STORED);
	return connection_return(p.set, &r, p.access, keep);
}

START_TEST(another_socket_in_its_slot_is_not_taken)
{
	struct keep_view keep = {0};

	crash(stored(), p.fd);
	ck_assert_ptr_null(returned(&keep));
	fdstore_end_left(&p.store);
	ck_assert_uint_eq(p.store.leaving, 1);
}
END_TEST

START_TEST(its_client_is_who_it_was)
{
	struct keep_view keep = {0};
	struct connection *c = stored();
	struct identity *who = connection_identity(c);

	who->protocol = 3;
	who->requests = 41;
	who->label = strdup("worker");
	who->user = access_find(p.access, SLICE("alice"));
	crash(c, p.socket);
	c = returned(&keep);
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_eq(connections_find(p.set, 1), c);
	who = connection_identity(c);
	ck_assert_int_eq(who->protocol, 3);
	ck_assert_uint_eq(who->requests, 41);
	ck_assert_str_eq(who->label, "worker");
	ck_assert_str_eq(who->user->name, "alice");
	ck_assert_int_eq(who->peer.pid, getpid()); /* of the socket, whatever the record says */
	ck_assert_uint_eq(keep.session, 42);
	ck_assert(keep.pushed);
	ck_assert(busy());
	message("PING\r\n");
	ck_assert_str_eq(hear(), "+PONG\r\n");
	ck_assert(!busy());
}
END_TEST

static void
logged_in(struct connection *c, const char *password)
{
	struct identity *who = connection_identity(c);

	who->user = access_find(p.access, SLICE("alice"));
	who->login = connection_password_mark(who, password);
}

START_TEST(a_login_stays_while_its_user_has_the_password)
{
	struct keep_view keep = {0};
	struct connection *c = stored();

	logged_in(c, "secret");
	crash(c, p.socket);
	users("another\nsecret");
	c = returned(&keep);
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_nonnull(connections_find(p.set, 1));
	ck_assert_str_eq(connection_identity(c)->user->name, "alice");
	ck_assert(connection_login_stands(connection_identity(c), access_at(p.access, 0)));
	users("another");
	ck_assert(!connection_login_stands(connection_identity(c), access_at(p.access, 0)));
}
END_TEST

START_TEST(a_login_whose_password_has_changed_ends)
{
	struct keep_view keep = {0};
	struct connection *c = stored();
	char byte;

	logged_in(c, "secret");
	crash(c, p.socket);
	users("another");
	ck_assert_ptr_nonnull(returned(&keep));
	ck_assert_ptr_null(connections_find(p.set, 1));
	turns();
	ck_assert_int_eq(recv(p.fd, &byte, 1, MSG_DONTWAIT), 0);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("connection_stored", setup, teardown,
		a_request_is_under_way_until_its_answer_was_written,
		half_a_request_is_under_way_until_it_is_whole, a_promise_of_the_core_is_under_way,
		what_the_client_is_about_to_be_told_is_under_way,
		a_stream_and_a_half_closed_client_do_not_go_on,
		a_connection_that_ends_is_over_though_another_process_has_its_socket,
		what_is_stored_no_longer_stays_marked, marks_go_along_to_other_memory,
		another_socket_in_its_slot_is_not_taken, its_client_is_who_it_was,
		a_login_stays_while_its_user_has_the_password, a_login_whose_password_has_changed_ends);
}
