/*
 * waiting: accompanies a long wait for a lock. It tells people who holds the lock, gives up a wait without a
 * master (--master-wait), and repeats a wait that a restart of the daemon has ended.
 *
 * It uses a connection of its own, since a connection that waits answers no other request.
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
	int64_t over_ms;    /* CLOCK_BOOTTIME: the end of the wait; INT64_MAX: none */
	int64_t away_ms;    /* no master or no daemon since then; 0: both are there */
	int64_t pause_ms;   /* before the next attempt to reach the daemon */
	bool people;        /* stderr is a terminal, and -q was not given */
	bool tells;         /* says who holds the lock: once without a terminal, on each change to people */
	bool looked;        /* circle_find() was called */
	bool circle;        /* this process may wait for itself */
	int64_t said_token; /* of the holder in the last message */
	int64_t said_place; /* place in the queue, or steps left of a latch, in the last message; -1: no
			       message yet */
};

void waiting_start(struct waiting *w, const struct options *o, const struct address *a, int64_t now_ms);

/* The rest of the wait; -1: it has no end. */
int64_t waiting_left_ms(const struct waiting *w);

/* The daemon is absent for the reason in why; NULL: it is shutting down. sent_ms (CLOCK_BOOTTIME) is when the
 * request was sent; 0: it could not be sent. Blocks until it is time to ask again. False if the wait is given
 * up. */
bool waiting_daemon(struct waiting *w, const char *why, int64_t sent_ms) __attribute__((warn_unused_result));

/* False if the wait is given up. Then why says the reason: no master answers, or (circle) the lock is held
 * for an ancestor of this process and the wait has no end. */
bool waiting_look(struct waiting *w, char *why, size_t room) __attribute__((warn_unused_result));

#endif
