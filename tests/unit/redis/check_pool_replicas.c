/*
 * Tests of daemon/pool where replicas have to acknowledge, against a real redis-server with a real replica:
 * what is granted counts only when the replica has it.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/finder.h"
#include "daemon/redis/pool.h"
#include "tests/support/await.h"
#include "tests/support/fake_sentinel.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define DAEMON    "0123456789abcdef0123456789abcdef"
#define VOTES_MAX 4096

struct told {
	enum call_op op;
	enum outcome outcome;
	uint64_t attempt;
	int64_t time_us;
	bool admitted;
	struct latch_state latch;
	char name[80];
	char text[160];
};

struct probe {
	struct redis_server master, replica;
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct fake_sentinel fake;
	struct pool *pool;
	bool up;
	unsigned downs;
	size_t called, votes;
	struct told told[VOTES_MAX];
	uint64_t incarnation;
	uint64_t attempt;
};

static void
on_link_up(void *arg, unsigned link)
{
	(void)link;
	((struct probe *)arg)->up = true;
}

static void
on_link_down(void *arg, unsigned link, const char *why)
{
	struct probe *p = arg;

	(void)link;
	(void)why;
	ck_assert_uint_eq(p->votes, p->called);
	p->up = false;
	p->downs++;
}

static void
on_subscribed(void *arg)
{
	(void)arg;
}

static void
on_vote(void *arg, const struct vote *vote)
{
	struct probe *p = arg;
	struct told *told = &p->told[p->votes++];

	ck_assert_uint_le(p->votes, p->called);
	*told = (struct told){
		.op = vote->op, .outcome = vote->outcome, .attempt = vote->attempt, .time_us = vote->time_us};
	snprintf(told->name, sizeof told->name, "%.*s", (int)vote->name.n, vote->name.p);
	snprintf(told->text, sizeof told->text, "%.*s", (int)vote->text.n, vote->text.p);
	if (vote->op == CALL_LATCH)
		told->latch = vote->latch;
	if (vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES) {
		told->admitted = vote->admitted;
		p->incarnation = vote->incarnation;
	}
}

static const struct pool_hooks hooks = {
	.link_up = on_link_up, .link_down = on_link_down, .subscribed = on_subscribed, .vote = on_vote};

static bool
is_up(void *arg)
{
	return ((const struct probe *)arg)->up;
}

static bool
is_down(void *arg)
{
	return ((const struct probe *)arg)->downs > 0;
}

static bool
all_voted(void *arg)
{
	const struct probe *p = arg;

	return p->votes == p->called;
}

static void
send_call(struct probe *p, const struct call *one)
{
	p->called++;
	pool_call(p->pool, one);
}

static void
call(struct probe *p, enum call_op op, const char *name, uint64_t attempt)
{
	struct call one = {.op = op,
		.attempt = attempt,
		.incarnation = op == CALL_HELLO ? 0xabc : p->incarnation,
		.name = name ? slice_of(name) : (struct slice){0},
		.ttl_ms = 10000,
		.deadline_us = clock_wall_us() + 60000000,
		.token = clock_wall_us()};

	if (op == CALL_HELLO) {
		one.id = 1;
		one.wanted_lease_ms = one.guarded_lease_ms = 10000;
	} else {
		one.block = 10;
	}
	send_call(p, &one);
}

static const struct told *
answer(struct probe *p)
{
	pool_flush(p->pool);
	ck_assert(await(p->base, all_voted, p));
	return &p->told[p->votes - 1];
}

/* What is done to the latch "l", known by this number or to be known by it. */
static const struct told *
ask_latch(struct probe *p, enum latch_op op, uint64_t latch)
{
	const struct call one = {.op = CALL_LATCH,
		.attempt = 500 + p->called,
		.incarnation = p->incarnation,
		.name = slice_of("l"),
		.latch_op = op,
		.latch = latch,
		.steps = 1,
		.ttl_ms = 60000,
		.deadline_us = clock_wall_us() + 60000000};

	send_call(p, &one);
	return answer(p);
}

/* One call, and its vote. */
static const struct told *
ask(struct probe *p, enum call_op op, const char *name, uint64_t attempt)
{
	call(p, op, name, attempt);
	return answer(p);
}

static bool
is_connected(struct probe *p)
{
	redisReply *info = redis_command(&p->master, "INFO replication");
	bool online = strstr(info->str, "state=online") != NULL;

	freeReplyObject(info);
	return online;
}

/* A master with a replica that is connected. */
static void
open_servers(struct probe *p)
{
	int i;

	memset(p, 0, sizeof *p);
	redis_init(&p->master, true, (const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
	redis_init(&p->replica, false, NULL);
	p->base = event_base_new();
	log_init(&p->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&p->stats);
	fake_sentinel_init(&p->fake);
	redis_run(&p->replica, "REPLICAOF 127.0.0.1 %d", (int)p->master.port);
	/* A replica that has just been synchronised takes its time once more. */
	for (i = 0; i < 3; i++) {
		redis_run(&p->master, "SET begun %d", i);
		while (redis_integer(&p->master, "WAIT 1 10000") == 0)
			;
	}
}

/* named: replicas that a sentinel knows of; 0: there is no sentinel. */
static void
begin(struct probe *p, unsigned named)
{
	struct pool_settings settings = POOL_SETTINGS_DEFAULT;
	const struct finder_address address = {.host = "127.0.0.1", .port = p->fake.port};
	const struct finder_settings sentinel = {.name = "mymaster", .addresses = &address, .count = 1};

	if (named > 0) {
		p->fake.host = "127.0.0.1";
		p->fake.master_port = p->master.port;
		p->fake.replicas = named;
		fake_sentinel_open(&p->fake, p->base);
		settings.finder = &sentinel;
	} else {
		settings.path = p->master.path;
	}
	settings.daemon_id = DAEMON;
	settings.unguarded = true;
	settings.replicas_ack = true;
	settings.lease_max_ms = 10000;
	p->pool = pool_new(p->base, &settings, &hooks, p, &p->log, &p->stats);
	ck_assert_ptr_nonnull(p->pool);
	ck_assert(await(p->base, is_up, p));
}

/* A pool that a HELLO has shown the master to, and its one replica has acknowledged it. */
static void
start_with(struct probe *p, unsigned named)
{
	open_servers(p);
	begin(p, named);
	ck_assert_int_eq(ask(p, CALL_HELLO, NULL, 1)->outcome, OUTCOME_YES);
	/* Behind what stores the group. */
	ck_assert_int_eq(ask(p, CALL_HELLO, NULL, 2)->outcome, OUTCOME_YES);
}

static void
start(struct probe *p)
{
	start_with(p, 0);
}

static void
stop(struct probe *p)
{
	pool_free(p->pool);
	fake_sentinel_close(&p->fake);
	event_base_free(p->base);
	redis_done(&p->replica);
	redis_done(&p->master);
}

static int64_t
waits(struct probe *p)
{
	redisReply *info = redis_command(&p->master, "INFO commandstats");
	const char *at = strstr(info->str, "cmdstat_wait:calls=");
	long long n = 0;

	if (at)
		sscanf(at, "cmdstat_wait:calls=%lld", &n);
	freeReplyObject(info);
	return n;
}

START_TEST(a_grant_is_told_when_the_replica_has_it)
{
	struct probe p;
	char name[16], key[64];
	int i;

	start(&p);
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "a%d", i);
		ck_assert_int_eq(ask(&p, CALL_ACQUIRE, name, 10 + (uint64_t)i)->outcome, OUTCOME_YES);
		snprintf(key, sizeof key, "holdfast:{%s}", name);
		ck_assert_int_eq(redis_integer(&p.replica, "EXISTS %s", key), 1);
	}
	ck_assert_int_eq(p.stats.master_unreplicated, 0);
	stop(&p);
}
END_TEST

START_TEST(one_wait_covers_a_turn_and_votes_of_a_name_keep_their_order)
{
	bool taken[100] = {false}, ended[100] = {false};
	struct probe p;
	int64_t before;
	char name[16];
	size_t i;

	start(&p);
	before = waits(&p);
	p.called = p.votes = 0;
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "a%zu", i);
		call(&p, CALL_ACQUIRE, name, i + 10);
		call(&p, CALL_RELEASE, name, i + 10);
	}
	pool_flush(p.pool);
	ck_assert(await(p.base, all_voted, &p));
	for (i = 0; i < 200; i++) {
		uint64_t attempt = p.told[i].attempt - 10;

		ck_assert_int_eq(p.told[i].outcome, OUTCOME_YES);
		ck_assert_uint_lt(attempt, 100);
		ck_assert(!ended[attempt]);
		ck_assert(taken[attempt] == (p.told[i].op == CALL_RELEASE));
		ended[attempt] = taken[attempt];
		taken[attempt] = true;
	}
	ck_assert_int_eq(waits(&p) - before, 1);
	stop(&p);
}
END_TEST

START_TEST(many_turns_share_the_waits)
{
	struct probe p;
	int64_t before;
	char name[16];
	size_t i;

	start(&p);
	before = waits(&p);
	p.called = p.votes = 0;
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "a%zu", i);
		call(&p, CALL_ACQUIRE, name, i + 10);
		pool_flush(p.pool); /* each a turn of its own, faster than any replica */
	}
	ck_assert(await(p.base, all_voted, &p));
	for (i = 0; i < 500; i++)
		ck_assert_int_eq(p.told[i].outcome, OUTCOME_YES);
	ck_assert_int_le(waits(&p) - before, 4);
	stop(&p);
}
END_TEST

START_TEST(releases_wait_for_nobody)
{
	struct probe p;
	int64_t before;

	start(&p);
	ask(&p, CALL_ACQUIRE, "a", 10);
	before = waits(&p);
	redis_pause(&p.replica);
	ck_assert_int_eq(ask(&p, CALL_RELEASE, "a", 10)->outcome, OUTCOME_YES);
	ck_assert_int_eq(ask(&p, CALL_LEAVE, "a", 12)->outcome, OUTCOME_YES);
	ck_assert_int_eq(waits(&p), before);
	redis_continue(&p.replica);
	stop(&p);
}
END_TEST

static void
await_grant(struct probe *p)
{
	int64_t until_ms = clock_ms() + AWAIT_LIMIT_MS;

	while (ask(p, CALL_HELLO, NULL, 1000 + p->called)->outcome != OUTCOME_YES ||
		ask(p, CALL_ACQUIRE, "again", 1000 + p->called)->outcome != OUTCOME_YES) {
		ck_assert_int_lt(clock_ms(), until_ms);
		await_ms(p->base, 20);
	}
}

START_TEST(without_the_replica_nothing_is_granted_until_it_is_back)
{
	struct probe p;
	const struct told *told;

	start(&p);
	ask(&p, CALL_ACQUIRE, "held", 10);
	redis_pause(&p.replica);
	told = ask(&p, CALL_ACQUIRE, "a", 11);
	ck_assert_int_eq(told->outcome, OUTCOME_UNKNOWN);
	ck_assert_str_eq(told->text, "too few replicas acknowledged it");
	ck_assert_int_gt(told->time_us, 0);
	/* It has to be undone, and can be. */
	ck_assert_int_eq(redis_integer(&p.master, "EXISTS holdfast:{a}"), 1);
	ck_assert_int_eq(ask(&p, CALL_RELEASE, "a", 11)->outcome, OUTCOME_YES);
	/* The next one is not even tried. */
	told = ask(&p, CALL_ACQUIRE, "b", 12);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(told->text, "NOREPLICAS 0 of 1 replicas acknowledge, at least 1 must");
	ck_assert_int_eq(redis_integer(&p.master, "EXISTS holdfast:{b}"), 0);
	/* A renewal does not count, however the master takes it. */
	ck_assert_int_eq(ask(&p, CALL_RENEW, "held", 10)->outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(ask(&p, CALL_RENEW, "gone", 13)->outcome, OUTCOME_NO);
	ck_assert_int_eq(p.stats.master_unreplicated, 3);
	ck_assert_int_eq(p.stats.master_bad_replies, 0);
	redis_continue(&p.replica);
	await_grant(&p);
	ck_assert_int_eq(ask(&p, CALL_RENEW, "held", 10)->outcome, OUTCOME_YES);
	ck_assert_uint_eq(p.downs, 0);
	stop(&p);
}
END_TEST

START_TEST(a_hello_counts_when_the_replica_has_it)
{
	struct probe p;
	const struct told *told;

	start(&p);
	redis_pause(&p.replica);
	told = ask(&p, CALL_HELLO, NULL, 11);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(told->text, "NOREPLICAS 0 of 1 replicas acknowledge, at least 1 must");
	ck_assert_int_eq(ask(&p, CALL_HELLO, NULL, 12)->outcome, OUTCOME_ERROR);
	redis_continue(&p.replica);
	while ((told = ask(&p, CALL_HELLO, NULL, 13))->outcome != OUTCOME_YES)
		;
	ck_assert(told->admitted);
	stop(&p);
}
END_TEST

START_TEST(an_admission_that_another_made_counts_when_the_replica_has_it)
{
	struct probe p;

	start(&p);
	redis_run(&p.master, "HSET holdfast:node admitted 0");
	ck_assert(!ask(&p, CALL_RECLAIM, "a", 11)->admitted);
	redis_pause(&p.replica);
	redis_run(&p.master, "HSET holdfast:node admitted 1");
	/* The daemon's own connection has written nothing that is not acknowledged. */
	ck_assert_int_eq(ask(&p, CALL_ADMIT, NULL, 12)->outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(ask(&p, CALL_HELLO, NULL, 13)->outcome, OUTCOME_ERROR);
	redis_continue(&p.replica);
	while (ask(&p, CALL_ADMIT, NULL, 14)->outcome != OUTCOME_YES)
		;
	stop(&p);
}
END_TEST

static int64_t
changes(struct probe *p)
{
	redisReply *info = redis_command(&p->master, "INFO persistence");
	const char *at = strstr(info->str, "rdb_changes_since_last_save:");
	long long n = -1;

	if (at)
		sscanf(at, "rdb_changes_since_last_save:%lld", &n);
	freeReplyObject(info);
	return n;
}

START_TEST(an_admission_that_is_there_already_is_written_again)
{
	struct probe p;
	int64_t before;

	start(&p);
	before = changes(&p);
	ck_assert_int_eq(ask(&p, CALL_ADMIT, NULL, 11)->outcome, OUTCOME_YES);
	/* Some servers let WAIT look no further than to what its own connection has written. */
	ck_assert_int_gt(changes(&p), before);
	stop(&p);
}
END_TEST

START_TEST(what_is_said_of_a_latch_counts_when_the_replica_has_it)
{
	struct probe p;
	const struct told *told;

	start(&p);
	ck_assert_int_eq(ask_latch(&p, LATCH_OP_LOOK, 0)->outcome, OUTCOME_NO);
	ck_assert_int_eq(ask_latch(&p, LATCH_OP_SET, 0xa)->outcome, OUTCOME_YES);
	ck_assert_int_eq(redis_integer(&p.replica, "EXISTS holdfast:{l}:l"), 1);
	redis_pause(&p.replica);
	ck_assert_int_eq(ask_latch(&p, LATCH_OP_DOWN, 0xa)->outcome, OUTCOME_UNKNOWN);
	/* The next one is not even tried. */
	told = ask_latch(&p, LATCH_OP_DOWN, 0xa);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(told->text, "NOREPLICAS 0 of 1 replicas acknowledge, at least 1 must");
	redis_continue(&p.replica);
	while ((told = ask_latch(&p, LATCH_OP_LOOK, 0))->outcome == OUTCOME_ERROR)
		await_ms(p.base, 20);
	ck_assert_int_eq(told->outcome, OUTCOME_YES);
	ck_assert_int_eq(told->latch.left, 0);
	stop(&p);
}
END_TEST

/* What others have done to it, or that it has ended, this connection has not written. */
static void
look_without_replica(bool gone)
{
	struct probe p;

	start(&p);
	ck_assert_int_eq(ask_latch(&p, LATCH_OP_SET, 0xa)->outcome, OUTCOME_YES);
	redis_pause(&p.replica);
	if (gone)
		redis_run(&p.master, "DEL holdfast:{l}:l");
	else
		redis_run(&p.master, "HSET holdfast:{l}:l done 1");
	ck_assert_int_eq(ask_latch(&p, LATCH_OP_LOOK, 0)->outcome, OUTCOME_UNKNOWN);
	redis_continue(&p.replica);
	stop(&p);
}

START_TEST(that_a_latch_is_open_counts_when_the_replica_has_it)
{
	look_without_replica(false);
}
END_TEST

START_TEST(that_there_is_no_latch_counts_when_the_replica_has_it)
{
	look_without_replica(true);
}
END_TEST

START_TEST(a_replica_is_refused_for_what_it_is)
{
	struct probe p;

	start(&p);
	redis_run(&p.master, "REPLICAOF 127.0.0.1 1");
	ck_assert_int_eq(ask(&p, CALL_HELLO, NULL, 11)->outcome, OUTCOME_YES);
	stop(&p);
}
END_TEST

START_TEST(a_master_that_dies_meanwhile_leaves_it_unknown)
{
	struct probe p;

	start(&p);
	redis_pause(&p.replica);
	call(&p, CALL_ACQUIRE, "a", 10);
	call(&p, CALL_RELEASE, "other", 11);
	pool_flush(p.pool);
	while (redis_integer(&p.master, "EXISTS holdfast:{a}") == 0)
		event_base_loop(p.base, EVLOOP_ONCE);
	call(&p, CALL_ACQUIRE, "b", 12);
	pool_flush(p.pool);
	redis_kill(&p.master);
	ck_assert(await(p.base, is_down, &p));
	ck_assert_uint_eq(p.votes, p.called);
	ck_assert_str_eq(p.told[2].name, "a");
	ck_assert_int_eq(p.told[2].outcome, OUTCOME_UNKNOWN);
	ck_assert_str_eq(p.told[3].name, "other");
	ck_assert_str_eq(p.told[4].name, "b");
	ck_assert_int_ne(p.told[4].outcome, OUTCOME_YES);
	redis_continue(&p.replica);
	stop(&p);
}
END_TEST

START_TEST(a_replica_that_is_away_belongs_to_the_group)
{
	struct pool_view view;
	struct probe p;
	const struct told *told;

	open_servers(&p);
	begin(&p, 3);
	told = ask(&p, CALL_HELLO, NULL, 9);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(told->text, "NOREPLICAS 1 of 3 replicas acknowledge, at least 2 must");
	told = ask(&p, CALL_ACQUIRE, "a", 10);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(told->text, "NOREPLICAS 1 of 3 replicas acknowledge, at least 2 must");
	pool_see(p.pool, &view);
	ck_assert_uint_eq(view.replicas, 3);
	ck_assert_uint_eq(view.needed, 2);
	ck_assert(!view.replicated);
	/* Somebody takes two of them out. */
	p.fake.replicas = 1;
	fake_sentinel_publish(&p.fake, "mymaster news");
	await_grant(&p);
	pool_see(p.pool, &view);
	ck_assert_uint_eq(view.needed, 1);
	ck_assert(view.replicated);
	stop(&p);
}
END_TEST

static bool
is_asked(void *arg)
{
	return ((const struct probe *)arg)->fake.asked > 1;
}

START_TEST(a_replica_that_leaves_does_not_make_the_group_smaller)
{
	struct probe p;
	const struct told *told;

	start(&p);
	redis_kill(&p.replica);
	/* Even by a new connection of the master's own count: it is asked for none of its own. */
	told = ask(&p, CALL_ACQUIRE, "a", 10);
	ck_assert_int_eq(told->outcome, OUTCOME_UNKNOWN);
	told = ask(&p, CALL_ACQUIRE, "a", 11);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	await_ms(p.base, 1500); /* of probes */
	told = ask(&p, CALL_ACQUIRE, "a", 12);
	ck_assert_int_eq(told->outcome, OUTCOME_ERROR);
	stop(&p);
}
END_TEST

START_TEST(a_new_connection_to_a_master_without_replicas_knows_the_group)
{
	struct probe p;

	start_with(&p, 1);
	ck_assert_int_eq(ask(&p, CALL_ACQUIRE, "a", 10)->outcome, OUTCOME_YES);
	redis_kill(&p.replica);
	p.up = false;
	redis_run(&p.master, "CLIENT KILL TYPE normal");
	ck_assert(await(p.base, is_up, &p));
	ck_assert_int_eq(ask(&p, CALL_ACQUIRE, "b", 11)->outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(ask(&p, CALL_ACQUIRE, "c", 12)->outcome, OUTCOME_ERROR);
	ck_assert(await(p.base, is_asked, &p));
	stop(&p);
}
END_TEST

START_TEST(a_master_alone_needs_nobody)
{
	struct probe p;
	int64_t before;

	open_servers(&p);
	redis_run(&p.replica, "REPLICAOF NO ONE");
	while (is_connected(&p))
		await_ms(p.base, 10);
	begin(&p, 0);
	before = waits(&p);
	ck_assert_int_eq(ask(&p, CALL_HELLO, NULL, 1)->outcome, OUTCOME_YES);
	ck_assert_int_eq(ask(&p, CALL_ACQUIRE, "a", 10)->outcome, OUTCOME_YES);
	ck_assert_int_eq(waits(&p), before);
	stop(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("pool_replicas", NULL, NULL, a_grant_is_told_when_the_replica_has_it,
		one_wait_covers_a_turn_and_votes_of_a_name_keep_their_order, many_turns_share_the_waits,
		releases_wait_for_nobody, a_hello_counts_when_the_replica_has_it,
		an_admission_that_another_made_counts_when_the_replica_has_it,
		an_admission_that_is_there_already_is_written_again,
		what_is_said_of_a_latch_counts_when_the_replica_has_it,
		that_a_latch_is_open_counts_when_the_replica_has_it,
		that_there_is_no_latch_counts_when_the_replica_has_it, a_replica_is_refused_for_what_it_is,
		without_the_replica_nothing_is_granted_until_it_is_back,
		a_master_that_dies_meanwhile_leaves_it_unknown, a_replica_that_is_away_belongs_to_the_group,
		a_replica_that_leaves_does_not_make_the_group_smaller,
		a_new_connection_to_a_master_without_replicas_knows_the_group, a_master_alone_needs_nobody);
}
