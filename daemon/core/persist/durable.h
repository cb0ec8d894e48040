/*
 * durable: what a restart and a crash keep alike of a session, a loss and a hold: its fields, in both
 * directions, and how the thing is made from them.
 *
 *     core_save()    SESSION = its durable fields, and what only a restart keeps      (state_session.h)
 *                    GRANT   = likewise                                               (state_hold.h)
 *     ledger_drain() LEDGER_SESSION, LEDGER_HOLD = the durable fields alone           (ledger.h)
 *     both           LOSS
 *
 * So a field that both keep is added here, to the entry, its fields, and the two functions below them. What
 * a lease is to a restart and to a crash has less in common: the one knows its votes at the masters and goes
 * on, the other knows a deadline and asks all masters to adopt it (ledger.h).
 *
 * What identifies a thing comes first in its fields.
 */
#ifndef CORE_DURABLE_H
#define CORE_DURABLE_H

#include "daemon/core/base/peer.h"
#include "daemon/core/lock/grant.h"
#include "proto/command.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct lease;
struct loss;
struct record;
struct session;

struct session_entry {
	session_id id;
	struct peer peer;
	bool has_secret;
	uint64_t secret[2];
	enum onloss onloss;
	int64_t opened_ms;
	int64_t grace_ms;
	int64_t heartbeat_ms;
	struct process process;
	struct slice as; /* the id of a named session; n == 0: it is none */
	bool orphaned;
};

struct loss_entry {
	session_id session;
	struct slice name;
	struct slice owner;
	enum loss_reason reason;
	bool reported;
	int64_t token;
};

struct hold_entry {
	uint64_t attempt; /* of its lease */
	int64_t token;
	session_id session; /* 0: it is withheld */
	struct slice owner;
	struct slice why;
	enum kind kind;
	int64_t count;
	int64_t granted_ms;
	int64_t ends_ms;       /* by LEASE or MAXHOLD, or of its withholding; or TIMER_NEVER */
	int64_t ceiling_at_ms; /* by MAXHOLD; or TIMER_NEVER */
	bool leased;
	enum loss_reason ends_why; /* ends_ms: LEASE or MAXHOLD */
	int64_t claim_ends_ms;     /* by CLAIM; or TIMER_NEVER */
};

/* Those of a thing that is gone are only what identifies it. */
void durable_session_fields(struct record *r, struct session_entry *e);
void durable_loss_fields(struct record *r, struct loss_entry *e);
void durable_hold_fields(struct record *r, struct hold_entry *e);

/* The texts are those of the thing. */
struct session_entry durable_session(const struct session *s);
struct loss_entry durable_loss(const struct loss *loss);
struct hold_entry durable_hold(const struct grant *g);

/* NULL: r has failed: no such session can be, or there is no memory for it. Once it is known whether the
 * session ends (ending.h), durable_session_settle() gives it to its id, and counts it. */
struct session *durable_session_make(struct core *core, struct record *r, const struct session_entry *e);
void durable_session_settle(struct core *core, struct record *r, struct session *s, struct slice as);
void durable_loss_make(struct core *core, struct record *r, struct session *s, const struct loss_entry *e);
/* Not on its lease yet (grant_join()), and without a timer. session NULL: withheld. NULL: out of memory. */
struct grant *durable_hold_make(struct core *core, struct lease *l, struct session *session,
	const struct hold_entry *e) __attribute__((warn_unused_result));

#endif
