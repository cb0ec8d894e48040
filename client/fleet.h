/*
 * fleet: what the daemon says of all daemons that share its masters (PROTOCOL.md 6.23 to 6.25), for people.
 */
#ifndef CLIENT_FLEET_H
#define CLIENT_FLEET_H

#include "client/process.h"
#include "client/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

#define HOST_TEXT_MAX 65

/* The name of this host, as its daemon gives it; "": unknown. */
void host_text(char out[HOST_TEXT_MAX]);

/* Where the client of an element is, with its host if that is not `here`. */
const char *fleet_peer(char out[PEER_TEXT_MAX], const struct answer *element, const char *here);

/* The answer to INSPECT name FLEET, valid until the next request; NULL: there is none, as from a daemon of an
 * earlier version. Blocks until until_ms (CLOCK_BOOTTIME) at most. */
const struct answer *fleet_inspect(struct wire *w, const char *name, int64_t until_ms);

/* Whether this daemon is one of those that did not answer. */
bool fleet_is_silent(const struct answer *fleet, struct slice daemon);

/* Writes one clause about what another program has in the key of the name: "held by another program: ...".
 * False: it has nothing there. */
bool foreign_describe(char *out, size_t room, const struct answer *fleet);

/* Writes one clause that names the holder: "held on app-07 for 3 s by ...". False: the lock is free, or its
 * state is unknown. */
bool fleet_describe(char *out, size_t room, const struct answer *fleet, bool local);

/* The same from INSPECT of one daemon. local: the processes of its host can be inspected. on: that host; "":
 * it is not named. */
void holder_describe(char *out, size_t room, const struct answer *inspect, const char *on, bool local);

#define SETTINGS_TEXT_MAX 256

/* The settings of this host's daemon, in the answer to FLEET. */
struct slice settings_here(const struct answer *daemons);

/* What a daemon of that answer has otherwise: "lease 20s (here 10s), rules 1a2b3c4d (here 5e6f7a8b)"; "":
 * nothing. */
const char *settings_text(char out[SETTINGS_TEXT_MAX], const struct answer *daemon, struct slice ours);

#endif
