/*
 * catalog: what COMMAND and the HELP subcommands answer, straight from command.def and option.def.
 */
#ifndef PROTO_CATALOG_H
#define PROTO_CATALOG_H

#include "proto/buffer.h"
#include "proto/command.h"

/* Writes the answer to VERB_COMMAND, VERB_COMMAND_COUNT, _DOCS, _INFO, _LIST, _HELP, VERB_SESSION_HELP,
 * VERB_CLIENT_HELP or VERB_CONFIG_HELP. version: 2 or 3. */
void catalog_write(struct buffer *b, int version, const struct command *command);

#endif
