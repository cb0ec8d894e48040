/*
 * turn: what follows from what has changed in a step. Timers and the event are done with by then.
 *
 * Names are scheduled until none is dirty (scheduler.h), with the MLOCKs that take them. If a drain is over
 * with that, it goes on, and so does this.
 */
#ifndef CORE_TURN_H
#define CORE_TURN_H

struct core;

/* Before a step ends, and whenever what was given up has to be free at once. */
void schedule(struct core *core);

#endif
