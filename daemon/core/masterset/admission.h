/*
 * admission: takes a master into use again when its guard is over. The tokens that it may have forgotten are
 * known to the other masters: it is admitted above their floor.
 */
#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H

struct core;
struct master;
struct vote;

/* An answer to ADMIT. */
void admission_answered(struct core *core, struct master *m, const struct vote *vote);

/* TIMER_MASTER: what is due at the master, and what follows from the end of a guard. */
void admission_timer(struct core *core, struct master *m);

#endif
