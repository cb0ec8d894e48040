/*
 * apply: carries out the actions of the core.
 *
 * The driver calls it after each step. Nothing here calls back into the driver: it only writes answers, sends
 * calls, and writes notes to the log, EVENTS and counters.
 */
#ifndef DAEMON_APPLY_H
#define DAEMON_APPLY_H

#include "daemon/admin/events.h"
#include "daemon/core/action.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connections;
struct events;
struct log;
struct masters;
struct stats;

struct apply {
	struct connections *connections;
	struct masters *masters;
	struct events *events;
	struct log *log;
	struct stats *stats;
	struct note_gates gates; /* all zero at first */
	size_t calls_out;        /* calls without a vote yet; the driver counts the votes */
	bool watch_wanted;       /* an ACTION_WATCH came; the driver clears it */
};

/* Carries out the actions in order and empties the list. */
void apply_actions(struct apply *p, struct actions *actions);

/* Reports one note as ACTION_NOTE does: for notes of the driver itself. */
void apply_note(struct apply *p, const struct note *note);

#endif
