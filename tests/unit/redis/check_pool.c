/*
 * Tests of daemon/pool and daemon/inbox against a real redis-server: each call is answered once, in order,
 * and honestly.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/pool.h"
#include "tests/support/await.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAEMON    "0123456789abcdef0123456789abcdef"
#define INBOX     "holdfast:inbox:" DAEMON
#define VOTES_MAX 4096

struct told {
	enum call_op op;
	enum outcome outcome;
	unsigned link;
	uint64_t attempt;
	char name[80];
	int64_t token;
	char text[160];
};

/* A pool and all that its hooks were told. */
struct probe {
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct pool_settings settings;
	struct pool *pool;
	bool up[POOL_LINKS_MAX];
	unsigned ups, downs, subscribed, wakes, wants, latches, flushes;
	char why[256];
	char name[80]; /* of the last message */
	size_t called, votes;
	size_t due[POOL_LINKS_MAX]; /* calls without a vote, of each link */
	bool endless;               /* the votes of a loss lead to calls for ever */
	struct told told[VOTES_MAX];
	struct vote hello; /* the last answer to HELLO */
	uint64_t incarnation;
	uint64_t attempt;
	unsigned repeat; /* so many UNSENT are called again at once */
	bool inside;     /* within a function of the pool: no hook may come */
};

static void
on_link_up(void *arg, unsigned link)
{
	struct probe *probe = arg;

	ck_assert(!probe->inside);
	ck_assert(!probe->up[link]);
	probe->up[link] = true;
	probe->ups++;
}

static void
on_link_down(void *arg, unsigned link, const char *why)
{
	struct probe *probe = arg;

	ck_assert(!probe->inside);
	if (!probe->endless)
		ck_assert_uint_eq(probe->due[link], 0);
	probe->up[link] = false;
	probe->downs++;
	snprintf(probe->why, sizeof probe->why, "%s", why);
}

static void
on_subscribed(void *arg)
{
	((struct probe *)arg)->subscribed++;
}

static void
on_wake(void *arg, struct slice name)
{
	struct probe *probe = arg;

	probe->wakes++;
	snprintf(probe->name, sizeof probe->name, "%.*s", (int)name.n, name.p);
}

static void
on_want(void *arg, struct slice name)
{
	struct probe *probe = arg;

	probe->wants++;
	snprintf(probe->name, sizeof probe->name, "%.*s", (int)name.n, name.p);
}

static void
on_latch(void *arg, struct slice name)
{
	struct probe *probe = arg;

	ck_assert(slice_equal(name, SLICE("cron")));
	probe->latches++;
}

static void
on_flushed(void *arg)
{
	((struct probe *)arg)->flushes++;
}

static void
probe_call(struct probe *probe, const struct call *call)
{
	bool was_inside = probe->inside;

	probe->inside = true;
	pool_call(probe->pool, call);
	probe->inside = was_inside;
	probe->called++;
	probe->due[call->link]++;
}

static void
on_vote(void *arg, const struct vote *vote)
{
	struct probe *probe = arg;
	struct told *told = &probe->told[probe->votes];

	ck_assert(!probe->inside);
	ck_assert_uint_lt(probe->votes, VOTES_MAX);
	ck_assert_uint_gt(probe->due[vote->link], 0);
	probe->due[vote->link]--;
	probe->votes++;
	*told = (struct told){.op = vote->op,
		.outcome = vote->outcome,
		.link = vote->link,
		.attempt = vote->attempt,
		.token = vote->token_first};
	snprintf(told->name, sizeof told->name, "%.*s", (int)vote->name.n, vote->name.p);
	snprintf(told->text, sizeof told->text, "%.*s", (int)vote->text.n, vote->text.p);
	if (vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES) {
		probe->hello = *vote;
		probe->incarnation = vote->incarnation;
	}
	if (vote->outcome == OUTCOME_UNSENT && probe->repeat > 0) {
		const struct call again = {
			.op = CALL_RELEASE, .link = vote->link, .attempt = 99, .name = SLICE("again")};

		probe->repeat--;
		probe_call(probe, &again);
	}
}

static const struct pool_hooks hooks = {.link_up = on_link_up,
	.link_down = on_link_down,
	.subscribed = on_subscribed,
	.wake = on_wake,
	.want = on_want,
	.latch = on_latch,
	.flushed = on_flushed,
	.vote = on_vote};

static void
probe_init(struct probe *probe, const char *path)
{
	memset(probe, 0, sizeof *probe);
	probe->base = event_base_new();
	log_init(&probe->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&probe->stats);
	probe->settings = (struct pool_settings)POOL_SETTINGS_DEFAULT;
	probe->settings.path = path;
	probe->settings.daemon_id = DAEMON;
	probe->settings.trusted = true;
	probe->settings.connect_ms = probe->settings.reply_ms = 5000;
}

static void
probe_begin(struct probe *probe)
{
	probe->pool = pool_new(probe->base, &probe->settings, &hooks, probe, &probe->log, &probe->stats);
	ck_assert_ptr_nonnull(probe->pool);
}

static void
probe_done(struct probe *probe)
{
	pool_free(probe->pool);
	event_base_free(probe->base);
}

static bool
all_up(void *arg)
{
	struct probe *probe = arg;
	unsigned i;

	for (i = 0; i < probe->settings.links; i++) {
		if (!probe->up[i])
			return false;
	}
	return probe->subscribed > 0;
}

static bool
all_down(void *arg)
{
	struct probe *probe = arg;
	unsigned i;

	for (i = 0; i < probe->settings.links; i++) {
		if (probe->up[i])
			return false;
	}
	return probe->downs > 0;
}

static bool
all_voted(void *arg)
{
	struct probe *probe = arg;

	return probe->votes == probe->called;
}

static void
probe_await(struct probe *probe, bool (*done)(void *arg))
{
	if (!await(probe->base, done, probe))
		ck_abort_msg("it did not happen: ups %u, downs %u, why '%s', subscribed %u, votes %zu of %zu",
			probe->ups, probe->downs, probe->why, probe->subscribed, probe->votes, probe->called);
}

static void
flush(struct probe *probe)
{
	probe->inside = true;
	pool_flush(probe->pool);
	probe->inside = false;
}

static struct call
call_of(struct probe *probe, enum call_op op, const char *name)
{
	return (struct call){.op = op,
		.attempt = ++probe->attempt,
		.incarnation = probe->incarnation,
		.name = name ? slice_of(name) : (struct slice){0},
		.ttl_ms = 10000,
		.deadline_us = clock_wall_us() + 60000000,
		.token = clock_wall_us(),
		.block = 10};
}

static void
say_hello(struct probe *probe)
{
	struct call hello = call_of(probe, CALL_HELLO, NULL);

	hello.id = 1;
	hello.wanted_lease_ms = hello.guarded_lease_ms = 10000;
	hello.incarnation = 0xabc0000000000000u + probe->attempt;
	probe_call(probe, &hello);
	flush(probe);
	probe_await(probe, all_voted);
}

/* A server, a pool that is up, and a master that is admitted. */
static void
start(struct probe *probe, struct redis_server *server, unsigned links)
{
	redis_init(server, false, NULL);
	probe_init(probe, server->path);
	probe->settings.links = links;
	probe_begin(probe);
	probe_await(probe, all_up);
	say_hello(probe);
	ck_assert_int_eq(probe->told[0].outcome, OUTCOME_YES);
	ck_assert(probe->hello.admitted);
	probe->called = probe->votes = 0;
	memset(probe->told, 0, sizeof probe->told);
}

static void
stop(struct probe *probe, struct redis_server *server)
{
	probe_done(probe);
	redis_done(server);
}

START_TEST(a_trusted_master_is_admitted_and_a_lease_taken)
{
	struct redis_server server;
	struct probe probe;
	struct call call;
	redisReply *reply;

	start(&probe, &server, 1);
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_YES);
	ck_assert_int_gt(probe.told[0].token, 0);
	reply = redis_command(&server, "GET holdfast:{a}");
	ck_assert_str_eq(reply->str, DAEMON ":2");
	freeReplyObject(reply);
	stop(&probe, &server);
}
END_TEST

START_TEST(trust_is_over_with_the_first_admission)
{
	struct redis_server server;
	struct probe probe;

	start(&probe, &server, 1);
	redis_run(&server, "FLUSHALL");
	say_hello(&probe);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_YES);
	ck_assert(!probe.hello.admitted);
	stop(&probe, &server);
}
END_TEST

START_TEST(calls_of_one_operation_share_a_script_call)
{
	struct redis_server server;
	struct probe probe;
	int64_t before;
	char name[16];
	int i;

	start(&probe, &server, 1);
	before = probe.stats.master_scripts;
	for (i = 0; i < 100; i++) {
		struct call call;

		snprintf(name, sizeof name, "name%d", i); /* the same bytes for each: the pool copies */
		call = call_of(&probe, CALL_ACQUIRE, name);
		probe_call(&probe, &call);
	}
	memset(name, 'x', sizeof name);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.stats.master_scripts - before, 2);
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "name%d", i);
		ck_assert_str_eq(probe.told[i].name, name);
		ck_assert_int_eq(probe.told[i].outcome, OUTCOME_YES);
		ck_assert_uint_eq(probe.told[i].attempt, (uint64_t)i + 2);
	}
	stop(&probe, &server);
}
END_TEST

START_TEST(operations_by_turns_share_script_calls_too)
{
	struct redis_server server;
	struct probe probe;
	struct call held[50];
	char name[16];
	int64_t before;
	int i;

	start(&probe, &server, 1);
	for (i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "held%d", i);
		held[i] = call_of(&probe, CALL_ACQUIRE, name);
		probe_call(&probe, &held[i]);
	}
	flush(&probe);
	probe_await(&probe, all_voted);
	before = probe.stats.master_scripts;
	probe.called = probe.votes = 0;
	for (i = 0; i < 50; i++) {
		struct call take, give = held[i];

		snprintf(name, sizeof name, "held%d", i);
		give.name = slice_of(name);
		give.op = CALL_RELEASE;
		probe_call(&probe, &give);
		snprintf(name, sizeof name, "new%d", i);
		take = call_of(&probe, CALL_ACQUIRE, name);
		probe_call(&probe, &take);
	}
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.stats.master_scripts - before, 2);
	for (i = 0; i < 100; i++)
		ck_assert_int_eq(probe.told[i].outcome, OUTCOME_YES);
	stop(&probe, &server);
}
END_TEST

START_TEST(calls_about_a_name_run_in_order)
{
	struct redis_server server;
	struct probe probe;
	int i;

	start(&probe, &server, 1);
	for (i = 0; i < 50; i++) {
		struct call take = call_of(&probe, CALL_ACQUIRE, "a"), give = take, late;

		probe_call(&probe, &take);
		give.op = CALL_RELEASE;
		probe_call(&probe, &give);
		late = call_of(&probe, CALL_RENEW, "a");
		late.attempt = take.attempt;
		probe_call(&probe, &late);
	}
	flush(&probe);
	probe_await(&probe, all_voted);
	for (i = 0; i < 50; i++) {
		ck_assert_int_eq(probe.told[3 * i].outcome, OUTCOME_YES);
		ck_assert_int_eq(probe.told[3 * i + 1].outcome, OUTCOME_YES);
		ck_assert_int_eq(probe.told[3 * i + 2].outcome, OUTCOME_NO);
		ck_assert_int_eq(probe.told[3 * i + 2].op, CALL_RENEW);
	}
	stop(&probe, &server);
}
END_TEST

static bool
any_voted(void *arg)
{
	return ((struct probe *)arg)->votes > 0;
}

START_TEST(eight_commands_leave_without_a_flush)
{
	struct redis_server server;
	struct probe probe;
	int i;

	start(&probe, &server, 1);
	for (i = 0; i <= POOL_WRITE_COMMANDS; i++) {
		struct call call = call_of(&probe, i % 2 ? CALL_RELEASE : CALL_ACQUIRE, "a");

		probe_call(&probe, &call);
	}
	probe_await(&probe, any_voted);
	ck_assert_uint_eq(probe.votes, POOL_WRITE_COMMANDS);
	stop(&probe, &server);
}
END_TEST

START_TEST(a_call_without_a_link_is_unsent_later)
{
	struct probe probe;
	struct call call;

	probe_init(&probe, "/nowhere/redis.sock");
	probe_begin(&probe);
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	ck_assert_uint_eq(probe.votes, 0);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_UNSENT);
	ck_assert_str_eq(probe.told[0].name, "a");
	ck_assert_int_eq(probe.stats.master_unsent, 1);
	probe_await(&probe, all_down);
	ck_assert_str_eq(probe.why, "no such socket");
	probe_done(&probe);
}
END_TEST

START_TEST(kill_9_answers_every_call_before_the_link_is_down)
{
	struct redis_server server;
	struct probe probe;
	int i;

	start(&probe, &server, 2);
	redis_pause(&server);
	for (i = 0; i < 200; i++) {
		struct call call = call_of(&probe, i % 3 ? CALL_RELEASE : CALL_ACQUIRE, "a");

		call.link = (unsigned)i % 2;
		probe_call(&probe, &call);
		if (i == 100)
			flush(&probe);
	}
	redis_kill(&server);
	probe_await(&probe, all_down); /* on_link_down() counts what is due */
	for (i = 0; i < 200; i++)
		ck_assert(
			probe.told[i].outcome == OUTCOME_UNKNOWN || probe.told[i].outcome == OUTCOME_UNSENT);
	ck_assert_int_gt(probe.stats.master_unknown, 0);
	ck_assert_int_gt(probe.stats.master_unsent, 0);
	redis_start(&server);
	probe.subscribed = 0;
	probe_await(&probe, all_up);
	stop(&probe, &server);
}
END_TEST

START_TEST(calls_made_by_the_votes_of_a_loss_are_answered_too)
{
	struct redis_server server;
	struct probe probe;
	struct call call;

	start(&probe, &server, 1);
	redis_kill(&server);
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	probe.repeat = 10;
	probe_await(&probe, all_down);
	ck_assert_uint_eq(probe.votes, 11);
	stop(&probe, &server);
}
END_TEST

START_TEST(asking_again_for_ever_does_not_hold_up_the_loop)
{
	struct probe probe;
	struct call call;

	probe_init(&probe, "/nowhere/redis.sock");
	probe_begin(&probe);
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe.repeat = VOTES_MAX - 10;
	probe.endless = true;
	probe_call(&probe, &call);
	event_base_loop(probe.base, EVLOOP_ONCE);
	ck_assert_uint_lt(probe.votes, 100);
	probe_await(&probe, all_voted);
	ck_assert_uint_eq(probe.votes, VOTES_MAX - 9);
	probe_done(&probe);
}
END_TEST

START_TEST(forgotten_scripts_are_loaded_again_and_nothing_ran)
{
	struct redis_server server;
	struct probe probe;
	struct call call;

	start(&probe, &server, 1);
	redis_run(&server, "SCRIPT FLUSH");
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	call = call_of(&probe, CALL_RELEASE, "b");
	probe_call(&probe, &call);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_UNSENT);
	ck_assert_int_eq(probe.told[1].outcome, OUTCOME_UNSENT);
	ck_assert_int_eq(redis_integer(&server, "EXISTS holdfast:{a}"), 0);
	ck_assert_int_eq(probe.stats.master_script_reloads, 1);

	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[2].outcome, OUTCOME_YES);
	ck_assert_uint_eq(probe.downs, 0);
	stop(&probe, &server);
}
END_TEST

static bool
any_down(void *arg)
{
	return ((struct probe *)arg)->downs > 0;
}

START_TEST(a_user_that_may_not_load_scripts_is_told)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	redis_run(&server, "ACL SETUSER locker on >right ~* &* +@all -script");
	probe_init(&probe, server.path);
	probe.settings.user = "locker";
	probe.settings.password = "right";
	probe_begin(&probe);
	probe_await(&probe, any_down);
	ck_assert_ptr_nonnull(strstr(probe.why, "NOPERM"));
	ck_assert_uint_eq(probe.ups, 0);
	stop(&probe, &server);
}
END_TEST

START_TEST(names_are_any_bytes_a_client_may_send)
{
	static const char *const names[] = {"a b", "{tag}", "%", "\xe4\xb8\xad", "x'\"\\", "-1", "}"};
	struct redis_server server;
	struct probe probe;
	size_t i;

	start(&probe, &server, 1);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		struct call call = call_of(&probe, CALL_ACQUIRE, names[i]);

		probe_call(&probe, &call);
	}
	flush(&probe);
	probe_await(&probe, all_voted);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_str_eq(probe.told[i].name, names[i]);
		ck_assert_int_eq(probe.told[i].outcome, OUTCOME_YES);
	}
	stop(&probe, &server);
}
END_TEST

START_TEST(links_are_independent)
{
	struct redis_server server;
	struct probe probe;
	unsigned i;

	start(&probe, &server, 4);
	ck_assert_int_eq(probe.stats.master_links, 4);
	for (i = 0; i < 4; i++) {
		struct call call = call_of(&probe, CALL_ACQUIRE, "a");

		call.link = i;
		probe_call(&probe, &call);
	}
	flush(&probe);
	probe_await(&probe, all_voted);
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(probe.told[i].link, probe.told[i].attempt - 2);
		ck_assert(probe.told[i].outcome == OUTCOME_YES || probe.told[i].outcome == OUTCOME_BUSY);
	}
	stop(&probe, &server);
}
END_TEST

static bool
three_messages(void *arg)
{
	struct probe *probe = arg;

	return probe->wakes + probe->wants + probe->stats.inbox_ignored >= 3;
}

START_TEST(messages_arrive_as_wake_want_and_latch)
{
	struct redis_server server;
	struct probe probe;

	start(&probe, &server, 1);
	ck_assert_int_eq(redis_integer(&server, "PUBLISH " INBOX " %s", "wake deploy"), 1);
	ck_assert_int_eq(redis_integer(&server, "PUBLISH " INBOX " %s", "wake deploy"), 1);
	ck_assert_int_eq(redis_integer(&server, "PUBLISH " INBOX " %s", "latch cron"), 1);
	ck_assert_int_eq(redis_integer(&server, "PUBLISH " INBOX " %s", "want cron/\xc3\xbc"), 1);
	probe_await(&probe, three_messages);
	ck_assert_uint_eq(probe.wakes, 2);
	ck_assert_uint_eq(probe.wants, 1);
	ck_assert_uint_eq(probe.latches, 1);
	ck_assert_str_eq(probe.name, "cron/\xc3\xbc");
	stop(&probe, &server);
}
END_TEST

START_TEST(hostile_messages_are_ignored_and_counted)
{
	static const char *const messages[] = {"", "wake", "wake ", "want", "wanta a", "break a 1", "WAKE a",
		"wake two words", "wake \x1b[2J", "wake \xff"};
	size_t i, n = sizeof messages / sizeof *messages;
	struct redis_server server;
	struct probe probe;
	char *huge = malloc(100001);

	memset(huge, 'x', 100000);
	huge[100000] = 0;
	memcpy(huge, "wake ", 5);
	start(&probe, &server, 1);
	for (i = 0; i < n; i++)
		redis_run(&server, "PUBLISH " INBOX " %s", messages[i]);
	redis_run(&server, "PUBLISH " INBOX " %s", huge);
	redis_run(&server, "PUBLISH " INBOX " %s", "wake good");
	while (probe.wakes == 0)
		event_base_loop(probe.base, EVLOOP_ONCE);
	ck_assert_str_eq(probe.name, "good");
	ck_assert_uint_eq(probe.wakes, 1);
	ck_assert_uint_eq(probe.wants, 0);
	ck_assert_int_eq(probe.stats.inbox_ignored, (int64_t)n + 1);
	free(huge);
	stop(&probe, &server);
}
END_TEST

static bool
subscribed_twice(void *arg)
{
	return ((struct probe *)arg)->subscribed == 2;
}

START_TEST(every_subscription_is_told)
{
	struct redis_server server;
	struct probe probe;

	start(&probe, &server, 1);
	ck_assert_uint_eq(probe.subscribed, 1);
	ck_assert_int_eq(redis_integer(&server, "CLIENT KILL TYPE pubsub"), 1);
	probe_await(&probe, subscribed_twice);
	ck_assert_uint_eq(probe.downs, 0); /* the links are others */
	ck_assert_int_eq(redis_integer(&server, "PUBLISH " INBOX " %s", "wake a"), 1);
	while (probe.wakes == 0)
		event_base_loop(probe.base, EVLOOP_ONCE);
	stop(&probe, &server);
}
END_TEST

static bool
left(void *arg)
{
	const struct probe *probe = arg;

	return probe->downs > 0 && probe->subscribed > 1;
}

/* Its name may lead to another server by now. */
START_TEST(a_server_that_is_no_master_any_more_is_connected_to_anew)
{
	struct redis_server server;
	struct probe probe;
	struct call call;

	start(&probe, &server, 1);
	redis_run(&server, "REPLICAOF 127.0.0.1 1");
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_DEMOTED);
	ck_assert_uint_eq(probe.downs, 0);
	probe_await(&probe, left);
	stop(&probe, &server);
}
END_TEST

static bool
left_twice(void *arg)
{
	return ((const struct probe *)arg)->downs > 1;
}

static bool
up_again(void *arg)
{
	const struct probe *probe = arg;

	return probe->downs > 0 && all_up(arg);
}

/* Its answer to HELLO is another error, which does not say whether it is a master: it is left again. */
START_TEST(a_server_that_was_no_master_is_connected_to_anew_until_it_answers_hello)
{
	struct redis_server server;
	struct probe probe;
	struct call call;

	start(&probe, &server, 1);
	redis_run(&server, "REPLICAOF 127.0.0.1 1");
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	probe_await(&probe, all_voted);
	ck_assert_int_eq(probe.told[0].outcome, OUTCOME_DEMOTED);
	redis_run(&server, "REPLICAOF NO ONE");
	redis_run(&server, "CONFIG SET min-replicas-to-write 1");
	probe_await(&probe, up_again);
	say_hello(&probe);
	ck_assert_int_eq(probe.told[1].outcome, OUTCOME_ERROR);
	probe_await(&probe, left_twice);
	stop(&probe, &server);
}
END_TEST

START_TEST(an_idle_inbox_watches_its_own_health)
{
	struct redis_server server;
	struct probe probe;

	redis_init(&server, false, NULL);
	probe_init(&probe, server.path);
	probe.settings.reply_ms = 500;
	probe_begin(&probe);
	probe_await(&probe, all_up);
	await_ms(probe.base, 1500); /* PINGs within a subscription are answered otherwise than elsewhere */
	ck_assert_int_eq(probe.stats.master_disconnects, 0);
	redis_pause(&server);
	while (probe.stats.master_disconnects < 2)
		event_base_loop(probe.base, EVLOOP_ONCE);
	redis_continue(&server);
	probe_await(&probe, subscribed_twice);
	stop(&probe, &server);
}
END_TEST

START_TEST(a_pool_that_is_freed_with_calls_under_way_says_nothing)
{
	struct redis_server server;
	struct probe probe;
	struct call call;

	start(&probe, &server, 2);
	call = call_of(&probe, CALL_ACQUIRE, "a");
	probe_call(&probe, &call);
	flush(&probe);
	call = call_of(&probe, CALL_RELEASE, "a");
	probe_call(&probe, &call);
	pool_free(probe.pool);
	probe.pool = NULL;
	await_ms(probe.base, 50);
	ck_assert_uint_eq(probe.votes, 0);
	stop(&probe, &server);
}
END_TEST

START_TEST(settings_without_sense_are_refused)
{
	struct probe probe;
	struct pool_settings good;

	probe_init(&probe, "/nowhere/redis.sock");
	good = probe.settings;
	probe.settings.host = "both";
	ck_assert_ptr_null(pool_new(probe.base, &probe.settings, &hooks, &probe, &probe.log, &probe.stats));
	probe.settings = good;
	probe.settings.path = NULL;
	ck_assert_ptr_null(pool_new(probe.base, &probe.settings, &hooks, &probe, &probe.log, &probe.stats));
	probe.settings = good;
	probe.settings.links = 0;
	ck_assert_ptr_null(pool_new(probe.base, &probe.settings, &hooks, &probe, &probe.log, &probe.stats));
	probe.settings.links = POOL_LINKS_MAX + 1;
	ck_assert_ptr_null(pool_new(probe.base, &probe.settings, &hooks, &probe, &probe.log, &probe.stats));
	probe.settings = good;
	probe.settings.daemon_id = "short";
	ck_assert_ptr_null(pool_new(probe.base, &probe.settings, &hooks, &probe, &probe.log, &probe.stats));
	event_base_free(probe.base);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("pool", NULL, NULL, a_trusted_master_is_admitted_and_a_lease_taken,
		trust_is_over_with_the_first_admission, calls_of_one_operation_share_a_script_call,
		operations_by_turns_share_script_calls_too, calls_about_a_name_run_in_order,
		eight_commands_leave_without_a_flush, a_call_without_a_link_is_unsent_later,
		kill_9_answers_every_call_before_the_link_is_down,
		calls_made_by_the_votes_of_a_loss_are_answered_too,
		asking_again_for_ever_does_not_hold_up_the_loop,
		forgotten_scripts_are_loaded_again_and_nothing_ran, a_user_that_may_not_load_scripts_is_told,
		names_are_any_bytes_a_client_may_send, links_are_independent,
		messages_arrive_as_wake_want_and_latch, hostile_messages_are_ignored_and_counted,
		every_subscription_is_told, a_server_that_is_no_master_any_more_is_connected_to_anew,
		a_server_that_was_no_master_is_connected_to_anew_until_it_answers_hello,
		an_idle_inbox_watches_its_own_health, a_pool_that_is_freed_with_calls_under_way_says_nothing,
		settings_without_sense_are_refused);
}
