/*
 * bare_majority: faults at the worst moment: when a bare majority of the masters has granted leases and
 * tokens, one member of it forgets, or its clock jumps.
 */
#ifndef SIM_BARE_MAJORITY_H
#define SIM_BARE_MAJORITY_H

struct world;

void bare_majority_amnesia(struct world *world);
void bare_majority_jump(struct world *world);

#endif
