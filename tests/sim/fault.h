/* fault: what goes wrong in a run, as its plan says, and the end of it. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

struct world;

void fault_plan(struct world *world);
/* Waits for the end of what goes wrong: everything stopped goes on, everything dead comes back. Lost messages
 * stay lost.
 */
void fault_heal(struct world *world);

#endif
