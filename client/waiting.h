/*
 * waiting: what happens beside a long wait for a lock: people are told who has it, and a wait without a
 * master is given up (--master-wait).
 *
 * It looks through a connection of its own, since the one that waits answers nothing else.
 */
#ifndef CLIENT_WAITING_H
#define CLIENT_WAITING_H

#include "client/address.h"
#include "client/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiting {
	const struct options *o;
	const struct address *a;
	int64_t next_ms;    /* CLOCK_BOOTTIME: call waiting_look() then */
	int64_t away_ms;    /* no master since then; 0: there is one */
	bool people;        /* stderr is a terminal, and -q was not given */
	int64_t said_token; /* of the holder people were told of last */
	int64_t said_place;
};

void waiting_start(struct waiting *w, const struct options *o, const struct address *a, int64_t now_ms);

/* False when the wait is to be given up; then why says it. */
bool waiting_look(struct waiting *w, char *why, size_t room) __attribute__((warn_unused_result));

#endif
