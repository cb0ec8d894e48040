/*
 * ledger: what has to outlive a crash of the daemon, as records (proto/record.h), written as it changes.
 *
 *     core_step() ──▶ entries ──driver──▶ the file ──crash──▶ core_recover() ──▶ core of the next process
 *
 * A session is durable if it has a grace, is bound to a process or belongs to an id. In the ledger are
 * durable sessions, what they have lost, the holds that they know of, and the leases on which these
 * stand. Nothing else is: not a wait, not an MLOCK without an answer, not a hold that its client does not
 * know.
 *
 * An entry says all of one thing and replaces the entry before it about the same, or it says that the thing
 * is gone. So the ledger is the last entry about each. Its first record says whose it is.
 *
 *     LEDGER namespace daemon-id
 *     LEDGER_SESSION id …                      SESSION_GONE id                   and its losses
 *     LOSS session name tag …           LOSS_GONE session name tag
 *     LEDGER_LEASE attempt name …              LEASE_GONE attempt                and its holds
 *     LEDGER_HOLD attempt token session …      HOLD_GONE attempt token
 *     LEDGER_TERMS …                           what its settings bind (binding.h)
 *     LEDGER_SET …                             its set of masters (ledger_set.c)
 *
 * A session that is not durable is written all the same once it holds many locks (ledger_many): becoming
 * durable, and ceasing to be, then costs one entry however many they are, and no client waits for the entries
 * of another one's thousands. It leaves the ledger when it ends, or when it has little and something else
 * changes. Recovery skips such a session, its losses and its holds; on a lease that durable holds keep, it
 * withholds for them as for others. A hold is marked durable if it is written.
 *
 * On a lease with durable holds there may be others: of sessions that are not durable, or withheld. Of them
 * the lease only says until when a client may rely on one (others_until_ms). So a crowd of readers costs an
 * entry each, whatever it holds besides.
 *
 * Only the step calls the ledger. The code that changes something marks it (change_list.h, lease_changed(),
 * core_changed()), and ledger_drain() goes through the marks at the end of the step. So each thing has one
 * entry a step at most, with what it is then.
 *
 * The driver writes the entries of a step before it carries out the actions of that step. So what a client
 * was answered is in the ledger; what is in the ledger may not have been answered. A crash between two
 * entries of a step leaves the first of them. No client has an answer of that step yet, and no master was
 * asked for it, so any mixture of before and after will do that recovery takes as sound. What stands on
 * something comes after it, and goes before it:
 *
 *     terms, set ──▶ sessions ──▶ losses ──▶ holds, in the order in which they changed ──▶ leases
 *                                                                        ──▶ sessions that are gone
 *
 * A hold without its session makes recovery refuse the ledger; one without its lease does not count yet. A
 * hold that has ended comes before the one that took its place, because it had changed when the name was
 * given again: at no entry are there two. A loss comes before the end of the hold, so that the session has
 * one of them at any entry.
 *
 * The driver adds an entry, STORED, for each connection that may outlive the process
 * (net/connection_stored.h), which core_recover() skips. A connection is no part of a recovered core until
 * EVENT_RETURN brings it back to its session.
 *
 * The process that recovers has another daemon-id. Its leases are held until the deadline that the ledger
 * says, at all masters under the owner before (adopt.c); CALL_ADOPT replaces exactly that owner by the new
 * one. What a majority does not adopt is lost as any lease that cannot be renewed. So of two processes with
 * the same ledger at most one keeps a lease, and the other loses it.
 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "daemon/core/base/call.h"
#include "daemon/core/lease/lease.h"
#include "proto/command.h"
#include "proto/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct hold_entry;
struct record;

/* At the end of a step with changes (core.changed): appends what has changed, and marks in the things
 * themselves what is in the ledger (session.written, grant.durable), whether a ledger is written or not. */
void ledger_drain(struct core *core);

/* A core has been loaded or recovered: marks what is durable. */
void ledger_mark(struct core *core);

/* ---- entries, in both directions; the others: durable.h ---- */

struct lease_entry {
	uint64_t attempt;
	struct slice name;
	int64_t limit; /* of the name */
	enum kind kind;
	int64_t permits;
	struct slice slots;
	const char *key;
	enum interop interop;
	int64_t valid_until_ms;     /* surely held until then */
	int64_t announced_until_ms; /* may have been announced to a holder; >= valid_until_ms */
	int64_t newest;             /* the newest of its tokens */
	struct slice previous;      /* its previous owners */
	bool asked;                 /* false: no master has been asked to put the lease under the name of its
				       attempt: it has previous owners, which still have it */
	int64_t others_until_ms;    /* the holds that are not in the ledger are withheld until then, or, with
				 TIMER_NEVER, until announced_until_ms and for the crash-delay; 0: there are
				 none, or    no client knows of one */
};

void ledger_head_fields(struct record *r, struct slice *namespace_, struct slice *daemon_id);
void ledger_lease_fields(struct record *r, const struct core *core, struct lease_entry *e);

/* Whether it can be, by itself. */
bool ledger_lease_fits(const struct core *core, const struct lease_entry *e);
bool ledger_hold_fits(const struct hold_entry *e);

#endif
