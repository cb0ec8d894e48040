/*
 * refusal: the answer of a client that cannot have a name now: null if others hold it or come before, else
 * the error that stands in the way. Null never means anything else.
 */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include "proto/name.h"
#include "proto/slice.h"

#include <stdbool.h>

struct core;
struct lease;
struct reply;
struct resource;

/* Whether a request is refused because this name has more bytes than name-bytes allows. */
bool refusal_long(const struct core *core, struct slice name, struct reply *out);

/* Others have it. */
void refusal_null(struct reply *out);

/* No session here stands in the way: why the masters cannot be asked, or what they last said of this lease.
 * NULL: no lease has been asked for. */
void refusal_masters(
	const struct core *core, const struct resource *r, const struct lease *l, struct reply *out);

/* A session here has it, or this daemon has the lease and a majority of the masters is usable. Without a
 * majority a lease that no session has does not count: what is wrong then is the missing masters. */
bool refusal_taken(const struct core *core, const struct resource *r);

/* The lease is ours, but not for this waiter: another session has it, or the masters refuse this daemon, and
 * no waiter gets it. */
void refusal_shut(const struct core *core, const struct resource *r, struct reply *out);

/* Of a LOCK without a waiter: as refusal_shut() if the name is held here, else what the masters said of
 * it. */
void refusal_name(const struct core *core, const struct resource *r, struct reply *out);

/* Whether the name may be had later: others hold it, or masters are away. False: any other error, or no
 * refusal. */
bool refusal_may_pass(const struct reply *reply);

#endif
