/*
 * ledger: what has to outlive a crash of the daemon, as records (proto/record.h), written as it changes.
 *
 *     core_step() ──▶ entries ──driver──▶ the file ──crash──▶ core_recover() ──▶ core of the next process
 *
 * Durable is a session that has a grace or is bound to a process, what it has lost and not been told, its
 * holds that it has been told of, and the leases on which these stand. Nothing else is in the ledger: not a
 * wait, not an MLOCK that has no answer, not a hold whose client does not know it.
 *
 * An entry says all of one session or of one lease, and replaces the entry before it about the same; or it
 * says that the session or the lease is gone. So the ledger is the last entry about each. It begins with one
 * record that says whose it is (RECORD_LEDGER: namespace, daemon-id, format of the numbers).
 *
 *     SESSION id … LOSS…                    SESSION_GONE id
 *     LEDGER_LEASE attempt … GRANT…         LEASE_GONE attempt
 *
 * A hold of a session that is not durable, on a lease that is in the ledger for another hold (shared), is
 * saved as withheld until the deadline that its client has been told: its client may still rely on it.
 *
 * The driver writes the entries of a step before it carries out the actions of that step. So what a client
 * has been told is in the ledger; what is in the ledger may not have been told.
 *
 * The process that recovers has another daemon-id. Its leases are held until the deadline that the ledger
 * says, at all masters under the owner before (struct former); CALL_ADOPT replaces exactly that owner by the
 * new one. What a majority does not adopt is lost as any lease that cannot be renewed. So of two processes
 * with the same ledger at most one keeps a lease, and the other is told.
 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "daemon/core/map.h"
#include "proto/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct lease;
struct resource;
struct session;

/* Something about the session that is in its entry has changed. Nothing happens if it is not durable and was
 * not, or if no ledger is kept. */
void ledger_session(struct core *core, struct session *s);
void ledger_session_gone(struct core *core, struct session *s);

/* scheduler.c: something about this name has changed. */
void ledger_resource(struct core *core, struct resource *r);
/* The lease ends, or stands on another attempt from now on. */
void ledger_lease_gone(struct core *core, struct lease *l);

#endif
