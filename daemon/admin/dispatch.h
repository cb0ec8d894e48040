/*
 * dispatch: takes a client's request to the one who answers it.
 *
 * The driver calls it for every request. It looks whether the client may ask that, and whom; it answers
 * nothing but refusals.
 */
#ifndef ADMIN_DISPATCH_H
#define ADMIN_DISPATCH_H

#include "daemon/admin/context.h"
#include "proto/request.h"

void dispatch_request(struct context *context, struct connection *connection, const struct request *request);

#endif
