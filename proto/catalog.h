/*
 * catalog: the answers to COMMAND and to the HELP subcommands, made from command.def and option.def.
 */
#ifndef PROTO_CATALOG_H
#define PROTO_CATALOG_H

#include "proto/buffer.h"
#include "proto/command.h"

#define CATALOG_VERSIONS 2 /* RESP2 and RESP3 */

/* Answers that never change, made at the first request. Zeroed at the beginning. */
struct catalog {
	struct buffer made[CATALOG_VERSIONS][VERB_COUNT];
};

void catalog_done(struct catalog *catalog);

/* Writes the answer to VERB_COMMAND, VERB_COMMAND_COUNT, _DOCS, _INFO, _LIST, _HELP, VERB_SESSION_HELP,
 * VERB_CLIENT_HELP or VERB_CONFIG_HELP. version: 2 or 3. */
void catalog_write(struct catalog *catalog, struct buffer *b, int version, const struct command *command);

#endif
