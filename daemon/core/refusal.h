/*
 * refusal: what somebody is told who cannot have a name now: null when others hold it or come before, else
 * the error that stands in the way. Null never means anything else.
 */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include "daemon/core/state.h"

/* Others have it. */
void refusal_null(struct reply *out);

/* Nobody here stands in the way: why the masters cannot be asked, or what they said last of this lease; NULL:
 * they were not asked for one. */
void refusal_masters(
	const struct core *core, const struct resource *r, const struct lease *l, struct reply *out);

/* A session here has it, or this daemon has the lease and a majority of the masters. A lease that no session
 * has is no reason to wait when the majority is missing: the masters are. */
bool refusal_taken(const struct core *core, const struct resource *r);

/* The lease is ours, and not this waiter's: another session has it, or the masters refuse this daemon, and no
 * waiter gets it. */
void refusal_shut(const struct core *core, const struct resource *r, struct reply *out);

/* Of a LOCK without a waiter: as above if the name is held here, else what the masters said of it. */
void refusal_name(const struct core *core, const struct resource *r, struct reply *out);

/* Whether trying once needs no master: somebody here holds the name, or waits for it in vain. */
bool refusal_hopeless(const struct resource *r, enum kind kind);

#endif
