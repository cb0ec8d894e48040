/* drain: see drain.h. It tells holders, and must never release what they rely on. */
#include "daemon/core/drain.h"

#include "daemon/core/core.h"
#include "daemon/core/emit.h"
#include "daemon/core/latch.h"
#include "daemon/core/master.h"
#include "daemon/core/masterset.h"
#include "daemon/core/mlock.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/session.h"
#include "daemon/core/state.h"
#include "daemon/core/view.h"

/* Holds, and withheld holds of clients that are gone. */
static size_t
holds_left(const struct core *core)
{
	return core->counts.grants + core->counts.withheld;
}

/* Nothing new is taken from now on. */
static void
drain_begin(struct core *core, const struct reply *refusal)
{
	struct resource *r;

	core->drain = DRAIN_WAITS;
	mlock_answer_all(core, refusal);
	for (r = names_first(&core->names); r != NULL; r = names_next(&core->names, r)) {
		queue_answer_all(core, r, refusal);
		dirty_add(core, r);
	}
}

/* Holders are told by the end of their connections; their leases are left to run out, not released. */
static void
drain_end(struct core *core)
{
	int64_t left = (int64_t)holds_left(core);
	struct reply refusal;
	struct session *s, *s_next;
	struct conn *conn;

	core->drain = DRAIN_ENDS;
	reply_error(&refusal, CODE_DRAINING, EMIT_DRAINING);
	grace_drain(core);
	latch_drain(core, &refusal);
	masterset_drain(core, &refusal);
	HASH_ITER (hh, core->sessions, s, s_next) {
		TAILQ_FOREACH (conn, &s->conns, in_session) {
			if (conn->drains)
				emit_int(core, conn->id, left);
			conn->drains = false;
			if (s->grant_count > 0)
				emit_close(core, conn->id);
		}
	}
}

void
drain_ask(struct core *core, conn_id id, bool waits)
{
	struct conn *conn = conn_find(core, id);
	struct reply refusal;

	reply_error(&refusal, CODE_DRAINING, EMIT_DRAINING);
	if (core->drain == DRAIN_ENDS) {
		if (conn != NULL)
			emit_reply(core, id, &refusal);
		return;
	}
	if (conn != NULL)
		conn->drains = true;
	if (core->drain == DRAIN_NONE)
		drain_begin(core, &refusal);
	if (!waits)
		drain_end(core);
}

bool
drain_goes_on(struct core *core)
{
	if (core->drain != DRAIN_WAITS || holds_left(core) > 0)
		return false;
	drain_end(core);
	return true;
}

void
drain_leave(struct core *core)
{
	const struct core_counts *counts = &core->counts;

	if (core->drain != DRAIN_ENDS || core->left || core->ended ||
		counts->leases + counts->grants + counts->withheld > 0 || core->releases != NULL)
		return;
	core->left = true;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		/* On every link, behind all calls there: a greeting would register the daemon anew. */
		for (unsigned k = 0; k < core->settings.links; k++) {
			if (m->links[k].up && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED))
				master_call(core, &(struct call){.op = CALL_HELLO,
							  .master = i,
							  .link = k,
							  .attempt = ++m->serial,
							  .incarnation = m->incarnation,
							  .leaves = true});
		}
	}
}

bool
core_draining(const struct core *core)
{
	return core->drain != DRAIN_NONE;
}

bool
core_drained(const struct core *core)
{
	return core->drain == DRAIN_ENDS;
}
