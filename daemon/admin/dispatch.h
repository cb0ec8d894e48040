/*
 * dispatch: passes each request of a client to the room that answers it.
 *
 * The driver calls it for every request. It checks whether the client may send the request. It answers
 * nothing but refusals.
 */
#ifndef ADMIN_DISPATCH_H
#define ADMIN_DISPATCH_H

#include "daemon/admin/context.h"
#include "proto/request.h"

void dispatch_request(struct context *context, struct connection *connection, const struct request *request);

#endif
