/*
 * driver_handover: hands this daemon to the next process, and takes it over there. A part of driver.c.
 */
#ifndef DAEMON_DRIVER_HANDOVER_H
#define DAEMON_DRIVER_HANDOVER_H

#include "daemon/core/base/peer.h"
#include "daemon/handover.h"
#include "proto/reply.h"

#include <stdbool.h>
#include <stdint.h>

struct driver;
struct driver_settings;

struct refusal {
	enum code code;
	const char *why; /* NULL: none */
};

#define DRIVER_ENDING "this daemon is ending"

/*
 * Goes on with what the process before has handed over, before driver_adopt(), driver_listen() and
 * driver_start(), which takes the same settings. False: the state cannot be used, and handed->record.why says
 * why; or out of memory. Then nothing of it is left but the sockets that the service manager passed, which
 * the driver listens at, and otherwise the driver is as new.
 */
bool driver_take_over(struct driver *driver, const struct driver_settings *settings, struct handed *handed)
	__attribute__((warn_unused_result));
/* After a state was refused: takes over those of these sockets that were not loaded yet. r: reads the state
 * from its beginning. */
void driver_rescue_sockets(struct driver *driver, struct record *r, struct handed *handed);

/* Whether it ended because the service manager has everything: the process must end without closing anything.
 */
bool driver_is_handed_over(const struct driver *driver);

/* Why a hand-over cannot begin now. */
struct refusal driver_refusal(const struct driver *driver);
/* With CODE_DRAINING this process ends, else it goes on. */
void driver_log_failed(struct driver *driver, struct refusal refusal);
/* Tells who asked for a hand-over that there is none; asked_by may be 0, or have been closed. */
void driver_not_handed_over(struct driver *driver, conn_id asked_by, struct refusal refusal);
/* The first record of a state. */
struct handover_daemon driver_daemon(const struct driver *driver);
/* Begins the hand-over: serves no client from now on. */
void driver_rest(struct driver *driver, bool to_manager, conn_id asked_by);
/* Hands the daemon to the service manager, if that keeps descriptors. False: it does not, or this daemon
 * cannot be handed over so. */
bool driver_hand_to_manager(struct driver *driver);
/* Whether no client is served in this turn; goes on with the hand-over. */
bool driver_is_still(struct driver *driver, int64_t now_ms);

#endif
