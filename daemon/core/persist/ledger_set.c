/*
 * ledger_set: the set of masters in a ledger; see ledger.h.
 *
 * The leases in a ledger are at the masters of the set that its process followed, which may be a later one
 * than that of the configuration. A process that began with the configuration, and followed the set when a
 * master reports it, would take the servers that came with it for newcomers: it would not ask them to adopt,
 * and lose what they have. So it begins with the set in the ledger where that is what it would follow: each
 * master of the configuration is a member, or has left it. If a master is neither, the configuration has
 * changed since, and counts.
 *
 * The slots have the order that they had: the first of them was the single master, if there was one.
 */
#include "daemon/core/persist/ledger_set.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/move.h"
#include "daemon/core/persist/state.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct set_entry {
	unsigned n; /* members; 0: no set is agreed on */
	struct slice places[CORE_MASTERS_MAX];
	struct slice ways[CORE_MASTERS_MAX];
	struct slice all;           /* the places as the set has them, with those of servers that have left */
	int64_t newcomers_until_ms; /* as in the core */
};

static void
set_fields(struct record *r, struct set_entry *e)
{
	e->n = (unsigned)record_range(r, e->n, 0, CORE_MASTERS_MAX);
	for (unsigned i = 0; i < e->n; i++) {
		record_bytes(r, &e->places[i], MASTERSET_PLACE_MAX - 1);
		record_bytes(r, &e->ways[i], MASTERSET_WAY_MAX - 1);
	}
	record_bytes(r, &e->all, MASTERSET_PLACES_MAX - 1);
	e->newcomers_until_ms = state_time(r, e->newcomers_until_ms);
}

void
ledger_set_write(struct buffer *out, const struct core *core)
{
	const struct masterset *set = core->masterset;
	struct record r = {.out = out};
	struct set_entry e = {.n = set->agreed ? core->settings.masters : 0};

	if (out == NULL)
		return;
	for (unsigned i = 0; i < e.n; i++) {
		e.places[i] = slice_of(core->masters[i].place);
		e.ways[i] = slice_of(core->masters[i].way);
	}
	if (e.n > 0) {
		e.all = slice_of(set->places);
		e.newcomers_until_ms = core->quorum->newcomers_until_ms;
	}
	record_begin(&r, RECORD_LEDGER_SET);
	set_fields(&r, &e);
	record_end(&r);
}

/* ---- recovery ---- */

static bool
place_reads(struct slice place)
{
	return place.n > 0 && memchr(place.p, '\0', place.n) == NULL && memchr(place.p, ' ', place.n) == NULL;
}

static bool
set_fits(const struct set_entry *e)
{
	for (unsigned i = 0; i < e->n; i++) {
		if (!place_reads(e->places[i]) || !place_reads(e->ways[i]))
			return false;
		for (unsigned k = 0; k < i; k++) {
			if (slice_equal(e->places[i], e->places[k]) && slice_equal(e->ways[i], e->ways[k]))
				return false;
		}
	}
	return e->n == 0 || e->n % 2 == 1;
}

/* Whether a server at this place has left the set. */
static bool
set_left(const struct set_entry *e, const char *place)
{
	struct slice all = e->all;
	size_t n = strlen(place);
	const char *bar = all.n > 0 ? memchr(all.p, '|', all.n) : NULL;

	for (const char *at = bar; at != NULL; at = memchr(at, ' ', (size_t)(all.p + all.n - at))) {
		size_t left = (size_t)(all.p + all.n - ++at);

		if (left >= n && memcmp(at, place, n) == 0 && (left == n || at[n] == ' '))
			return true;
	}
	return false;
}

static bool
set_member(const struct set_entry *e, const struct master *m)
{
	for (unsigned i = 0; i < e->n; i++) {
		if (slice_equal(e->places[i], slice_of(m->place)) &&
			slice_equal(e->ways[i], slice_of(m->way)))
			return true;
	}
	return false;
}

/* Whether this daemon would follow it: see masterset.h. */
static bool
set_follows(const struct core *core, const struct set_entry *e)
{
	if (!core->settings.follow || e->n < core->settings.masters)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (!set_member(e, m) && !set_left(e, m->place))
			return false;
	}
	return true;
}

static void
set_begin(struct core *core, const struct set_entry *e)
{
	assert(e->n >= core->settings.masters && core->quorum->votes == core->settings.masters);
	for (unsigned i = 0; i < e->n; i++)
		master_begin_at(core, &core->masters[i], e->places[i], e->ways[i]);
	core->settings.masters = core->quorum->votes = e->n;
	core->quorum->newcomers_until_ms = e->newcomers_until_ms;
}

bool
ledger_set_load(struct core *core, struct record *r)
{
	struct set_entry e = {.n = 0};
	bool one;

	set_fields(r, &e);
	if (!r->failed && !set_fits(&e))
		record_fail(r, "its set of masters is invalid");
	if (r->failed || e.n == 0)
		return false;
	one = e.n == 1 && slice_equal(e.places[0], slice_of(core->masters[0].place)) &&
	      slice_equal(e.ways[0], slice_of(core->masters[0].way));
	if (set_follows(core, &e))
		set_begin(core, &e);
	return one;
}
