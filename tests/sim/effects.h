/*
 * effects: what a script may do to the keys of a name, whatever the daemon makes of the answer. What is there
 * before and after each call is compared (keys.h): nobody's lease is ended, cut short or prolonged by another
 * owner's call; what is granted is there for as long as was asked for, and what is refused is not; places
 * keep their order, and end with their keys; the lock that can be had is kept for the head of the queue,
 * which is told; a reclaim is refused only for one that is newer; and each grant is a mark (G1, G4, G9, G10).
 */
#ifndef SIM_EFFECTS_H
#define SIM_EFFECTS_H

#include "tests/sim/keys.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EFFECTS_MOST 4 /* calls of one command; each is about another name */

struct server;

/* Before a command is run. */
struct effects {
	unsigned n; /* 0: it is not looked at */
	int64_t highest;
	struct keys before[EFFECTS_MOST];
	bool newer[EFFECTS_MOST]; /* RECLAIM: somebody else's is there, reclaimed by a newer lease or foreign
				   */
};

/* What is published while a command runs. */
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
