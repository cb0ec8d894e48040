/*
 * usable: what a master can be asked for in the state that it is in, and why not; and how long that may take.
 * It changes nothing; master.h does.
 */
#ifndef CORE_USABLE_H
#define CORE_USABLE_H

#include "daemon/core/state.h"

/* New leases may be asked for on this link. When not, why: a clause that follows the master's name. */
bool master_usable(const struct master *m, unsigned link);
void master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room);

/* Leases may be kept: by CALL_RENEW, or by CALL_RECLAIM while guarded. False: neither. */
bool master_keeps(const struct master *m, unsigned link, enum call_op *op);

/* Releases are taken. */
bool master_releases(const struct master *m, unsigned link);

/* Another of our masters that is the same server: its vote would count twice. idle: also one that is not in
 * use. */
const struct master *master_twin(const struct core *core, const struct master *m, bool idle);
/* Whether another of our masters has not said yet which server it is, and may be this one. That is not waited
 * for when this one does not take us for registered any more. */
bool master_unheard(const struct core *core, const struct master *m);

/* A greeting is under way, on whatever link. */
bool master_greets(const struct core *core, const struct master *m);

/* The first greeting that is to measure its clock was answered on this link, and took longer than the clock
 * margin: a leap of as much would not show against it. False for the greeting after that. */
bool master_vague(const struct core *core, struct master *m, unsigned link);

/* Its TIME after ms from now, as far as it was seen; 0 ms: now. */
int64_t master_time_us(const struct core *core, const struct master *m, int64_t ms);

/* How long a call may go unanswered, ms. */
int64_t master_patience_ms(const struct core *core);

/* GUARDED, and the guard is over. */
bool master_guard_over(const struct core *core, const struct master *m);

/* This daemon is registered there by its last greeting. What it asks for until then ends before that
 * registration does, whichever lease it is: daemons with other limits, and of another format, wait for it.
 * Later it asks for nothing. */
int64_t master_registered_until(const struct core *core, const struct master *m);

/* How often it is greeted; how soon again, when a greeting did not go well: leases have to survive a short
 * absence; and for how long a greeting counts as a sample of its clock: at the end of a lease the last one
 * before it has to be among them. ms. */
int64_t master_greet_every_ms(const struct core *core);
int64_t master_greet_again_ms(struct core *core);
int64_t master_offset_over_ms(const struct core *core);

#endif
