/*
 * masterset: the set of masters that the daemons of a namespace have agreed on.
 *
 * Two majorities share a master only if both are of one set. So each master stores the set that it belongs
 * to: a generation, and of each member its permanent id and the way to it ("url", "sentinel", "embedded").
 * The configuration makes the set once, and finds it afterwards. Three steps make it; each is taken at all
 * members before the next:
 *
 *     OFFERED ──all have stored it──▶ ACCEPTED ──all have that──▶ AGREED      leases are taken from here on
 *
 * If majorities were enough, {A,B,C} and {A,B,D} could both be made. An offer gives way to a set that is
 * agreed on, and to another offer when no daemon lives that is registered under it. Therefore what all have
 * offered is accepted by all first: an accepted or agreed set gives way to an offer only when none of its
 * daemons lives, and only to a set with a majority of its members. lua/hello.lua has the rule of each master.
 *
 * Every call carries a tag of the set beside the incarnation; a call for another set is refused by the same
 * comparison. If a master belongs to another set, or is no member of ours, this daemon's configuration is
 * wrong: it takes no new lease anywhere. What its clients hold they keep; other leases are given back.
 */
#ifndef CORE_MASTERSET_H
#define CORE_MASTERSET_H

#include "daemon/core/state.h"

/* What came of a greeting. */
enum membership {
	MEMBERSHIP_FINE,  /* it is one of ours, or says nothing else yet */
	MEMBERSHIP_APART, /* it is not used now: it has left, is no member yet, or may not have the set yet */
	MEMBERSHIP_AGAIN, /* what we say has changed since it was greeted: greet it again */
	MEMBERSHIP_OTHER  /* it is not one of ours: masterset_why() */
};

void masterset_init(struct core *core);

/* Puts into a HELLO what this daemon knows of the set. */
void masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello);

/* Takes what a HELLO that was answered GOOD or OTHERSET told. */
enum membership masterset_told(struct core *core, struct master *m, const struct vote *vote);

/* No link to it is up: that it belonged to another set counts no more. */
void masterset_away(struct core *core, struct master *m);

/* A set is agreed on, and no master of ours belongs to another: leases can be taken. */
static inline bool
masterset_usable(const struct core *core)
{
	return core->masterset.usable;
}

/* A set has been agreed on, and this daemon with it. */
static inline bool
masterset_agreed(const struct core *core)
{
	return core->masterset.agreed;
}

/* A master of ours belongs to another set, as masterset_why() says. */
bool masterset_refused(const struct core *core);

/* What this daemon would say in a greeting has changed: all masters are to hear of it. True once. */
bool masterset_news(struct core *core);

/* Whether a next set is known, which all members hear of. */
static inline bool
masterset_changes(const struct core *core)
{
	return core->masterset.next.text[0] != '\0';
}

/* Whether a member has no set yet, and depends on what the others tell. */
bool masterset_unsure(const struct core *core);

/* Whether a member has accepted it. */
bool masterset_accepted(const struct core *core);

/* What the server in this slot is to the set: "member", "leaving", "joining" or "left". */
const char *masterset_role(const struct core *core, const struct master *m);

/* Whether it is to be asked again soon: a next set waits for it, or for daemons that it knows. */
bool masterset_waits(const struct core *core, const struct master *m);

/* A greeting found that it is the server of another slot. False: that is no newcomer's. */
bool masterset_known_twin(struct core *core, struct master *m);

/* TIMER_MASTERS. */
void masterset_timer(struct core *core);

/* This daemon ends: no change is asked for any more. */
void masterset_drain(struct core *core, const struct reply *refusal);

/* EVENT_MASTERS: the set is to change. Answers this connection, now or when it has changed. */
void masterset_asked(struct core *core, const struct conn *conn, const struct masters_ask *latch_request);

/* MEMBERSHIP_OTHER: both sets, and what to do. Valid until the next answer. */
const char *masterset_why(const struct core *core);

#endif
