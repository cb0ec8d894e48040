/*
 * Tests of daemon/pool with a master that Sentinel names: it goes where the master is, and leaves where it is
 * not any more. The sentinel is played by the test, the masters are real.
 */
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

#define DAEMON "0123456789abcdef0123456789abcdef"

struct probe {
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct fake_sentinel fake;
	struct finder_address address;
	struct finder_settings sentinel;
	struct pool_settings settings;
	struct pool *pool;
	bool up[2];
	unsigned downs, subscribed, votes;
	char why[300];
	char run[64];
	enum hello_result hello;
};

static void
on_link_up(void *arg, unsigned link)
{
	((struct probe *)arg)->up[link] = true;
}

static void
on_link_down(void *arg, unsigned link, const char *why)
{
	struct probe *p = arg;

	p->up[link] = false;
	p->downs++;
	snprintf(p->why, sizeof p->why, "%s", why);
}

static void
on_subscribed(void *arg)
{
	((struct probe *)arg)->subscribed++;
}

static void
on_vote(void *arg, const struct vote *vote)
{
	struct probe *p = arg;

	p->votes++;
	p->hello = vote->hello;
	snprintf(p->run, sizeof p->run, "%.*s", (int)vote->run.n, vote->run.p);
}

static const struct pool_hooks hooks = {
	.link_up = on_link_up, .link_down = on_link_down, .subscribed = on_subscribed, .vote = on_vote};

static void
probe_init(struct probe *p)
{
	memset(p, 0, sizeof *p);
	p->base = event_base_new();
	log_init(&p->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&p->stats);
	fake_sentinel_init(&p->fake);
	p->fake.host = "127.0.0.1";
	p->address = (struct finder_address){.host = "127.0.0.1", .port = p->fake.port};
	p->sentinel = (struct finder_settings){.name = "mymaster", .addresses = &p->address, .count = 1};
	p->settings = (struct pool_settings)POOL_SETTINGS_DEFAULT;
	p->settings.finder = &p->sentinel;
	p->settings.daemon_id = DAEMON;
	p->settings.links = 2;
}

static void
probe_begin(struct probe *p)
{
	p->pool = pool_new(p->base, &p->settings, &hooks, p, &p->log, &p->stats);
	ck_assert_ptr_nonnull(p->pool);
}

static void
probe_done(struct probe *p)
{
	pool_free(p->pool);
	fake_sentinel_close(&p->fake);
	event_base_free(p->base);
}

static bool
is_up(void *arg)
{
	const struct probe *p = arg;

	return p->up[0] && p->up[1] && p->subscribed > 0;
}

static bool
is_down(void *arg)
{
	return !((const struct probe *)arg)->up[0] && !((const struct probe *)arg)->up[1];
}

static bool
both_told(void *arg)
{
	return ((const struct probe *)arg)->downs == 2;
}

static bool
is_asked_thrice(void *arg)
{
	return ((const struct probe *)arg)->fake.asked >= 3;
}

static bool
has_voted(void *arg)
{
	return ((const struct probe *)arg)->votes > 0;
}

static void
say_hello(struct probe *p)
{
	const struct call hello = {.op = CALL_HELLO,
		.attempt = 1,
		.incarnation = 0xabc,
		.id = 1,
		.wanted_lease_ms = 10000,
		.guarded_lease_ms = 10000};

	p->votes = 0;
	pool_call(p->pool, &hello);
	pool_flush(p->pool);
	ck_assert(await(p->base, has_voted, p));
}

static void
is_at(struct probe *p, struct redis_server *server)
{
	redisReply *run = redis_command(server, "HGET holdfast:node run");
	char where[64];

	ck_assert_str_eq(p->run, run->str);
	freeReplyObject(run);
	snprintf(where, sizeof where, "127.0.0.1:%u", server->port);
	ck_assert_str_eq(pool_where(p->pool), where);
}

START_TEST(it_connects_where_the_master_is_found)
{
	struct redis_server server;
	struct pool_view view;
	struct probe p;

	redis_init(&server, true, NULL);
	probe_init(&p);
	p.fake.master_port = server.port;
	fake_sentinel_open(&p.fake, p.base);
	probe_begin(&p);
	ck_assert_str_eq(pool_where(p.pool), "mymaster");
	ck_assert(await(p.base, is_up, &p));
	ck_assert_uint_eq(p.downs, 0);
	say_hello(&p);
	is_at(&p, &server);
	pool_see(p.pool, &view);
	ck_assert_str_eq(view.finder.name, "mymaster");
	ck_assert_uint_eq(view.replicas, 2);
	ck_assert_uint_eq(view.needed, 0); /* nobody asked for acknowledgement */
	ck_assert(view.replicated);
	probe_done(&p);
	redis_done(&server);
}
END_TEST

START_TEST(it_follows_a_failover)
{
	struct redis_server first, second;
	struct probe p;

	redis_init(&first, true, NULL);
	redis_init(&second, true, NULL);
	probe_init(&p);
	p.fake.master_port = first.port;
	fake_sentinel_open(&p.fake, p.base);
	probe_begin(&p);
	ck_assert(await(p.base, is_up, &p));
	p.fake.master_port = second.port;
	p.fake.epoch++;
	p.subscribed = 0;
	/* What it says of the address is not what counts: the sentinel is asked. */
	fake_sentinel_publish(&p.fake, "mymaster 127.0.0.1 1 127.0.0.1 2");
	ck_assert(await(p.base, is_down, &p));
	ck_assert_ptr_nonnull(strstr(p.why, "the master is at 127.0.0.1 port"));
	ck_assert(await(p.base, is_up, &p));
	say_hello(&p);
	is_at(&p, &second);
	ck_assert_int_eq(redis_integer(&first, "CLIENT KILL TYPE pubsub"), 0); /* the inbox went too */
	probe_done(&p);
	redis_done(&first);
	redis_done(&second);
}
END_TEST

START_TEST(a_master_that_dies_makes_it_ask_again_and_again)
{
	struct redis_server first, second;
	struct probe p;

	redis_init(&first, true, NULL);
	redis_init(&second, true, NULL);
	probe_init(&p);
	p.fake.master_port = first.port;
	p.fake.denies = "-NOPERM no\r\n"; /* nothing is heard but what is asked for */
	fake_sentinel_open(&p.fake, p.base);
	probe_begin(&p);
	ck_assert(await(p.base, is_up, &p));
	redis_kill(&first);
	ck_assert(await(p.base, is_down, &p));
	p.fake.asked = 0;
	ck_assert(await(p.base, is_asked_thrice, &p));
	p.fake.master_port = second.port;
	ck_assert(await(p.base, is_up, &p));
	say_hello(&p);
	is_at(&p, &second);
	probe_done(&p);
	redis_done(&first);
	redis_done(&second);
}
END_TEST

START_TEST(a_replica_in_its_place_makes_it_ask)
{
	struct redis_server server;
	struct probe p;

	redis_init(&server, true, NULL);
	redis_run(&server, "REPLICAOF 127.0.0.1 %d", (int)free_port());
	redis_run(&server, "CONFIG SET replica-serve-stale-data yes");
	probe_init(&p);
	p.fake.master_port = server.port;
	fake_sentinel_open(&p.fake, p.base);
	probe_begin(&p);
	ck_assert(await(p.base, is_up, &p));
	p.fake.asked = 0;
	await_ms(p.base, 2 * FINDER_ASK_CLOSE_MS);
	ck_assert_uint_eq(p.fake.asked, 0);
	say_hello(&p);
	ck_assert_int_eq(p.hello, HELLO_REPLICA);
	ck_assert(await(p.base, is_asked_thrice, &p));
	redis_run(&server, "REPLICAOF NO ONE");
	say_hello(&p);
	ck_assert_int_eq(p.hello, HELLO_GOOD);
	p.fake.asked = 0;
	await_ms(p.base, 2 * FINDER_ASK_CLOSE_MS);
	ck_assert_uint_le(p.fake.asked, 1);
	probe_done(&p);
	redis_done(&server);
}
END_TEST

START_TEST(without_a_sentinel_each_link_says_why)
{
	struct probe p;
	char expected[200];

	probe_init(&p);
	probe_begin(&p);
	ck_assert(await(p.base, both_told, &p));
	snprintf(expected, sizeof expected,
		"no sentinel knows where mymaster is: 127.0.0.1:%u connection refused", p.fake.port);
	ck_assert_str_eq(p.why, expected);
	probe_done(&p);
}
END_TEST

START_TEST(a_sentinel_that_dies_costs_no_connection)
{
	struct redis_server server;
	struct probe p;

	redis_init(&server, true, NULL);
	probe_init(&p);
	p.fake.master_port = server.port;
	fake_sentinel_open(&p.fake, p.base);
	probe_begin(&p);
	ck_assert(await(p.base, is_up, &p));
	fake_sentinel_close(&p.fake);
	await_ms(p.base, 300);
	ck_assert_uint_eq(p.downs, 0);
	say_hello(&p);
	is_at(&p, &server);
	probe_done(&p);
	redis_done(&server);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("pool_sentinel", NULL, NULL, it_connects_where_the_master_is_found,
		it_follows_a_failover, a_master_that_dies_makes_it_ask_again_and_again,
		a_replica_in_its_place_makes_it_ask, without_a_sentinel_each_link_says_why,
		a_sentinel_that_dies_costs_no_connection);
}
