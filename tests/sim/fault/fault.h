/* fault: starts the faults of a run by its plan, and ends them. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct host;
struct server;
struct world;

/* The duration of a fault: up to two and a half leases. */
int64_t fault_time_us(struct world *world);

/* A daemon dies, and is started again after such a duration. */
void fault_crash(struct host *host);
void fault_crash_for(struct host *host, int64_t away_us);

/* Whether this master has lost a part of its memory; and whether it may lose its memory: only a minority does
 * at a time, unless the plan asks for more. */
bool fault_lacks(const struct server *server);
bool fault_may_lose(const struct server *server);

/* Whether its clock may jump: that of an only master if all daemons see it (GUARANTEES, Clocks that jump). */
bool fault_may_jump(const struct server *server);

/* The clock of a master steps back, unless tokens would go back with it. */
void fault_back(struct server *server, int64_t step_us);

void fault_plan(struct world *world);
/* Ends the faults: stopped processes continue, dead processes are restarted. Lost messages remain lost.
 */
void fault_heal(struct world *world);

#endif
