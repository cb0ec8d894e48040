/*
 * masterset: the set of masters that the daemons of a namespace have agreed on.
 *
 * Two majorities share a master only if both are of one set. So each master stores the set that it belongs
 * to: a generation, and for each member its permanent id and the way to it ("url", "sentinel", "embedded").
 * The configuration makes the set once, and finds it afterwards. Three steps make a set; each step is taken
 * at all members before the next:
 *
 *     OFFERED ──all have stored it──▶ ACCEPTED ──all have that──▶ AGREED      leases are taken from here on
 *
 * If majorities were enough, {A,B,C} and {A,B,D} could both be made. An offer gives way to an agreed set, and
 * to another offer when no daemon lives that is registered under it. Therefore all members accept what all
 * have offered before it is agreed on: an accepted or agreed set gives way to an offer only if none of its
 * daemons lives, and only to a set with a majority of its members. lua/hello.lua has the rule of each master.
 *
 * Every call carries a tag of the set beside the incarnation, and the same comparison refuses a call for
 * another set. If a master belongs to another set, or is no member of ours, this daemon's configuration is
 * wrong: it takes no new lease anywhere. Its clients keep what they hold; other leases are given back.
 */
#ifndef CORE_MASTERSET_H
#define CORE_MASTERSET_H

#include "daemon/core/state.h"

/* The result of a greeting. */
enum membership {
	MEMBERSHIP_FINE,  /* it is one of ours, or says nothing to the contrary yet */
	MEMBERSHIP_APART, /* not to be used now: it has left, is no member yet, or may not have the set yet */
	MEMBERSHIP_AGAIN, /* what we tell has changed since it was greeted: greet it again */
	MEMBERSHIP_OTHER  /* it is not one of ours: masterset_why() */
};

void masterset_init(struct core *core);

/* Puts into a HELLO what this daemon knows of the set. */
void masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello);

/* Takes what an answer GOOD or OTHERSET to a HELLO told. */
enum membership masterset_told(struct core *core, struct master *m, const struct vote *vote);

/* No link to the master is up: forgets that it belonged to another set. */
void masterset_away(struct core *core, struct master *m);

/* A set is agreed on, and no master of ours belongs to another: leases can be taken. */
static inline bool
masterset_usable(const struct core *core)
{
	return core->masterset.usable;
}

/* A set is agreed on, and this daemon has agreed. */
static inline bool
masterset_agreed(const struct core *core)
{
	return core->masterset.agreed;
}

/* A master of ours belongs to another set, as masterset_why() says. */
bool masterset_refused(const struct core *core);

/* What this daemon tells in a greeting has changed: all masters have to hear it. True once. */
bool masterset_news(struct core *core);

/* Whether a next set is known, which all members have to hear. */
static inline bool
masterset_changes(const struct core *core)
{
	return core->masterset.next.text[0] != '\0';
}

/* Whether a member has no set yet, and depends on what the others tell. */
bool masterset_unsure(const struct core *core);

/* Whether a member has accepted the next set. */
bool masterset_accepted(const struct core *core);

/* What the server in this slot is to the set: "member", "leaving", "joining" or "left". */
const char *masterset_role(const struct core *core, const struct master *m);

/* Whether to greet it again soon: a next set waits for it, or for daemons that it knows. */
bool masterset_waits(const struct core *core, const struct master *m);

/* A greeting found that it is the server of another slot. False: the slot is no newcomer's. */
bool masterset_known_twin(struct core *core, struct master *m);

/* TIMER_MASTERS. */
void masterset_timer(struct core *core);

/* This daemon ends: refuses a change that was asked for here. */
void masterset_drain(struct core *core, const struct reply *refusal);

/* EVENT_MASTERS: begins a change of the set. Answers this connection now, or when the set has changed. */
void masterset_asked(struct core *core, const struct conn *conn, const struct masters_ask *latch_request);

/* MEMBERSHIP_OTHER: both sets, and what to do. Valid until the next greeting is answered. */
const char *masterset_why(const struct core *core);

#endif
