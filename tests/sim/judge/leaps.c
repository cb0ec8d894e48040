/* leaps: see leaps.h. */
#include "tests/sim/judge/leaps.h"

#include "tests/sim/judge/backing.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static int64_t
guard_ms(const struct world *w)
{
	return w->plan.lease_ms + w->plan.lease_ms / 100 + 2 + w->plan.margin_ms;
}

static int64_t
third_us(const struct world *w)
{
	return (w->plan.lease_ms / 3 < 5000 ? w->plan.lease_ms / 3 : 5000) * 1000;
}

void
leaps_start(struct host *h)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		h->leaps[i] = (struct leaps){.greeted_us = h->world->now_us, .gap_us = h->world->now_us};
}

/* Greetings of so long are compared: of a guard and a third of a lease, and a sixth of that more. */
static int64_t
window_us(const struct world *w)
{
	int64_t over_us = (guard_ms(w) * 1000 + third_us(w)) * 7 / 6;
	return over_us + over_us / 100 + 10000;
}

/* Whether the daemon measured the clock by this greeting: by one of its set, once it has agreed on that. What
 * it is told before that is about the set alone. */
static bool
is_measured(const struct host *h, const struct vote *vote)
{
	struct masterset_view set;
	struct master_view view;
	if (vote->op != CALL_HELLO || vote->outcome != OUTCOME_YES || vote->greeting != GREETING_GOOD ||
		vote->agreement != AGREEMENT_AGREED || vote->master >= core_members(h->core))
		return false;
	core_view_masterset(h->core, &set);
	core_view_master(h->core, host_ms(h), vote->master, &view);
	return slice_equal(vote->masterset, slice_of(set.set)) &&
	       (view.state == MASTER_ADMITTED || view.state == MASTER_GUARDED);
}

void
leaps_call(struct host *h, const struct call *call)
{
	struct leaps *l = &h->leaps[call->master];
	if (call->op == CALL_HELLO && call->doubted != 0 && l->doubted && l->doubts == 0)
		l->doubts = call->attempt;
}

/* The memory that this tells of may have leapt after its guard: a guard begins with it once more. */
static void
answer_doubts(const struct host *h, struct leaps *l, const struct vote *vote)
{
	bool other = vote->incarnation != l->memory;
	l->memory = vote->incarnation;
	if (!l->doubted || !(other || (l->doubts != 0 && vote->attempt >= l->doubts)))
		return;
	l->doubted = false;
	if (vote->admitted)
		l->seen_ms = l->counts_ms = host_ms(h);
}

/* A daemon that was not answered for long may compare with a greeting that left within that time, and was
 * answered at its end, in place of the last one before. What the clock gained until that one was read ended
 * no lease that still lasts. */
static bool
shows_less(const struct world *w, const struct measure *m, int64_t ahead_us, int64_t fair_us)
{
	int64_t over_us = guard_ms(w) * 1000 + third_us(w);
	return m->late && w->now_us - m->at_us > over_us - over_us / 100 && ahead_us - m->late_us <= fair_us;
}

/*
 * An answer shows how far the clock is ahead at least, the last greeting on its link how far it was at most.
 * A daemon says so at once if that is more by far than a clock may gain, however long it heard nothing
 * between the two.
 */
static void
check_unseen(const struct host *h, const struct vote *vote)
{
	const struct world *w = h->world;
	const struct server *s = h->answers;
	const struct measure *m = &h->leaps[vote->master].measures[vote->link];
	if (s == NULL || vote->time_us == 0 || m->at_us == 0 || s->back_until_us != 0 ||
		w->plan.replicas > 0 || w->plan.changes || w->plan.others > 0)
		return;
	/* The clock may leap in the instant of the answer, and behind it. */
	int64_t ahead_us = clock_error_ahead_us(&s->drift, h->answered_us - 1) - (w->now_us - h->answered_us);
	int64_t fair_us = (w->plan.margin_ms + w->plan.lease_ms / 2) * 1000 + (w->now_us - m->at_us) / 50;
	if (ahead_us - m->ahead_us > fair_us && !shows_less(w, m, ahead_us, fair_us))
		world_fail(h->world,
			"leap: d%u does not see that the clock of m%u went ahead by %" PRId64 " us", h->index,
			s->index, ahead_us - m->ahead_us);
}

/* What a greeting that was answered showed. */
static void
measure(struct host *h, const struct vote *vote)
{
	struct measure *m = &h->leaps[vote->master].measures[vote->link];
	int64_t took_us = h->answered_us - h->asked_us;
	if (h->answers == NULL)
		return;
	h->leaps[vote->master].known_us = h->asked_us;
	int64_t ahead_us = clock_error_ahead_us(&h->answers->drift, h->answered_us) + took_us;
	m->late = h->world->now_us - h->asked_us > h->world->plan.margin_ms * 1000;
	if (m->late) {
		m->late_us = ahead_us;
		return;
	}
	m->at_us = h->asked_us;
	m->ahead_us = ahead_us;
}

/* A greeting was answered, and not by an answer that showed a leap itself, or was given before one that has
 * shown a leap by now. Of the greetings of a seventh of all that are compared one is kept, which may be the
 * first. */
void
leaps_greeted(struct host *h, const struct vote *vote)
{
	struct world *w = h->world;
	struct leaps *l = &h->leaps[vote->master];
	int64_t sent_us = h->asked_us - window_us(w) / 7;
	check_unseen(h, vote);
	if (h->answers != NULL && vote->time_us != 0 && h->answered_us >= l->shown_us &&
		w->now_us - h->answered_us < l->hidden_us)
		l->hidden_us = w->now_us - h->answered_us;
	if (!is_measured(h, vote))
		return;
	answer_doubts(h, l, vote);
	if (l->seen && l->shown_us >= h->answered_us)
		return;
	measure(h, vote);
	if (w->now_us - l->greeted_us > window_us(w) - third_us(w)) {
		l->gap_us = l->greeted_us;
		l->back_us = w->now_us;
	}
	l->greeted_us = sent_us;
}

/* The oldest greeting that an answer is compared with left then; it is the last one before a time in which
 * nothing was heard for longer than that. */
static int64_t
remembers_us(const struct world *w, const struct leaps *l)
{
	int64_t since_us = w->now_us - window_us(w);
	if (w->now_us - l->back_us <= window_us(w) && l->gap_us < since_us)
		since_us = l->gap_us;
	if (l->greeted_us < since_us)
		since_us = l->greeted_us;
	return since_us > 0 ? since_us : 0;
}

/* How far the clock of a server may be ahead of what that of another one was, which sentinels named before
 * it. Keys that were copied there end by its clock. */
static int64_t
other_ahead_us(const struct server *s, int64_t from_us)
{
	const struct world *w = s->world;
	int64_t most_us = 0;
	for (unsigned i = 0; i < plan_servers(&w->plan) && w->plan.replicas > 0; i++) {
		const struct clock_error *other = &w->servers[i].drift;
		int64_t ahead_us = clock_error_ahead_us(&s->drift, w->now_us) -
				   clock_error_ahead_us(other, w->now_us) +
				   clock_error_apart_us(other, from_us, w->now_us) + w->plan.lease_ms * 20;
		most_us = ahead_us > most_us ? ahead_us : most_us;
	}
	return most_us;
}

static bool
counts(const struct host *h, unsigned master)
{
	const struct leaps *l = &h->leaps[master];
	return l->seen && host_ms(h) - l->counts_ms <= guard_ms(h->world);
}

/* What was taken off for a leap is remembered for as long as more is. */
static void
count_on(struct host *h)
{
	unsigned n = 0, members = core_members(h->core);
	for (unsigned i = 0; i < members; i++)
		n += counts(h, i);
	for (unsigned i = 0; i < members && n > members / 2; i++)
		if (counts(h, i))
			h->leaps[i].counts_ms = host_ms(h);
}

/* All that it has said adds up to what the clock gained, or its own stood still. Of a clock that was set back
 * as well the same may be said again. */
static void
check_sum(struct host *h, const struct server *s, int64_t from_us, int64_t leap_us)
{
	struct world *w = h->world;
	struct leaps *l = &h->leaps[host_master_of(h, s)];
	if (l->times == 0 || l->last_us < from_us || l->first_us < clock_error_since_us(&s->drift) ||
		l->first_us < clock_error_since_us(&h->still)) {
		l->sum_us = l->times = 0;
		l->first_us = from_us;
	}
	l->last_us = w->now_us;
	l->sum_us += leap_us;
	l->times++;
	int64_t gained_us = clock_error_gained_us(&s->drift, l->first_us, w->now_us) +
			    clock_error_gained_us(&h->still, l->first_us, w->now_us);
	int64_t slack_us =
		l->times * (w->plan.margin_ms * 1000 + 8 * (w->plan.network_us + w->plan.spread_us)) +
		(w->now_us - l->first_us) / 50;
	if (l->times > 1 && s->back_until_us == 0 && l->sum_us > gained_us + slack_us)
		world_fail(w,
			"leap: d%u has said %" PRId64 " times that the clock of m%u leapt, by %" PRId64
			" us in all, and it went ahead by %" PRId64 " us",
			h->index, l->times, s->index, l->sum_us, gained_us);
}

void
leaps_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	if (n->type != NOTE_MASTER_LEAPT)
		return;
	assert(h->answers != NULL);
	struct leaps *l = &h->leaps[n->master];
	/* Sentinels may have named another one since it answered. */
	const struct server *s = h->answers;
	int64_t margin_us = w->plan.margin_ms * 1000, from_us = remembers_us(w, l);
	int64_t still_us = clock_error_gained_us(&h->still, from_us, w->now_us);
	int64_t gained_us = clock_error_gained_us(&s->drift, from_us, w->now_us) + still_us;
	int64_t other_us = other_ahead_us(s, from_us) + still_us;
	/* The greeting that tells of an earlier leap may be under way: its answer comes after this, too. */
	if (!l->doubted)
		l->doubts = 0;
	for (unsigned i = 0; i < w->plan.links; i++) {
		l->measures[i].ahead_us += n->ms * 1000;
		l->measures[i].late_us += n->ms * 1000;
	}
	l->seen = l->doubted = true;
	l->shown_us = h->answered_us;
	l->hidden_us = w->now_us - h->answered_us;
	l->seen_ms = l->counts_ms = host_ms(h);
	count_on(h);
	h->leapt = true;
	l->gained_us = gained_us > other_us ? gained_us : other_us;
	if (w->plan.replicas == 0)
		check_sum(h, s, from_us, n->ms * 1000);
	if (gained_us < margin_us && other_us < margin_us)
		world_fail(w,
			"leap: d%u says that the clock of m%u leapt, which went ahead by %" PRId64 " us",
			h->index, s->index, gained_us);
}

bool
leaps_withholds(const struct host *h, unsigned master)
{
	const struct leaps *l = &h->leaps[master];
	return l->seen && host_ms(h) - l->seen_ms <= guard_ms(h->world);
}

bool
leaps_show(const struct server *s)
{
	const struct world *w = s->world;
	bool show = true;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		int64_t since_us = w->hosts[i].leaps[0].known_us;
		int64_t lost_us = clock_error_ahead_us(&s->drift, since_us) -
				  clock_error_least_us(&s->drift, since_us, w->now_us);
		show &= !w->hosts[i].alive || (since_us != 0 && lost_us <= w->plan.margin_ms * 1000);
	}
	return show;
}

bool
leaps_unseen(const struct server *s)
{
	const struct world *w = s->world;
	bool unseen = false;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		int64_t since_us = w->hosts[i].leaps[0].known_us;
		int64_t gained_us = clock_error_gained_us(&s->drift, since_us, w->now_us);
		unseen |= w->hosts[i].alive && since_us != 0 && gained_us > w->plan.margin_ms * 1000;
	}
	return unseen;
}

int64_t
leaps_shorten_us(const struct host *h)
{
	int64_t most_us = 0;
	unsigned leapt = 0, members = h->alive ? core_members(h->core) : 0;
	for (unsigned i = 0; i < members; i++) {
		if (!counts(h, i))
			continue;
		leapt++;
		most_us = h->leaps[i].gained_us > most_us ? h->leaps[i].gained_us : most_us;
	}
	return leapt > members / 2 ? most_us : 0;
}

/* Most masters have shown it that its host stood still: in answers from after that. An answer from before it
 * that comes only now may show another time that it stood still. */
static bool
knows_that_it_stood_still(const struct host *h)
{
	unsigned n = 0;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		n += h->leaps[i].seen && h->stunned_us != 0 && h->leaps[i].shown_us >= h->stunned_us;
	return n >= plan_majority(&h->world->plan);
}

/* How many masters keep so much of its lease. Of a clock that was set back less shows. */
static unsigned
keep(const struct host *h, unsigned name, const struct resource_view *view, int64_t left_us)
{
	struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		n += backing_lacks(&w->servers[i]) || left_us <= 0 || w->servers[i].back_until_us != 0 ||
		     backing_seats(&w->servers[i], name, h->call_settings.daemon_id, view->kind, left_us) > 0;
	return n;
}

/* So much longer its host may have stood still than its masters have shown. */
static int64_t
hidden_us(const struct host *h)
{
	int64_t most_us = 0;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		if (h->leaps[i].seen && h->leaps[i].hidden_us > most_us)
			most_us = h->leaps[i].hidden_us;
	return most_us;
}

/* Of what was left of its lease it takes off as much: what it is sure of is at a majority of the masters, but
 * for the clock margin, within which nothing shows. Nor does what an answer shows that came late, until the
 * next one comes. */
static void
look_at_lease(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct resource_view view;
	int64_t lease_us = w->plan.lease_ms * 1000;
	if (plan_breaks(&w->plan, ASSUMES_WRITES, name) ||
		!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
		view.limit > 0 || strcmp(view.lease, "held") != 0 || view.lease_ms <= 0)
		return;
	int64_t left_us = (view.lease_ms - 3 * w->plan.margin_ms) * 1000 - lease_us / 50 - 5000;
	unsigned had = keep(h, name, &view, left_us), need = plan_majority(&w->plan);
	if (had < need && keep(h, name, &view, left_us - hidden_us(h)) < need)
		world_fail(w,
			"leap: d%u knows that its host stood still, and is sure of %s for %" PRId64
			" ms, which %u masters keep so long",
			h->index, checker_name(name), view.lease_ms, had);
}

void
leaps_step(struct host *h)
{
	struct world *w = h->world;
	/* Answers that were under way when it found out come later. */
	bool lately = h->stunned_us != 0 && w->now_us - h->stunned_us < w->plan.lease_ms * 1000;
	bool leapt = h->leapt || lately;
	h->leapt = false;
	if (!leapt || w->plan.replicas > 0 || w->plan.changes || w->plan.others > 0 ||
		!knows_that_it_stood_still(h))
		return;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (!foreign_client_locks(w, i))
			look_at_lease(h, i);
}
