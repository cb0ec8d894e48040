/*
 * quorum: see quorum.h. The masters one by one are in master.c and usable.c.
 */
#include "daemon/core/masters/quorum.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/masterset.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FLOOR_RETRY_MS 50
#define WHY_MAX        192

#define UNREAD_MORE_MS 200 /* after a hand-over: until the masters have named the holder of a name */
#define UNREAD_LOOK_MS 10

unsigned
quorum_majority(const struct core *core)
{
	assert(core->settings.masters >= 1 && core->settings.masters <= CORE_MASTERS_MAX);
	return core->settings.masters / 2 + 1;
}

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
quorum_usable(const struct core *core, unsigned link)
{
	return masterset_usable(core) && usable_count(core, link) >= quorum_majority(core);
}

bool
quorum_works(const struct core *core, unsigned link)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_usable(&core->masters[i], link) && !core->masters[i].failing;
	return masterset_usable(core) && n >= quorum_majority(core);
}

bool
quorum_near(const struct core *core, unsigned link)
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
quorum_missing(const struct core *core, unsigned link, char *out, size_t room)
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
quorum_refusal(const struct core *core, unsigned link, struct reply *why)
{
	int64_t guard_ms = guarded_for_ms(core, link);
	char missing[REPLY_TEXT_MAX];

	assert(!quorum_usable(core, link));
	if (masterset_refused(core)) {
		reply_error(why, CODE_NOMASTER, "%s", masterset_why(core));
		return;
	}
	quorum_missing(core, link, missing, sizeof(missing));
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

bool
quorum_puts_off(struct core *core, struct timer *timer, const struct reply *why)
{
	/* It has just come. */
	assert(!timer_is_armed(timer));
	if (why->type != REPLY_ERROR || why->code != CODE_NOMASTER)
		return false;
	if (core->unread_until_ms == 0 || core->now.ms >= core->unread_until_ms + UNREAD_MORE_MS)
		return false;
	timer_arm(&core->timers, timer, core->now.ms + UNREAD_LOOK_MS);
	return true;
}

/* The weight of a master for a name. Any hash will do; it only has to be the same at every daemon. */
static uint64_t
queue_master_weight(struct slice name, const struct master *m)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ m->incarnation;

	for (size_t i = 0; i < name.n; i++)
		hash = (hash ^ (unsigned char)name.p[i]) * UINT64_C(1099511628211);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 29);
}

unsigned
quorum_queue_master(const struct core *core, struct slice name, unsigned link)
{
	uint64_t most = 0;
	unsigned queue_master = 0;

	if (core->settings.masters == 1)
		return 0;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		uint64_t weight = queue_master_weight(name, m);

		if (master_usable(m, link) && weight >= most) {
			most = weight;
			queue_master = i;
		}
	}
	assert(master_usable(&core->masters[queue_master], link));
	return queue_master;
}

/* What another master can still tell of the tokens given out. */
enum witness {
	WITNESS_SAID, /* it remembers from before the guard, and was asked after its end */
	WITNESS_MUTE, /* it cannot tell: it forgot too, or does not answer */
	WITNESS_OPEN  /* it may tell in a moment */
};

static enum witness
witness(const struct core *core, const struct master *m, const struct master *other)
{
	int64_t patience_ms = 2 * master_patience_ms(core);
	/* A hand-over takes down the links to all masters, and they come back one after the other. */
	bool returns = core->unread_until_ms != 0 && core->now.ms < core->unread_until_ms + patience_ms;
	bool late = core->now.ms >= m->guard_until_ms + patience_ms && !returns;

	/* Who forgot is no witness of what it forgot. */
	assert(m != other);
	if (other->state == MASTER_ADMITTED && other->highest_sent_ms >= m->guard_until_ms)
		return WITNESS_SAID;
	/* It remembers, and tells the daemons with other limits, which then admit m. */
	if (other->state == MASTER_REFUSED && other->mismatch)
		return WITNESS_OPEN;
	if (other->state == MASTER_GUARDED)
		return core->now.ms >= other->guard_until_ms ? WITNESS_MUTE : WITNESS_OPEN;
	if (late || (other->state == MASTER_AWAY && !returns) || other->state == MASTER_REFUSED)
		return WITNESS_MUTE;
	return WITNESS_OPEN;
}

/*
 * The guard of m is over. m may have forgotten tokens. Every token was raised on a majority, so each one is
 * known to any N - majority + 1 of the other masters. If too few remember, every reachable master and every
 * living daemon has been heard, and the wall clock has to do.
 */
static void
quorum_admit(struct core *core, struct master *m)
{
	unsigned need = core->settings.masters - quorum_majority(core) + 1;
	unsigned said = 0, open = 0;

	assert(m->index < core->settings.masters && core->now.ms >= m->guard_until_ms);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *other = &core->masters[i];
		enum witness w = other == m ? WITNESS_MUTE : witness(core, m, other);

		said += w == WITNESS_SAID;
		open += w == WITNESS_OPEN;
		if (w == WITNESS_OPEN && other->state == MASTER_ADMITTED)
			master_hello_all(core, other);
	}
	assert(said + open < core->settings.masters);
	if ((said < need && open > 0)) {
		master_admit_later(core, m, FLOOR_RETRY_MS);
		return;
	}
	if (said < need && core->settings.masters > 1)
		emit_master_note(core, NOTE_MASTER_FLOOR, m, tokens_floor(core), -1,
			"too few other masters remember: tokens go on above the wall clock");
	master_admit(core, m, tokens_floor(core));
}

void
quorum_timer(struct core *core, struct master *m)
{
	master_timer(core, m);
	/* Newcomers have no vote yet. */
	if (m->index < core->settings.masters && master_guard_over(core, m))
		quorum_admit(core, m);
}
