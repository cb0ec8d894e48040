/*
 * state_lease: see state_lease.h. Names in the order of their hashes, so that a state does not show in which
 * order they came; and releases. A lease is at rest: nothing is asked of the masters about it.
 */
#include "daemon/core/persist/state_lease.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/persist/state_hold.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static int64_t
token_field(struct record *r, int64_t token)
{
	return record_range(r, token, 0, STATE_TOKEN_MAX);
}

/* ---- a round ---- */

static void
question_fields(struct record *r, struct question *q)
{
	assert(record_loads(r) || !q->asking);
	record_unsigned(r, &q->incarnation);
	q->unsure_us = state_us(r, q->unsure_us);
	record_unsigned(r, &q->holder);
	record_unsigned(r, &q->slots);
	q->token_first = token_field(r, q->token_first);
	q->token_last = record_range(r, q->token_last, q->token_first, STATE_TOKEN_MAX);
}

static void
round_held_fields(struct record *r, struct round_held *t)
{
	t->spare_first = token_field(r, t->spare_first);
	t->spare_last = record_range(r, t->spare_last, t->spare_first, STATE_TOKEN_MAX);
	t->wanted_since_ms = state_time(r, t->wanted_since_ms);
	t->contended_ms = state_time(r, t->contended_ms);
	t->streak = record_range(r, t->streak, 0, STATE_TOKEN_MAX);
	t->enqueue_at_ms = state_time(r, t->enqueue_at_ms);
	t->announced_until_ms = state_time(r, t->announced_until_ms);
}

static void
foreign_field(struct record *r, struct round_acquiring *t)
{
	struct slice text = t->foreign == NULL ? (struct slice){NULL, 0} : slice_of(t->foreign);

	assert(record_loads(r) || text.n <= FOREIGN_MAX);
	record_bytes(r, &text, FOREIGN_MAX);
	if (!record_loads(r) || text.n == 0)
		return;
	/* Without memory it is not shown. */
	t->foreign = calloc(1, text.n + 1);
	if (t->foreign != NULL)
		memcpy(t->foreign, text.p, text.n);
}

/* What a round that ended says for the next one. Its votes and questions are cleared when that begins. */
static void
round_acquiring_fields(const struct core *core, struct record *r, struct round_acquiring *t)
{
	int64_t position = t->position > 0 ? t->position : 0;
	bool doubted = t->doubts > 0;

	t->split = (unsigned char)record_range(r, t->split, 0, SPLIT_MOST);
	t->deferred = (unsigned char)record_range(r, t->deferred, 0, DEFER_MOST);
	record_flag(r, &doubted);
	if (record_loads(r))
		t->doubts = doubted ? DOUBTS_MOST : 0;
	t->error_at = (uint8_t)record_range(r, t->error_at, 0, core->settings.masters - 1);
	t->error = (enum lease_error)record_range(r, t->error, 0, LEASE_ERROR_LIMIT);
	record_number(r, &t->limit_there);
	record_number(r, &position);
	if (record_loads(r))
		t->position = position;
	foreign_field(r, t);
}

static void
round_fields(struct core *core, struct record *r, struct lease *l)
{
	bool any = l->round != NULL;
	struct round *t;

	assert(!any || l->state == LEASE_WAITING || l->state == LEASE_HELD);
	record_flag(r, &any);
	if (r->failed || !any)
		return;
	t = round_of(core, l);
	t->asked = (enum kind)record_range(r, t->asked, 0, KIND_COUNT - 1);
	t->sent_ms = state_time(r, t->sent_ms);
	t->proposal = token_field(r, t->proposal);
	t->asked_block = token_field(r, t->asked_block);
	t->reached = token_field(r, t->reached);
	if (l->state == LEASE_WAITING) {
		round_acquiring_fields(core, r, round_acquiring(l));
		return;
	}
	round_held_fields(r, round_held(l));
	for (unsigned i = 0; i < core->settings.masters; i++)
		question_fields(r, &t->questions[i]);
}

/* ---- a lease ---- */

static void
held_fields(struct record *r, struct lease_held *held)
{
	bool served = held->served, wanted = held->wanted, queues = held->writer != WRITER_NONE;

	/* An answer ends it, and each call has its answer. */
	assert(record_loads(r) || held->renewal != RENEWAL_ASKING);
	held->valid_until_ms = state_time(r, held->valid_until_ms);
	held->refresh_at_ms = state_time(r, held->refresh_at_ms);
	held->idle_until_ms = state_time(r, held->idle_until_ms);
	held->token = token_field(r, held->token);
	held->token_last = token_field(r, held->token_last);
	held->block = (int32_t)record_range(r, held->block, 0, INT32_MAX);
	held->dry_rounds = (uint8_t)record_range(r, held->dry_rounds, 0, UINT8_MAX);
	held->noted = (uint8_t)record_range(r, held->noted, 0, UINT8_MAX);
	held->renewal = record_range(r, held->renewal == RENEWAL_DRY, 0, 1) != 0 ? RENEWAL_DRY : RENEWAL_DONE;
	record_flag(r, &served);
	record_flag(r, &wanted);
	record_flag(r, &queues);
	held->served = served;
	held->wanted = wanted;
	if (record_loads(r))
		held->writer = queues ? WRITER_DUE : WRITER_NONE;
	held->confirmed = (enum kind)record_range(r, held->confirmed, 0, KIND_COUNT - 1);
}

static void
lease_votes_fields(const struct core *core, struct record *r, struct lease *l)
{
	uint8_t all = (uint8_t)((1U << core->settings.masters) - 1);

	assert(l->state == LEASE_HELD);
	l->ours = (uint8_t)record_range(r, l->ours & all, 0, all);
	l->odd = (uint8_t)record_range(r, l->odd & all, 0, all);
	for (unsigned i = 0; i < core->settings.masters; i++)
		lease_vote_of(l, i)->valid_until_ms = state_time(r, lease_vote_of(l, i)->valid_until_ms);
}

/* The data of its state. A state that is loaded begins with none. */
static void
lease_data_fields(struct core *core, struct record *r, struct lease *l)
{
	switch (l->state) {
	case LEASE_NONE:
		lease_none(l)->pause =
			(enum lease_pause)record_range(r, lease_none(l)->pause, 0, PAUSE_FOREIGN);
		return;
	case LEASE_WAITING:
		lease_waiting(l)->why =
			(enum lease_wait)record_range(r, lease_waiting(l)->why, 0, WAIT_COUNTED);
		round_fields(core, r, l);
		return;
	case LEASE_HELD:
		held_fields(r, lease_held(l));
		lease_votes_fields(core, r, l);
		round_fields(core, r, l);
		return;
	default:
		record_fail(r, "a lease of it is being acquired");
	}
}

/* A recovered lease that not all masters have adopted. */
static void
previous_owners_fields(struct core *core, struct record *r, struct lease *l)
{
	struct slice owners = lease_previous_owners(l);
	bool any = owners.n > 0, asked = lease_previous_asked(l);
	int64_t masters;

	record_flag(r, &any);
	if (r->failed || !any)
		return;
	record_bytes(r, &owners, (size_t)PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE);
	masters = record_range(r, record_loads(r) ? 0 : lease_previous(l)->masters, 0, UINT8_MAX);
	record_flag(r, &asked);
	if (!record_loads(r) || r->failed)
		return;
	if (l->state != LEASE_HELD || l->round == NULL || (masters & ~l->ours) != 0 || masters == 0 ||
		owners.n == 0 || !previous_owners_fit(owners)) {
		record_fail(r, "a lease of it cannot have these previous owners");
		return;
	}
	round_held(l)->previous = previous_owners_new(core, owners, (uint8_t)masters);
	if (round_held(l)->previous == NULL)
		record_no_memory(r);
	else
		round_held(l)->previous->asked = asked;
}

/* Its position in the queue, where its state has one. */
static void
load_position(struct lease *l, bool queued, bool patient)
{
	if (l->state == LEASE_HELD && lease_held(l)->writer != WRITER_NONE) {
		lease_held(l)->writer = queued ? WRITER_QUEUED : WRITER_DUE;
	} else if (round_is_acquiring(l)) {
		struct round_acquiring *rounds = round_acquiring(l);

		rounds->patient = patient;
		if (!queued)
			rounds->position = 0;
		else if (rounds->position <= 0)
			rounds->position = POSITION_ASKED;
	}
}

static void
lease_fields(struct core *core, struct record *r, struct lease *l)
{
	bool queued = lease_queued(l), patient = round_patient(l);

	assert(l->state != LEASE_ACQUIRING);
	l->state = (enum lease_state)record_range(r, l->state, 0, LEASE_STATE_COUNT - 1);
	l->kind = (enum kind)record_range(r, l->kind, 0, KIND_COUNT - 1);
	record_unsigned(r, &l->attempt);
	l->term_ms = (int32_t)record_range(r, l->term_ms, 0, INT32_MAX);
	l->permits = (int16_t)record_range(r, l->permits, 0, COMMAND_LIMIT_MAX);
	l->queue_master =
		(unsigned)record_range(r, l->queue_master, 0, core->settings.masters - 1) & LEASE_MASTER_BITS;
	record_flag(r, &queued);
	record_flag(r, &patient);
	if (record_loads(r))
		l->data = (union lease_data){0};
	lease_data_fields(core, r, l);
	if (record_loads(r))
		load_position(l, queued, patient);
	state_timer(r, core, &l->timer);
	if (record_loads(r) && l->state == LEASE_HELD)
		core->counts.leases++;
	previous_owners_fields(core, r, l);
}

/* ---- a name ---- */

/* By its hash: so a state does not show in which order the names came, nor how the table has grown. */
struct name_list {
	struct resource **list;
	size_t n;
};

static bool
name_listed(void *arg, struct resource *r)
{
	struct name_list *names = arg;

	assert(r->name_n > 0 && !r->item.dirty);
	names->list[names->n++] = r;
	return true;
}

static uint32_t
bits_reversed(uint32_t n)
{
	n = (n >> 1 & 0x55555555) | (n & 0x55555555) << 1;
	n = (n >> 2 & 0x33333333) | (n & 0x33333333) << 2;
	n = (n >> 4 & 0x0f0f0f0f) | (n & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(n);
}

static bool
name_before(const struct resource *a, const struct resource *b)
{
	uint32_t a_bits = bits_reversed(a->hash), b_bits = bits_reversed(b->hash);
	size_t least = a->name_n < b->name_n ? a->name_n : b->name_n;
	int order;

	assert(a != b);
	if (a_bits != b_bits)
		return a_bits < b_bits;
	order = memcmp(resource_name(a).p, resource_name(b).p, least);
	return order < 0 || (order == 0 && a->name_n < b->name_n);
}

/* A scan goes through the chains in this order already: only names of one chain change places. */
static void
names_sort(struct name_list *names)
{
	for (size_t i = 1; i < names->n; i++) {
		struct resource *r = names->list[i];
		size_t k = i;

		for (; k > 0 && name_before(r, names->list[k - 1]); k--)
			names->list[k] = names->list[k - 1];
		names->list[k] = r;
	}
}

static void
slots_field(struct core *core, struct record *r, struct slots **slots)
{
	struct slice text =
		*slots == NULL ? (struct slice){NULL, 0} : (struct slice){(*slots)->bytes, (*slots)->n};

	assert(*slots == NULL || (*slots)->n > 0);
	record_bytes(r, &text, STATE_SLOTS_MAX);
	if (!record_loads(r) || text.n == 0)
		return;
	*slots = slots_new(core, text);
	if (*slots == NULL)
		record_no_memory(r);
}

static void
permit_lease_fields(struct core *core, struct record *r, struct permit_lease *s)
{
	slots_field(core, r, &s->slots);
	slots_field(core, r, &s->offer);
	s->hint = record_range(r, s->hint, 0, COMMAND_LIMIT_MAX);
	lease_fields(core, r, &s->lease);
	if (s->lease.kind != KIND_PERMITS || s->lease.permits > s->lease.resource->limit)
		record_fail(r, "a lease of permits in it has none");
}

/* What it is locked as, and by which key; its lease if it has just one. */
static void
resource_fields(struct core *core, struct record *r, struct resource *name)
{
	bool listens = name->listens, parts = name->parts;
	const char *key = name->rule->key;
	enum interop interop = name->rule->interop;

	state_key(r, core, resource_name(name), &key, &interop);
	record_flag(r, &listens);
	record_flag(r, &parts);
	name->listens = listens;
	name->parts = parts;
	if (name->limit > 0)
		return;
	lease_fields(core, r, &name->lease);
	if (name->lease.kind == KIND_PERMITS || name->lease.permits > 0)
		record_fail(r, "a lease of it has permits of no semaphore");
}

void
state_load_resource(struct state_loader *l)
{
	struct slice name = {NULL, 0};
	struct record *r = l->r;
	int64_t limit;

	l->resource = NULL;
	l->lease = NULL;
	state_name(r, &name);
	limit = record_range(r, 0, 0, COMMAND_LIMIT_MAX);
	if (r->failed)
		return;
	if (names_find(&l->core->leases->names, name) != NULL) {
		record_fail(r, "it has a name twice");
		return;
	}
	l->resource = resource_new(l->core, name);
	if (l->resource == NULL) {
		record_no_memory(r);
		return;
	}
	l->resource->limit = (int16_t)limit;
	if (limit > 0)
		permit_leases_init(l->resource);
	else
		l->lease = &l->resource->lease;
	resource_fields(l->core, r, l->resource);
}

/* A permit lease is found by its attempt, and two of one attempt cannot be. */
static bool
permit_lease_joins(struct core *core, struct permit_lease *s, bool acquiring)
{
	struct permit_leases *all = &s->lease.resource->permit_leases;

	assert(s->lease.kind == KIND_PERMITS);
	if (acquiring ? all->acquiring != NULL : s->lease.attempt == 0 || !permit_lease_add(core, s))
		return false;
	if (acquiring)
		all->acquiring = s;
	TAILQ_INSERT_TAIL(&all->list, s, in_resource);
	return true;
}

void
state_load_permit_lease(struct state_loader *l)
{
	struct permit_lease *s;
	bool acquiring = false;

	record_flag(l->r, &acquiring);
	l->lease = NULL;
	if (l->resource == NULL || l->resource->limit == 0 ||
		(s = permit_lease_new(l->core, l->resource)) == NULL) {
		record_fail(l->r, "a lease of permits in it is invalid, or there is no memory for it");
		return;
	}
	TAILQ_REMOVE(&l->resource->permit_leases.list, s, in_resource);
	permit_lease_fields(l->core, l->r, s);
	if (l->r->failed || !permit_lease_joins(l->core, s, acquiring)) {
		record_fail(l->r, "a lease of permits in it is invalid, or there is no memory for it");
		lease_free(&s->lease);
		free(s->slots);
		free(s->offer);
		free(s);
		return;
	}
	l->lease = &s->lease;
}

/* ---- all names ---- */

static void
save_permit_leases(struct core *core, struct record *r, struct resource *name)
{
	struct permit_leases *all = &name->permit_leases;
	struct permit_lease *s;

	assert(name->limit > 0);
	TAILQ_FOREACH (s, &all->list, in_resource) {
		bool acquiring = s == all->acquiring;

		record_begin(r, RECORD_PERMIT_LEASE);
		record_flag(r, &acquiring);
		permit_lease_fields(core, r, s);
		record_end(r);
		state_save_grants(core, r, &s->lease);
	}
}

static void
save_resource(struct core *core, struct record *r, struct resource *name)
{
	struct slice text = resource_name(name);

	record_begin(r, RECORD_RESOURCE);
	state_name(r, &text);
	(void)record_range(r, name->limit, 0, COMMAND_LIMIT_MAX);
	resource_fields(core, r, name);
	record_end(r);
	if (name->limit > 0)
		save_permit_leases(core, r, name);
	else
		state_save_grants(core, r, &name->lease);
	state_save_waiters(core, r, name);
}

void
state_save_resources(struct core *core, struct record *r)
{
	struct name_list names = {.list = calloc(core->leases->names.count + 1, sizeof(struct resource *))};

	if (names.list == NULL) {
		record_fail(r, "there is no memory to save it");
		return;
	}
	(void)names_scan(&core->leases->names, 0, SIZE_MAX, name_listed, &names);
	assert(names.n == core->leases->names.count);
	names_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		save_resource(core, r, names.list[i]);
	free(names.list);
}

/* ---- releases ---- */

/* due_ms: of its timer. Loading: the texts point into the input. */
static void
release_fields(const struct core *core, struct record *r, struct release *u, int64_t *due_ms)
{
	record_unsigned(r, &u->of.attempt);
	u->of.master = (uint64_t)record_range(r, (int64_t)u->of.master, 0, core->settings.masters - 1);
	state_name(r, &u->name);
	record_bytes(r, &u->slots, STATE_SLOTS_MAX);
	u->after_us = state_us(r, u->after_us);
	u->from_ms = state_time(r, u->from_ms);
	u->give_up_at_ms = state_time(r, u->give_up_at_ms);
	record_flag(r, &u->confirmed);
	u->kind = (enum kind)record_range(r, u->kind, 0, KIND_COUNT - 1);
	u->limit = record_range(r, u->limit, 0, COMMAND_LIMIT_MAX);
	u->permits = record_range(r, u->permits, 0, u->limit);
	state_key(r, core, u->name, &u->key, &u->interop);
	*due_ms = state_time(r, *due_ms);
	record_bytes(r, &u->previous, (size_t)PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE);
}

void
state_load_release(struct state_loader *l)
{
	struct release read, *u = NULL;
	int64_t due_ms = 0;

	memset(&read, 0, sizeof(read));
	release_fields(l->core, l->r, &read, &due_ms);
	if (!l->r->failed && (read.kind == KIND_PERMITS) == (read.limit > 0) &&
		previous_owners_fit(read.previous)) {
		read.link = resource_link_of(l->core, read.name);
		u = release_new(l->core, &read);
	}
	if (u == NULL || !release_add(l->core, u)) {
		record_fail(l->r, "a release in it is invalid, or there is no memory for it");
		free(u);
		return;
	}
	timer_arm(&l->core->timers, &u->timer, due_ms);
	l->core->counts.releasing++;
}

void
state_save_releases(struct core *core, struct record *r)
{
	for (struct release *u = core->leases->releases; u != NULL; u = u->hh.next) {
		int64_t due_ms = timer_at(&core->timers, &u->timer);

		assert(!u->sent && u->of.master < core->settings.masters);
		assert(u->of.attempt != 0 && timer_is_armed(&u->timer));
		record_begin(r, RECORD_RELEASE);
		release_fields(core, r, u, &due_ms);
		record_end(r);
	}
}
