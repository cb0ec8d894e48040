/*
 * Tests of daemon/link (and below it stream and connect) against a real redis-server and against peers that
 * lie.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/link.h"
#include "tests/support/await.h"
#include "tests/support/peer.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WELCOME "+OK\r\n+PONG\r\n" /* to CLIENT SETNAME and PING */

/* A link and all that its hooks were told. */
struct probe {
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct link_settings settings;
	struct link *link;
	unsigned ups, downs;
	char why[256];
	bool up;
	size_t next;    /* the command sent last, + 1 */
	size_t replies; /* told, in order */
	size_t answered, unknown, unsent;
	int64_t last_integer;
	int64_t heard;
	bool slow; /* each reply takes a while */
};

static void
on_up(void *arg)
{
	struct probe *probe = arg;

	ck_assert(!probe->up);
	probe->up = true;
	probe->ups++;
}

static void
on_down(void *arg, const char *why)
{
	struct probe *probe = arg;

	/* Every command was answered for before. */
	ck_assert_uint_eq(probe->replies, probe->next);
	probe->up = false;
	probe->downs++;
	snprintf(probe->why, sizeof probe->why, "%s", why);
}

static void
on_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct probe *probe = arg;

	/* Contexts are 1, 2, 3, ...: each comes once and in its turn. */
	ck_assert_uint_eq((uintptr_t)context, probe->replies + 1);
	probe->replies++;
	ck_assert((reply != NULL) == (fate == LINK_ANSWERED));
	for (int64_t until_ms = clock_ms() + 2; probe->slow && clock_ms() < until_ms;)
		continue;
	if (fate == LINK_UNKNOWN) {
		ck_assert_uint_eq(probe->unsent, 0); /* what left, left first */
		probe->unknown++;
	} else if (fate == LINK_UNSENT) {
		probe->unsent++;
	} else {
		probe->answered++;
		probe->last_integer = reply->integer;
	}
}

static const struct link_hooks hooks = {.up = on_up, .down = on_down, .reply = on_reply};

static void
probe_init(struct probe *probe)
{
	memset(probe, 0, sizeof *probe);
	probe->base = event_base_new();
	log_init(&probe->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&probe->stats);
	probe->settings = (struct link_settings){.client_name = "holdfast-test",
		.connect_ms = 5000,
		.reply_ms = 5000,
		.output_bytes = 1 << 20};
}

static void
probe_begin(struct probe *probe)
{
	probe->link = link_new(probe->base, &probe->settings, &hooks, probe, &probe->log, &probe->stats);
	ck_assert_ptr_nonnull(probe->link);
}

static void
probe_done(struct probe *probe)
{
	link_free(probe->link);
	event_base_free(probe->base);
}

static bool
send_words(struct probe *probe, int argc, const char *const *argv)
{
	size_t argvlen[8];
	int i;

	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (!link_send(probe->link, argc, argv, argvlen, (void *)(uintptr_t)(probe->next + 1)))
		return false;
	probe->next++;
	return true;
}

#define SEND(probe, ...)                                                                                     \
	send_words((probe), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                          \
		(const char *[]){__VA_ARGS__})

static bool
is_up(void *arg)
{
	return ((struct probe *)arg)->up;
}

static bool
is_down(void *arg)
{
	return ((struct probe *)arg)->downs > 0;
}

static bool
all_replied(void *arg)
{
	struct probe *probe = arg;

	return probe->replies == probe->next;
}

static void
probe_await(struct probe *probe, bool (*done)(void *arg))
{
	if (!await(probe->base, done, probe))
		ck_abort_msg("it did not happen; ups %u, downs %u, why '%s', replies %zu of %zu", probe->ups,
			probe->downs, probe->why, probe->replies, probe->next);
}

static void
begin_at_unix(struct probe *probe, struct redis_server *server)
{
	probe->settings.path = server->path;
	probe_begin(probe);
	probe_await(probe, is_up);
}

static void
expect_why(struct probe *probe, const char *beginning)
{
	if (strncmp(probe->why, beginning, strlen(beginning)) != 0)
		ck_abort_msg("expected '%s...', was '%s'", beginning, probe->why);
}

START_TEST(it_comes_up_over_a_unix_socket_and_answers_in_order)
{
	struct redis_server server;
	struct probe probe;
	int i;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	for (i = 0; i < 1000; i++)
		ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	probe_await(&probe, all_replied);
	ck_assert_int_eq(probe.last_integer, 1000);
	ck_assert_uint_eq(probe.answered, 1000);
	ck_assert_int_eq(probe.stats.master_connects, 1);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

static void
comes_up_over_tcp(const char *host)
{
	struct redis_server server;
	struct probe probe;
	redisReply *reply;

	redis_init(&server, true, NULL);
	probe_init(&probe);
	probe.settings.host = host;
	probe.settings.port = server.port;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	reply = redis_command(&server, "CLIENT LIST");
	ck_assert_ptr_nonnull(strstr(reply->str, "name=holdfast-test"));
	freeReplyObject(reply);
	probe_done(&probe);
	redis_done(&server);
}

START_TEST(it_comes_up_over_tcp_and_names_itself)
{
	comes_up_over_tcp("127.0.0.1");
}
END_TEST

START_TEST(a_name_is_resolved_and_its_addresses_are_tried)
{
	/* The server listens on 127.0.0.1 alone; ::1 may come first. */
	comes_up_over_tcp("localhost");
}
END_TEST

START_TEST(a_name_that_does_not_exist_is_told)
{
	struct probe probe;

	probe_init(&probe);
	probe.settings.host = "no such name.invalid";
	probe.settings.port = 1;
	probe.settings.connect_ms = 2000;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	/* Without any name server it ends by the limit of time. */
	if (strncmp(probe.why, "no connection within", 20) != 0)
		expect_why(&probe, "cannot resolve no such name.invalid: ");
	probe_done(&probe);
}
END_TEST

START_TEST(a_link_may_be_freed_while_a_name_is_looked_up)
{
	struct probe probe;

	probe_init(&probe);
	probe.settings.host = "holdfast.invalid";
	probe.settings.port = 1;
	probe_begin(&probe);
	event_base_loop(probe.base, EVLOOP_NONBLOCK);
	link_free(probe.link);
	probe.link = NULL;
	await_ms(probe.base, 50);
	ck_assert_uint_eq(probe.downs, 0);
	probe_done(&probe);
}
END_TEST

static bool
failed_four_times(void *arg)
{
	return ((struct probe *)arg)->stats.master_connect_failures >= 4;
}

START_TEST(a_refusal_is_told_once_and_tried_again_until_it_works)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, true, NULL);
	redis_kill(&server);
	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = server.port;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	ck_assert_str_eq(probe.why, "connection refused");
	probe_await(&probe, failed_four_times);
	ck_assert_uint_eq(probe.downs, 1);
	redis_start(&server);
	probe_await(&probe, is_up);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_missing_unix_socket_is_told)
{
	struct probe probe;

	probe_init(&probe);
	probe.settings.path = "/nowhere/redis.sock";
	probe_begin(&probe);
	probe_await(&probe, is_down);
	ck_assert_str_eq(probe.why, "no such socket");
	probe_done(&probe);
}
END_TEST

START_TEST(commands_before_it_is_up_are_refused)
{
	struct probe probe;

	probe_init(&probe);
	probe.settings.path = "/nowhere/redis.sock";
	probe_begin(&probe);
	ck_assert(!SEND(&probe, "PING"));
	probe_await(&probe, is_down);
	ck_assert(!SEND(&probe, "PING"));
	ck_assert_uint_eq(probe.replies, 0);
	probe_done(&probe);
}
END_TEST

START_TEST(kill_9_leaves_what_left_unknown_and_it_comes_back)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	redis_pause(&server);
	ck_assert(SEND(&probe, "INCR", "n"));
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	redis_kill(&server);
	probe_await(&probe, is_down);
	ck_assert_uint_eq(probe.unknown, 2);
	ck_assert_uint_eq(probe.unsent, 0);
	redis_start(&server);
	probe_await(&probe, is_up);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	probe_await(&probe, all_replied);
	ck_assert_int_eq(probe.last_integer, 1);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(what_was_never_flushed_is_unsent)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	ck_assert(SEND(&probe, "INCR", "n"));
	redis_kill(&server);
	probe_await(&probe, is_down);
	ck_assert_uint_eq(probe.unsent, 1);
	ck_assert_uint_eq(probe.unknown, 0);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_command_that_left_in_part_is_unsent_and_never_ran)
{
	struct redis_server server;
	struct probe probe;
	char *value = malloc(200001);

	memset(value, 'x', 200000);
	value[200000] = 0;
	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.output_bytes = 10 << 20;
	begin_at_unix(&probe, &server);
	redis_pause(&server);
	while (probe.next < 40)
		ck_assert(SEND(&probe, "APPEND", "v", value));
	link_flush(probe.link);
	redis_kill(&server);
	probe_await(&probe, is_down);
	/* The socket's buffers hold some of the 8 MB, not all. */
	ck_assert_uint_gt(probe.unsent, 0);
	ck_assert_uint_eq(probe.unsent + probe.unknown, 40);
	free(value);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(too_much_unsent_output_refuses_more_and_loses_nothing)
{
	struct redis_server server;
	struct probe probe;
	char *value = malloc(100001);
	size_t taken;

	memset(value, 'x', 100000);
	value[100000] = 0;
	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.reply_ms = 60000;
	begin_at_unix(&probe, &server);
	redis_pause(&server);
	for (taken = 0; taken < 1000 && SEND(&probe, "APPEND", "v", value); taken++)
		link_flush(probe.link);
	ck_assert_uint_ge(taken, 10);
	ck_assert_uint_lt(taken, 1000);
	redis_continue(&server);
	probe_await(&probe, all_replied);
	ck_assert_uint_eq(probe.answered, taken);
	ck_assert_int_eq(probe.last_integer, (int64_t)taken * 100000);
	free(value);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_stopped_master_is_given_up_and_found_again)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.reply_ms = 500;
	begin_at_unix(&probe, &server);
	redis_pause(&server);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	probe_await(&probe, is_down);
	expect_why(&probe, "no answer for ");
	ck_assert_uint_eq(probe.unknown, 1);
	redis_continue(&server);
	probe_await(&probe, is_up);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

static bool
heard_more(void *arg)
{
	struct probe *probe = arg;

	return probe->stats.master_input_bytes > probe->heard;
}

START_TEST(a_master_that_stops_while_nothing_is_asked_is_noticed_too)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.reply_ms = 500;
	begin_at_unix(&probe, &server);
	probe.heard = probe.stats.master_input_bytes;
	probe_await(&probe, heard_more); /* its PING is answered */
	ck_assert_uint_eq(probe.downs, 0);
	redis_pause(&server);
	probe_await(&probe, is_down);
	expect_why(&probe, "no answer for ");
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(our_own_stall_is_not_taken_for_the_masters)
{
	const struct timespec stall = {.tv_nsec = 800000000};
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.reply_ms = 500;
	begin_at_unix(&probe, &server);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	nanosleep(&stall, NULL); /* what is tested: this process does not run */
	probe_await(&probe, all_replied);
	ck_assert_uint_eq(probe.answered, 1);
	await_ms(probe.base, 300);
	ck_assert_uint_eq(probe.downs, 0);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(client_kill_is_a_loss_and_the_next_try_is_at_once)
{
	struct redis_server server;
	struct probe probe;
	int64_t start_ms;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	start_ms = clock_ms();
	ck_assert_int_ge(redis_integer(&server, "CLIENT KILL TYPE normal SKIPME yes"), 1);
	probe_await(&probe, is_down);
	expect_why(&probe, "the master closed the connection");
	probe_await(&probe, is_up);
	ck_assert_int_lt(clock_ms() - start_ms, 2000);
	ck_assert_uint_eq(probe.ups, 2);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_wrong_password_is_told_in_the_masters_words)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	redis_run(&server, "ACL SETUSER locker on >right ~* &* +@all");
	probe_init(&probe);
	probe.settings.path = server.path;
	probe.settings.user = "locker";
	probe.settings.password = "wrong";
	probe_begin(&probe);
	probe_await(&probe, is_down);
	expect_why(&probe, "WRONGPASS ");
	ck_assert_ptr_null(strstr(probe.why, "wrong "));
	redis_run(&server, "ACL SETUSER locker >wrong");
	probe_await(&probe, is_up); /* it never stops trying */
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_missing_password_is_told)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, (const char *[]){"--requirepass", "secret", NULL});
	probe_init(&probe);
	probe.settings.path = server.path;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	expect_why(&probe, "NOAUTH ");
	probe_done(&probe);

	probe_init(&probe);
	probe.settings.password = "secret";
	begin_at_unix(&probe, &server);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_user_that_may_not_name_itself_or_ping_comes_up)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	redis_run(&server, "ACL SETUSER locker on >right ~* &* +incr");
	probe_init(&probe);
	probe.settings.user = "locker";
	probe.settings.password = "right";
	begin_at_unix(&probe, &server);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	probe_await(&probe, all_replied);
	ck_assert_int_eq(probe.last_integer, 1);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(the_database_is_selected)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	probe.settings.db = 3;
	begin_at_unix(&probe, &server);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	probe_await(&probe, all_replied);
	probe_done(&probe);
	redis_run(&server, "SELECT 3");
	ck_assert_int_eq(redis_integer(&server, "EXISTS n"), 1);

	probe_init(&probe);
	probe.settings.path = server.path;
	probe.settings.db = 99;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	expect_why(&probe, "ERR DB index is out of range");
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_master_without_room_for_clients_is_told)
{
	struct redis_server server;
	struct probe first, second;

	redis_init(&server, false, (const char *[]){"--maxclients", "1", NULL});
	probe_init(&first);
	begin_at_unix(&first, &server);
	probe_init(&second);
	second.settings.path = server.path;
	probe_begin(&second);
	probe_await(&second, is_down);
	expect_why(&second, "ERR max number of clients reached");
	probe_done(&first);
	probe_await(&second, is_up);
	probe_done(&second);
	redis_done(&server);
}
END_TEST

START_TEST(a_loading_master_is_waited_for)
{
	struct redis_server server;
	struct probe probe;
	redisReply *reply;

	redis_init(&server, false, (const char *[]){"--dbfilename", "a.rdb", NULL});
	reply = redis_command(&server, "EVAL %s 0",
		"for i = 1, 2000 do redis.call('SET', 'key' .. i, string.rep('x', 100)) end return 1");
	ck_assert_int_eq(reply->integer, 1);
	freeReplyObject(reply);
	redis_run(&server, "SAVE");
	redis_kill(&server);
	server.args[2] = "--key-load-delay";
	server.args[3] = "500"; /* µs: a second for all */
	server.args[4] = "--loading-process-events-interval-bytes";
	server.args[5] = "1024";
	redis_start_loading(&server);
	probe_init(&probe);
	probe.settings.path = server.path;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	expect_why(&probe, "LOADING ");
	probe_await(&probe, is_up);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_listener_that_never_accepts_is_given_up)
{
	struct probe probe;
	int fds[8];

	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = (uint16_t)blackhole_open(fds, false);
	probe.settings.connect_ms = 150;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	ck_assert_str_eq(probe.why, "connected, but no answer within 150 ms");
	probe_done(&probe);
	blackhole_close(fds);
}
END_TEST

START_TEST(a_host_that_does_not_answer_is_given_up)
{
	struct probe probe;
	int fds[8];

	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = (uint16_t)blackhole_open(fds, true);
	probe.settings.connect_ms = 150;
	probe_begin(&probe);
	probe_await(&probe, is_down);
	ck_assert_str_eq(probe.why, "no connection within 150 ms");
	probe_done(&probe);
	blackhole_close(fds);
}
END_TEST

/* After a good login the peer says this: the link must be given up for this reason. */
static void
gives_up_after(const char *said, size_t n, const char *why)
{
	struct peer_end peer;
	struct probe probe;

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	probe.settings.path = peer.path;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	ck_assert(SEND(&probe, "GET", "a"));
	link_flush(probe.link);
	peer_say(&peer, said, n);
	probe_await(&probe, is_down);
	expect_why(&probe, why);
	ck_assert_uint_eq(probe.replies, 1);
	probe_done(&probe);
	peer_done(&peer);
}

START_TEST(answers_that_are_not_redis_end_the_connection)
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	static const char huge[] = "*2000000000\r\n";
	static const char many[] = "*129\r\n";
	static const char deep[] = "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n";

	gives_up_after(http, sizeof http - 1, "the answer is not Redis protocol");
	gives_up_after(huge, sizeof huge - 1, "the answer is not Redis protocol");
	gives_up_after(many, sizeof many - 1, "the answer is not Redis protocol");
	gives_up_after(deep, sizeof deep - 1, "the answer is not Redis protocol");
}
END_TEST

START_TEST(an_answer_to_nothing_ends_the_connection)
{
	static const char twice[] = ":1\r\n:2\r\n";
	static const char last_word[] = ":1\r\n-ERR going away\r\n";

	gives_up_after(twice, sizeof twice - 1, "an answer to nothing we asked");
	gives_up_after(last_word, sizeof last_word - 1, "ERR going away");
}
END_TEST

START_TEST(an_endless_answer_ends_the_connection)
{
	struct peer_end peer;
	struct probe probe;
	char *filler = calloc(1, 65536);

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	probe.settings.path = peer.path;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	ck_assert(SEND(&probe, "GET", "a"));
	link_flush(probe.link);
	peer_say(&peer, "$2000000000\r\n", 13);
	while (probe.downs == 0) {
		peer_say(&peer, filler, 65536);
		event_base_loop(probe.base, EVLOOP_NONBLOCK);
	}
	expect_why(&probe, "the answer is larger than any of ours can be");
	free(filler);
	probe_done(&probe);
	peer_done(&peer);
}
END_TEST

START_TEST(answers_may_come_in_single_bytes)
{
	static const char said[] = "*2\r\n$5\r\nhello\r\n:42\r\n";
	struct peer_end peer;
	struct probe probe;
	size_t i;

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	probe.settings.path = peer.path;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	ck_assert(SEND(&probe, "GET", "a"));
	link_flush(probe.link);
	for (i = 0; i < sizeof said - 1; i++) {
		ck_assert_uint_eq(probe.replies, 0);
		peer_say(&peer, said + i, 1);
		event_base_loop(probe.base, EVLOOP_ONCE);
	}
	probe_await(&probe, all_replied);
	ck_assert_uint_eq(probe.answered, 1);
	probe_done(&probe);
	peer_done(&peer);
}
END_TEST

START_TEST(commands_are_bulk_strings_of_any_bytes)
{
	const char *argv[] = {"SET", "a\0b\r\n", "", "empty"};
	const size_t argvlen[] = {3, 5, 0, 5};
	static const char expected[] = "*4\r\n$3\r\nSET\r\n$5\r\na\0b\r\n\r\n$0\r\n\r\n$5\r\nempty";
	struct peer_end peer;
	struct probe probe;

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	probe.settings.path = peer.path;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	peer.heard_n = 0;
	ck_assert(link_send(probe.link, 4, argv, argvlen, NULL));
	link_flush(probe.link);
	while (!memmem(peer.heard, peer.heard_n, "empty", 5))
		event_base_loop(probe.base, EVLOOP_ONCE);
	ck_assert_ptr_nonnull(memmem(peer.heard, peer.heard_n, expected, sizeof expected - 1));
	probe_done(&probe);
	peer_done(&peer);
}
END_TEST

START_TEST(a_master_that_hangs_up_at_once_is_not_hammered)
{
	int64_t start_ms;
	struct peer_end peer;
	struct probe probe;

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	peer.hang_up = true;
	probe.settings.path = peer.path;
	probe_begin(&probe);
	start_ms = clock_ms();
	while (peer.accepted < 6)
		event_base_loop(probe.base, EVLOOP_ONCE);
	/* 0, 25..50, 50..100, 100..200, 200..400 ms between the six */
	ck_assert_int_ge(clock_ms() - start_ms, 375 - 10);
	probe_done(&probe);
	peer_done(&peer);
}
END_TEST

START_TEST(what_was_said_before_a_write_failed_is_told_first)
{
	struct peer_end peer;
	struct probe probe;

	probe_init(&probe);
	peer_init(&peer, probe.base, WELCOME);
	probe.settings.path = peer.path;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	ck_assert(SEND(&probe, "INCR", "a"));
	ck_assert(SEND(&probe, "INCR", "b"));
	link_flush(probe.link);
	peer_say(&peer, ":1\r\n", 4);
	peer_hang_up(&peer);
	ck_assert(SEND(&probe, "INCR", "c"));
	link_flush(probe.link);
	ck_assert_uint_eq(probe.replies, 0); /* no hook from within */
	probe_await(&probe, is_down);
	ck_assert_uint_eq(probe.answered, 1);
	ck_assert_uint_eq(probe.unknown, 1);
	ck_assert_uint_eq(probe.unsent, 1);
	probe_done(&probe);
	peer_done(&peer);
}
END_TEST

START_TEST(a_link_that_is_freed_says_nothing_any_more)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	link_free(probe.link);
	probe.link = NULL;
	await_ms(probe.base, 50);
	ck_assert_uint_eq(probe.replies, 0);
	ck_assert_uint_eq(probe.downs, 0);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_link_that_is_broken_by_its_user_connects_again)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	link_break(probe.link, "not what was wanted");
	ck_assert_uint_eq(probe.downs, 0);
	probe_await(&probe, is_down);
	ck_assert_str_eq(probe.why, "not what was wanted");
	probe_await(&probe, is_up);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_link_without_a_place_waits_until_it_has_one)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, true, NULL);
	probe_init(&probe);
	probe_begin(&probe);
	ck_assert_str_eq(link_where(probe.link), "nowhere yet");
	await_ms(probe.base, 50);
	ck_assert_uint_eq(probe.downs, 0);
	ck_assert_int_eq(probe.stats.master_connect_failures, 0);
	ck_assert(link_aim(probe.link, "127.0.0.1", server.port));
	probe_await(&probe, is_up);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(a_link_that_is_aimed_elsewhere_goes_there_at_once)
{
	struct redis_server first, second;
	struct probe probe;
	char why[128];

	redis_init(&first, true, NULL);
	redis_init(&second, true, NULL);
	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = first.port;
	probe_begin(&probe);
	probe_await(&probe, is_up);
	ck_assert(link_aim(probe.link, "127.0.0.1", second.port));
	ck_assert_uint_eq(probe.downs, 0); /* not from within */
	probe_await(&probe, is_down);
	snprintf(why, sizeof why, "the master is at 127.0.0.1 port %u now", second.port);
	ck_assert_str_eq(probe.why, why);
	probe_await(&probe, is_up);
	snprintf(why, sizeof why, "127.0.0.1:%u", second.port);
	ck_assert_str_eq(link_where(probe.link), why);
	ck_assert_int_eq(redis_integer(&first, "CLIENT KILL TYPE normal SKIPME yes"), 0);
	probe_done(&probe);
	redis_done(&first);
	redis_done(&second);
}
END_TEST

START_TEST(a_link_is_aimed_elsewhere_while_nobody_answers)
{
	struct redis_server server;
	struct probe probe;
	int fds[8];

	redis_init(&server, true, NULL);
	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = (uint16_t)blackhole_open(fds, true);
	probe_begin(&probe);
	await_ms(probe.base, 50);
	ck_assert(link_aim(probe.link, "127.0.0.1", server.port));
	probe_await(&probe, is_up);
	ck_assert_uint_eq(probe.downs, 0);
	probe_done(&probe);
	blackhole_close(fds);
	redis_done(&server);
}
END_TEST

static bool
is_down_five_times(void *arg)
{
	return ((struct probe *)arg)->downs >= 5;
}

static void
break_at_once(void *arg)
{
	struct probe *probe = arg;

	on_up(arg);
	link_break(probe->link, "not what was wanted");
}

START_TEST(a_link_that_breaks_again_and_again_is_logged_once)
{
	static const struct link_hooks breaking = {.up = break_at_once, .down = on_down, .reply = on_reply};
	struct redis_server server;
	char text[4096] = "";
	struct probe probe;
	int ends[2];

	redis_init(&server, false, NULL);
	probe_init(&probe);
	ck_assert_int_eq(pipe(ends), 0);
	log_init(&probe.log, ends[1], LOG_INFO_LEVEL, 0);
	probe.settings.path = server.path;
	probe.link = link_new(probe.base, &probe.settings, &breaking, &probe, &probe.log, &probe.stats);
	probe_await(&probe, is_down_five_times);
	ck_assert_uint_ge(probe.ups, 5);
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	const char *down = strstr(text, "link.down");
	ck_assert_ptr_nonnull(down);
	ck_assert_ptr_null(strstr(down + 1, "link.down"));
	probe_done(&probe);
	close(ends[0]);
	close(ends[1]);
	redis_done(&server);
}
END_TEST

/* A master over TCP, played by the test: the kernel's view of its side of the connection. */
struct tcp_master {
	int listening, fd; /* -1: not accepted yet */
	uint16_t port;
};

static void
master_listen(struct tcp_master *master)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;

	master->fd = -1;
	master->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(master->listening, 0);
	ck_assert_int_eq(bind(master->listening, (struct sockaddr *)&address, n), 0);
	ck_assert_int_eq(listen(master->listening, 1), 0);
	ck_assert_int_eq(getsockname(master->listening, (struct sockaddr *)&address, &n), 0);
	master->port = ntohs(address.sin_port);
}

static bool
is_accepted(void *arg)
{
	struct tcp_master *master = arg;

	master->fd = accept(master->listening, NULL, NULL);
	return master->fd >= 0;
}

static void
master_says(const struct tcp_master *master, const char *text)
{
	ck_assert_int_eq((int)send(master->fd, text, strlen(text), MSG_NOSIGNAL), (int)strlen(text));
}

static unsigned
master_unacknowledged(const struct tcp_master *master)
{
	struct tcp_info info;
	socklen_t n = sizeof info;

	ck_assert_int_eq(getsockopt(master->fd, IPPROTO_TCP, TCP_INFO, &info, &n), 0);
	return info.tcpi_unacked;
}

static bool
one_is_due(void *arg)
{
	struct probe *probe = arg;

	return probe->replies + 1 == probe->next;
}

START_TEST(an_answer_is_acknowledged_before_the_next_one_comes)
{
	struct tcp_master master;
	struct probe probe;

	master_listen(&master);
	probe_init(&probe);
	probe.settings.host = "127.0.0.1";
	probe.settings.port = master.port;
	probe_begin(&probe);
	ck_assert(await(probe.base, is_accepted, &master));
	master_says(&master, WELCOME);
	probe_await(&probe, is_up);
	/* Of a conversation the kernel acknowledges what it hears with what it says. */
	for (int i = 0; i < 32; i++) {
		ck_assert(SEND(&probe, "INCR", "n"));
		link_flush(probe.link);
		master_says(&master, ":1\r\n");
		probe_await(&probe, all_replied);
	}
	ck_assert(SEND(&probe, "INCR", "n"));
	ck_assert(SEND(&probe, "INCR", "n"));
	link_flush(probe.link);
	master_says(&master, ":1\r\n");
	probe_await(&probe, one_is_due);
	link_acknowledge(probe.link);
	ck_assert_uint_eq(master_unacknowledged(&master), 0);
	master_says(&master, ":2\r\n");
	probe_await(&probe, all_replied);
	ck_assert_int_eq(probe.last_integer, 2);
	probe_done(&probe);
	close(master.fd);
	close(master.listening);
}
END_TEST

START_TEST(over_a_unix_socket_there_is_nothing_to_acknowledge)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	for (int i = 0; i < 3; i++) {
		ck_assert(SEND(&probe, "INCR", "n"));
		link_flush(probe.link);
		link_acknowledge(probe.link);
		probe_await(&probe, all_replied);
	}
	ck_assert_int_eq(probe.last_integer, 3);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

START_TEST(answers_that_take_long_let_others_in_between_and_all_come_before_the_end)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe);
	begin_at_unix(&probe, &server);
	probe.slow = true;
	for (int i = 0; i < 20; i++)
		ck_assert(SEND(&probe, "INCR", "n"));
	ck_assert(SEND(&probe, "QUIT"));
	link_flush(probe.link);
	while (probe.replies < probe.next) {
		size_t before = probe.replies;

		event_base_loop(probe.base, EVLOOP_ONCE);
		ck_assert_uint_le(probe.replies, before + 1);
	}
	ck_assert_uint_eq(probe.answered, 21);
	probe_await(&probe, is_down);
	probe_done(&probe);
	redis_done(&server);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("link", NULL, NULL, it_comes_up_over_a_unix_socket_and_answers_in_order,
		it_comes_up_over_tcp_and_names_itself, a_name_is_resolved_and_its_addresses_are_tried,
		a_name_that_does_not_exist_is_told, a_link_may_be_freed_while_a_name_is_looked_up,
		a_refusal_is_told_once_and_tried_again_until_it_works, a_missing_unix_socket_is_told,
		commands_before_it_is_up_are_refused, kill_9_leaves_what_left_unknown_and_it_comes_back,
		what_was_never_flushed_is_unsent, a_command_that_left_in_part_is_unsent_and_never_ran,
		too_much_unsent_output_refuses_more_and_loses_nothing,
		a_stopped_master_is_given_up_and_found_again,
		a_master_that_stops_while_nothing_is_asked_is_noticed_too,
		our_own_stall_is_not_taken_for_the_masters, client_kill_is_a_loss_and_the_next_try_is_at_once,
		a_wrong_password_is_told_in_the_masters_words, a_missing_password_is_told,
		a_user_that_may_not_name_itself_or_ping_comes_up, the_database_is_selected,
		a_master_without_room_for_clients_is_told, a_loading_master_is_waited_for,
		a_listener_that_never_accepts_is_given_up, a_host_that_does_not_answer_is_given_up,
		answers_that_are_not_redis_end_the_connection, an_answer_to_nothing_ends_the_connection,
		an_endless_answer_ends_the_connection, answers_may_come_in_single_bytes,
		commands_are_bulk_strings_of_any_bytes, a_master_that_hangs_up_at_once_is_not_hammered,
		what_was_said_before_a_write_failed_is_told_first, a_link_that_is_freed_says_nothing_any_more,
		a_link_that_is_broken_by_its_user_connects_again,
		a_link_without_a_place_waits_until_it_has_one,
		a_link_that_is_aimed_elsewhere_goes_there_at_once,
		a_link_is_aimed_elsewhere_while_nobody_answers,
		a_link_that_breaks_again_and_again_is_logged_once,
		an_answer_is_acknowledged_before_the_next_one_comes,
		over_a_unix_socket_there_is_nothing_to_acknowledge,
		answers_that_take_long_let_others_in_between_and_all_come_before_the_end);
}
