/*
 * wire_tls: the part of a wire that opens step by step, and that speaks TLS; see wire.h. wire.c and session.c
 * call it.
 */
#ifndef CLIENT_WIRE_TLS_H
#define CLIENT_WIRE_TLS_H

#include "client/wire/wire.h"

#include <stdbool.h>

/* wire_reopen() says what these are. */
enum wire_progress wire_reopened(struct wire *w) __attribute__((warn_unused_result));
short wire_events(const struct wire *w);

/* Whether this program was linked with base/tls.c; without it no address with TLS may be opened. */
bool wire_can_tls(void);
/* For wire.c: makes the open connection one with TLS, blocking. False: w->why. */
bool wire_secure(struct wire *w, const struct address *a) __attribute__((warn_unused_result));
/* The same step by step: begins the handshake, and goes on with it. */
bool wire_begin_tls(struct wire *w) __attribute__((warn_unused_result));
enum wire_progress wire_handshake_tls(struct wire *w) __attribute__((warn_unused_result));

#endif
