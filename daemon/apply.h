/*
 * apply: carries out what the core wants done.
 *
 * The driver calls it after each step. Nothing here calls back into the driver: it only writes answers, sends
 * calls and tells people.
 */
#ifndef DAEMON_APPLY_H
#define DAEMON_APPLY_H

#include "daemon/admin/note.h"
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
	struct note_gates gates; /* all zero in the beginning */
	size_t calls_out;        /* calls without a vote yet; the driver counts the votes */
	bool watch_wanted;       /* an ACTION_WATCH came; the driver sets it back */
};

/* Performs the actions in order and empties the list. */
void apply_actions(struct apply *apply, struct actions *actions);

/* Tells one note, as ACTION_NOTE does: for what the driver itself has to say. */
void apply_note(struct apply *apply, const struct note *note);

#endif
