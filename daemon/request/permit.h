/*
 * permit: whether a client may send a request, by the rights of its user (PROTOCOL.md 6.8).
 *
 * What a session holds it may always check and give back: the rights of a user can be taken away while it
 * holds locks.
 */
#ifndef REQUEST_PERMIT_H
#define REQUEST_PERMIT_H

#include "daemon/request/context.h"

/* Whether the user of the connection may send this request, whose verb has these flags. If not, the refusal
 * was sent; it names the key of the configuration that says so. */
bool permit_request(struct connection *connection, const struct command *command, unsigned flags)
	__attribute__((warn_unused_result));

#endif
