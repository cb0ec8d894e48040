/*
 * perform: carries out what the core wants done.
 *
 * The driver calls it after each step. Nothing here calls back into the driver: it only writes answers, sends
 * calls and tells people.
 */
#ifndef DAEMON_PERFORM_H
#define DAEMON_PERFORM_H

#include "daemon/core/action.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connections;
struct events;
struct log;
struct pool;
struct stats;

struct perform {
	struct connections *connections;
	struct pool *pool;
	struct events *events;
	struct log *log;
	struct stats *stats;
	const char *master; /* address, without secrets */
	size_t calls_out;   /* calls without a vote yet; the driver counts the votes */
	int64_t heard_ms;   /* when the master answered last, CLOCK_BOOTTIME */
	bool silence_told;  /* since then */
	bool stalled;       /* this turn is late: what is overdue is so for that reason */
	bool watch_wanted;  /* an ACTION_WATCH came; the driver sets it back */
};

/* The master has answered a call. */
void perform_heard(struct perform *perform);

/* Performs the actions in order and empties the list. */
void perform_actions(struct perform *perform, struct actions *actions);

/* Tells one note, as ACTION_NOTE does: for what the driver itself has to say. */
void perform_note(struct perform *perform, const struct note *note);

#endif
