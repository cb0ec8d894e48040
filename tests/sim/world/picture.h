/*
 * picture: what each daemon and each master has when a run ends by a failure, for people: states of masters,
 * leases, holds with their sessions and clients, waiters, and the keys of each name; and beside that the
 * holds and waiters as the judge has them.
 */
#ifndef SIM_PICTURE_H
#define SIM_PICTURE_H

struct world;

void picture_print(struct world *world);

#endif
