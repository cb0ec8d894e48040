/*
 * fleet_share: how much of the fleet each user may ask for. Called by fleet.c before it begins a request. An
 * administrator may ask at any time; each other user has a share.
 */
#ifndef ADMIN_FLEET_SHARE_H
#define ADMIN_FLEET_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct fleet;
struct peer;

/* Whether this client may ask for something now; then that counts. */
bool fleet_allows(struct fleet *fleet, const struct peer *peer, int64_t now_ms);

#endif
