/*
 * handshake: what client libraries send on their own when they connect: HELLO, AUTH, names, PING and the
 * like. Each is answered as Redis answers it; none touches a lock.
 */
#ifndef REQUEST_HANDSHAKE_H
#define REQUEST_HANDSHAKE_H

#include "daemon/request/context.h"

/* The TLS handshake of the connection is complete: its certificate may log it in. */
void handshake_secured(struct context *context, struct connection *connection);
/* The connection has ended: logs why, if its TLS handshake was not complete. */
void handshake_ended(struct context *context, struct connection *connection, const char *why);

/* Handlers of the handshake's verbs; NULL: the verb is none of them. */
extern context_verb *const handshake_verbs[VERB_COUNT];

#endif
