/*
 * Tests of daemon/masters against three real redis-servers: each call reaches its master and none other, and
 * what comes back says from which.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/masters.h"
#include "tests/support/await.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define DAEMON "0123456789abcdef0123456789abcdef"
#define COUNT  3

struct probe {
	struct redis_server servers[COUNT];
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct masters *masters;
	bool up[COUNT];
	bool subscribed[COUNT];
	bool woken[COUNT];
	char why[COUNT][200];
	size_t votes[COUNT];
	char runs[COUNT][64];
	size_t called;
};

static void
on_event(void *arg, const struct event *event)
{
	struct probe *p = arg;

	ck_assert_uint_lt(event->master, COUNT);
	switch (event->type) {
	case EVENT_LINK_UP:
		p->up[event->master] = true;
		break;
	case EVENT_LINK_DOWN:
		p->up[event->master] = false;
		snprintf(p->why[event->master], sizeof p->why[0], "%.*s", (int)event->text.n, event->text.p);
		break;
	case EVENT_SUBSCRIBED:
		p->subscribed[event->master] = true;
		break;
	case EVENT_WAKE:
		ck_assert(slice_equal(event->name, SLICE("a")));
		p->woken[event->master] = true;
		break;
	case EVENT_VOTE:
		ck_assert_uint_eq(event->vote->master, event->master);
		ck_assert_int_eq(event->vote->outcome, OUTCOME_YES);
		snprintf(p->runs[event->master], sizeof p->runs[0], "%.*s", (int)event->vote->run.n,
			event->vote->run.p);
		p->votes[event->master]++;
		break;
	default:
		ck_abort_msg("an event of type %d", event->type);
	}
}

static void
setup(struct probe *p)
{
	struct pool_settings settings[COUNT];
	unsigned i;

	memset(p, 0, sizeof *p);
	p->base = event_base_new();
	log_init(&p->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&p->stats);
	for (i = 0; i < COUNT; i++) {
		redis_init(&p->servers[i], false, NULL);
		settings[i] = (struct pool_settings)POOL_SETTINGS_DEFAULT;
		settings[i].path = p->servers[i].path;
		settings[i].daemon_id = DAEMON;
	}
	settings[1].title = "the second";
	p->masters = masters_new(p->base, settings, COUNT, on_event, p, &p->log, &p->stats);
	ck_assert_ptr_nonnull(p->masters);
}

static void
teardown(struct probe *p)
{
	unsigned i;

	masters_free(p->masters);
	event_base_free(p->base);
	for (i = 0; i < COUNT; i++)
		redis_done(&p->servers[i]);
}

static bool
all_ready(void *arg)
{
	const struct probe *p = arg;

	return p->up[0] && p->up[1] && p->up[2] && p->subscribed[0] && p->subscribed[1] && p->subscribed[2];
}

static bool
all_voted(void *arg)
{
	const struct probe *p = arg;

	return p->votes[0] + p->votes[1] + p->votes[2] == p->called;
}

static void
call(struct probe *p, unsigned master)
{
	const struct call hello = {.op = CALL_HELLO,
		.master = master,
		.attempt = ++p->called,
		.incarnation = 0xabc0 + master,
		.id = 1};

	masters_call(p->masters, &hello);
}

START_TEST(a_call_reaches_its_master_alone)
{
	struct probe p;
	unsigned i;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	for (i = 0; i < 4; i++)
		call(&p, i % COUNT);
	masters_flush(p.masters);
	ck_assert(await(p.base, all_voted, &p));
	ck_assert_uint_eq(p.votes[0], 2);
	ck_assert_uint_eq(p.votes[1], 1);
	ck_assert_uint_eq(p.votes[2], 1);
	for (i = 0; i < COUNT; i++) {
		redisReply *run = redis_command(&p.servers[i], "HGET holdfast:node run");

		ck_assert_str_eq(p.runs[i], run->str);
		freeReplyObject(run);
	}
	teardown(&p);
}
END_TEST

static bool
second_woken(void *arg)
{
	return ((const struct probe *)arg)->woken[1];
}

static bool
third_down(void *arg)
{
	return !((const struct probe *)arg)->up[2];
}

START_TEST(what_comes_says_from_which_master)
{
	struct probe p;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	redis_run(&p.servers[1], "PUBLISH holdfast:inbox:" DAEMON " %s", "wake a");
	ck_assert(await(p.base, second_woken, &p));
	ck_assert(!p.woken[0] && !p.woken[2]);
	redis_kill(&p.servers[2]);
	ck_assert(await(p.base, third_down, &p));
	ck_assert(p.up[0] && p.up[1]);
	ck_assert_str_ne(p.why[2], "");
	ck_assert_str_eq(p.why[0], "");
	teardown(&p);
}
END_TEST

START_TEST(each_has_its_address_for_people)
{
	struct probe p;
	char expected[200];

	setup(&p);
	ck_assert_uint_eq(masters_count(p.masters), COUNT);
	ck_assert_str_eq(masters_where(p.masters, 0), p.servers[0].path);
	snprintf(expected, sizeof expected, "the second %s", p.servers[1].path);
	ck_assert_str_eq(masters_where(p.masters, 1), expected);
	teardown(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("masters", NULL, NULL, a_call_reaches_its_master_alone,
		what_comes_says_from_which_master, each_has_its_address_for_people);
}
