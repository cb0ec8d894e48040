/*
 * waiting: what happens beside a long wait for a lock: people are told who has it, a wait without a master is
 * given up (--master-wait), and one that a restart of the daemon has ended is begun again.
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
	int64_t over_ms;    /* CLOCK_BOOTTIME: the end of the wait; INT64_MAX: it has none */
	int64_t away_ms;    /* no master, or no daemon, since then; 0: there is one */
	int64_t pause_ms;   /* before the daemon is looked for once more */
	bool people;        /* stderr is a terminal, and -q was not given */
	bool tells;         /* who has it: without a terminal once, to people as often as that changes */
	bool looked;        /* whether it waits for itself */
	bool circle;        /* it does */
	int64_t said_token; /* of the holder people were told of last */
	int64_t said_place; /* in line; of a latch, the steps that were left; -1: nothing was said */
};

void waiting_start(struct waiting *w, const struct options *o, const struct address *a, int64_t now_ms);

/* How much of the wait is left; -1: it has no end. */
int64_t waiting_left_ms(const struct waiting *w);

/* The daemon is not there: why says so; NULL: it is shutting down. sent_ms (CLOCK_BOOTTIME) is when it was
 * asked; 0: it could not be. Blocks until it is time to ask again; false when the wait is to be given up. */
bool waiting_daemon(struct waiting *w, const char *why, int64_t sent_ms) __attribute__((warn_unused_result));

/* False when the wait is to be given up; then why says it: no master answers, or (circle) the lock is held
 * for a process that this one descends from, and the wait has no end. */
bool waiting_look(struct waiting *w, char *why, size_t room) __attribute__((warn_unused_result));

#endif
