/* progress: see progress.h. */
#include "tests/sim/judge/progress.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US      25000
#define ROUNDS_MOST   40   /* in a row, at first: contention costs some */
#define CALLS_MOST    1500 /* in a second, for one name at all masters, */
#define CALLS_EACH    60   /* and more for each message, LOCK and grant */
#define POLL_LEAST_MS 20
#define SPLITS_MOST   6 /* in a row a daemon keeps its turn that it can make nothing of */
#define PASSED_MOST   4 /* by one daemon: its turn, one begun before, and what a claim window may cost */

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* At most so long until who waits looks again. */
static int64_t
timer_ms(const struct world *w, unsigned name)
{
	int64_t lease_ms = w->plan.foreign && name == 2 ? w->plan.lease_ms / 2 : w->plan.lease_ms;
	return smaller(lease_ms / 3, 1000);
}

/* Whether so many masters are well for it that it can make something of a lease, or give it up. */
/* How many masters it takes: a majority, but all of them as long as no set of them is agreed on. */
static unsigned
host_needs(const struct host *h)
{
	const struct world *w = h->world;
	struct masterset_view set;
	if (!h->alive)
		return plan_majority(&w->plan);
	core_view_masterset(h->core, &set);
	return set.agreed ? plan_majority(&w->plan) : w->plan.masters;
}

static bool
host_has_majority(const struct host *h)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		n += server_sound(&w->servers[i]) && host_sound_at(h, &w->servers[i]);
	return n >= host_needs(h);
}

/* Whether the daemon that this text, of a lease or of a place, belongs to can do something about it. Of two
 * copies with one daemon-id it may be either. */
static bool
owner_is_well(const struct server *s, struct slice owner)
{
	const struct world *w = s->world;
	bool found = false;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		if (!h->alive || owner.n < 32 || memcmp(owner.p, h->call_settings.daemon_id, 32) != 0)
			continue;
		if (!host_sound_at(h, s) || !host_has_majority(h))
			return false;
		found = true;
	}
	return found;
}

/* It may be that of another process with the same daemon-id, which has ended: nobody knows of it. */
static bool
nobody_knows(const struct server *s, unsigned name, struct slice owner)
{
	const struct world *w = s->world;
	bool left = false;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (!h->alive || owner.n < 32 || memcmp(owner.p, h->call_settings.daemon_id, 32) != 0)
			continue;
		if (core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			strcmp(view.lease, "held") == 0)
			return false;
		left |= orphan_of_copy(h, s);
	}
	return excuse(w, EXCUSE_PROGRESS_COPY, left);
}

/* A lease of somebody who will not take it away. */
static bool
lease_blocks(const struct server *s, unsigned name)
{
	struct slice key = server_lease_key(s->world, name), owner;
	struct store *store = master_store(s->master);
	int64_t wall_us = server_wall_us(s);
	return store_exists(store, wall_us, key) &&
	       (!server_owner(s, name, &owner) || !owner_is_well(s, owner) || nobody_knows(s, name, owner));
}

/* Whether it waits for the answer of a master that has fallen silent, or has never answered as fast as it
 * should since the daemon uses it. It takes its patience to find that out, the greeting's or a call's, and
 * nobody else has its turn meanwhile. */
static bool
host_hopes(const struct host *h)
{
	const struct world *w = h->world;
	int64_t third_ms = w->plan.lease_ms / 3;
	int64_t finds_us = (smaller(third_ms, 5000) + 2 * smaller(third_ms, 2000) + 300) * 1000;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		struct master_view view;
		core_view_master(h->core, host_ms(h), i, &view);
		int64_t since_us = later(w->well.ill_us[h->index][i], w->well.used_us[h->index][i]);
		if (view.state == MASTER_ADMITTED && !view.down &&
			!(server_sound(s) && host_sound_at(h, s)) && !wires_quiet(&h->ways[i]) &&
			w->now_us - since_us < finds_us)
			return true;
	}
	return false;
}

/* Whether nothing keeps who waits at this daemon from being served. */
static bool
host_can(const struct host *h, const bool *clear)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		n += clear[i] && host_sound_at(h, &w->servers[i]);
	return n >= host_needs(h);
}

/* Whether a daemon with this id can have a lease of the masters that are clear. */
static bool
daemon_can(const struct world *w, struct slice daemon, const bool *clear)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		if (h->alive && slice_equal(daemon, slice_of(h->call_settings.daemon_id)) &&
			host_can(h, clear))
			return true;
	}
	return false;
}

/* A place in the queue of somebody who will not come, or, with clear, who comes and cannot win: at the home
 * of a name it costs time, wherever that is. */
static bool
queue_blocks(const struct server *s, unsigned name, const bool *clear)
{
	char key[64];
	struct slice daemon;
	if (!server_sound(s))
		return false;
	snprintf(key, sizeof(key), "hf:{%s}:q", checker_name(name));
	for (size_t i = 0;
		store_member(master_store(s->master), server_wall_us(s), slice_of(key), i, &daemon); i++)
		if (!owner_is_well(s, daemon) || (clear != NULL && !daemon_can(s->world, daemon, clear)))
			return true;
	return false;
}

/* Whether it takes a master at its word that another set of masters counts there. It says so to whoever asks.
 */
static bool
host_is_refused(const struct host *h)
{
	struct masterset_view set;
	if (!h->alive)
		return false;
	core_view_masterset(h->core, &set);
	return strcmp(set.word, "refused") == 0;
}

/* A session whose process keeps it came back from a crash with a hold that its client was not told of, or has
 * given back in the step in which its daemon died. */
static bool
unsent(const struct world *w, const struct host *h, unsigned name, int64_t token)
{
	const struct hold *hold = held_with(w, h, name, token);
	return hold != NULL && (hold->unsent || hold->ended_us <= h->recovery.at_us);
}

/* Abandoned by its holder, who may be gone by now without his daemon knowing that, or kept for one who may
 * come back. */
static bool
withheld(const struct world *w, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (h->alive &&
			core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			view.held &&
			(view.hold.withheld || session_terms_of(w, h, view.hold.session) != NULL ||
				view.hold.session <= h->recovery.strange ||
				unsent(w, h, name, view.hold.token)))
			return true;
	}
	return false;
}

/* A lease that a leap ended, of a holder that may not have heard of it. */
static bool
relied_on(const struct world *w, unsigned name)
{
	bool left = false;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		left |= w->hosts[i].alive && held_relied_on(&w->hosts[i], plan_first(&w->plan, name));
	return excuse(w, EXCUSE_PROGRESS_TOLD, left);
}

static bool
somebody_can(const struct world *w, unsigned name)
{
	bool clear[PLAN_MASTERS_MAX] = {false}, behind = false;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		if (excuse(w, EXCUSE_PROGRESS_PLACE, queue_blocks(s, name, NULL)))
			return false;
		clear[i] = server_sound(s) && !lease_blocks(s, name);
	}
	bool can = false, refused = false;
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		const struct host *h = v->conn->host;
		if (v->name != name || v->stray || v->conn->host_life != h->life || v->conn->closing)
			continue;
		if (excuse(w, EXCUSE_PROGRESS_HOPE, h->alive && host_hopes(h)))
			return false;
		refused |= host_is_refused(h) && host_can(h, clear);
		can = can || (!host_is_refused(h) && host_can(h, clear));
	}
	if (excuse(w, EXCUSE_PROGRESS_SET, refused && !can))
		return false;
	for (unsigned i = 0; i < w->plan.masters && can; i++)
		behind |= queue_blocks(&w->servers[i], name, clear);
	return !excuse(w, EXCUSE_PROGRESS_MASTERS, !can) && !excuse(w, EXCUSE_PROGRESS_HEAD, behind);
}

/* Whether nobody waits there for this name any more. */
static bool
host_waits_not(const struct world *w, struct slice daemon, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (h->alive && slice_equal(daemon, slice_of(h->call_settings.daemon_id)))
			return !core_view_resource(
				       h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
			       view.waiters == 0;
	}
	return true;
}

/* How many places are left of daemons that have given theirs up, when the master did not hear of it. */
static unsigned
idle_places_at(const struct server *s, unsigned name)
{
	struct store *store = master_store(s->master);
	struct slice daemon;
	unsigned n = 0;
	for (size_t i = 0; store_member(store, server_wall_us(s), server_queue_key(name), i, &daemon); i++)
		n += host_waits_not(s->world, daemon, name);
	return n;
}

static unsigned
idle_places(const struct world *w, unsigned name)
{
	unsigned n = 0;
	for (unsigned k = 0; k < w->plan.masters; k++)
		n += idle_places_at(&w->servers[k], name);
	return n;
}

/* A look of each waiter, the windows of heads that do not come, and the ways. To whom a master names that is
 * gone, what was won at the others is left once. */
static int64_t
most_us(const struct world *w, unsigned name)
{
	unsigned places = idle_places(w, name), windows = places > 1 ? places : 1, looks = 1;
	for (unsigned i = 0; i < w->plan.masters; i++)
		looks = lease_blocks(&w->servers[i], name) ? 2 : looks;
	/* Who keeps what he does not use may not hear that it is wanted. */
	return (timer_ms(w, name) * looks + 300 * windows + w->plan.retain_ms) * 1000 +
	       8 * (2 * w->plan.network_us + w->plan.spread_us) + 100000;
}

/* Whether the owner of this lease keeps it, or asks for it. */
static bool
owner_keeps(const struct world *w, unsigned name, struct slice owner)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (h->alive && owner.n >= 32 && memcmp(owner.p, h->call_settings.daemon_id, 32) == 0 &&
			core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			strcmp(view.lease, "held") == 0)
			return true;
	}
	return false;
}

/* A lease or a place that is left behind at a master whose clock stepped back stays for longer. */
static bool
outlives(const struct world *w, unsigned name)
{
	bool left = false;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		struct slice owner;
		if (w->now_us >= s->back_until_us)
			continue;
		left |= idle_places_at(s, name) > 0;
		if (store_exists(master_store(s->master), server_wall_us(s), server_lease_key(w, name)))
			left |= !server_owner(s, name, &owner) || !owner_keeps(w, name, owner);
	}
	return left;
}

/* Whether this daemon has the lease at most masters. */
static bool
has_most(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		struct slice owner;
		n += server_owner(&w->servers[i], name, &owner) && owner.n > 32 &&
		     memcmp(owner.p, h->call_settings.daemon_id, 32) == 0;
	}
	return n >= plan_majority(&w->plan);
}

/* Whether a daemon with a waiter has the lease at most masters. When its waiter leaves before it knows, it
 * gives the lease back, and where messages are lost nobody hears that: a look of each waiter begins then. */
static bool
waiter_has_most(const struct world *w, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const char *id = w->hosts[i].call_settings.daemon_id;
		if (has_most(&w->hosts[i], name) && !host_waits_not(w, slice_of(id), name))
			return true;
	}
	return false;
}

/* Whether a daemon that hands over has it: that its client has given it up has not been read. */
static bool
unread_has_most(const struct world *w, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (w->hosts[i].unread_until_us > w->now_us && has_most(&w->hosts[i], name))
			return true;
	return false;
}

static void
look_at_name(struct world *w, unsigned name)
{
	struct progress *p = &w->progress;
	if (!waits_for(w, name) || held_longest_us(w, name) > w->now_us || foreign_client_holds(w, name) ||
		withheld(w, name) || bundles_keep(w, name) || relied_on(w, name) ||
		excuse(w, EXCUSE_PROGRESS_MOST, w->plan.fault[FAULT_MESSAGES] && waiter_has_most(w, name)) ||
		excuse(w, EXCUSE_PROGRESS_UNREAD, unread_has_most(w, name)) ||
		excuse(w, EXCUSE_PROGRESS_BACK, outlives(w, name)) || !somebody_can(w, name)) {
		p->free_us[name] = w->now_us;
		return;
	}
	int64_t for_us = w->now_us - p->free_us[name];
	if (for_us > p->worst_us)
		p->worst_us = for_us;
	if (for_us > most_us(w, name))
		world_fail(w, "progress: %s is free for %" PRId64 " ms, somebody waits, and nothing is wrong",
			checker_name(name), for_us / 1000);
}

static void
look_at_asking(struct world *w, unsigned host, unsigned name)
{
	const struct asking *a = &w->progress.asking[host][name];
	int64_t for_ms = (w->now_us - a->since_us) / 1000;
	/* Who has a string tells nobody of its end: it is looked for every few hundredths of a second. */
	int64_t rounds_ms =
		w->plan.redsync && plan_keyed(&w->plan, name) ? POLL_LEAST_MS : timer_ms(w, name) / 8;
	if (w->phase != PHASE_FAULTS && a->rounds > ROUNDS_MOST + for_ms / (rounds_ms > 0 ? rounds_ms : 1))
		world_fail(w,
			"unrest: d%u has asked %u times for %s within %" PRId64 " ms, and nothing changed",
			host, a->rounds, checker_name(name), for_ms);
}

/* Whether every master is well for it, and it knows: then all such daemons see the same home of a name. */
static bool
host_has_all(const struct host *h)
{
	const struct world *w = h->world;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		struct master_view view;
		if (!server_sound(&w->servers[i]) || !host_sound_at(h, &w->servers[i]))
			return false;
		core_view_master(h->core, host_ms(h), i, &view);
		if (view.down)
			return false;
	}
	return true;
}

/* Order is promised among daemons that see the same home, while nobody else's lease is in the way there. */
static bool
order_promised(const struct world *w, unsigned name)
{
	bool promised = w->phase != PHASE_FAULTS && world_alike(w);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		promised = promised && host_has_all(&w->hosts[i]);
	for (unsigned i = 0; i < w->plan.masters; i++)
		promised = promised && !lease_blocks(&w->servers[i], name);
	return promised;
}

static void
look_at_places(struct world *w, unsigned name)
{
	bool promised = order_promised(w, name);
	for (unsigned i = 0; i < w->plan.hosts && !promised; i++)
		progress_queued(&w->hosts[i], name, false);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.names; i++) {
		look_at_name(w, i);
		look_at_places(w, i);
		for (unsigned k = 0; k < w->plan.hosts; k++)
			look_at_asking(w, k, i);
	}
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
progress_watch(struct world *w)
{
	for (unsigned i = 0; i < w->plan.names; i++) {
		look_at_places(w, i);
		progress_passed(w, i);
	}
	w->progress.watched = true;
	if (w->plan.replicas == 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}

void
progress_told(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->reasons++;
	a->rounds = 0;
	a->since_us = h->world->now_us;
}

void
progress_linked(struct host *h)
{
	for (unsigned i = 0; i < h->world->plan.names; i++) {
		struct asking *a = &h->world->progress.asking[h->index][i];
		a->rounds = 0;
		a->newest = 0;
		a->since_us = h->world->now_us;
	}
}

/* Whatever goes wrong, and whoever has the lease. */
void
progress_called(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (h->world->now_us - a->calls_us >= 1000000) {
		a->calls_us = h->world->now_us;
		a->calls = a->reasons = 0;
	}
	if (++a->calls > CALLS_MOST + a->reasons * CALLS_EACH)
		world_fail(h->world, "unrest: d%u has made %u calls for %s within a second", h->index,
			a->calls, checker_name(name));
}

void
progress_passed(struct world *w, unsigned name)
{
	w->progress.free_us[name] = w->now_us;
}

/* It may have heard of the other one within the step in which it granted. */
static void
look_at_streak(struct host *h, unsigned name, enum kind kind)
{
	struct world *w = h->world;
	struct asking *a = &w->progress.asking[h->index][name];
	struct resource_view view;
	bool wanted =
		core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) && view.wanted;
	a->streak = wanted && kind == KIND_EXCLUSIVE ? a->streak + 1 : 0;
	if (a->streak > w->plan.streak + 1)
		world_fail(w,
			"order: d%u has granted %s %" PRId64 " times while it knew that another daemon waits",
			h->index, checker_name(name), a->streak);
}

void
progress_granted(struct host *h, unsigned name, enum kind kind)
{
	struct world *w = h->world;
	progress_passed(w, name);
	look_at_streak(h, name, kind);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		progress_told(&w->hosts[i], name);
}

void
progress_queued(struct host *h, unsigned name, bool queued)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (a->queued == queued)
		return;
	a->queued = queued;
	a->queued_us = h->world->now_us;
	memset(a->passed, 0, sizeof(a->passed));
}

void
progress_answered(struct host *h, const struct vote *v)
{
	unsigned name = checker_name_of(v->name);
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (v->outcome == OUTCOME_BUSY && v->position > 0 && progress_stands(h, name, v->attempt)) {
		progress_queued(h, name, true);
		a->home = v->master;
	}
	if (v->master == a->home && v->outcome == OUTCOME_BUSY && v->holder.n > 0)
		a->splits = 0;
	if (v->master == a->home && v->outcome == OUTCOME_YES &&
		excuse(h->world, EXCUSE_ORDER_SPLITS, a->queued && a->splits > SPLITS_MOST))
		progress_queued(h, name, false);
}

/* Somebody else gets the lease that it waits for. Where messages are lost, turns are, too; where a clock
 * steps back, places outlive who had them; with a failover they are gone. */
static void
pass_over(const struct host *passed, const struct host *by, unsigned name)
{
	struct world *w = by->world;
	struct asking *a = &w->progress.asking[passed->index][name];
	if (!a->queued || excuse(w, EXCUSE_ORDER_MESSAGES, w->plan.fault[FAULT_MESSAGES]) ||
		excuse(w, EXCUSE_ORDER_BACK, outlives(w, name)) || w->plan.replicas > 0)
		return;
	if (++a->passed[by->index] > PASSED_MOST)
		world_fail(w, "order: d%u has got %s %d times while d%u stood in the queue for it", by->index,
			checker_name(name), a->passed[by->index], passed->index);
}

void
progress_leased(struct host *h, unsigned name)
{
	struct world *w = h->world;
	w->progress.asking[h->index][name].streak = 0;
	w->progress.asking[h->index][name].splits = 0;
	w->progress.asking[h->index][name].leased_us = w->now_us;
	progress_queued(h, name, false);
	look_at_places(w, name);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (&w->hosts[i] != h)
			pass_over(&w->hosts[i], h, name);
}

void
progress_left(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->left = a->attempt;
	progress_queued(h, name, false);
}

void
progress_ended(struct host *h, unsigned name, uint64_t attempt)
{
	h->world->progress.asking[h->index][name].ended = attempt;
}

bool
progress_stands(const struct host *h, unsigned name, uint64_t attempt)
{
	const struct asking *a = &h->world->progress.asking[h->index][name];
	return attempt == a->attempt && attempt != a->left;
}

void
progress_asked(struct host *h, unsigned name, uint64_t attempt)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->rounds += attempt > a->newest;
	a->newest = attempt > a->newest ? attempt : a->newest;
	a->began += attempt != a->attempt;
	a->splits += attempt != a->attempt;
	a->asked_us = h->world->now_us;
	a->attempt = attempt;
}
