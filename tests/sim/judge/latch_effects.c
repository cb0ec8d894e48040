/* latch_effects: see latch_effects.h. */
#include "tests/sim/judge/latch_effects.h"

#include "daemon/redis/vote.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

/* The texts of one call, as the script gets them. */
struct master_answers_call {
	const char *daemon;
	char id[32];
	char by[LATCH_BY_BYTES];
	int64_t deadline_us;
	int64_t steps;
	int64_t live_ms;
	int64_t watch_ms;
};

static void
text_copy(char *out, size_t size, struct slice text)
{
	size_t n = text.n < size ? text.n : size - 1;
	memcpy(out, text.p, n);
	out[n] = '\0';
}

/* ---- what is there ---- */

static void
watchers_read(struct latch_effects *t, struct store *store, const char *key)
{
	char beside[40];
	struct slice field, value;
	snprintf(beside, sizeof(beside), "%sw", key);
	for (size_t i = 0; store_pair(store, t->now_us, slice_of(beside), i, &field, &value) &&
			   t->watchers_n < TALLY_WATCHERS;
		i++) {
		text_copy(t->watchers[t->watchers_n].daemon, 33, field);
		t->watchers[t->watchers_n++].till_us = strtoll(value.p, NULL, 10);
	}
}

static void
field_read(struct latch_effects *t, struct slice field, struct slice value)
{
	if (slice_equal(field, SLICE("id"))) {
		text_copy(t->id, sizeof(t->id), value);
	} else if (slice_equal(field, SLICE("memory"))) {
		text_copy(t->memory, sizeof(t->memory), value);
	} else if (slice_equal(field, SLICE("set"))) {
		t->set = strtoll(value.p, NULL, 10);
	} else if (slice_equal(field, SLICE("done"))) {
		t->done = strtoll(value.p, NULL, 10);
	} else if (slice_equal(field, SLICE("lease"))) {
		t->leased = slice_equal(value, SLICE("1"));
	} else if (field.n > 3 && memcmp(field.p, "by:", 3) == 0) {
		t->looked_at = t->looked_at && t->n < TALLY_MARKS;
		if (!t->looked_at)
			return;
		text_copy(t->marks[t->n].by, LATCH_BY_BYTES, (struct slice){field.p + 3, field.n - 3});
		t->marks[t->n++].steps = strtoll(value.p, NULL, 10);
	}
}

static void
latch_effects_read(struct latch_effects *t, struct server *s, unsigned latch)
{
	struct store *store = master_store(s->master);
	struct slice field, value;
	char key[32];
	memset(t, 0, sizeof(*t));
	t->now_us = server_wall_us(s);
	t->looked_at = true;
	snprintf(key, sizeof(key), "hf:{%s}:l", latches_name(PLAN_NAMES_MAX + latch));
	watchers_read(t, store, key);
	t->there = store_exists(store, t->now_us, slice_of(key));
	if (!t->there)
		return;
	t->till_ms = store_expires_ms(store, slice_of(key));
	for (size_t i = 0; store_pair(store, t->now_us, slice_of(key), i, &field, &value); i++)
		field_read(t, field, value);
}

void
latch_effects_before(
	struct latch_effects tallies[PLAN_LATCHES_MAX], struct server *s, const struct call *calls)
{
	for (unsigned i = 0; i < PLAN_LATCHES_MAX; i++) {
		tallies[i].looked_at = false;
		if (calls[0].op == CALL_LATCH)
			latch_effects_read(&tallies[i], s, i);
	}
	s->herald.n = 0;
}

/* ---- what is to follow ---- */

static int64_t
left_of(const struct latch_effects *t)
{
	return t->done < t->set ? t->set - t->done : 0;
}

static bool
counts(const struct latch_effects *t, const char *memory)
{
	return t->there && strcmp(t->memory, memory) == 0;
}

/* One more day, unless it has a time of its own. */
static void
keep(struct latch_effects *t)
{
	if (!t->leased)
		t->till_ms = t->now_us / 1000 + DAY_MS;
}

static void
set(struct latch_effects *t, const struct master_answers_call *c, const char *memory)
{
	if (counts(t, memory) || t->now_us > c->deadline_us)
		return;
	t->there = true;
	memcpy(t->id, c->id, sizeof(t->id));
	snprintf(t->memory, sizeof(t->memory), "%s", memory);
	t->set = c->steps;
	t->done = 0;
	t->n = 0;
	t->leased = c->live_ms > 0;
	t->till_ms = t->now_us / 1000 + (c->live_ms > 0 ? c->live_ms : DAY_MS);
}

static void
down(struct latch_effects *t, const struct master_answers_call *c, const char *memory)
{
	unsigned i = 0;
	if (!counts(t, memory))
		return;
	keep(t);
	if (strcmp(t->id, c->id) != 0 || left_of(t) == 0)
		return;
	while (i < t->n && strcmp(t->marks[i].by, c->by) != 0)
		i++;
	if (i == t->n && i < TALLY_MARKS) {
		memcpy(t->marks[t->n].by, c->by, LATCH_BY_BYTES);
		t->marks[t->n++].steps = 0;
	}
	if (i == TALLY_MARKS || c->steps <= t->marks[i].steps)
		return;
	t->done += c->steps - t->marks[i].steps;
	t->marks[i].steps = c->steps;
}

/* ---- whether it has ---- */

static bool
is_like(const struct latch_effects *one, const struct latch_effects *other)
{
	if (one->there != other->there)
		return false;
	if (!one->there)
		return true;
	for (unsigned i = 0; i < one->n; i++) {
		unsigned k = 0;
		while (k < other->n && (strcmp(one->marks[i].by, other->marks[k].by) != 0 ||
					       one->marks[i].steps != other->marks[k].steps))
			k++;
		if (k == other->n)
			return false;
	}
	int64_t apart_ms = one->till_ms - other->till_ms;
	return strcmp(one->id, other->id) == 0 && strcmp(one->memory, other->memory) == 0 &&
	       one->set == other->set && one->done == other->done && one->leased == other->leased &&
	       one->n == other->n && apart_ms >= -1 && apart_ms <= 1;
}

static bool
is_answer(const struct latch_effects *t, const struct vote *v, const char *memory)
{
	int64_t apart_ms = v->latch.ttl_ms - (t->till_ms - t->now_us / 1000);
	if (!t->there)
		return v->outcome == OUTCOME_LATE || (v->outcome == OUTCOME_NO && v->latch.id == 0);
	if (v->latch.id == 0 || apart_ms < -1 || apart_ms > 1)
		return v->outcome == OUTCOME_LATE;
	if (!counts(t, memory))
		return v->outcome == OUTCOME_NO;
	return v->outcome == OUTCOME_YES && v->latch.set == t->set && v->latch.left == left_of(t);
}

/* Who wants to hear of it, and is not the one that says so. */
static void
check_told(struct server *s, const struct latch_effects *before, const char *me, const char *name)
{
	const struct herald *herald = &s->herald;
	for (unsigned i = 0; i < before->watchers_n; i++) {
		const char *daemon = before->watchers[i].daemon;
		bool told = herald->n == HERALD_MOST;
		for (unsigned k = 0; k < herald->n; k++)
			told |= strncmp(herald->of[k].message, "latch ", 6) == 0 &&
				strcmp(herald->of[k].message + 6, name) == 0 &&
				strstr(herald->of[k].channel, daemon) != NULL;
		if (before->watchers[i].till_us > before->now_us && strcmp(daemon, me) != 0 && !told)
			world_fail(s->world, "latch: m%u does not tell %.6s that the latch %s %s", s->index,
				daemon, name, "is set or open");
	}
}

/* Who asked to hear of one that is not open does. */
static void
check_watched(struct server *s, const struct latch_effects *after, const struct master_answers_call *c,
	const char *name, const char *memory)
{
	unsigned i = 0;
	if (c->watch_ms == 0 || (counts(after, memory) && left_of(after) == 0))
		return;
	while (i < after->watchers_n && strcmp(after->watchers[i].daemon, c->daemon) != 0)
		i++;
	if (i == TALLY_WATCHERS)
		return;
	if (i == after->watchers_n || after->watchers[i].till_us < after->now_us + c->watch_ms * 1000)
		world_fail(s->world, "latch: m%u does not note that %.6s wants to hear of the latch %s",
			s->index, c->daemon, name);
}

static int64_t
number_at(const struct call_command *command, size_t at)
{
	char text[24];
	text_copy(text, sizeof(text), (struct slice){command->argv[at], command->argvlen[at]});
	return strtoll(text, NULL, 10);
}

/* The i-th of n calls. */
static void
call_read(struct master_answers_call *c, const struct call_command *command, size_t n, size_t i, char *daemon)
{
	size_t first = 3 + n + 1, at = first + 3 + i;
	size_t who = at + 6 * n;
	text_copy(daemon, 33, (struct slice){command->argv[first + 1], command->argvlen[first + 1]});
	c->daemon = daemon;
	text_copy(c->id, sizeof(c->id), (struct slice){command->argv[at + n], command->argvlen[at + n]});
	c->deadline_us = number_at(command, at + 2 * n);
	c->steps = number_at(command, at + 3 * n);
	c->live_ms = number_at(command, at + 4 * n);
	c->watch_ms = number_at(command, at + 5 * n);
	c->by[0] = '\0';
	if (who < (size_t)command->argc)
		snprintf(c->by, sizeof(c->by), "%s:%.*s", daemon, (int)command->argvlen[who],
			command->argv[who]);
}

static unsigned
latch_of(const struct call *call)
{
	unsigned i = 0;
	while (i < PLAN_LATCHES_MAX && !slice_equal(call->name, slice_of(latches_name(PLAN_NAMES_MAX + i))))
		i++;
	return i;
}

/* Reckons what one call does, and looks at its answer. */
static void
follow(struct latch_effects *t, struct server *s, const struct call *call, const struct vote *v,
	const struct master_answers_call *c, const char *memory)
{
	bool was_open = counts(t, memory) && left_of(t) == 0, was_there = counts(t, memory);
	const char *name = latches_name(PLAN_NAMES_MAX + latch_of(call));
	if (call->latch_op == LATCH_OP_SET)
		set(t, c, memory);
	else if (call->latch_op == LATCH_OP_DOWN)
		down(t, c, memory);
	else if (counts(t, memory))
		keep(t);
	if (!is_answer(t, v, memory))
		world_fail(s->world,
			"latch: m%u answers %.32s about the latch %s by outcome %d, %" PRId64 " of %" PRId64
			" left; it has %" PRId64 " of %" PRId64,
			s->index, c->daemon, name, (int)v->outcome, v->latch.left, v->latch.set, left_of(t),
			t->set);
	if (!was_open && counts(t, memory) && (!was_there || left_of(t) == 0))
		check_told(s, t, c->daemon, name);
}

void
latch_effects_check(struct latch_effects tallies[PLAN_LATCHES_MAX], struct server *s,
	const struct call *calls, size_t n, const struct call_command *command, const redisReply *reply)
{
	const struct master_health *health = master_health(s->master);
	struct vote votes[CALL_GROUP_MAX];
	char memory[40], daemon[33];
	struct slice text;
	if (calls[0].op != CALL_LATCH || call_noscript(reply) || health->full || health->readonly ||
		health->misconf ||
		!store_field(master_store(s->master), SLICE("hf:node"), SLICE("incarnation"), &text))
		return;
	text_copy(memory, sizeof(memory), text);
	call_decode(reply, calls, n, votes);
	for (size_t i = 0; i < n; i++) {
		struct master_answers_call c;
		if (votes[i].outcome != OUTCOME_YES && votes[i].outcome != OUTCOME_NO &&
			votes[i].outcome != OUTCOME_LATE)
			return;
		call_read(&c, command, n, i, daemon);
		follow(&tallies[latch_of(&calls[i])], s, &calls[i], &votes[i], &c, memory);
	}
	for (unsigned i = 0; i < PLAN_LATCHES_MAX; i++) {
		struct latch_effects after;
		latch_effects_read(&after, s, i);
		if (tallies[i].looked_at && after.looked_at && !is_like(&tallies[i], &after))
			world_fail(s->world,
				"latch: the latch %s at m%u is %s, %" PRId64 " of %" PRId64
				" steps done; it was to be %s, %" PRId64 " of %" PRId64,
				latches_name(PLAN_NAMES_MAX + i), s->index, after.id, after.done, after.set,
				tallies[i].id, tallies[i].done, tallies[i].set);
		for (size_t k = 0; k < n; k++) {
			struct master_answers_call c;
			call_read(&c, command, n, k, daemon);
			if (latch_of(&calls[k]) == i && calls[k].latch_op == LATCH_OP_LOOK && n == 1)
				check_watched(s, &after, &c, latches_name(PLAN_NAMES_MAX + i), memory);
		}
	}
}
