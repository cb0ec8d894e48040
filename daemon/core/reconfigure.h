/*
 * reconfigure: what follows for leases and releases when a slot has become another server, or when
 * there are more masters (master_move(), masters_resize()).
 *
 * Every lease is checked before anything else happens, some ten milliseconds for a hundred thousand. The
 * questions to newcomers follow bit by bit (scheduler.h).
 */
#ifndef CORE_RECONFIGURE_H
#define CORE_RECONFIGURE_H

struct core;

/* quorum.reconfigured is set: the set of masters has changed. */
void reconfigure(struct core *core);

#endif
