/*
 * flap: connections to the masters that break again and again: what is unanswered when one breaks is asked
 * once more on the next, which breaks as well, and late copies of all of that arrive meanwhile.
 */
#ifndef SIM_FLAP_H
#define SIM_FLAP_H

struct world;

/* From now on, as long as things go wrong, in worlds that are drawn with it. */
void flap_watch(struct world *world);

#endif
