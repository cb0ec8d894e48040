/* majority: see majority.h. */
#include "daemon/core/masterset/majority.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WHY_MAX 192

static unsigned
usable_count(const struct core *core, unsigned link)
{
	unsigned n = 0;

	assert(link < core->settings.links);
	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_usable(&core->masters[i], link);
	return n;
}

bool
majority_usable(const struct core *core, unsigned link)
{
	return masterset_usable(core) && usable_count(core, link) >= quorum_majority(core);
}

bool
majority_works(const struct core *core, unsigned link)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_usable(&core->masters[i], link) && !core->masters[i].failing;
	return masterset_usable(core) && n >= quorum_majority(core);
}

bool
majority_near(const struct core *core, unsigned link)
{
	unsigned n = usable_count(core, link);

	if (masterset_refused(core))
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++)
		n += core->masters[i].state == MASTER_REGISTERING ||
		     (core->masters[i].state == MASTER_ADMITTED && !core->masters[i].enrolled);
	/* All masters are needed to form a set; once one is agreed on, a majority is enough. */
	return n >= (masterset_agreed(core) ? quorum_majority(core) : core->settings.masters);
}

/* How long until the guards of enough masters for a majority are over, ms; -1: even that is not enough. */
static int64_t
guarded_for_ms(const struct core *core, unsigned link)
{
	unsigned usable = usable_count(core, link);
	unsigned missing = usable < quorum_majority(core) ? quorum_majority(core) - usable : 0;
	int64_t until[CORE_MASTERS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int64_t ms = m->state == MASTER_GUARDED ? m->guard_until_ms : m->withheld_until_ms;
		unsigned at = n;

		if (m->state != MASTER_GUARDED && !master_withheld(m))
			continue;
		assert(n < CORE_MASTERS_MAX);
		for (; at > 0 && until[at - 1] > ms; at--)
			until[at] = until[at - 1];
		until[at] = ms;
		n++;
	}
	if (missing == 0 || n < missing)
		return -1;
	return until[missing - 1] > core->now.ms ? until[missing - 1] - core->now.ms : 0;
}

static void
name_master(const struct core *core, const struct master *m, char *out, size_t room)
{
	if (core->settings.masters == 1)
		(void)snprintf(out, room, "the master");
	else
		(void)snprintf(out, room, "%.*s", (int)room - 1, m->place);
}

#define ANSWERS_ERROR "answers with an error: "

void
majority_missing(const struct core *core, unsigned link, char *out, size_t room)
{
	size_t n = 0;

	assert(room > 0);
	out[0] = '\0';
	for (unsigned i = 0; i < core->settings.masters && n < room; i++) {
		const struct master *m = &core->masters[i];
		char name[WHY_MAX], why[WHY_MAX];

		/* A master that waits for the others to agree is not missing. */
		if ((master_usable(m, link) && !m->failing) ||
			(m->state == MASTER_ADMITTED && !masterset_agreed(core)))
			continue;
		name_master(core, m, name, sizeof(name));
		if (master_usable(m, link))
			(void)snprintf(why, sizeof(why), ANSWERS_ERROR "%.*s",
				(int)(sizeof(why) - sizeof(ANSWERS_ERROR)), m->error);
		else
			master_why_not(core, m, link, why, sizeof(why));
		n += (size_t)snprintf(out + n, room - n, "%s%s %s", n > 0 ? "; " : "", name, why);
	}
}

void
majority_refusal(const struct core *core, unsigned link, struct reply *why)
{
	int64_t guard_ms = guarded_for_ms(core, link);
	char missing[REPLY_TEXT_MAX];

	assert(!majority_usable(core, link));
	if (masterset_refused(core)) {
		reply_error(why, CODE_NOMASTER, "%s", masterset_why(core));
		return;
	}
	majority_missing(core, link, missing, sizeof(missing));
	if (core->settings.masters == 1)
		reply_error(why, guard_ms >= 0 ? CODE_GUARD : CODE_NOMASTER, "%s", missing);
	else if (guard_ms < 0 && !masterset_agreed(core))
		reply_error(why, CODE_NOMASTER,
			"the set of masters is not agreed on yet, which takes all of them%s%s",
			missing[0] != '\0' ? ": " : "", missing);
	else if (guard_ms >= 0)
		reply_error(
			why, CODE_GUARD, "new leases resume in %lld ms: %s", (long long)guard_ms, missing);
	else
		reply_error(why, CODE_NOMASTER, "only %u of %u masters can be used: %s",
			usable_count(core, link), core->settings.masters, missing);
}
