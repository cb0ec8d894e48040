/*
 * fleet_serve: what other daemons ask this one for: pages of what it shows, and a BREAK. Called by fleet.c.
 * Whoever may read the registrations can send such a message (fleet_sign.c), so it may ask for nothing that
 * costs more than a page, and requests wait in a short queue for their part of a turn.
 */
#ifndef ADMIN_FLEET_SERVE_H
#define ADMIN_FLEET_SERVE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asker;
struct buffer;
struct command;
struct context;
struct fleet;

/* Whether this daemon has the hold of this BREAK, with that token; else the others are asked. */
bool fleet_holds(const struct context *context, const struct command *command);

/* Queues what another daemon asks for. */
void serve_queue(struct fleet *fleet, unsigned master, struct slice text);
/* Serves what is queued until the time is over (clock_ns()). */
void serve_turn(struct fleet *fleet, int64_t until_ns);

/* Answers a request as another daemon does, for the part of this one. */
void serve_command(struct fleet *fleet, const struct asker *asker, const struct command *command,
	int protocol, size_t bytes, struct buffer *out);
/* Reads 16 hexadecimal digits. False: it has others. */
bool message_digits(struct slice digits, uint64_t *out);
/* Takes words and a number in hexadecimal digits off the head of a message. False: it is malformed. */
bool message_head(struct slice *text, struct slice *from, uint64_t *number);

#endif
