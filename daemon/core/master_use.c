/*
 * master_use: what a master can be asked for in the state that it is in, and why not; see master.h. A part of
 * master.c, which changes that state.
 */
#include "daemon/core/master.h"

#include <stdio.h>

bool
master_usable(const struct master *m, unsigned link)
{
	const struct master_link *l = &m->links[link];

	return m->state == MASTER_ADMITTED && m->enrolled && l->greeted && !l->suspect;
}

void
master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room)
{
	long long left = (long long)(m->guard_until_ms - core->now.ms);

	if (m->state == MASTER_GUARDED)
		(void)snprintf(
			out, room, "restarted or is new: new leases resume in %lld ms", left > 0 ? left : 0);
	else if (m->state == MASTER_REFUSED)
		(void)snprintf(out, room, "%s", m->reason);
	else if (m->state == MASTER_GREETING)
		(void)snprintf(out, room, "is being greeted: try again in a moment");
	else if (m->state == MASTER_ADMITTED && !m->enrolled)
		(void)snprintf(out, room, "has not agreed on the set of masters yet");
	else if (m->links[link].suspect)
		(void)snprintf(out, room, "does not answer");
	else
		(void)snprintf(out, room, "is not reachable%s%s", m->reason[0] ? ": " : "", m->reason);
}

bool
master_keeps(const struct master *m, unsigned link, enum call_op *op)
{
	*op = m->state == MASTER_GUARDED ? CALL_RECLAIM : CALL_RENEW;
	return m->links[link].greeted && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED);
}

bool
master_releases(const struct master *m, unsigned link)
{
	enum call_op op;

	return master_keeps(m, link, &op);
}
