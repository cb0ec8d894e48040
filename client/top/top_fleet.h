/*
 * top_fleet: asks the daemon for all daemons, what the screen of top shows by itself. See top.h.
 */
#ifndef CLIENT_TOP_FLEET_H
#define CLIENT_TOP_FLEET_H

#include <stdbool.h>
#include <stdint.h>

struct top;

/* Asks for all daemons. False: there is no answer. One that refuses it sets *alone: this daemon
 * alone can be shown, and the message says why if it is not for its version. */
bool top_ask_fleet(struct top *t, int64_t until_ms, bool *alone);
/* Shows this daemon alone, or all: what was counted until now is not of the same ones. */
void top_switch(struct top *t, bool here);

#endif
