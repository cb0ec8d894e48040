/*
 * admin: what administrators do: CLIENT KILL, DRAIN, RELOAD, LOG LEVEL, RESTART and MASTERS; and the table of
 * all that this room answers.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "daemon/request/context.h"

/* For context.answers. */
extern const struct context_answers admin_answers;

/* The answer to RESTART, for the driver of the process that serves afterwards: what was taken over, and for
 * how long no client was served. */
void admin_restarted(struct context *context, struct connection *c, int64_t silent_ms);
/* The answer if the hand-over has failed, or cannot begin. why: one clause, for people. */
void admin_not_restarted(struct connection *c, enum code code, const char *why);

#endif
