/*
 * dispatch: takes a client's request to the one who answers it.
 *
 * The driver calls it for every request. It looks whether the client may ask that, and whom; it answers
 * nothing but refusals.
 */
#ifndef DAEMON_DISPATCH_H
#define DAEMON_DISPATCH_H

#include "daemon/desk.h"
#include "proto/request.h"

void dispatch_request(struct desk *desk, struct connection *connection, const struct request *request);

#endif
