/* fault: what goes wrong in a run, as its plan says, and the end of it. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct host;
struct server;
struct world;

/* For how long something goes wrong: up to two leases and a half. */
int64_t fault_time_us(struct world *world);

/* A daemon dies, and is started again after such a time. */
void fault_crash(struct host *host);

/* Whether what is left of what this master knew is not what it was given; and whether it may lose what it
 * knows: a minority does at a time, where more is not asked for. */
bool fault_lacks(const struct server *server);
bool fault_may_lose(const struct server *server);

void fault_plan(struct world *world);
/* Waits for the end of what goes wrong: everything stopped goes on, everything dead comes back. Lost messages
 * stay lost.
 */
void fault_heal(struct world *world);

#endif
