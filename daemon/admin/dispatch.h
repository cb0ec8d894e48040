/*
 * dispatch: takes a client's request to the one who answers it.
 *
 * The driver calls it for every request. It looks whether the client may ask that, and whom; it answers
 * nothing but refusals.
 */
#ifndef ADMIN_DISPATCH_H
#define ADMIN_DISPATCH_H

#include "daemon/admin/desk.h"
#include "proto/request.h"

void dispatch_request(struct desk *desk, struct connection *connection, const struct request *request);

#endif
