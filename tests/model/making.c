/*
 * making: how daemons whose configurations name different masters agree on one set, or on none.
 *
 * Each daemon sends HELLO to the masters that it is configured with. Each of these stores a set, its
 * generation, and how far that is agreed on: 1 offered, 2 accepted, 3 agreed. A daemon takes each step at all
 * its masters before the next one: it sends the least that they have told it and one more, or 3 as soon as
 * one of them says 3. It takes leases once all have accepted, or one has agreed, and none of them says
 * otherwise.
 *
 * A master takes an offer where nothing is stored, and 3 as well; 3 takes the place of an offer of another
 * set and of any older generation. A set that nobody uses lapses: a later generation may be offered where the
 * registration of every other daemon has run out, by a daemon whose masters include a majority of the lapsing
 * set. A call names the set, and is refused where that is not stored as agreed.
 *
 * A master may lose its memory; it is guarded then for L + J. Registrations outlast what a daemon may have
 * been promised by a call: no daemon calls a master that has not answered its HELLO for a third of a lease.
 *
 * Time goes by in ticks; clocks are right here, and calls take no time (leases.c has both), but any answer to
 * a HELLO may be lost.
 *
 * Promised: two daemons never hold the lease at the same time (OVERLAP).
 */
#include "tests/model/explorer.h"

#include <string.h>

#define OVERLAP "two daemons hold the lease"

#define SERVERS_MAX 4
#define DAEMONS     2
#define LEASE       2 /* ticks */
#define REGISTERED  3 /* ticks: a lease, the time between two HELLOs, and what clocks step */

#define OFFERED  1
#define ACCEPTED 2
#define AGREED   3

struct making_rules {
	uint8_t servers;
	uint8_t members[DAEMONS]; /* bits */
	uint8_t generations;      /* at most; lapses end there */
	bool forgetful;           /* one at a time within a guard, */
	bool lone_forgets;        /* one that is somebody's whole list, too */
	bool restarts;
	bool offered_counts;  /* agreed as soon as all were offered it */
	bool majority_counts; /* or as a majority has accepted */
	bool no_tag;          /* calls name no set, */
	bool late_tag;        /* or are refused for it only where another set is agreed on */
	bool lapse_early;     /* registrations do not keep others away */
	bool lapse_anywhere;  /* a lapse needs no majority of the lapsing set */
	bool gives_way;       /* what is accepted gives way like an offer */
};

/* What a daemon has at a master. */
struct peer {
	uint8_t told;       /* how far its own set is there, as last told; 0: not at all */
	uint8_t barred;     /* it told of another one that is agreed on */
	uint8_t heard;      /* it has answered HELLO with the memory that it has now */
	uint8_t registered; /* ticks */
	uint8_t left;       /* ticks that the last yes counts */
};

struct server {
	uint8_t stored; /* the set: 2 x generation + daemon; 0: none */
	uint8_t agreement;
	uint8_t guard; /* ticks; 0: admitted */
	uint8_t owner; /* of the key: the daemon + 1 */
	struct peer peer[DAEMONS];
};

struct making_state {
	struct server server[SERVERS_MAX];
	uint8_t generation[DAEMONS]; /* of what it offers */
	uint8_t agreed[DAEMONS];     /* it knows that its set is */
};

struct turn {
	const struct making_rules *rules;
	const struct making_state *from;
	struct making_state next;
	struct explorer *ex;
};

static bool
member(const struct making_rules *r, unsigned d, unsigned m)
{
	return r->members[d] & (1u << m);
}

static unsigned
size(const struct making_rules *r, unsigned d)
{
	return (unsigned)__builtin_popcount(r->members[d]);
}

static uint8_t
set_of(const struct making_state *s, unsigned d)
{
	return (uint8_t)(2 * s->generation[d] + d);
}

static bool
holds(const struct making_rules *r, const struct making_state *s, unsigned d)
{
	unsigned count = 0;
	for (unsigned m = 0; m < r->servers; m++)
		count += member(r, d, m) && s->server[m].peer[d].left > 0;
	return count > size(r, d) / 2;
}

/* The least that its masters have told of its set, but for one of them. */
static unsigned
told_least(const struct making_rules *r, const struct making_state *s, unsigned d)
{
	unsigned least = AGREED;
	for (unsigned m = 0; m < r->servers; m++) {
		if (member(r, d, m) && s->server[m].peer[d].told < least)
			least = s->server[m].peer[d].told;
	}
	return least;
}

static bool
agreed(const struct making_rules *r, const struct making_state *s, unsigned d)
{
	unsigned accepted = 0;
	for (unsigned m = 0; m < r->servers; m++)
		accepted += member(r, d, m) && s->server[m].peer[d].told >= ACCEPTED;
	if (s->agreed[d] || (r->majority_counts && accepted > size(r, d) / 2))
		return true;
	return told_least(r, s, d) >= (r->offered_counts ? OFFERED : ACCEPTED);
}

/* And none of its masters has told otherwise. */
static bool
usable(const struct making_rules *r, const struct making_state *s, unsigned d)
{
	for (unsigned m = 0; m < r->servers; m++) {
		if (member(r, d, m) && s->server[m].peer[d].barred)
			return false;
	}
	return agreed(r, s, d);
}

/* --- HELLOs --------------------------------------------------------------------------------------------
 */

/* A majority of the set stored there is asked by this daemon, and so can lapse for it. */
static bool
covers(const struct making_rules *r, unsigned d, unsigned stored)
{
	unsigned other = stored & 1;
	unsigned common = (unsigned)__builtin_popcount(r->members[d] & r->members[other]);
	return r->lapse_anywhere || common > size(r, other) / 2;
}

/* Whether the master takes the daemon's set instead of what it has. */
static bool
gives_way(const struct making_rules *r, const struct server *server, unsigned d, unsigned set, unsigned step)
{
	unsigned older = server->stored / 2 < set / 2;
	bool living = server->peer[1 - d].registered > 0 && !r->lapse_early;
	if (server->stored == 0)
		return step == AGREED || (step == OFFERED && server->guard == 0);
	if (step == AGREED)
		return server->agreement == OFFERED || older ||
		       (r->gives_way && server->agreement == ACCEPTED);
	if (step != OFFERED || server->guard > 0 || living || !older)
		return false;
	return server->agreement < ACCEPTED || covers(r, d, server->stored);
}

/* The answer; it says of another set all that is needed to offer a later generation. */
static void
answered(struct turn *t, unsigned m, unsigned d)
{
	const struct server *server = &t->next.server[m];
	struct peer *peer = &t->next.server[m].peer[d];
	uint8_t set = set_of(&t->next, d);
	bool counts = server->stored == set && (server->guard == 0 || server->agreement == AGREED);
	peer->told = counts ? server->agreement : 0;
	peer->barred =
		(server->stored != set && server->agreement == AGREED && server->stored / 2 >= set / 2) ||
		(t->next.agreed[d] && server->stored != set && server->stored != 0);
	peer->heard = 1;
	if (peer->told == AGREED)
		t->next.agreed[d] = 1;
}

static void
move_hello(struct turn *t, unsigned m, unsigned d)
{
	const struct making_rules *r = t->rules;
	struct server *server = &t->next.server[m];
	uint8_t set = set_of(t->from, d);
	unsigned step = agreed(r, t->from, d) ? AGREED : told_least(r, t->from, d) + 1;
	if (step == AGREED)
		t->next.agreed[d] = 1;
	if (server->stored == set && server->agreement < step)
		server->agreement = (uint8_t)step;
	if (server->stored != set && gives_way(r, server, d, set, step)) {
		server->stored = set;
		server->agreement = (uint8_t)step;
	}
	if (server->stored == set)
		server->peer[d].registered = REGISTERED;
	struct making_state lost = t->next;
	answered(t, m, d);
	uint8_t agreement = server->agreement;
	bool other = server->stored != set;
	OFFER(t, "%c sends HELLO to m%u with step %u%s: step %u", 'A' + d, m + 1, step,
		other ? ", which has another set" : "", agreement);
	t->next = lost;
	OFFER(t, "%c sends HELLO to m%u with step %u, and the answer is lost", 'A' + d, m + 1, step);
}

/* Another set is stored there: that of a later generation may be offered. */
static void
move_later(struct turn *t, unsigned d)
{
	const struct making_rules *r = t->rules;
	unsigned seen = 0;
	bool barred = false;
	for (unsigned m = 0; m < r->servers; m++) {
		const struct server *server = &t->from->server[m];
		if (!member(r, d, m) || server->stored == set_of(t->from, d))
			continue;
		seen = server->stored / 2u > seen ? server->stored / 2u : seen;
		barred |= server->peer[d].barred;
	}
	if (seen < t->from->generation[d] || seen >= r->generations || holds(r, t->from, d))
		return;
	if (t->from->agreed[d] && !barred)
		return;
	t->next.generation[d] = (uint8_t)(seen + 1);
	t->next.agreed[d] = 0;
	for (unsigned m = 0; m < r->servers; m++) {
		struct peer *peer = &t->next.server[m].peer[d];
		if (t->next.server[m].owner == d + 1)
			t->next.server[m].owner = 0;
		peer->told = peer->barred = peer->left = 0;
	}
	OFFER(t, "%c sees another set, and is to offer its own as generation %u", 'A' + d, seen + 1);
}

static void
move_restart(struct turn *t, unsigned d)
{
	const struct making_rules *r = t->rules;
	bool fresh = t->from->generation[d] == 1 && !t->from->agreed[d];
	if (!r->restarts || holds(r, t->from, d))
		return;
	for (unsigned m = 0; m < r->servers; m++) {
		struct peer *peer = &t->next.server[m].peer[d];
		if (t->next.server[m].owner == d + 1)
			t->next.server[m].owner = 0;
		fresh &= !peer->heard;
		*peer = (struct peer){.registered = peer->registered};
	}
	t->next.generation[d] = 1;
	t->next.agreed[d] = 0;
	if (fresh)
		t->next = *t->from;
	else
		OFFER(t, "%c starts again", 'A' + d);
}

/* --- leases -----------------------------------------------------------------------------------------------
 */

static void
move_ask(struct turn *t, unsigned m, unsigned d)
{
	const struct making_rules *r = t->rules;
	struct server *server = &t->next.server[m];
	struct peer *peer = &server->peer[d];
	bool fits = server->stored == set_of(t->from, d) && server->agreement == AGREED;
	if (r->no_tag || (r->late_tag && server->agreement < AGREED))
		fits = true;
	if (!fits || !peer->heard || server->guard > 0 ||
		(peer->registered < LEASE && server->stored == set_of(t->from, d)))
		return;
	if (!usable(r, t->from, d) && !holds(r, t->from, d))
		return;
	if (server->owner != 0 && server->owner != d + 1)
		return;
	server->owner = (uint8_t)(d + 1);
	peer->left = LEASE;
	OFFER(t, "m%u gives %c the key", m + 1, 'A' + d);
}

/* --- memory, and time -------------------------------------------------------------------------------------
 */

/* A minority of each set. */
static bool
may_forget(const struct turn *t, unsigned m)
{
	for (unsigned d = 0; d < DAEMONS && !t->rules->lone_forgets; d++) {
		if (t->rules->members[d] == 1u << m)
			return false;
	}
	for (unsigned other = 0; other < t->rules->servers; other++) {
		if (t->from->server[other].guard > 0)
			return false;
	}
	return t->rules->forgetful && t->from->server[m].stored != 0;
}

static void
move_forget(struct turn *t, unsigned m)
{
	struct server *server = &t->next.server[m];
	server->stored = server->agreement = server->owner = 0;
	server->guard = LEASE;
	for (unsigned d = 0; d < DAEMONS; d++) {
		server->peer[d].registered = 0;
		server->peer[d].heard = 0;
	}
	OFFER(t, "m%u loses its memory", m + 1);
}

static void
move_tick(struct turn *t)
{
	for (unsigned m = 0; m < t->rules->servers; m++) {
		struct server *server = &t->next.server[m];
		server->guard = (uint8_t)(server->guard - (server->guard > 0));
		for (unsigned d = 0; d < DAEMONS; d++) {
			struct peer *peer = &server->peer[d];
			peer->registered = (uint8_t)(peer->registered - (peer->registered > 0));
			if (peer->left == 0 || --peer->left > 0)
				continue;
			server->owner = server->owner == d + 1 ? 0 : server->owner;
		}
	}
	OFFER(t, "a tick");
}

/* --- the model --------------------------------------------------------------------------------------------
 */

static void
making_begin(const void *rules, void *state)
{
	struct making_state *s = state;
	(void)rules;
	for (unsigned d = 0; d < DAEMONS; d++)
		s->generation[d] = 1;
}

static void
making_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	const struct making_rules *r = rules;
	struct turn t = {.rules = r, .from = state, .ex = ex};
	(void)depth;
	t.next = *t.from;
	move_tick(&t);
	for (unsigned m = 0; m < r->servers; m++) {
		for (unsigned d = 0; d < DAEMONS; d++) {
			if (!member(r, d, m))
				continue;
			move_hello(&t, m, d);
			move_ask(&t, m, d);
			t.next = *t.from;
		}
		if (may_forget(&t, m))
			move_forget(&t, m);
	}
	for (unsigned d = 0; d < DAEMONS; d++) {
		move_later(&t, d);
		move_restart(&t, d);
	}
}

static const char *
making_broken(const void *rules, const void *state)
{
	return holds(rules, state, 0) && holds(rules, state, 1) ? OVERLAP : NULL;
}

/* Masters that the same daemons ask are alike. */
static void
making_normalize(const void *rules, void *state)
{
	const struct making_rules *r = rules;
	struct making_state *s = state;
	for (unsigned first = 0, m = 1; m <= r->servers; m++) {
		bool alike = m < r->servers;
		for (unsigned d = 0; alike && d < DAEMONS; d++)
			alike = member(r, d, m) == member(r, d, first);
		if (alike)
			continue;
		explorer_sort(s->server + first, m - first, sizeof s->server[0]);
		first = m;
	}
}

enum landmark {
	LANDMARK_FIRST = 1,
	LANDMARK_SECOND = 2,
	LANDMARK_LAPSED = 4,
	LANDMARK_BARRED = 8,
};

static unsigned
making_landmark(const void *rules, const void *state)
{
	const struct making_rules *r = rules;
	const struct making_state *s = state;
	unsigned met = 0;
	for (unsigned d = 0; d < DAEMONS; d++) {
		bool held = holds(r, s, d);
		met |= held && d == 0 ? LANDMARK_FIRST : 0;
		met |= held && d == 1 ? LANDMARK_SECOND : 0;
		met |= held && s->generation[d] > 1 ? LANDMARK_LAPSED : 0;
		for (unsigned m = 0; m < r->servers; m++)
			met |= held && s->server[m].peer[1 - d].barred ? LANDMARK_BARRED : 0;
	}
	return met;
}

static unsigned
making_landmarks_due(const void *rules)
{
	const struct making_rules *r = rules;
	return LANDMARK_FIRST | LANDMARK_SECOND | LANDMARK_BARRED |
	       (r->generations > 1 ? LANDMARK_LAPSED : 0);
}

static const struct variant variants[] = {
#define MAKING(name, breaks, depth, rule, ...)                                                               \
	{name, breaks, rule, depth, &(const struct making_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef MAKING
};

const struct model making_model = {
	.name = "making",
	.state_bytes = sizeof(struct making_state),
	.begin = making_begin,
	.moves = making_moves,
	.broken = making_broken,
	.normalize = making_normalize,
	.landmark = making_landmark,
	.landmarks_due = making_landmarks_due,
	.landmarks = (const char *const[]){"a lease of the first daemon", "a lease of the second one",
		"a lease after a lapse", "a daemon that sees another's set"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
