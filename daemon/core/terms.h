/*
 * terms: how long leases may be. Daemons of a namespace may differ in the longest lease that they would take,
 * so that it can be changed at one daemon after the other (lua/hello.lua):
 *
 *     wanted    the longest lease by the rules of this daemon. It grows with them, and never shrinks in the
 *               life of a process
 *     guarded   the longest lease that its guards wait for: no shorter than what it wants, or than what any
 *               master has told of any daemon. It never shrinks either: the masters rely on it
 *     longest   at a master: what it takes now. It is no longer than what all daemons that live there guard
 *
 * All of them are in milliseconds.
 */
#ifndef CORE_TERMS_H
#define CORE_TERMS_H

#include "daemon/core/core_inner.h"

/* The rules have a lease as long as this. True: the masters have to be told. */
bool terms_ruled(struct core *core, int64_t lease_ms);

/* A greeting told of the longest lease, and which one to guard: guards under way grow with it. True: the
 * masters have to be told. */
bool terms_heard(struct core *core, struct master *m, const struct vote *vote);

/* How much of this lease: this master takes; every connected master takes. How much of the lease of this rule
 * every connected master takes. */
int64_t terms_at_ms(const struct master *m, int64_t lease_ms);
int64_t terms_least_ms(const struct core *core, int64_t lease_ms);
int64_t terms_lease_ms(const struct core *core, const struct rule *rule);

/* How long new leases are withheld after a master forgot. */
int64_t terms_guard_ms(const struct core *core);
/* And until when; first: no memory of it was known before. */
int64_t terms_guard_until(const struct core *core, bool first);

#endif
