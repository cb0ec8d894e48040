/*
 * masterset: the set of masters that the daemons of a namespace have agreed on.
 *
 * Two majorities share a master only when both are of one set, so each master stores which set it belongs to:
 * a generation, and of each member its permanent id and the way to it ("url", "sentinel"). The
 * configuration is how the set is found, and first made. Three steps make it, and each is taken at every
 * member before the next:
 *
 *     OFFERED ──all have stored it──▶ ACCEPTED ──all have that──▶ AGREED      leases are taken from here on
 *
 * With majorities instead, {A,B,C} and {A,B,D} could both be made. An offer gives way to what is agreed, and
 * to another offer once no daemon lives that is registered under it; therefore what all have offered is first
 * accepted by all: an acceptance gives way only with a majority of its set. Likewise a set that is agreed,
 * when its daemons are gone: what follows has a majority of its members (lua/hello.lua has the rule of each
 * master).
 *
 * Every call carries a tag of the set beside the incarnation: what was meant for another set is forgotten, by
 * a comparison that is there anyway. A master that says that another set is agreed, or that is none of ours,
 * says something about this daemon: it takes no new lease anywhere. What it holds it keeps.
 */
#ifndef CORE_MASTERSET_H
#define CORE_MASTERSET_H

#include "daemon/core/state.h"

/* What came of a greeting. */
enum membership {
	MEMBERSHIP_FINE,  /* as far as anybody knows it is one of ours */
	MEMBERSHIP_AGAIN, /* we know more by now than when we asked: to be greeted again */
	MEMBERSHIP_OTHER  /* it is not one of ours: masterset_why() */
};

void masterset_init(struct core *core);

/* Puts into a HELLO what this daemon knows of the set. */
void masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello);

/* Takes what a good HELLO, or one that met another set, told. */
enum membership masterset_told(struct core *core, struct master *m, const struct vote *vote);

/* There is a set, this daemon agrees to it, and no master of ours has another. */
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

/* MEMBERSHIP_OTHER: both sets, and what to do. Valid until the next answer. */
const char *masterset_why(const struct core *core);

#endif
