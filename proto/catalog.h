/*
 * catalog: writes the tables for client libraries and people. The form follows Redis 7, because libraries
 * parse it: redis-cli builds its help and completion from COMMAND DOCS, and cluster clients read COMMAND.
 */
#ifndef PROTO_CATALOG_H
#define PROTO_CATALOG_H

struct buffer;
struct catalog;
struct command;

void catalog_done(struct catalog *catalog);

/* Writes the answer to VERB_COMMAND, VERB_COMMAND_COUNT, _DOCS, _INFO, _LIST, _HELP, VERB_SESSION_HELP,
 * VERB_CLIENT_HELP or VERB_CONFIG_HELP. version: 2 or 3. */
void catalog_write(struct catalog *catalog, struct buffer *b, int version, const struct command *command);

#endif
