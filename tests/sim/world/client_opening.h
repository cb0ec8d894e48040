/*
 * client_opening: the SESSION requests that a client sends before it begins: none or several of SECRET, JOIN,
 * BIND, GRACE, HEARTBEAT and ONLOSS.
 */
#ifndef SIM_CLIENT_OPENING_H
#define SIM_CLIENT_OPENING_H

#include <stdbool.h>

struct client;

/* Sends the next request; false: there is none. */
bool introduce(struct client *client);

#endif
