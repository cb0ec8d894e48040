/*
 * ledger: see ledger.h. Writes the entries; recover.c reads them. Nothing here decides anything about
 * sessions or leases.
 */
#include "daemon/core/persist/ledger.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/change_list.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/persist/durable.h"
#include "daemon/core/persist/ledger_set.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "proto/buffer.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <utlist.h>

/* ---- entries, in both directions: what identifies a thing comes first ---- */

void
ledger_head_fields(struct record *r, struct slice *namespace_, struct slice *daemon_id)
{
	record_bytes(r, namespace_, UINT16_MAX);
	record_bytes(r, daemon_id, CALL_DAEMON_ID_SIZE - 1);
}

void
ledger_lease_fields(struct record *r, const struct core *core, struct lease_entry *e)
{
	record_unsigned(r, &e->attempt);
	state_name(r, &e->name);
	e->limit = record_range(r, e->limit, 0, COMMAND_LIMIT_MAX);
	e->kind = (enum kind)record_range(r, e->kind, 0, KIND_COUNT - 1);
	e->permits = record_range(r, e->permits, 0, COMMAND_LIMIT_MAX);
	record_bytes(r, &e->slots, STATE_SLOTS_MAX);
	state_key(r, core, e->name, &e->key, &e->interop);
	e->valid_until_ms = state_time(r, e->valid_until_ms);
	e->announced_until_ms = state_time(r, e->announced_until_ms);
	e->newest = record_range(r, e->newest, 0, STATE_TOKEN_MAX);
	record_bytes(r, &e->previous, PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE);
	record_flag(r, &e->asked);
	e->others_until_ms = state_time(r, e->others_until_ms);
}

bool
ledger_lease_fits(const struct core *core, const struct lease_entry *e)
{
	bool permits = e->kind == KIND_PERMITS;

	if (permits != (e->limit > 0) || permits != (e->permits > 0) || permits != (e->slots.n > 0) ||
		e->permits > e->limit)
		return false;
	return e->attempt != 0 && e->name.n > 0 && e->newest > 0 && e->newest <= COMMAND_TOKEN_MAX &&
	       previous_owners_fit(e->previous) && (e->asked || e->previous.n > 0) &&
	       e->announced_until_ms >= e->valid_until_ms && e->announced_until_ms != TIMER_NEVER &&
	       e->announced_until_ms - core->now.ms < INT32_MAX / 2;
}

bool
ledger_hold_fits(const struct hold_entry *e)
{
	if (e->token == 0 || e->ceiling_at_ms < e->ends_ms)
		return false;
	return e->ends_ms == TIMER_NEVER ? !e->leased
					 : e->ends_why == LOSS_LEASE || e->ends_why == LOSS_MAXHOLD ||
						   e->ends_why == LOSS_SHORTENED;
}

/* ---- writing: nothing if there is no `out` ---- */

static void
write_session(struct buffer *out, const struct session *s)
{
	struct record r = {.out = out};
	struct session_entry e = durable_session(s);

	assert(out == NULL || s->written);
	if (out == NULL)
		return;
	/* The connection that gets the pushes brings PUSH back. */
	if (e.onloss == ONLOSS_PUSH)
		e.onloss = s->named != NULL ? ONLOSS_NEXT : ONLOSS_CLOSE;
	record_begin(&r, RECORD_LEDGER_SESSION);
	durable_session_fields(&r, &e);
	record_end(&r);
}

static void
write_session_gone(struct buffer *out, const struct session *s)
{
	struct record r = {.out = out};
	session_id id = s->id;

	if (out == NULL)
		return;
	record_begin(&r, RECORD_SESSION_GONE);
	record_unsigned(&r, &id);
	record_end(&r);
}

static void
write_loss(struct buffer *out, enum record_type type, const struct loss *loss)
{
	struct record r = {.out = out};
	struct loss_entry e = durable_loss(loss);

	assert(loss->session->written);
	if (out == NULL)
		return;
	record_begin(&r, type);
	durable_loss_fields(&r, &e);
	record_end(&r);
}

/* Holds that are not durable come last on their lease. There may be thousands, and this many are examined. */
#define OTHERS_MOST 16

static int64_t
others_until_ms(const struct lease *l)
{
	const struct grant *last = l->grants == NULL ? NULL : l->grants->before, *g = last;
	int64_t all_ms = lease_announced_until_ms(l) + l->resource->rule->crash_delay_ms, until_ms = 0;

	for (unsigned passed = 0; g != NULL && !g->durable; passed++) {
		int64_t ends_ms = g->session == NULL ? grant_ends_ms(g) : grant_withheld_until_ms(g);

		if (passed == OTHERS_MOST || (g->session != NULL && ends_ms == all_ms))
			return TIMER_NEVER;
		if (ends_ms > until_ms)
			until_ms = ends_ms;
		g = g == l->grants ? NULL : g->before;
	}
	return until_ms;
}

static void
write_lease(struct buffer *out, const struct core *core, const struct lease *l)
{
	const struct resource *name = l->resource;
	struct record r = {.out = out};
	struct lease_entry e;

	assert(l->attempt != 0 && l->grants != NULL);
	if (out == NULL)
		return;
	e = (struct lease_entry){.attempt = l->attempt,
		.name = resource_name(name),
		.limit = name->limit,
		.kind = (enum kind)l->kind,
		.permits = l->permits,
		.slots = permit_lease_slots(l),
		.key = name->rule->key,
		.interop = name->rule->interop,
		.valid_until_ms = lease_held(l)->valid_until_ms,
		.announced_until_ms = lease_announced_until_ms(l),
		.newest = round_newest(l),
		.previous = lease_previous_owners(l),
		.asked = lease_previous_asked(l),
		.others_until_ms = others_until_ms(l)};
	record_begin(&r, RECORD_LEDGER_LEASE);
	ledger_lease_fields(&r, core, &e);
	record_end(&r);
}

static void
write_lease_gone(struct buffer *out, uint64_t attempt)
{
	struct record r = {.out = out};

	assert(attempt != 0);
	if (out == NULL)
		return;
	record_begin(&r, RECORD_LEASE_GONE);
	record_unsigned(&r, &attempt);
	record_end(&r);
}

static void
write_hold(struct buffer *out, const struct lease *l, const struct grant *g)
{
	struct record r = {.out = out};
	struct hold_entry e;

	assert(g->lease == l && l->state == LEASE_HELD && !g->gone);
	if (out == NULL)
		return;
	e = durable_hold(g);
	record_begin(&r, RECORD_LEDGER_HOLD);
	durable_hold_fields(&r, &e);
	record_end(&r);
}

static void
write_hold_gone(struct buffer *out, uint64_t attempt, const struct grant *g)
{
	struct record r = {.out = out};
	struct hold_entry e = {.attempt = attempt, .token = g->token};

	if (out == NULL)
		return;
	record_begin(&r, RECORD_HOLD_GONE);
	durable_hold_fields(&r, &e);
	record_end(&r);
}

static void
write_terms(struct buffer *out, const struct core *core)
{
	struct record r = {.out = out};
	struct binding_entry e = binding_entry(core);

	if (out == NULL)
		return;
	record_begin(&r, RECORD_LEDGER_TERMS);
	binding_fields(&r, &e);
	record_end(&r);
}

/* ---- sessions and what they have lost ---- */

static bool
session_is_written(const struct core *core, const struct session *s)
{
	size_t many = core->settings.ledger_many;

	if (s->gone)
		return false;
	return session_is_durable(s) || s->grant_count >= many ||
	       (s->written && s->grant_count + HASH_COUNT(s->losses) >= many);
}

/* It is in the ledger from now on, or no more, and with it all that it has. */
static void
session_passes(struct core *core, struct session *s)
{
	struct grant *g;

	for (struct loss *loss = s->losses; s->written && loss != NULL; loss = loss->hh.next)
		loss_changed(core, loss);
	LIST_FOREACH (g, &s->grants, in_session) {
		if (!g->changed)
			g->changed = change_list_add(&core->locks->changed_grants, g);
	}
}

/* Those that leave the ledger stay on the list. */
static void
drain_sessions(struct core *core)
{
	struct change_list *list = &core->sessions->changed;
	size_t leave = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct session *s = list->things[i];
		bool written = s->written;

		assert(s->changed);
		s->changed = false;
		s->written = session_is_written(core, s);
		if (s->written)
			write_session(core->ledger, s);
		if (s->written != written && !s->gone)
			session_passes(core, s);
		if (written && !s->written)
			list->things[leave++] = s;
	}
	list->n = leave;
}

static void
drain_gone_sessions(struct core *core)
{
	struct change_list *list = &core->sessions->changed;

	for (size_t i = 0; i < list->n; i++)
		write_session_gone(core->ledger, list->things[i]);
	list->n = 0;
}

/* The losses of a session that leaves go with it. */
static void
drain_losses(struct core *core)
{
	struct change_list *list = &core->locks->changed_losses;

	for (size_t i = 0; i < list->n; i++) {
		struct loss *loss = list->things[i];

		assert(loss->changed);
		loss->changed = false;
		if (loss->session->written)
			write_loss(core->ledger, loss->gone ? RECORD_LOSS_GONE : RECORD_LOSS, loss);
	}
	list->n = 0;
}

/* ---- holds and their leases ---- */

static bool
hold_is_durable(const struct grant *g)
{
	return g->session != NULL && g->session->written && !g->unannounced && part_of(g) == NULL;
}

static void
ledger_lease(struct core *core, const struct lease *l)
{
	assert(l->grants == NULL || l->state == LEASE_HELD);
	if (lease_is_durable(l))
		write_lease(core->ledger, core, l);
}

/* The durable ones come first on their lease. */
static void
hold_enters(struct grant *g)
{
	struct lease *l = g->lease;

	assert(!g->durable && g->session != NULL);
	g->durable = true;
	if (g == l->grants || g->before->durable)
		return;
	DL_DELETE2(l->grants, g, before, after);
	DL_PREPEND2(l->grants, g, before, after);
	assert(l->grants == g);
}

static void
hold_leaves(struct grant *g)
{
	struct lease *l = g->lease;

	assert(g->durable);
	g->durable = false;
	if (g->after == NULL || !g->after->durable)
		return;
	DL_DELETE2(l->grants, g, before, after);
	DL_APPEND2(l->grants, g, before, after);
	assert(g->after == NULL);
}

/* It is durable no more. With the last one its lease goes. l: NULL: it has ended. */
static void
write_leaves(struct core *core, const struct grant *g, const struct lease *l, uint64_t attempt)
{
	if (l != NULL && lease_is_durable(l))
		write_hold_gone(core->ledger, attempt, g);
	else
		write_lease_gone(core->ledger, attempt);
}

/* The holds beside the durable ones are other ones, or others of them end at another time. */
static void
hold_changes(struct core *core, struct grant *g)
{
	struct lease *l = g->lease;

	if (hold_is_durable(g)) {
		bool enters = !g->durable;

		if (enters)
			hold_enters(g);
		write_hold(core->ledger, l, g);
		if (!enters)
			return;
	} else if (g->durable) {
		hold_leaves(g);
		write_leaves(core, g, l, l->attempt);
	}
	lease_changed(core, l);
}

/* The lease that the hold stood on, if it is still the same. By now its memory may be that of the next one,
 * or its name may have permits instead, which lie where the lease was. */
static struct lease *
lease_before(const struct grant *g)
{
	struct lease *l = g->lease;

	assert(g->gone);
	if (g->kind != KIND_PERMITS && l->resource != OWNER_OF(l, struct resource, lease))
		return NULL;
	return l->attempt == g->attempt ? l : NULL;
}

static void
hold_goes(struct core *core, struct grant *g)
{
	struct lease *l = lease_before(g);

	if (g->durable)
		write_leaves(core, g, l, g->attempt);
	else if (l != NULL)
		lease_changed(core, l);
	freelist_retire(core, &g->freed);
}

static void
drain_holds(struct core *core)
{
	struct change_list *list = &core->locks->changed_grants;

	for (size_t i = 0; i < list->n; i++) {
		struct grant *g = list->things[i];

		assert(g->changed);
		g->changed = false;
		if (g->gone)
			hold_goes(core, g);
		else
			hold_changes(core, g);
	}
	list->n = 0;
}

/* ---- the whole ---- */

/* All on the list have been written. Those that have changed found no room on it. */
static void
leases_find(struct core *core)
{
	struct resource *r;
	struct lease *l;

	for (r = names_first(&core->leases->names); r != NULL; r = names_next(&core->leases->names, r)) {
		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
			if (l->changed.dirty && !dirty_found(&core->lease_changes, &l->changed))
				return;
		}
	}
}

/* The next lease that has changed; NULL: there is none left. */
static const struct lease *
leases_changed(struct core *core)
{
	struct dirty *changes = &core->lease_changes;
	struct dirty_item *item = dirty_next(changes);

	while (item == NULL && dirty_missed(changes)) {
		leases_find(core);
		item = dirty_next(changes);
	}
	return item == NULL ? NULL : OWNER_OF(item, struct lease, changed);
}

static void
drain_leases(struct core *core)
{
	const struct lease *l;

	while ((l = leases_changed(core)) != NULL)
		ledger_lease(core, l);
}

/* Without memory to say what has changed, the ledger has to be begun anew. */
static void
drain_missed(struct core *core)
{
	if (!changes_missed(core))
		return;
	ledger_mark(core);
	if (core->ledger != NULL)
		core->ledger->failed = true;
}

void
ledger_drain(struct core *core)
{
	if ((core->changed & CHANGE_TERMS) != 0)
		write_terms(core->ledger, core);
	if ((core->changed & CHANGE_SET) != 0)
		ledger_set_write(core->ledger, core);
	drain_sessions(core);
	drain_losses(core);
	drain_holds(core);
	drain_leases(core);
	drain_gone_sessions(core);
	drain_missed(core);
	changes_rest(core);
	core->changed = 0;
}

void
core_keep_ledger(struct core *core, struct buffer *out)
{
	assert(core->actions == NULL);
	assert(out == NULL || core->settings.daemon_id != NULL);
	core->ledger = NULL;
	ledger_drain(core); /* the caller begins a ledger with all that there is */
	core->ledger = out;
}

void
core_pass_ledger(struct core *core, struct buffer *out)
{
	core_keep_ledger(core, out);
	write_terms(out, core);
	ledger_set_write(out, core);
}

void
core_ledger_begin(struct core *core, struct buffer *out)
{
	struct slice namespace_ = slice_of(core->settings.namespace_);
	struct slice daemon_id = slice_of(core->settings.daemon_id);
	struct record r;

	assert(out != NULL && core->settings.daemon_id != NULL);
	record_save(&r, out);
	record_begin(&r, RECORD_LEDGER);
	ledger_head_fields(&r, &namespace_, &daemon_id);
	record_end(&r);
	write_terms(out, core);
	ledger_set_write(out, core);
	for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		if (!s->written)
			continue;
		write_session(out, s);
		for (const struct loss *loss = s->losses; loss != NULL; loss = loss->hh.next)
			write_loss(out, RECORD_LOSS, loss);
	}
}

struct ledger_scan {
	const struct core *core;
	struct buffer *out;
};

static bool
scan_name(void *arg, struct resource *r)
{
	const struct ledger_scan *scan = arg;
	const struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		if (!lease_is_durable(l))
			continue;
		for (const struct grant *g = l->grants; g != NULL && g->durable; g = g->after)
			write_hold(scan->out, l, g);
		write_lease(scan->out, scan->core, l);
	}
	return true;
}

uint64_t
core_ledger_scan(struct core *core, uint64_t cursor, size_t budget, struct buffer *out)
{
	struct ledger_scan scan = {core, out};

	assert(out != NULL && budget > 0);
	return names_scan(&core->leases->names, (scan_cursor)cursor, budget, scan_name, &scan);
}

/* Puts the durable holds first, and leaves the others in their order. */
static void
mark_lease(struct lease *l)
{
	struct grant *g = l->grants, *next, *last = NULL;

	for (; g != NULL; g = next) {
		next = g->after;
		g->durable = hold_is_durable(g);
		if (!g->durable)
			continue;
		if (last != g->before && g != l->grants) {
			DL_DELETE2(l->grants, g, before, after);
			if (last == NULL)
				DL_PREPEND2(l->grants, g, before, after);
			else
				DL_APPEND_ELEM2(l->grants, last, g, before, after);
		}
		last = g;
	}
}

void
ledger_mark(struct core *core)
{
	struct lease *l;
	struct conn *conn;

	changes_forget(core);
	for (struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		s->durable = session_is_durable(s);
		s->written |= s->durable;
		TAILQ_FOREACH (conn, &s->conns, in_session)
			conn->durable = conn->host == NULL && s->durable;
	}
	for (struct resource *r = names_first(&core->leases->names); r != NULL;
		r = names_next(&core->leases->names, r)) {
		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
			mark_lease(l);
	}
}
