/*
 * effects: checks what a script does to the keys of a name, independent of the daemon. It compares the keys
 * before and after each call (keys.h). No call ends, shortens or prolongs another owner's lease. A granted
 * lease exists for as long as was requested, and a refused one does not. Places keep their order, and end
 * with their keys. A free lock is kept for the head of the queue, which is told, and goes to the end if it
 * lets its window pass. A reclaim is refused only for a newer lease. Each grant is a mark (G1, G4, G9, G10).
 */
#ifndef SIM_EFFECTS_H
#define SIM_EFFECTS_H

#include "tests/sim/world/keys.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EFFECTS_MOST 4 /* calls of one command, each about a different name */

struct server;

/* Before a command is run. */
struct effects {
	unsigned n; /* 0: the command is not checked */
	int64_t highest;
	struct keys before[EFFECTS_MOST];
	bool newer[EFFECTS_MOST]; /* RECLAIM: the key has another owner: a newer reclaimed lease, or another
				     program */
};

/* The messages that a command publishes. */
#define HERALD_MOST 16
struct herald {
	unsigned n;
	struct {
		char channel[64];
		char message[32];
	} of[HERALD_MOST];
};

void herald_add(struct herald *herald, struct slice channel, struct slice message);

void effects_before(struct effects *effects, struct server *server, const char *daemon_id,
	const struct call *calls, size_t n);
void effects_check(const struct effects *effects, struct server *server, const char *daemon_id,
	const struct call *calls, size_t n, const redisReply *reply);

#endif
