/*
 * Tests of daemon/masters against three real redis-servers: each call reaches its master and none other, and
 * what comes back says from which.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/link.h"
#include "daemon/redis/masters.h"
#include "tests/support/await.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define DAEMON "0123456789abcdef0123456789abcdef"
#define COUNT  3
#define SLOTS  4 /* in use here */

struct probe {
	struct redis_server servers[COUNT];
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct masters *masters;
	bool up[SLOTS];
	unsigned downs[SLOTS];
	bool subscribed[SLOTS];
	bool woken[SLOTS];
	char why[SLOTS][200];
	size_t votes[SLOTS];
	enum outcome outcomes[SLOTS]; /* of the last one */
	char runs[SLOTS][64];
	size_t called;
	const char *lost;     /* the place that cannot be found */
	const char *password; /* of all that are found */
};

static void
on_event(void *arg, const struct event *event)
{
	struct probe *p = arg;

	ck_assert_uint_lt(event->master, SLOTS);
	switch (event->type) {
	case EVENT_LINK_UP:
		p->up[event->master] = true;
		break;
	case EVENT_LINK_DOWN:
		p->up[event->master] = false;
		p->subscribed[event->master] = false;
		p->downs[event->master]++;
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
		p->outcomes[event->master] = event->vote->outcome;
		snprintf(p->runs[event->master], sizeof p->runs[0], "%.*s", (int)event->vote->run.n,
			event->vote->run.p);
		p->votes[event->master]++;
		break;
	default:
		ck_abort_msg("an event of type %d", event->type);
	}
}

static struct pool_settings
settings_at(const char *path)
{
	struct pool_settings settings = POOL_SETTINGS_DEFAULT;

	settings.path = path;
	settings.daemon_id = DAEMON;
	return settings;
}

/* Places are paths, without blanks here. */
static bool
on_find(void *arg, struct slice place, struct slice way, struct pool_settings *settings, char *why,
	size_t room)
{
	const struct probe *p = arg;
	static char path[200];

	ck_assert(slice_equal(way, SLICE("url")));
	snprintf(path, sizeof path, "%.*s", (int)place.n, place.p);
	snprintf(why, room, "is not named here");
	*settings = settings_at(path);
	settings->password = p->password;
	return !p->lost || strcmp(p->lost, path) != 0;
}

static const struct masters_hooks hooks = {.event = on_event, .find = on_find};

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
		settings[i] = settings_at(p->servers[i].path);
	}
	settings[1].title = "the second";
	p->masters = masters_new(p->base, settings, COUNT, &hooks, p, &p->log, &p->stats);
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

	return p->votes[0] + p->votes[1] + p->votes[2] + p->votes[3] == p->called;
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
	ck_assert_str_eq(masters_where(p.masters, 0), p.servers[0].path);
	snprintf(expected, sizeof expected, "the second %s", p.servers[1].path);
	ck_assert_str_eq(masters_where(p.masters, 1), expected);
	teardown(&p);
}
END_TEST

/* ---- slots that move ---- */

static void
move(struct probe *p, unsigned slot, const char *place)
{
	masters_move(p->masters, &(struct move){slot, slice_of(place), place[0] ? SLICE("url") : SLICE("")});
}

static bool
first_ready(void *arg)
{
	const struct probe *p = arg;

	return p->up[0] && p->subscribed[0];
}

static bool
fourth_ready(void *arg)
{
	const struct probe *p = arg;

	return p->up[3] && p->subscribed[3];
}

static bool
first_left(void *arg)
{
	return ((const struct probe *)arg)->downs[0] > 0;
}

/* Connections of the daemon, without that of the test. */
static int64_t
connections(struct redis_server *server)
{
	redisReply *list = redis_command(server, "CLIENT LIST");
	int64_t n = 0;

	for (const char *at = list->str; (at = strstr(at, "name=holdfast-")) != NULL; at++)
		n++;
	freeReplyObject(list);
	return n;
}

static bool
first_deserted(void *arg)
{
	struct probe *p = arg;

	return connections(&p->servers[0]) == 0;
}

START_TEST(a_slot_that_moves_reaches_another_server)
{
	struct probe p;
	redisReply *run;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	ck_assert_int_eq(connections(&p.servers[0]), 2);
	move(&p, 0, p.servers[2].path);
	/* Nothing happens within the call. */
	ck_assert(p.up[0] && p.downs[0] == 0);
	ck_assert(await(p.base, first_left, &p));
	ck_assert_str_eq(p.why[0], "the set of masters has changed");
	ck_assert(await(p.base, first_ready, &p));
	ck_assert_uint_eq(p.downs[0], 1);
	ck_assert_str_eq(masters_where(p.masters, 0), p.servers[2].path);
	call(&p, 0);
	masters_flush(p.masters);
	ck_assert(await(p.base, all_voted, &p));
	run = redis_command(&p.servers[2], "HGET holdfast:node run");
	ck_assert_str_eq(p.runs[0], run->str);
	freeReplyObject(run);
	ck_assert(await(p.base, first_deserted, &p));
	ck_assert_int_eq(connections(&p.servers[2]), 4);
	ck_assert_uint_eq(p.downs[1] + p.downs[2], 0);
	teardown(&p);
}
END_TEST

START_TEST(what_is_under_way_to_a_server_that_is_left_is_unknown)
{
	struct probe p;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	redis_pause(&p.servers[0]);
	call(&p, 0);
	masters_flush(p.masters);
	call(&p, 0); /* and one that has not left yet */
	move(&p, 0, p.servers[2].path);
	ck_assert(await(p.base, first_left, &p));
	/* Before the links were down. */
	ck_assert_uint_eq(p.votes[0], 2);
	ck_assert_int_eq(p.outcomes[0], OUTCOME_UNKNOWN);
	ck_assert(await(p.base, first_ready, &p));
	redis_continue(&p.servers[0]);
	ck_assert_uint_eq(p.votes[0], 2);
	teardown(&p);
}
END_TEST

/* Its answer is here before the move is performed: its time and its tokens are of another server than the
 * core takes the slot for. */
START_TEST(an_answer_of_a_server_that_is_left_says_nothing)
{
	struct probe p;
	redisReply *stored;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	call(&p, 0);
	masters_flush(p.masters);
	do {
		stored = redis_command(&p.servers[0], "EXISTS holdfast:node");
	} while (stored->integer == 0 && (freeReplyObject(stored), true));
	freeReplyObject(stored);
	move(&p, 0, p.servers[2].path);
	ck_assert(await(p.base, all_voted, &p));
	ck_assert_int_eq(p.outcomes[0], OUTCOME_UNKNOWN);
	ck_assert_str_eq(p.runs[0], "");
	teardown(&p);
}
END_TEST

static bool
fourth_woken(void *arg)
{
	return ((const struct probe *)arg)->woken[3];
}

START_TEST(a_further_slot_listens_to_what_the_others_listen_to)
{
	struct probe p;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	masters_listen(p.masters, SLICE("gone"), true);
	masters_listen(p.masters, SLICE("a"), true);
	masters_listen(p.masters, SLICE("gone"), false);
	move(&p, 3, p.servers[1].path);
	ck_assert(await(p.base, fourth_ready, &p));
	ck_assert_str_eq(masters_where(p.masters, 3), p.servers[1].path);
	/* Once it listens it says that something may have been missed. */
	ck_assert(await(p.base, fourth_woken, &p));
	ck_assert_int_eq(redis_integer(&p.servers[1], "PUBLISH redisson_lock__channel:{a} 0"), 2);
	ck_assert_int_eq(redis_integer(&p.servers[1], "PUBLISH redisson_lock__channel:{gone} 0"), 0);
	move(&p, 3, "");
	while (connections(&p.servers[1]) > 2)
		event_base_loop(p.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	ck_assert(p.up[1] && !p.up[3]);
	ck_assert_str_eq(masters_where(p.masters, 3), "");
	teardown(&p);
}
END_TEST

static bool
fourth_away(void *arg)
{
	return ((const struct probe *)arg)->downs[3] > 0;
}

START_TEST(a_place_that_is_not_found_is_away_and_says_why_until_it_is)
{
	struct probe p;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	p.lost = p.servers[1].path;
	move(&p, 3, p.servers[1].path);
	ck_assert(await(p.base, fourth_away, &p));
	ck_assert_str_eq(p.why[3], "is not named here");
	ck_assert_str_eq(masters_where(p.masters, 3), p.servers[1].path);
	masters_listen(p.masters, SLICE("a"), true); /* with no pool there */
	masters_find_again(p.masters);
	p.downs[3] = 0;
	ck_assert(await(p.base, fourth_away, &p));
	p.lost = NULL;
	masters_find_again(p.masters);
	ck_assert(await(p.base, fourth_ready, &p));
	masters_find_again(p.masters);
	await_ms(p.base, 20);
	ck_assert(p.up[3]);
	teardown(&p);
}
END_TEST

/* Of those that are open already nothing is lost, and nothing new can be opened. */
static void
no_descriptors(struct rlimit *before)
{
	struct rlimit none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, before), 0);
	none = *before;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

START_TEST(a_slot_that_finds_no_descriptor_is_opened_when_there_are_some)
{
	struct probe p;
	struct rlimit before;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	no_descriptors(&before);
	move(&p, 3, p.servers[1].path);
	ck_assert(await(p.base, fourth_away, &p));
	ck_assert_str_eq(p.why[3], "Too many open files");
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert(await(p.base, fourth_ready, &p));
	ck_assert_uint_eq(p.downs[3], 1);
	/* One that is closed meanwhile stays so. */
	move(&p, 3, "");
	p.downs[3] = 0;
	ck_assert(await(p.base, fourth_away, &p));
	no_descriptors(&before);
	move(&p, 3, p.servers[1].path);
	p.downs[3] = 0;
	ck_assert(await(p.base, fourth_away, &p));
	move(&p, 3, "");
	await_ms(p.base, 20);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	await_ms(p.base, LINK_RETRY_MAX_MS + 200);
	ck_assert(!p.up[3]);
	ck_assert_uint_eq(p.downs[3], 1);
	teardown(&p);
}
END_TEST

START_TEST(what_is_reached_otherwise_by_now_is_connected_to_anew)
{
	struct probe p;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	p.password = "wrong";
	move(&p, 0, p.servers[1].path);
	ck_assert(await(p.base, first_left, &p));
	redis_run(&p.servers[1], "CONFIG SET requirepass %s", "right");
	p.downs[0] = 0;
	ck_assert(await(p.base, first_left, &p));
	p.password = "right";
	masters_find_again(p.masters);
	ck_assert(await(p.base, first_ready, &p));
	p.downs[0] = p.downs[1] = 0;
	/* Nothing has changed, nothing happens; and those that never moved are left as they are. */
	masters_find_again(p.masters);
	await_ms(p.base, 20);
	ck_assert_uint_eq(p.downs[0] + p.downs[1], 0);
	ck_assert(p.up[0] && p.up[1]);
	redis_run(&p.servers[1], "CONFIG SET requirepass %s", "");
	teardown(&p);
}
END_TEST

static size_t
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

START_TEST(a_slot_that_moves_a_hundred_times_leaves_nothing_behind)
{
	struct probe p;
	size_t before;

	setup(&p);
	ck_assert(await(p.base, all_ready, &p));
	masters_listen(p.masters, SLICE("a"), true);
	move(&p, 0, p.servers[1].path);
	ck_assert(await(p.base, first_left, &p));
	ck_assert(await(p.base, first_ready, &p));
	before = descriptors();
	for (unsigned i = 0; i < 100; i++) {
		call(&p, 0);
		move(&p, 0, p.servers[i % COUNT].path);
		p.downs[0] = 0;
		/* Some before they are up. */
		ck_assert(await(p.base, i % 3 == 0 ? first_left : first_ready, &p));
		if (i % 3 == 0)
			move(&p, 0, p.servers[(i + 1) % COUNT].path);
	}
	/* Instead of the last one: both come in one turn. */
	move(&p, 0, p.servers[1].path);
	ck_assert(await(p.base, first_ready, &p));
	ck_assert(await(p.base, all_voted, &p));
	ck_assert_uint_eq(descriptors(), before);
	ck_assert_int_eq(p.stats.master_links, COUNT);
	teardown(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("masters", NULL, NULL, a_call_reaches_its_master_alone,
		what_comes_says_from_which_master, each_has_its_address_for_people,
		a_slot_that_moves_reaches_another_server,
		what_is_under_way_to_a_server_that_is_left_is_unknown,
		an_answer_of_a_server_that_is_left_says_nothing,
		a_further_slot_listens_to_what_the_others_listen_to,
		a_place_that_is_not_found_is_away_and_says_why_until_it_is,
		a_slot_that_finds_no_descriptor_is_opened_when_there_are_some,
		what_is_reached_otherwise_by_now_is_connected_to_anew,
		a_slot_that_moves_a_hundred_times_leaves_nothing_behind);
}
