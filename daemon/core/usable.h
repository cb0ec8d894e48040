/*
 * usable: what a master can be asked for in its present state, why not, and how long that may take. It
 * changes no state of a master; master.h does. Only master_vague() notes what it has said.
 */
#ifndef CORE_USABLE_H
#define CORE_USABLE_H

#include "daemon/core/core_inner.h"

/* New leases may be asked for on this link. master_why_not(): why not, as a clause that follows the master's
 * name. */
bool master_usable(const struct master *m, unsigned link);
void master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room);

/* Leases may be kept: by CALL_RENEW, or by CALL_RECLAIM while guarded. False: neither. */
bool master_keeps(const struct master *m, unsigned link, enum call_op *op);

/* Releases are taken. */
bool master_releases(const struct master *m, unsigned link);

/* Another of our masters that is the same server: its vote would count twice. idle: also one that is not in
 * use. */
const struct master *master_twin(const struct core *core, const struct master *m, bool idle);
/* Another of our masters has not yet said which server it is, and may be this one. Not waited for if this one
 * no longer takes us for registered. */
bool master_unheard(const struct core *core, const struct master *m);

/* A greeting is under way on some link. */
bool master_greets(const struct core *core, const struct master *m);

/* The first greeting that was to measure its clock was answered on this link, but took longer than the clock
 * margin: a leap of that size would not show against it. False for the greeting after that. */
bool master_vague(const struct core *core, struct master *m, unsigned link);

/* Its TIME ms from now, by the last one seen; 0 ms: now. */
int64_t master_time_us(const struct core *core, const struct master *m, int64_t ms);

/* How long a call may go unanswered, ms. */
int64_t master_patience_ms(const struct core *core);

/* GUARDED, and the guard is over. */
bool master_guard_over(const struct core *core, const struct master *m);

/* Until when this daemon is registered there by its last greeting. Whatever lease it asks for until then ends
 * before that registration does: daemons with other limits, or of another format, wait for the end of the
 * registration. Later it asks for nothing. */
int64_t master_registered_until(const struct core *core, const struct master *m);

/* How often it is greeted; how soon again after a greeting failed, since leases have to survive a short
 * absence; for how long a greeting counts as a sample of its clock: at the end of a lease the last one before
 * the lease has to be among them. ms. */
int64_t master_greet_every_ms(const struct core *core);
int64_t master_greet_again_ms(struct core *core);
int64_t master_offset_over_ms(const struct core *core);

#endif
