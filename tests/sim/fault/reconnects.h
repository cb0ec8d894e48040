/*
 * reconnects: breaks the connections to the masters again and again. Unanswered calls are repeated on the
 * next connection, which breaks as well, and late copies of the calls arrive meanwhile.
 */
#ifndef SIM_RECONNECTS_H
#define SIM_RECONNECTS_H

struct world;

/* From now on until the faults end, in worlds whose plan has it. */
void reconnects_watch(struct world *world);

#endif
