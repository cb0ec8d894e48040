/*
 * The core when memory runs out: what can be refused is refused, what must not fail takes the reserve, and
 * nothing else changes. The linker lets the allocations of a step pass through here (--wrap).
 */
#include "daemon/core/base/alloc.h"
#include "daemon/core/core.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 600 /* more than have room on the list of dirty names without another allocation */

/* What the linker calls by names that are not ours to have. */
void *real_malloc(size_t n) __asm__("__real_malloc");
void *real_calloc(size_t n, size_t size) __asm__("__real_calloc");
void *real_realloc(void *p, size_t n) __asm__("__real_realloc");
void real_free(void *p) __asm__("__real_free");
void real_core_step(struct core *core, struct now now, const struct event *event,
	struct actions *actions) __asm__("__real_core_step");
void *wrap_malloc(size_t n) __asm__("__wrap_malloc");
void *wrap_calloc(size_t n, size_t size) __asm__("__wrap_calloc");
void *wrap_realloc(void *p, size_t n) __asm__("__wrap_realloc");
void wrap_free(void *p) __asm__("__wrap_free");
void wrap_core_step(struct core *core, struct now now, const struct event *event,
	struct actions *actions) __asm__("__wrap_core_step");

/* What the steps may have from now on. */
static struct {
	bool stepping;
	int64_t until; /* so many allocations succeed, the next one fails, and all after it succeed; -1: none
			  fails */
	bool bounded;  /* and together they have, */
	int64_t left;  /* so many bytes; */
	int64_t largest; /* and none has more than so many */
	unsigned refused;
} memory = {.until = -1, .largest = INT64_MAX};

static void
memory_all(void)
{
	memory.until = -1;
	memory.bounded = false;
	memory.largest = INT64_MAX;
}

/* All steps together have so many bytes more. */
static void
memory_left(int64_t bytes)
{
	memory.until = -1;
	memory.bounded = true;
	memory.left = bytes;
}

static bool
memory_refuses(int64_t bytes, int64_t more)
{
	bool refused;

	if (!memory.stepping)
		return false;
	refused = memory.until == 0 || (memory.bounded && more > memory.left) || bytes > memory.largest;
	memory.until -= memory.until >= 0;
	memory.refused += refused;
	return refused;
}

static void *
memory_note(void *p)
{
	memory.left -= p == NULL ? 0 : (int64_t)malloc_usable_size(p);
	return p;
}

void *
wrap_malloc(size_t n)
{
	return memory_refuses((int64_t)n, (int64_t)n) ? NULL : memory_note(real_malloc(n));
}

void *
wrap_calloc(size_t n, size_t size)
{
	int64_t bytes = (int64_t)(n * size);

	return memory_refuses(bytes, bytes) ? NULL : memory_note(real_calloc(n, size));
}

void *
wrap_realloc(void *p, size_t n)
{
	int64_t had = p == NULL ? 0 : (int64_t)malloc_usable_size(p);

	if (memory_refuses((int64_t)n, (int64_t)n - had))
		return NULL;
	memory.left += had;
	return memory_note(real_realloc(p, n));
}

void
wrap_free(void *p)
{
	memory.left += p == NULL ? 0 : (int64_t)malloc_usable_size(p);
	real_free(p);
}

void
wrap_core_step(struct core *core, struct now now, const struct event *event, struct actions *actions)
{
	memory.stepping = true;
	real_core_step(core, now, event, actions);
	memory.stepping = false;
}

/* ---- a master that says yes ---- */

struct question_asked {
	struct call call;
	char name[64];
};

#define ASKED_MAX 8192

static struct {
	struct question_asked list[ASKED_MAX];
	size_t n;
	int64_t token;
	unsigned renewed;
} asked = {.token = 1000};

static void
asked_take(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];
		struct question_asked *q = &asked.list[asked.n];

		if (a->type != ACTION_CALL || a->u.call.op == CALL_LEAVE || a->u.call.op == CALL_ENTER)
			continue;
		ck_assert_uint_lt(asked.n, ASKED_MAX);
		q->call = a->u.call;
		(void)snprintf(q->name, sizeof(q->name), "%.*s", (int)q->call.name.n,
			q->call.name.n > 0 ? q->call.name.p : "");
		asked.n++;
	}
}

static void
asked_answer(struct story *w, const struct question_asked *q)
{
	struct vote yes = {.op = q->call.op, .name = slice_of(q->name), .attempt = q->call.attempt};

	if (q->call.op == CALL_HELLO || q->call.op == CALL_ADMIT) {
		yes.admitted = true;
		yes.incarnation = MEMORY;
	} else if (q->call.op == CALL_ACQUIRE || q->call.op == CALL_RECLAIM) {
		yes.token_first = asked.token;
		yes.token_last = asked.token += 9;
		asked.token++;
	}
	if (q->call.kind == KIND_PERMITS && q->call.op == CALL_ACQUIRE)
		yes.slots = q->call.slots.n > 0 ? q->call.slots : SLICE("0");
	if (q->call.op == CALL_LATCH)
		yes.outcome = OUTCOME_UNSENT;
	asked.renewed += q->call.op == CALL_RENEW || q->call.op == CALL_RECLAIM;
	(void)vote(w, yes);
}

/* Answers what the last step has asked, and what the answers lead to. */
static void
master_answers(struct story *w)
{
	asked_take(w);
	for (size_t i = 0; i < asked.n && i < 4000; i++) {
		struct question_asked q = asked.list[i];

		asked_answer(w, &q);
		asked_take(w);
	}
	asked.n = 0;
}

static void
ask(struct story *w, conn_id conn, struct command command)
{
	/* A connection whose LOCK waits has its next request held back. */
	(void)run(w, conn, command);
	master_answers(w);
}

static void
open_one(struct story *w, conn_id conn)
{
	struct peer peer = {.pid = 100 + (int64_t)conn, .user = conn};

	(void)step(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer});
}

/* ---- stories ---- */

/* A day in the life of a daemon: a bit of everything. */
static void
day(struct story *w)
{
	static const struct slice names[] = {{"a", 1}, {"m", 1}, {"n", 1}};

	open_one(w, 11);
	open_one(w, 12);
	ask(w, 1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 500});
	ask(w, 1,
		(struct command){
			.verb = VERB_LOCK, .name = SLICE("a"), .owner = SLICE("o"), .lease_ms = 700});
	ask(w, 2,
		(struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("i"), .max_hold_ms = 90});
	ask(w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("b"), .id = SLICE("k")});
	ask(w, 2,
		(struct command){.verb = VERB_LOCK,
			.name = SLICE("p"),
			.kind = KIND_PERMITS,
			.limit = 3,
			.permits = 1,
			.id = SLICE("q")});
	ask(w, 3,
		(struct command){
			.verb = VERB_LOCK, .name = SLICE("s"), .kind = KIND_SHARED, .id = SLICE("s")});
	ask(w, 3, (struct command){.verb = VERB_LATCH_SET, .name = SLICE("l"), .steps = 2});
	ask(w, 4, (struct command){.verb = VERB_MLOCK, .names = names, .name_count = 3});
	(void)step(w, &(struct event){.type = EVENT_WANT, .name = SLICE("b")});
	ask(w, 2, (struct command){.verb = VERB_UNLOCK, .name = SLICE("b")});
	(void)after(w, LEASE_MS / 3);
	master_answers(w);
	(void)close_as(w, 1, END_ABANDONED);
	master_answers(w);
	(void)link_down(w, "gone");
	(void)after(w, LEASE_MS / 3);
	(void)link_up(w);
	master_answers(w);
	for (int i = 0; i < 12; i++) {
		(void)after(w, LEASE_MS / 4);
		master_answers(w);
	}
	(void)close_as(w, 2, END_GONE);
	(void)close_as(w, 3, END_CLEAN);
	(void)close_as(w, 4, END_ABANDONED);
	master_answers(w);
}

/* Whatever was refused meanwhile: now everything can be had, and nothing was left behind. */
static void
next_day(struct story *w)
{
	open_one(w, 21);
	for (int i = 0; i < 12; i++) {
		(void)after(w, LEASE_MS / 4);
		master_answers(w);
	}
	ask(w, 21, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("i")});
	ck_assert_int_gt(atoll(strchr(check(w, 21, "a"), ':') + 1), 0);
	ck_assert_ptr_nonnull(strstr(unlock(w, 21, "a"), "c21 :0"));
}

START_TEST(any_allocation_may_fail)
{
	unsigned failed = 0;

	for (int64_t n = 0; n == 0 || memory.refused > failed; n++) {
		struct story w;

		failed = memory.refused;
		memory_all();
		story_ready(&w);
		memory.until = n;
		day(&w);
		memory_all();
		next_day(&w);
		story_done(&w);
	}
	printf("%u allocations failed\n", failed);
	ck_assert_uint_gt(failed, 20);
}
END_TEST

static void
take_all(struct story *w, conn_id conn)
{
	char name[16];

	for (int i = 0; i < NAMES; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		ask(w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name)});
	}
}

/* One session holds so many names. */
static void
story_of_many(struct story *w)
{
	story_init(w);
	w->settings.grants_per_session = NAMES;
	w->settings.end_holds = 3 * NAMES;
	w->settings.reserve_bytes = 0;
	story_anew(w);
	take_all(w, 1);
}

START_TEST(without_memory_locks_are_kept_and_given_back_and_no_new_ones_taken)
{
	struct story w;

	story_of_many(&w);
	(void)after(&w, 1); /* under a sanitizer the next step frees what the last one retired */
	memory_left(0);
	ck_assert_str_eq(lock(&w, 2, "new"), "c2 -LIMIT");
	(void)link_down(&w, "gone");
	(void)link_up(&w);
	asked.renewed = 0;
	master_answers(&w);
	(void)after(&w, LEASE_MS / 3 + 50);
	master_answers(&w);
	(void)after(&w, 1); /* one step does not begin all renewals */
	master_answers(&w);
	ck_assert_uint_ge(asked.renewed, NAMES);
	ck_assert_str_eq(lock(&w, 2, "new"), "c2 -LIMIT");
	ck_assert_int_gt(atoll(strchr(check(&w, 1, "n7"), ':') + 1), LEASE_MS / 2);
	for (int i = 0; i < NAMES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		ck_assert_ptr_nonnull(strstr(unlock(&w, 1, name), "c1 :0"));
		master_answers(&w);
	}
	memory_all();
	ask(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("new"), .id = SLICE("i")});
	ck_assert_int_gt(atoll(strchr(check(&w, 2, "new"), ':') + 1), 0);
	story_done(&w);
}
END_TEST

/* The session ends that holds them all. How many are given back to the master? */
static unsigned
all_end(struct story *w, conn_id conn)
{
	unsigned released = 0;

	/* Without the text of it, which is long. */
	w->actions.n = 0;
	story_step(w, &(struct event){.type = EVENT_CLOSE, .conn = conn, .end = END_GONE});
	for (size_t i = 0; i < w->actions.n; i++)
		released += w->actions.list[i].type == ACTION_CALL &&
			    w->actions.list[i].u.call.op == CALL_RELEASE;
	master_answers(w);
	return released;
}

START_TEST(a_dirty_name_without_room_on_the_list_has_its_turn)
{
	struct story w;
	unsigned refused;

	story_of_many(&w);
	/* The first time brings room for everything else. */
	ck_assert_uint_eq(all_end(&w, 1), NAMES);
	take_all(&w, 2);
	refused = memory.refused;
	memory.largest = 3000;
	ck_assert_uint_eq(all_end(&w, 2), NAMES);
	ck_assert_uint_gt(memory.refused, refused);
	memory_all();
	story_done(&w);
}
END_TEST

START_TEST(nothing_new_is_begun_while_memory_is_short)
{
	static const struct slice names[] = {{"a", 1}, {"b", 1}};
	const struct command back = {.verb = VERB_UNLOCK, .name = SLICE("held"), .owner = SLICE("o")};
	struct story w;

	story_ready(&w);
	ask(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("held"), .owner = SLICE("o")});
	(void)lock(&w, 2, "held");
	w.now.full = true;
	ck_assert_str_eq(lock(&w, 3, "new"), "c3 -LIMIT");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_MLOCK, .names = names, .name_count = 2}),
		"c3 -LIMIT");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_LATCH_SET, .name = SLICE("l"), .steps = 2}),
		"c3 -LIMIT");
	/* Entered again, given back, handed over, renewed. */
	ck_assert_ptr_nonnull(strstr(lock_as(&w, 1, "held", "o"), "c1 :"));
	ck_assert_str_eq(run(&w, 1, back), "c1 :1");
	ck_assert_ptr_nonnull(strstr(run(&w, 1, back), "c2 :"));
	ck_assert_ptr_nonnull(strstr(after(&w, LEASE_MS / 3 + 50), "renew held"));
	master_answers(&w);
	w.now.full = false;
	ck_assert_ptr_nonnull(strstr(lock(&w, 3, "new"), "acquire new"));
	story_done(&w);
}
END_TEST

START_TEST(a_list_grows_by_a_few_when_it_cannot_double)
{
	struct reserve reserve = {0};
	size_t room = 0;
	char *list;
	bool filled = reserve_fill(&reserve), again;

	ck_assert(filled);
	list = reserve_grow(&reserve, NULL, &room, 100, 10000);
	ck_assert_uint_eq(room, 10000);
	/* Check asks for memory, too. */
	memory_left(0);
	memory.stepping = true;
	list = reserve_grow(&reserve, list, &room, 100, 10000);
	memory_left(0);
	again = reserve_fill(&reserve);
	memory.stepping = false;
	memory_all();
	ck_assert_uint_gt(room, 10000);
	ck_assert_uint_lt(room, 11000);
	ck_assert(!again && reserve.memory == NULL);
	again = reserve_fill(&reserve);
	ck_assert(again);
	reserve_free(&reserve);
	free(list);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("reserve", NULL, NULL, any_allocation_may_fail,
		without_memory_locks_are_kept_and_given_back_and_no_new_ones_taken,
		a_dirty_name_without_room_on_the_list_has_its_turn,
		nothing_new_is_begun_while_memory_is_short, a_list_grows_by_a_few_when_it_cannot_double);
}
