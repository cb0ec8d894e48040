/*
 * recovery: a daemon crashes, and the next process goes on from its ledger under another daemon-id.
 *
 *     crash between two steps, or in one ──▶ ledger, with or without the entries of that step ──▶
 * core_recover()
 *
 * A crash in a step: the core has made it, and no action was carried out; its entries are in the ledger, or
 * they are not.
 *
 * The model knows which sessions are durable: those with a grace or bound to a process. They, their holds and
 * what they have lost pass on to the next life of the host, cut off at that moment, and all judges go on with
 * them. The recovered core has each of them as the model has it, and no other. All else is gone as after any
 * crash: nobody is told of it, and clients may rely on what they were told until then.
 *
 * A copy: another host goes on from the same bytes while the first daemon lives. Nobody comes back to it. The
 * daemon-ids of both are of one family, which has what any of them has at the masters.
 */
#ifndef SIM_RECOVERY_H
#define SIM_RECOVERY_H

#include "daemon/core/core.h"
#include "daemon/redis/call.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct action;
struct call;
struct conn;
struct event;
struct hold;
struct host;
struct note;
struct slice;
struct world;

/* Whether it is about to die in the next step that writes to its ledger. */
enum dies { DIES_NOT, DIES_WRITTEN, DIES_UNWRITTEN };

#define RECOVERY_OWNERS 4 /* so many processes in a row may be killed */

struct recovery {
	enum dies dies;
	bool torn;             /* it died in a step whose entries are in its ledger */
	bool drained;          /* it waited for no holder any more when it died */
	uint64_t family;       /* of its daemon-ids (lineage.h) */
	uint64_t life;         /* before it recovered; 0: it has not */
	int64_t at_us;         /* when it recovered */
	int64_t torn_until_us; /* until then what is withheld may be that of a step that nobody was told of */
	session_id strange; /* its sessions up to this one came with a copy: no client knows them; 0: none */
	int64_t generation; /* of the set of masters that was in force when it died (change.h) */
	/* By which owners its lease may be at a master: the one that it asked for last, and those of the
	 * processes before that had it; newest first, "" for none. Not of permits. */
	char owners[PLAN_NAMES_MAX][RECOVERY_OWNERS][CALL_OWNER_SIZE];
	unsigned kept[PLAN_NAMES_MAX];    /* masters where a lease of these was when it recovered */
	int64_t delay_ms[PLAN_NAMES_MAX]; /* the longest crash-delay that its processes died with */
};

/* Whether the world has ledgers, and these faults: by a chance of their own, so that all else is as it was.
 */
void recovery_draw(struct plan *plan);
/* Crashes again and again, in a world that has this fault. */
void recovery_watch(struct world *world);

/* It dies, in a way of its own choice, now or in a later step. */
void recovery_strike(struct host *host);
/* The set of masters has just changed: daemons with something to lose die, in a world that has this fault.
 */
void recovery_changed(struct world *world);
/* The faults are over: a daemon that was to die in a later step goes on. */
void recovery_heal(struct world *world);
/* Another host begins with a copy of its ledger. */
void recovery_copy(struct world *world);

/* The daemon dies in this step, whose entries are in its ledger: true. It is gone then. */
bool recovery_kills(struct host *host, const struct event *event);
/* It is about to end, for whatever reason. */
void recovery_ends(struct host *host);

/* What its next process goes on from; n == 0: nothing. */
struct slice recovery_from(struct host *host);
/* A daemon begins, with its daemon-id; of: with a copy of that one's ledger, NULL: it is none. */
void recovery_begins(struct host *host, bool recovers, const struct host *of);
/* The core of a next process; NULL: the world has failed. */
struct core *recovery_core(struct host *host, const struct core_settings *settings, struct slice ledger);
/* It has recovered, and has made no step: the model passes on to it. */
void recovery_done(struct host *host, const struct host *of);
/* It sends a call to a master. */
void recovery_called(struct host *host, const struct call *call);
/* It wants to know when the process ends that a session is bound to. */
void recovery_watches(struct host *host, const struct action *action);

/* The process of this connection has ended: daemons that began with a copy see it, too. */
void recovery_exited(const struct conn *conn);

/* A hold is lost that its ledger had: not if a majority had it, and could be used. */
void recovery_note(struct host *host, const struct note *note);
/* Whether the next process of its daemon may find that it is over, and tell of the loss: the daemon is gone,
 * or has not told of it, as it has stood still. */
bool recovery_ends_it(const struct hold *hold);
/* Whether a client may wait for this daemon to come back, although it is not there. */
bool recovery_awaited(const struct host *host, uint64_t life);

#endif
