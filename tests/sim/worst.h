/*
 * worst: faults at the worst moment. While a majority of the masters alone has given out leases and tokens,
 * one of it forgets, or its clock leaps.
 */
#ifndef SIM_WORST_H
#define SIM_WORST_H

struct world;

void worst_amnesia(struct world *world);
void worst_leap(struct world *world);

#endif
