/*
 * Tests of daemon/redis/finder against sentinels that are played by the test: whom it believes, what it
 * tells, and that it goes on asking.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/redis/finder.h"
#include "tests/support/await.h"
#include "tests/support/fake_sentinel.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FAKES_MAX 3

struct probe {
	struct event_base *base;
	struct log log;
	struct fake_sentinel fakes[FAKES_MAX];
	size_t count;
	struct finder_address addresses[FAKES_MAX];
	struct finder_settings settings;
	struct finder *finder;
	unsigned founds, losses;
	unsigned unusable; /* so many of the founds come when memory is short */
	char host[64];
	unsigned port, replicas;
	struct replicas_found names;
	char why[300];
};

static bool
on_found(void *arg, const struct finder_found *found)
{
	struct probe *p = arg;

	p->founds++;
	snprintf(p->host, sizeof p->host, "%s", found->host);
	p->port = found->port;
	p->replicas = found->replicas->count;
	p->names = *found->replicas;
	return p->founds > p->unusable;
}

static void
on_lost(void *arg, const char *why)
{
	struct probe *p = arg;

	p->losses++;
	snprintf(p->why, sizeof p->why, "%s", why);
}

static const struct finder_hooks hooks = {.found = on_found, .lost = on_lost};

/* So many sentinels that agree on 10.0.0.1:6379 with two replicas. */
static void
probe_init(struct probe *p, size_t count)
{
	size_t i;

	memset(p, 0, sizeof *p);
	p->base = event_base_new();
	log_init(&p->log, -1, LOG_DEBUG_LEVEL, 0);
	p->count = count;
	for (i = 0; i < count; i++) {
		struct fake_sentinel *fake = &p->fakes[i];

		fake_sentinel_init(fake);
		fake_sentinel_open(fake, p->base);
		p->addresses[i] = (struct finder_address){.host = "127.0.0.1", .port = fake->port};
	}
	p->settings = (struct finder_settings){.name = "mymaster",
		.addresses = p->addresses,
		.count = count,
		.client_name = "test",
		.connect_ms = 5000,
		.reply_ms = 5000};
}

static void
probe_begin(struct probe *p)
{
	p->finder = finder_new(p->base, &p->settings, &hooks, p, &p->log);
	ck_assert_ptr_nonnull(p->finder);
}

static void
probe_done(struct probe *p)
{
	size_t i;

	finder_free(p->finder);
	for (i = 0; i < p->count; i++)
		fake_sentinel_close(&p->fakes[i]);
	event_base_free(p->base);
}

static bool
is_found(void *arg)
{
	return ((struct probe *)arg)->founds > 0;
}

static bool
is_usable(void *arg)
{
	const struct probe *p = arg;

	return p->founds > p->unusable;
}

static bool
is_lost(void *arg)
{
	return ((struct probe *)arg)->losses > 0;
}

static bool
is_asked_thrice(void *arg)
{
	return ((struct probe *)arg)->fakes[0].asked >= 3;
}

static bool
all_subscribed(void *arg)
{
	const struct probe *p = arg;
	size_t i;

	for (i = 0; i < p->count; i++)
		if (!p->fakes[i].subscribed && p->fakes[i].listener && !p->fakes[i].mute)
			return false;
	return true;
}

static bool
is_second_found(void *arg)
{
	return strcmp(((struct probe *)arg)->host, "10.0.0.2") == 0;
}

static void
begin(struct probe *p)
{
	probe_begin(p);
	ck_assert(await(p->base, is_found, p));
	ck_assert(await(p->base, all_subscribed, p));
}

START_TEST(it_finds_the_master_and_tells_once)
{
	struct probe p;

	probe_init(&p, 3);
	begin(&p);
	ck_assert_uint_eq(p.founds, 1);
	ck_assert_str_eq(p.host, "10.0.0.1");
	ck_assert_uint_eq(p.port, 6379);
	ck_assert_uint_eq(p.replicas, 2);
	ck_assert_uint_eq(p.losses, 0);
	probe_done(&p);
}
END_TEST

START_TEST(what_there_was_no_memory_for_is_told_again)
{
	struct probe p;

	probe_init(&p, 1);
	p.unusable = 2;
	probe_begin(&p);
	ck_assert(await(p.base, is_usable, &p));
	ck_assert_str_eq(p.host, "10.0.0.1");
	probe_done(&p);
}
END_TEST

START_TEST(two_of_three_are_enough)
{
	struct probe p;

	probe_init(&p, 3);
	fake_sentinel_close(&p.fakes[0]);
	begin(&p);
	ck_assert_str_eq(p.host, "10.0.0.1");
	ck_assert_uint_eq(p.losses, 0);
	probe_done(&p);
}
END_TEST

START_TEST(one_of_three_is_not_believed_and_what_each_says_is_told)
{
	struct probe p;
	char expected[300];

	probe_init(&p, 3);
	fake_sentinel_close(&p.fakes[0]);
	p.fakes[1].answer = "-ERR No such master with that name\r\n";
	p.fakes[2].epoch = UINT_MAX;
	probe_begin(&p);
	ck_assert(await(p.base, is_lost, &p));
	snprintf(expected, sizeof expected,
		"too few sentinels agree where mymaster is (2 of 3 have to): 127.0.0.1:%u connection "
		"refused; "
		"127.0.0.1:%u says ERR No such master with that name; 127.0.0.1:%u names 10.0.0.1:6379",
		p.fakes[0].port, p.fakes[1].port, p.fakes[2].port);
	ck_assert_str_eq(p.why, expected);
	ck_assert_uint_eq(p.founds, 0);
	/* A second one that says so is enough. */
	p.fakes[1].answer = NULL;
	finder_watch(p.finder, true);
	ck_assert(await(p.base, is_found, &p));
	probe_done(&p);
}
END_TEST

/* Each of the three in turn. */
START_TEST(one_that_lies_is_not_followed_whatever_its_epoch)
{
	for (size_t liar = 0; liar < 3; liar++) {
		struct probe p;

		probe_init(&p, 3);
		p.fakes[liar].host = "10.6.6.6";
		p.fakes[liar].epoch = UINT_MAX;
		begin(&p);
		ck_assert_str_eq(p.host, "10.0.0.1");
		fake_sentinel_publish(&p.fakes[liar], "mymaster 10.0.0.1 6379 10.6.6.6 6379");
		finder_watch(p.finder, true);
		p.fakes[liar].asked = p.fakes[0].asked = 0;
		ck_assert(await(p.base, is_asked_thrice, &p));
		ck_assert_uint_eq(p.founds, 1);
		/* Nor by one honest sentinel that says nothing any more. */
		fake_sentinel_close(&p.fakes[(liar + 1) % 3]);
		ck_assert(await(p.base, is_lost, &p));
		ck_assert_str_eq(p.host, "10.0.0.1");
		ck_assert_uint_eq(p.founds, 1);
		probe_done(&p);
	}
}
END_TEST

START_TEST(a_port_is_a_part_of_a_place)
{
	struct probe p;

	probe_init(&p, 3);
	p.fakes[2].master_port = 6380;
	p.fakes[2].epoch = UINT_MAX;
	begin(&p);
	ck_assert_uint_eq(p.port, 6379);
	ck_assert_uint_eq(p.founds, 1);
	probe_done(&p);
}
END_TEST

START_TEST(a_failover_while_one_is_away_is_followed)
{
	struct probe p;

	probe_init(&p, 3);
	fake_sentinel_close(&p.fakes[0]);
	begin(&p);
	for (size_t i = 1; i < 3; i++) {
		p.fakes[i].host = "10.0.0.2";
		p.fakes[i].epoch = 8;
		fake_sentinel_publish(&p.fakes[i], "mymaster 10.0.0.1 6379 10.0.0.2 6379");
	}
	ck_assert(await(p.base, is_second_found, &p));
	/* The one that was away comes back with what it knew. */
	fake_sentinel_open(&p.fakes[0], p.base);
	p.fakes[0].subscribed = false;
	ck_assert(await(p.base, all_subscribed, &p));
	ck_assert_str_eq(p.host, "10.0.0.2");
	ck_assert_uint_eq(p.founds, 2);
	probe_done(&p);
}
END_TEST

START_TEST(of_two_both_have_to_name_it)
{
	struct probe p;

	probe_init(&p, 2);
	p.fakes[1].host = "10.0.0.2";
	p.fakes[1].epoch = 8;
	probe_begin(&p);
	ck_assert(await(p.base, is_lost, &p));
	ck_assert_ptr_nonnull(strstr(p.why, "(2 of 2 have to)"));
	ck_assert_uint_eq(p.founds, 0);
	p.fakes[0].host = "10.0.0.2";
	finder_watch(p.finder, true);
	ck_assert(await(p.base, is_second_found, &p));
	probe_done(&p);
}
END_TEST

START_TEST(a_failover_is_heard_at_once)
{
	struct probe p;

	probe_init(&p, 3);
	begin(&p);
	p.founds = 0;
	for (size_t i = 1; i < 3; i++) {
		p.fakes[i].host = "10.0.0.2";
		p.fakes[i].epoch = 8;
		fake_sentinel_publish(&p.fakes[i], "mymaster 10.0.0.1 6379 10.0.0.2 6379");
	}
	ck_assert(await(p.base, is_found, &p));
	ck_assert_str_eq(p.host, "10.0.0.2");
	/* The first one still says what it said; it is behind. */
	finder_watch(p.finder, true);
	p.fakes[0].asked = 0;
	ck_assert(await(p.base, is_asked_thrice, &p));
	ck_assert_uint_eq(p.founds, 1);
	ck_assert_str_eq(p.host, "10.0.0.2");
	probe_done(&p);
}
END_TEST

START_TEST(news_of_other_masters_are_passed_over)
{
	struct probe p;
	unsigned asked;

	probe_init(&p, 1);
	begin(&p);
	asked = p.fakes[0].asked;
	fake_sentinel_publish(&p.fakes[0], "mymaster2 10.0.0.1 6379 10.0.0.2 6379");
	await_ms(p.base, 100);
	ck_assert_uint_eq(p.fakes[0].asked, asked);
	probe_done(&p);
}
END_TEST

START_TEST(more_replicas_are_told)
{
	struct probe p;

	probe_init(&p, 2);
	begin(&p);
	p.founds = 0;
	p.fakes[1].replicas = 4;
	finder_watch(p.finder, true);
	ck_assert(await(p.base, is_found, &p));
	ck_assert_str_eq(p.host, "10.0.0.1");
	ck_assert_uint_eq(p.replicas, 4);
	probe_done(&p);
}
END_TEST

START_TEST(what_any_sentinel_knows_of_replicas_counts)
{
	struct probe p;

	probe_init(&p, 2);
	p.fakes[0].named[0] = 7001;
	p.fakes[1].named[0] = 7002;
	p.fakes[1].named[1] = 7001;
	p.fakes[1].replicas = 2;
	begin(&p);
	finder_watch(p.finder, true);
	while (p.names.named.n < 2)
		await_ms(p.base, 10);
	ck_assert_str_eq(p.names.self, "10.0.0.1:6379");
	ck_assert(roster_has(&p.names.named, SLICE("127.0.0.1:7001")));
	ck_assert(roster_has(&p.names.named, SLICE("127.0.0.1:7002")));
	/* One has lost its memory; others have one. */
	p.fakes[1].named[0] = p.fakes[1].named[1] = 0;
	p.fakes[1].replicas = 0;
	p.founds = 0;
	ck_assert(await(p.base, is_found, &p));
	ck_assert(slice_equal(roster_text(&p.names.named), SLICE("127.0.0.1:7001")));
	probe_done(&p);
}
END_TEST

START_TEST(it_asks_often_only_while_something_is_wrong)
{
	struct probe p;
	unsigned asked;

	probe_init(&p, 1);
	begin(&p);
	asked = p.fakes[0].asked;
	ck_assert_uint_eq(asked, 1);
	await_ms(p.base, 3 * FINDER_ASK_CLOSE_MS);
	ck_assert_uint_eq(p.fakes[0].asked, asked);
	finder_watch(p.finder, true);
	p.fakes[0].asked = 0;
	ck_assert(await(p.base, is_asked_thrice, &p));
	probe_done(&p);
}
END_TEST

START_TEST(one_that_lets_nobody_subscribe_is_asked_more_often)
{
	struct probe p;
	int64_t began_ms;

	probe_init(&p, 1);
	p.fakes[0].denies = "-NOPERM this user has no permissions to access one of the channels\r\n";
	probe_begin(&p);
	ck_assert(await(p.base, is_found, &p));
	p.fakes[0].asked = 0;
	began_ms = clock_ms();
	ck_assert(await(p.base, is_asked_thrice, &p));
	ck_assert_int_ge(clock_ms() - began_ms, 2 * FINDER_ASK_NO_PUSH_MS - 50);
	ck_assert_uint_eq(p.founds, 1);
	ck_assert_uint_eq(p.losses, 0);
	probe_done(&p);
}
END_TEST

START_TEST(when_nobody_knows_each_reason_is_told)
{
	struct probe p;
	char expected[300];

	probe_init(&p, 2);
	fake_sentinel_close(&p.fakes[0]);
	p.fakes[1].answer = "-ERR No such master with that name\r\n";
	probe_begin(&p);
	ck_assert(await(p.base, is_lost, &p));
	snprintf(expected, sizeof expected,
		"no sentinel knows where mymaster is: 127.0.0.1:%u connection refused; 127.0.0.1:%u says ERR "
		"No such master with that name",
		p.fakes[0].port, p.fakes[1].port);
	ck_assert_str_eq(p.why, expected);
	/* Once for each reason. */
	finder_watch(p.finder, true);
	await_ms(p.base, 2 * FINDER_ASK_CLOSE_MS);
	ck_assert_uint_eq(p.losses, 1);
	p.fakes[1].answer = NULL;
	fake_sentinel_open(&p.fakes[0], p.base);
	ck_assert(await(p.base, is_found, &p));
	probe_done(&p);
}
END_TEST

START_TEST(it_comes_back_to_a_sentinel_that_was_away)
{
	struct probe p;

	probe_init(&p, 1);
	begin(&p);
	fake_sentinel_close(&p.fakes[0]);
	ck_assert(await(p.base, is_lost, &p));
	p.founds = 0;
	p.fakes[0].host = "10.0.0.3";
	fake_sentinel_open(&p.fakes[0], p.base);
	ck_assert(await(p.base, is_found, &p));
	ck_assert_str_eq(p.host, "10.0.0.3");
	probe_done(&p);
}
END_TEST

START_TEST(answers_without_sense_are_no_opinion)
{
	static const char *const answers[] = {
		"*0\r\n",
		"$-1\r\n",
		":1\r\n",
		"*2\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n",
		"*8\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n$4\r\nport\r\n$1\r\n0\r\n$10\r\nnum-slaves\r\n$"
		"1\r\n1\r\n$"
		"12\r\nconfig-epoch\r\n$1\r\n1\r\n",
		"*8\r\n$2\r\nip\r\n$8\r\n10.0 "
		"0.1\r\n$4\r\nport\r\n$1\r\n1\r\n$10\r\nnum-slaves\r\n$1\r\n1\r\n$"
		"12\r\nconfig-epoch\r\n$1\r\n1\r\n",
		"*8\r\n$2\r\nip\r\n$0\r\n\r\n$4\r\nport\r\n$1\r\n1\r\n$10\r\nnum-slaves\r\n$1\r\n1\r\n$"
		"12\r\nconfig-epoch\r\n$1\r\n1\r\n",
		"*8\r\n$2\r\nip\r\n$1\r\na\r\n$4\r\nport\r\n$5\r\n65536\r\n$10\r\nnum-slaves\r\n$1\r\n1\r\n$"
		"12\r\nconfig-epoch\r\n$1\r\n1\r\n",
		"*7\r\n$2\r\nip\r\n$1\r\na\r\n$4\r\nport\r\n$1\r\n1\r\n$10\r\nnum-slaves\r\n$2\r\n-1\r\n$"
		"12\r\nconfig-epoch\r\n",
	};
	size_t i;

	for (i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct probe p;

		probe_init(&p, 1);
		p.fakes[0].answer = answers[i];
		probe_begin(&p);
		ck_assert(await(p.base, is_lost, &p));
		ck_assert_ptr_nonnull(strstr(p.why, "says what no sentinel does"));
		ck_assert_uint_eq(p.founds, 0);
		probe_done(&p);
	}
}
END_TEST

START_TEST(it_logs_in_at_the_sentinels)
{
	struct probe p;

	probe_init(&p, 1);
	p.settings.user = "watcher";
	p.settings.password = "secret";
	begin(&p);
	ck_assert_str_eq(p.fakes[0].auth, "watcher secret");
	probe_done(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("finder", NULL, NULL, it_finds_the_master_and_tells_once,
		what_there_was_no_memory_for_is_told_again, two_of_three_are_enough,
		one_of_three_is_not_believed_and_what_each_says_is_told,
		one_that_lies_is_not_followed_whatever_its_epoch, a_port_is_a_part_of_a_place,
		a_failover_while_one_is_away_is_followed, of_two_both_have_to_name_it,
		a_failover_is_heard_at_once, news_of_other_masters_are_passed_over, more_replicas_are_told,
		what_any_sentinel_knows_of_replicas_counts, it_asks_often_only_while_something_is_wrong,
		one_that_lets_nobody_subscribe_is_asked_more_often, when_nobody_knows_each_reason_is_told,
		it_comes_back_to_a_sentinel_that_was_away, answers_without_sense_are_no_opinion,
		it_logs_in_at_the_sentinels);
}
