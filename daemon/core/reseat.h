/*
 * reseat: what follows for leases, releases and latches when a slot has become another server, or when there
 * are more masters (master_move(), masters_resize()).
 *
 * Every lease is looked at before anything else happens, some ten milliseconds for a hundred thousand. The
 * questions to newcomers follow bit by bit (scheduler.h).
 */
#ifndef CORE_RESEAT_H
#define CORE_RESEAT_H

struct core;

/* quorum.reseat is set: the set of masters has changed. */
void reseat(struct core *core);

#endif
