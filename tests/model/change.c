/*
 * change: one name's exclusion while the set of masters is changed under load.
 *
 * A set is followed by a *next* one, which replaces a member, or adds two. Each member of the set that is
 * *kept* stores the next set beside its own, at step 1 (offered) or 2 (accepted): an offer gives way to one
 * of a later generation, what is accepted never does. A daemon asks for step 2 where it was told step 1 by
 * all kept members, and takes up the next set when it was told step 2 by all of them, and again by all of
 * them after that. It gives the set to the kept members; a call for the old set is refused there from then
 * on.
 *
 * When a daemon was told by a majority of the old set, all kept, and again after that, that they store the
 * new set, it gives that to the *newcomers*, too. A newcomer is guarded from then on for L + J, like a member
 * that has lost its memory. So it gives no vote before all that the old set has promised is over.
 *
 * A daemon that meets a later set takes it up. What it was promised by a majority of the old set is good to
 * its end; its votes at kept members count on, those at newcomers do not.
 *
 * A member that lost its memory is given the set by a daemon that was told, after it saw that the member is
 * blank, by N - majority + 1 others that they store this set; if one of these has accepted a next set, so has
 * the member then. If they have accepted different ones, it is left blank.
 *
 * A guarded newcomer's yes to a reclaim is a vote only if the set before had one member, and while that set
 * was in force less than a guard ago.
 *
 * Daemons may start again, with the list of the first set; or do nothing for as long as they like. HELLOs
 * may arrive late, and their answers may be lost. Who left keeps what it stored.
 *
 * Time goes by in ticks; clocks are right here, and calls take no time (leases.c has both).
 *
 * Promised: two daemons never hold the lease at the same time (OVERLAP), a set is followed by one other set
 * (SPLIT), and no two next sets keep each other from all kept members for good (STUCK).
 */
#include "tests/model/change.h"
#include "tests/model/explorer.h"

#include <assert.h>
#include <string.h>

#define OVERLAP "two daemons hold the lease"
#define SPLIT   "two sets follow one"
#define STUCK   "two next sets are in each other's way"

struct turn {
	const struct change_rules *rules;
	const struct change_state *from;
	struct change_state next;
	struct explorer *ex;
};

/* --- HELLOs --------------------------------------------------------------------------------------------
 */

static void
move_hello(struct turn *t, unsigned m, unsigned d)
{
	const struct change_rules *r = t->rules;
	const struct daemon *was = &t->from->daemon[d];
	struct hello hello = change_compose(r, t->from, d, m);
	const struct server *server = &t->next.server[m];
	bool known = change_member(r, was->set, m) || (was->next != 0 && change_member(r, was->next, m));
	if (!known)
		return;
	change_hello(r, &t->next, m, &hello);
	struct change_state lost = t->next;
	change_answered(r, &t->next, d, m);
	uint8_t set = server->set, next = server->next, step = server->step;
	uint8_t taken = t->next.daemon[d].set;
	OFFER(t, "%c of set %u sends HELLO to m%u, which has set %u, next %u at step %u%s", 'A' + d, was->set,
		m + 1, set, next, step, taken != was->set ? ": takes up the later set" : "");
	t->next = lost;
	if (memcmp(&lost, t->from, sizeof lost) != 0)
		OFFER(t,
			"%c of set %u sends HELLO to m%u, which has set %u, next %u at step %u; the answer "
			"is lost",
			'A' + d, was->set, m + 1, set, next, step);
	t->next = *t->from;
}

#define FLIGHT_RESTORES 8
#define FLIGHT_ENLISTS  16
#define FLIGHT_INSISTS  32

/* A HELLO that changes something arrives late. One at a time. */
static void
move_send(struct turn *t, unsigned m, unsigned d)
{
	const struct change_rules *r = t->rules;
	struct peer *peer = &t->next.server[m].peer[d];
	struct hello hello = change_compose(r, t->from, d, m);
	for (unsigned other = 0; other < r->servers; other++) {
		for (unsigned daemon = 0; daemon < DAEMONS; daemon++) {
			if (t->from->server[other].peer[daemon].flight)
				return;
		}
	}
	bool known = change_member(r, hello.set, m) || (hello.next != 0 && change_member(r, hello.next, m));
	if (!known || (!hello.next && t->from->server[m].set == hello.set))
		return;
	peer->flight = (uint8_t)(hello.set | (hello.restores ? FLIGHT_RESTORES : 0) |
				 (hello.enlists ? FLIGHT_ENLISTS : 0) | (hello.insists ? FLIGHT_INSISTS : 0));
	peer->next = (uint8_t)(hello.next | hello.step << 2 | hello.accepted << 4);
	OFFER(t, "%c sends m%u a HELLO: set %u, next %u, step %u", 'A' + d, m + 1, hello.set, hello.next,
		hello.step);
}

static void
move_arrive(struct turn *t, unsigned m, unsigned d)
{
	struct peer *peer = &t->next.server[m].peer[d];
	struct hello hello = {.set = peer->flight & 7,
		.restores = peer->flight & FLIGHT_RESTORES,
		.enlists = peer->flight & FLIGHT_ENLISTS,
		.insists = peer->flight & FLIGHT_INSISTS,
		.next = peer->next & 3,
		.step = peer->next >> 2 & 3,
		.accepted = peer->next >> 4};
	if (peer->flight == 0)
		return;
	peer->flight = peer->next = 0;
	change_hello(t->rules, &t->next, m, &hello);
	OFFER(t, "the late HELLO of %c reaches m%u: set %u, next %u at step %u", 'A' + d, m + 1,
		t->next.server[m].set, t->next.server[m].next, t->next.server[m].step);
}

/* --- what daemons do --------------------------------------------------------------------------------------
 */

/* An operator wants a change. */
static void
move_begin(struct turn *t, unsigned d, unsigned next)
{
	const struct change_rules *r = t->rules;
	struct daemon *daemon = &t->next.daemon[d];
	bool aborts = r->members[next] == r->members[daemon->set];
	if (r->follows[next] != daemon->set || (daemon->next != 0 && !(aborts && daemon->next < next)))
		return;
	for (unsigned m = 0; m < r->servers; m++) {
		const struct server *server = &t->from->server[m];
		if (change_kept(r, next, m) && (server->set != daemon->set || server->guard > 0))
			return;
	}
	daemon->next = (uint8_t)next;
	change_untell(&t->next, d);
	OFFER(t, "%c is asked for set %u", 'A' + d, next);
}

static bool
reclaim_counts(const struct change_rules *r, const struct change_state *s, unsigned m, unsigned d)
{
	const struct daemon *daemon = &s->daemon[d];
	bool came = change_newcomer(r, daemon->set, m);
	bool lone = came && change_size(r, r->follows[daemon->set]) == 1;
	switch (r->reclaim) {
	case RECLAIM_NO_VOTE:
		return false;
	case RECLAIM_YOUNG:
		return lone && daemon->young > 0;
	case RECLAIM_LONE:
		return lone;
	case RECLAIM_NEWCOMER:
		return came;
	case RECLAIM_VOTES:
		return true;
	}
	return false;
}

static void
move_ask(struct turn *t, unsigned m, unsigned d)
{
	const struct change_rules *r = t->rules;
	struct server *server = &t->next.server[m];
	struct daemon *daemon = &t->next.daemon[d];
	bool reclaims = server->guard > 0;
	if (!change_member(r, daemon->set, m) || server->set == 0 ||
		(server->set != daemon->set && !r->no_tag))
		return;
	if (server->owner != 0 && server->owner != d + 1)
		return;
	if (reclaims && !(change_holds(r, t->from, d) && reclaim_counts(r, t->from, m, d)))
		return;
	server->owner = (uint8_t)(d + 1);
	server->peer[d].left = LEASE;
	server->peer[d].previous = 0;
	if (change_size(r, daemon->set) == 1)
		daemon->young = LEASE;
	OFFER(t, "%c of set %u %s at m%u", 'A' + d, daemon->set, reclaims ? "reclaims" : "has a yes", m + 1);
}

/* With the first list, and what a server of that set tells. */
static void
move_restart(struct turn *t, unsigned d)
{
	const struct change_rules *r = t->rules;
	if (!r->restarts)
		return;
	for (unsigned m = 0; m < r->servers; m++) {
		struct server *server = &t->next.server[m];
		if (server->owner == d + 1)
			server->owner = 0;
		server->peer[d] = (struct peer){0};
	}
	t->next.daemon[d] = (struct daemon){.set = 1};
	for (unsigned m = 0; m < r->servers; m++) {
		if (change_member(r, 1, m) && t->from->server[m].set == 1 &&
			memcmp(&t->next, t->from, sizeof t->next) != 0) {
			OFFER(t, "%c starts again with the first list", 'A' + d);
			return;
		}
	}
	t->next = *t->from;
}

/* --- memory, and time -------------------------------------------------------------------------------------
 */

static bool
may_forget(const struct turn *t, unsigned m)
{
	const struct change_rules *r = t->rules;
	const struct server *server = &t->from->server[m];
	if (t->from->forgets >= r->forgets || server->set == 0)
		return false;
	for (unsigned other = 0; other < r->servers; other++) {
		if (t->from->server[other].lost)
			return false;
	}
	return r->lone_forgets || !(change_size(r, 1) == 1 && change_member(r, 1, m));
}

static void
move_forget(struct turn *t, unsigned m)
{
	struct server *server = &t->next.server[m];
	server->set = server->next = server->step = server->owner = 0;
	server->guard = LEASE;
	server->lost = 1;
	t->next.forgets++;
	for (unsigned d = 0; d < DAEMONS; d++) {
		struct peer *peer = &server->peer[d];
		peer->told = peer->told != 0 ? peer->told | STALE : 0;
		/* What is meant for the memory before this one counts no more. */
		peer->blank = 0;
		peer->flight = peer->flight & FLIGHT_RESTORES ? 0 : peer->flight;
		peer->next = peer->flight ? peer->next : 0;
	}
	OFFER(t, "m%u loses its memory", m + 1);
}

static void
move_tick(struct turn *t)
{
	struct change_state *s = &t->next;
	for (unsigned m = 0; m < t->rules->servers; m++) {
		struct server *server = &s->server[m];
		server->guard = (uint8_t)(server->guard - (server->guard > 0));
		server->lost = server->lost && (server->guard > 0 || server->set == 0);
		for (unsigned d = 0; d < DAEMONS; d++) {
			struct peer *peer = &server->peer[d];
			if (peer->left == 0 || --peer->left > 0)
				continue;
			peer->previous = 0;
			server->owner = server->owner == d + 1 ? 0 : server->owner;
		}
	}
	for (unsigned d = 0; d < DAEMONS; d++) {
		struct daemon *daemon = &s->daemon[d];
		daemon->promise = (uint8_t)(daemon->promise - (daemon->promise > 0));
		daemon->young = (uint8_t)(daemon->young - (daemon->young > 0));
	}
	OFFER(t, "a tick");
}

/* --- the model --------------------------------------------------------------------------------------------
 */

static void
change_begin(const void *rules, void *state)
{
	const struct change_rules *r = rules;
	struct change_state *s = state;
	for (unsigned m = 0; m < r->servers; m++)
		s->server[m].set = change_member(r, 1, m);
	for (unsigned d = 0; d < DAEMONS; d++)
		s->daemon[d].set = 1;
}

static void
change_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	const struct change_rules *r = rules;
	struct turn t = {.rules = r, .from = state, .ex = ex};
	(void)depth;
	assert(r->servers <= SERVERS_MAX);
	t.next = *t.from;
	move_tick(&t);
	for (unsigned m = 0; m < r->servers; m++) {
		for (unsigned d = 0; d < DAEMONS; d++) {
			move_ask(&t, m, d);
			move_hello(&t, m, d);
			if (r->late)
				move_send(&t, m, d);
			move_arrive(&t, m, d);
		}
		if (may_forget(&t, m))
			move_forget(&t, m);
	}
	for (unsigned d = 0; d < DAEMONS; d++) {
		for (unsigned next = 2; next <= SETS; next++) {
			if (r->follows[next] != 0)
				move_begin(&t, d, next);
		}
		move_restart(&t, d);
	}
}

static const char *
change_broken(const void *rules, const void *state)
{
	const struct change_rules *r = rules;
	const struct change_state *s = state;
	unsigned stored = 0, in_way = 0, three = 0;
	if (change_holds(r, s, 0) && change_holds(r, s, 1))
		return OVERLAP;
	for (unsigned m = 0; m < r->servers; m++) {
		const struct server *server = &s->server[m];
		stored |= 1u << server->set;
		three |= server->set == SETS;
		if (server->step == ACCEPTED && change_kept(r, 5u - server->next, m))
			in_way |= 1u << server->next;
	}
	if (r->follows[2] == r->follows[3] && (stored & 12) == 12)
		return SPLIT;
	return r->follows[2] == r->follows[3] && in_way == 12 && !three && s->forgets == 0 ? STUCK : NULL;
}

static void
servers_sort(const struct change_rules *r, struct change_state *s)
{
	for (unsigned first = 0, m = 1; m <= r->servers; m++) {
		bool alike = m < r->servers;
		for (unsigned set = 1; alike && set <= SETS; set++)
			alike = change_member(r, set, m) == change_member(r, set, first);
		if (alike)
			continue;
		explorer_sort(s->server + first, m - first, sizeof s->server[0]);
		first = m;
	}
}

static void
change_normalize(const void *rules, void *state)
{
	struct change_state *least = state;
	struct change_state other = *least;
	for (unsigned m = 0; m < SERVERS_MAX; m++) {
		struct server *server = &other.server[m];
		server->owner = server->owner == 0 ? 0 : (uint8_t)(3 - server->owner);
		server->peer[0] = least->server[m].peer[1];
		server->peer[1] = least->server[m].peer[0];
	}
	other.daemon[0] = least->daemon[1];
	other.daemon[1] = least->daemon[0];
	servers_sort(rules, least);
	servers_sort(rules, &other);
	if (memcmp(&other, least, sizeof other) < 0)
		*least = other;
}

enum landmark {
	LANDMARK_OLD = 1,
	LANDMARK_NEW = 2,
	LANDMARK_PROMISE = 4,
	LANDMARK_NEWCOMER = 8,
	LANDMARK_THIRD = 16,
	LANDMARK_RESTORED = 32,
	LANDMARK_RECLAIM = 64,
};

static unsigned
change_landmark(const void *rules, const void *state)
{
	const struct change_rules *r = rules;
	const struct change_state *s = state;
	unsigned met = 0;
	for (unsigned d = 0; d < DAEMONS; d++) {
		const struct daemon *daemon = &s->daemon[d];
		if (!change_holds(r, s, d))
			continue;
		met |= daemon->set == 1 ? LANDMARK_OLD : 0;
		met |= daemon->set > 1 && change_voted(r, s, d) > 0 ? LANDMARK_NEW : 0;
		met |= daemon->set > 1 && change_voted(r, s, d) == 0 ? LANDMARK_PROMISE : 0;
		met |= daemon->set == 3 ? LANDMARK_THIRD : 0;
		for (unsigned m = 0; m < r->servers; m++) {
			const struct server *server = &s->server[m];
			bool came = change_newcomer(r, daemon->set, m) && server->peer[d].left > 0;
			met |= came && server->guard == 0 ? LANDMARK_NEWCOMER : 0;
			met |= came && server->guard > 0 ? LANDMARK_RECLAIM : 0;
			met |= server->lost && server->set > 0 && daemon->set > 1 ? LANDMARK_RESTORED : 0;
		}
	}
	return met;
}

static unsigned
change_landmarks_due(const void *rules)
{
	const struct change_rules *r = rules;
	return LANDMARK_OLD | LANDMARK_NEW | LANDMARK_PROMISE | LANDMARK_NEWCOMER |
	       (r->follows[3] ? LANDMARK_THIRD : 0) | (r->forgets ? LANDMARK_RESTORED : 0) |
	       (r->reclaim ? LANDMARK_RECLAIM : 0);
}

static const struct variant variants[] = {
#define CHANGE(name, breaks, depth, rule, ...)                                                               \
	{name, breaks, rule, depth, &(const struct change_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef CHANGE
};

const struct model change_model = {
	.name = "change",
	.state_bytes = sizeof(struct change_state),
	.begin = change_begin,
	.moves = change_moves,
	.broken = change_broken,
	.normalize = change_normalize,
	.landmark = change_landmark,
	.landmarks_due = change_landmarks_due,
	.landmarks = (const char *const[]){"a lease of the old set", "a lease of a later set",
		"a promise older than the change", "a vote of a newcomer", "a lease of the third set",
		"a member that was restored", "a reclaim that is a vote"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
