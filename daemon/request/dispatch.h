/*
 * dispatch: passes each request of a client on to who answers it, if the client may send it: the core, the
 * handshake, or the room above (context_answers). Answers nothing but refusals itself.
 */
#ifndef REQUEST_DISPATCH_H
#define REQUEST_DISPATCH_H

#include "daemon/request/context.h"

/* For each request of a client. */
void dispatch_request(struct context *context, struct connection *connection, const struct request *request);

#endif
