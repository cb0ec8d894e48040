/*
 * release: see release.h. What gives up a lease calls it; the lease itself is forgotten by then, and only its
 * releases go on.
 */
#include "daemon/core/lease/release.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/usable.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RELEASE_RETRY_MS 500 /* at most, while the master is in use but answers with errors */
#define RELEASE_AGAIN_MS 40  /* after a call that did not leave, or found no scripts */

struct release *
release_find(const struct core *core, uint64_t attempt, unsigned master)
{
	struct release_key key;
	struct release *found;

	memset(&key, 0, sizeof(key));
	key.attempt = attempt;
	key.master = master;
	HASH_FIND(hh, core->leases->releases, &key, sizeof(key), found);
	return found;
}

bool
release_add(struct core *core, struct release *release)
{
	if (release_find(core, release->of.attempt, (unsigned)release->of.master) != NULL)
		return false;
	HASH_ADD(hh, core->leases->releases, of, sizeof(release->of), release);
	return release->hh.tbl != NULL;
}

static void
release_remove(struct core *core, struct release *release)
{
	HASH_DELETE(hh, core->leases->releases, release);
}

/* Tries again then, but at the latest when the key has expired: a master's clock may have stepped back. */
static void
release_arm(struct core *core, struct release *u, int64_t at_ms)
{
	timer_arm(&core->timers, &u->timer, at_ms < u->give_up_at_ms ? at_ms : u->give_up_at_ms);
}

/* Whether the master can be asked now. A guarded one adopts nothing, and it grants the name to no daemon. */
static bool
release_can_leave(const struct master *m, const struct release *u)
{
	assert(m->index == u->of.master);
	return master_releases(m, u->link) &&
	       (u->previous.n == 0 || (m->state == MASTER_ADMITTED && m->enrolled));
}

/* The lease of the release, at its master. */
static struct call
release_call(const struct core *core, const struct release *u, enum call_op op)
{
	const struct master *m = &core->masters[u->of.master];

	assert(op == CALL_RELEASE || op == CALL_ADOPT);
	return (struct call){.op = op,
		.master = m->index,
		.link = u->link,
		.attempt = u->of.attempt,
		.incarnation = m->incarnation,
		.name = u->name,
		.kind = u->kind,
		.interop = u->interop,
		.limit = u->limit,
		.permits = u->permits,
		.slots = u->slots,
		.key = u->key};
}

/* Makes the lease of a previous owner ours, for the release that follows on the same link. */
static void
release_adopt(struct core *core, const struct release *u)
{
	struct call call = release_call(core, u, CALL_ADOPT);

	assert(u->sent);
	if (u->previous.n == 0)
		return;
	call.previous = u->previous;
	call.hash = names_hash(&core->leases->names, u->name);
	call.ttl_ms = 1;
	call.deadline_us = master_time_us(core, &core->masters[u->of.master], master_patience_ms(core));
	call.queue_ms = CALL_QUEUELESS;
	master_call(core, &call);
}

static void
release_send(struct core *core, struct release *u, int64_t queue_ms)
{
	const struct master *m = &core->masters[u->of.master];
	struct call call;

	assert(u->of.master < core->settings.masters && queue_ms >= 0);
	if (u->sent)
		return;
	if (core->now.ms < u->from_ms) {
		release_arm(core, u, u->from_ms);
		return;
	}
	if (release_can_leave(m, u)) {
		u->sent = true;
		u->unadopted = false;
		release_adopt(core, u);
		call = release_call(core, u, CALL_RELEASE);
		call.deadline_us = u->after_us;
		call.queue_ms = queue_ms;
		master_call(core, &call);
	} else {
		/* If a release is due, it is sent when the link is up again, whatever was confirmed
		 * before. */
		u->confirmed = false;
	}
	timer_arm(&core->timers, &u->timer, u->give_up_at_ms);
}

static void
release_end(struct core *core, struct release *u)
{
	const struct release *found = release_find(core, u->of.attempt, (unsigned)u->of.master);

	assert(core->counts.releasing > 0);
	assert(found == u);
	timer_cancel(&core->timers, &u->timer);
	release_remove(core, u);
	core->counts.releasing--;
	freelist_retire(core, &u->freed);
}

/* Names the slots if they are all that there can be: to read the others takes the master longer. */
static struct slice
release_slots(const struct lease *l, unsigned master)
{
	const struct question *asked = l->round == NULL ? NULL : &l->round->questions[master];
	bool quiet = asked == NULL || (!asked->asking && asked->unsure_us == 0);
	bool all = l->state == LEASE_HELD && lease_vote_is_ours(l, master) && !lease_vote_is_odd(l, master) &&
		   quiet;

	return all || lease_vote_is_unadopted(l, master) ? permit_lease_slots(l) : (struct slice){NULL, 0};
}

struct release_when {
	int64_t after_us; /* when the last call that may still create it refuses itself, by that master's
			     time; 0: no such call */
	int64_t from_ms;
	int64_t queue_ms;
};

static struct slice
release_keep_text(struct release *u, size_t *used, struct slice text)
{
	char *to = u->bytes + *used;

	if (text.n > 0)
		memcpy(to, text.p, text.n);
	*used += text.n;
	return (struct slice){to, text.n};
}

struct release *
release_new(struct core *core, const struct release *as)
{
	struct release *u = freelist_new(core, sizeof(*u) + as->name.n + as->slots.n + as->previous.n);
	struct freelist_link freed;
	size_t used = 0;

	if (u == NULL)
		return NULL;
	freed = u->freed;
	*u = *as;
	u->freed = freed;
	u->name = release_keep_text(u, &used, as->name);
	u->slots = release_keep_text(u, &used, as->slots);
	u->previous = release_keep_text(u, &used, as->previous);
	timer_init(&u->timer, TIMER_RELEASE);
	assert((u->kind == KIND_PERMITS) == (u->limit > 0) && u->permits <= u->limit);
	return u;
}

static void
release_start(struct core *core, const struct lease *l, unsigned master, struct release_when when)
{
	const struct resource *r = l->resource;
	const struct release as = {.of = {.attempt = l->attempt, .master = master},
		.after_us = when.after_us,
		.from_ms = when.from_ms,
		/* Counted from now and not from the last renewal: possibly later than needed, never too
		 * early. */
		.give_up_at_ms =
			core->now.ms + l->term_ms + binding_margin_ms(core) + master_patience_ms(core),
		.kind = l->kind,
		.interop = r->rule->interop,
		.link = r->link,
		.key = r->rule->key,
		.name = resource_name(r),
		.limit = r->limit,
		.permits = l->permits,
		.slots = release_slots(l, master),
		.previous = lease_vote_is_unadopted(l, master) ? lease_previous_owners(l)
							       : (struct slice){NULL, 0}};
	struct release *u = release_new(core, &as);
	const struct release *same;

	assert(l->attempt != 0 && l->term_ms > 0);
	assert(when.after_us >= 0 && when.from_ms >= 0);
	if (u == NULL)
		return; /* out of memory: the key expires by itself */
	same = release_find(core, l->attempt, master);
	assert(same == NULL); /* an attempt is given up once at a master */
	(void)same;
	if (!release_add(core, u)) {
		free(u);
		return;
	}
	core->counts.releasing++;
	/* The position is asked for once: at a repetition the daemon may long have left the queue. */
	release_send(core, u, when.queue_ms);
}

static void
release_all(struct core *core, const struct lease *l, int64_t from_ms, int64_t queue_ms)
{
	assert(l->state != LEASE_NONE && l->grants == NULL);
	/* A held lease was won: its daemon needs no turn. */
	assert(l->state != LEASE_HELD || queue_ms == 0);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct question *asked = l->round == NULL ? NULL : &l->round->questions[i];
		bool asking = asked != NULL && asked->asking;
		int64_t after_us = asking ? asked->deadline_us : 0;

		if (asked != NULL && asked->unsure_us > after_us)
			after_us = asked->unsure_us;
		if (lease_vote_is_ours(l, i) || lease_vote_is_odd(l, i) || asking || after_us > 0)
			release_start(core, l, i,
				(struct release_when){
					after_us, from_ms, i == l->queue_master ? queue_ms : 0});
	}
}

void
release_lease(struct core *core, const struct lease *l, int64_t queue_ms)
{
	release_all(core, l, 0, queue_ms);
}

void
release_lease_from(struct core *core, const struct lease *l, int64_t from_ms)
{
	release_all(core, l, from_ms, 0);
}

void
release_adopt_vote(struct core *core, const struct vote *vote)
{
	struct release *u = release_find(core, vote->attempt, vote->master);

	assert(vote->op == CALL_ADOPT);
	if (u == NULL || u->previous.n == 0)
		return;
	/* UNKNOWN is also an answer that cannot be read, or an error that says nothing of the key: the
	 * release behind it still has an answer of its own. */
	u->unadopted = vote->outcome != OUTCOME_YES && vote->outcome != OUTCOME_NO &&
		       vote->outcome != OUTCOME_WRONGKIND;
}

/* The answer says what has become of the lease. */
static bool
release_is_answered(const struct release *u, const struct vote *vote)
{
	return vote->outcome == OUTCOME_YES ||
	       (!u->unadopted && (vote->outcome == OUTCOME_NO || vote->outcome == OUTCOME_WRONGKIND));
}

void
release_vote(struct core *core, const struct vote *vote)
{
	struct release *u = release_find(core, vote->attempt, vote->master);
	int64_t retry_ms;

	assert(vote->master < core->settings.masters);
	assert(vote->op == CALL_RELEASE);
	if (u == NULL || !u->sent)
		return;
	u->sent = false;
	if (release_is_answered(u, vote)) {
		u->previous.n = 0;
		if (u->after_us == 0 || vote->time_us > u->after_us) {
			release_end(core, u);
			return;
		}
		u->confirmed = true;
		release_arm(core, u, core->now.ms + 1 + (u->after_us - vote->time_us) / 1000);
		return;
	}
	/* More often if leases are short: once the master is well again, this alone ends what is left
	 * there. */
	retry_ms = master_patience_ms(core) < RELEASE_RETRY_MS ? master_patience_ms(core) : RELEASE_RETRY_MS;
	if (vote->outcome == OUTCOME_UNSENT)
		retry_ms = RELEASE_AGAIN_MS;
	release_arm(core, u, core->now.ms + core_jitter(core, retry_ms / 2, retry_ms));
}

void
release_timer(struct core *core, struct release *u)
{
	assert(!timer_is_armed(&u->timer));
	if (core->now.ms >= u->give_up_at_ms)
		release_end(core, u);
	else
		release_send(core, u, 0);
}

void
release_master_replaced(struct core *core, unsigned master)
{
	struct release *u, *next;

	assert(master < core->settings.masters);
	HASH_ITER (hh, core->leases->releases, u, next) {
		if (u->of.master == master)
			release_end(core, u);
	}
}

void
release_retry_all(struct core *core)
{
	struct release *u, *next;

	HASH_ITER (hh, core->leases->releases, u, next) {
		/* With links that break every few ms, the confirmed ones would be repeated each time. */
		if (!u->confirmed)
			release_send(core, u, 0);
	}
}

void
release_free_all(struct core *core)
{
	struct release *u, *next;

	HASH_ITER (hh, core->leases->releases, u, next) {
		release_remove(core, u);
		free(u);
	}
}
