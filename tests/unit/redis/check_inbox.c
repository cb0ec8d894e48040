/*
 * Tests of daemon/inbox against a real redis-server: it listens whatever the master lets it know besides, and
 * a flush is told.
 */
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/inbox.h"
#include "tests/support/await.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <string.h>

#define CHANNEL "holdfast:inbox:me"

struct probe {
	struct redis_server server;
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct inbox *inbox;
	unsigned subscribed, wakes, flushes, asks, answers;
	char text[64]; /* of the last of these */
};

static void
on_subscribed(void *arg)
{
	((struct probe *)arg)->subscribed++;
}

static void
on_wake(void *arg, struct slice name)
{
	(void)name;
	((struct probe *)arg)->wakes++;
}

static void
on_want(void *arg, struct slice name)
{
	(void)arg;
	ck_abort_msg("want %.*s", (int)name.n, name.p);
}

static void
on_latch(void *arg, struct slice name)
{
	(void)arg;
	ck_abort_msg("latch %.*s", (int)name.n, name.p);
}

static void
on_flushed(void *arg)
{
	((struct probe *)arg)->flushes++;
}

static void
on_asked(void *arg, bool answer, struct slice text)
{
	struct probe *p = arg;

	p->asks += !answer;
	p->answers += answer;
	slice_text(p->text, sizeof p->text, text);
}

static const struct inbox_hooks hooks = {.subscribed = on_subscribed,
	.wake = on_wake,
	.want = on_want,
	.latch = on_latch,
	.flushed = on_flushed,
	.asked = on_asked};

static bool
is_subscribed(void *arg)
{
	return ((struct probe *)arg)->subscribed > 0;
}

static bool
is_woken(void *arg)
{
	return ((struct probe *)arg)->wakes > 0;
}

static bool
is_flushed(void *arg)
{
	return ((struct probe *)arg)->flushes > 0;
}

static void
open_server(struct probe *p)
{
	memset(p, 0, sizeof *p);
	redis_init(&p->server, false, NULL);
	p->base = event_base_new();
	log_init(&p->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&p->stats);
}

static void
start(struct probe *p, const char *user)
{
	const struct link_settings settings = {.path = p->server.path,
		.user = user,
		.password = user ? "pw" : NULL,
		.client_name = "test",
		.connect_ms = 5000,
		.reply_ms = 5000,
		.output_bytes = 65536};

	p->inbox = inbox_new(p->base, &settings, CHANNEL, &hooks, p, &p->log, &p->stats);
	ck_assert_ptr_nonnull(p->inbox);
	ck_assert(await(p->base, is_subscribed, p));
}

static void
stop(struct probe *p)
{
	inbox_free(p->inbox);
	event_base_free(p->base);
	redis_done(&p->server);
}

static void
flush_is_told(struct probe *p)
{
	ck_assert(await(p->base, is_flushed, p));
	ck_assert_uint_eq(p->flushes, 1);
	p->flushes = 0;
}

START_TEST(a_flush_is_told_of_any_kind)
{
	struct probe p;

	open_server(&p);
	start(&p, NULL);
	redis_run(&p.server, "FLUSHALL");
	flush_is_told(&p);
	redis_run(&p.server, "FLUSHDB");
	flush_is_told(&p);
	redis_run(&p.server, "FLUSHALL ASYNC");
	flush_is_told(&p);
	ck_assert_int_eq(p.stats.inbox_flushes, 3);
	ck_assert_int_eq(p.stats.inbox_ignored, 0);
	stop(&p);
}
END_TEST

static bool
is_answered(void *arg)
{
	return ((struct probe *)arg)->answers > 0;
}

START_TEST(what_other_daemons_ask_and_answer_is_passed_on_without_its_first_word)
{
	struct probe p;

	open_server(&p);
	start(&p, NULL);
	redis_run(&p.server, "PUBLISH " CHANNEL " %s", "ask me anything");
	redis_run(&p.server, "PUBLISH " CHANNEL " %s", "asking");
	redis_run(&p.server, "PUBLISH " CHANNEL " %s", "told you so");
	ck_assert(await(p.base, is_answered, &p));
	ck_assert_str_eq(p.text, "you so");
	ck_assert_uint_eq(p.asks, 1);
	ck_assert_int_eq(p.stats.inbox_asks, 1);
	ck_assert_int_eq(p.stats.inbox_answers, 1);
	ck_assert_int_eq(p.stats.inbox_ignored, 1);
	stop(&p);
}
END_TEST

START_TEST(keys_that_come_and_go_are_not_told)
{
	struct probe p;

	open_server(&p);
	start(&p, NULL);
	redis_run(&p.server, "SET a b");
	redis_run(&p.server, "GET a");
	redis_run(&p.server, "SET a c");
	redis_run(&p.server, "DEL a");
	redis_run(&p.server, "PUBLISH __redis__:invalidate a");
	redis_run(&p.server, "PUBLISH " CHANNEL " %s", "wake a");
	ck_assert(await(p.base, is_woken, &p));
	ck_assert_uint_eq(p.flushes, 0);
	ck_assert_int_eq(p.stats.inbox_ignored, 1); /* what somebody published in the master's name */
	stop(&p);
}
END_TEST

static void
listens(struct probe *p, bool untracked)
{
	start(p, "hf");
	redis_run(&p->server, "FLUSHALL");
	redis_run(&p->server, "PUBLISH " CHANNEL " %s", "wake a");
	ck_assert(await(p->base, is_woken, p));
	if (untracked)
		ck_assert_uint_eq(p->flushes, 0);
	ck_assert_uint_eq(p->subscribed, 1);
	ck_assert_int_eq(p->stats.master_disconnects, 0);
	stop(p);
}

START_TEST(a_user_that_may_not_track_listens_all_the_same)
{
	struct probe p;

	open_server(&p);
	redis_run(&p.server, "ACL SETUSER hf on >pw ~* &* +@all -client|tracking");
	listens(&p, true);
}
END_TEST

START_TEST(a_user_without_client_commands_listens_all_the_same)
{
	struct probe p;

	open_server(&p);
	redis_run(&p.server, "ACL SETUSER hf on >pw ~* &* +@all -client");
	listens(&p, true);
}
END_TEST

START_TEST(a_user_without_the_channel_of_flushes_listens_all_the_same)
{
	struct probe p;

	open_server(&p);
	redis_run(&p.server, "ACL SETUSER hf on >pw ~* resetchannels &holdfast:* +@all");
	listens(&p, false); /* servers may tell a flush without it */
}
END_TEST

START_TEST(a_new_connection_is_told_too)
{
	struct probe p;

	open_server(&p);
	start(&p, NULL);
	p.subscribed = 0;
	ck_assert_int_eq(redis_integer(&p.server, "CLIENT KILL TYPE pubsub"), 1);
	ck_assert(await(p.base, is_subscribed, &p));
	redis_run(&p.server, "FLUSHALL");
	ck_assert(await(p.base, is_flushed, &p));
	stop(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("inbox", NULL, NULL, a_flush_is_told_of_any_kind,
		what_other_daemons_ask_and_answer_is_passed_on_without_its_first_word,
		keys_that_come_and_go_are_not_told, a_user_that_may_not_track_listens_all_the_same,
		a_user_without_client_commands_listens_all_the_same,
		a_user_without_the_channel_of_flushes_listens_all_the_same, a_new_connection_is_told_too);
}
