/*
 * admin: CLIENT KILL, DRAIN, RELOAD and MASTERS. dispatch.c calls them, for administrators only.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "daemon/admin/context.h"

context_verb admin_client_kill;
context_verb admin_drain;
context_verb admin_reload;
/* MASTERS without a subcommand: shows the set of masters, and how far a change of it has come. */
context_verb admin_masters;

/* Whether the verb is one of the other subcommands of MASTERS. */
bool admin_changes_masters(enum verb verb);
/* Logs that a change of the set of masters, or a BREAK, was requested. */
void admin_log_change(struct context *context, struct connection *c, const struct command *command);
void admin_log_break(struct context *context, struct connection *c, const struct command *command);

#endif
