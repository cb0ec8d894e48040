/*
 * worst: faults at the worst moment: when a bare majority of the masters has granted leases and tokens, one
 * member of it forgets, or its clock leaps.
 */
#ifndef SIM_WORST_H
#define SIM_WORST_H

struct world;

void worst_amnesia(struct world *world);
void worst_leap(struct world *world);

#endif
