/*
 * admin: CLIENT KILL, DRAIN, RELOAD and MASTERS. dispatch.c calls them, for administrators only.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "daemon/admin/context.h"

context_verb admin_client_kill;
context_verb admin_drain;
context_verb admin_reload;
/* Without a subcommand: what the set of masters is, and how far its change has come. */
context_verb admin_masters;

/* MASTERS with one of its other subcommands. */
bool admin_changes_masters(enum verb verb);
/* That one of them was asked for, or BREAK. */
void admin_log_change(struct context *context, struct connection *c, const struct command *command);
void admin_log_break(struct context *context, struct connection *c, const struct command *command);

#endif
