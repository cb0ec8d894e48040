/*
 * core: the lock coordinator as a pure state machine.
 *
 *     event ──▶ core_step(core, now, event, actions) ──▶ actions
 *
 * It decides which session holds what, when leases are acquired, renewed and released, and what each client
 * is answered. It reads no clock, draws no random number, opens nothing and calls no hooks; the same events
 * in the same order give the same actions. The driver is the only caller. Single-threaded; not reentrant.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/settings.h"
#include "proto/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct core;
struct record;

/*
 * Settings are copied, and the rules they point to, but not the rules' key templates: these must live as long
 * as the core. The core keeps now.random for its secrets; the first step must have other random numbers.
 * NULL: out of memory.
 */
struct core *core_new(const struct core_settings *settings, struct now now)
	__attribute__((warn_unused_result));
void core_free(struct core *core);

/*
 * From now on no client is read until then at the latest (CLOCK_BOOTTIME, ms); again with the present time:
 * clients are read. No heartbeat and no grace ends meanwhile, because the request that keeps it may wait to
 * be read. It is a part of the state.
 */
void core_unread(struct core *core, int64_t until_ms);

/*
 * Whether the core is at rest: each call has its vote, and no lease is being acquired. After the last
 * EVENT_LINK_DOWN it usually is. What a vote led to may have called once more; and an acquire that lost its
 * last master by a change of the set ends with a timer, within a millisecond. Go on with votes and
 * EVENT_TIMER, and ask again.
 */
bool core_rests(const struct core *core);

/*
 * The state of a core for the next process of this daemon (state.h). All links are down, each call has its
 * vote, the core is at rest, and it neither drains nor has ended. It writes records and no RECORD_END;
 * r->failed: out of memory.
 */
void core_save(struct core *core, struct record *r);

/*
 * A core that goes on from a saved state of this boot. It takes the masters from the state, and all else that
 * settings says from settings; it fails if a name in use has another key template by these. Its connections
 * have the numbers that they had. No link is up.
 *
 * The driver begins with the masters that settings names, as after core_new(). The first step emits
 * ACTION_MASTER for each slot that is another server by the state, also for one that settings names and the
 * state has not (no place); ACTION_LISTEN for each name that is listened for; and ACTION_WATCH for each
 * process that a session is bound to.
 *
 * r: record_load() has succeeded. The records of the core come first; the first record of another room is the
 * current one afterwards. NULL: the state cannot be used, and r->why says why; or out of memory.
 */
struct core *core_load(const struct core_settings *settings, struct now now, struct record *r)
	__attribute__((warn_unused_result));

/*
 * The ledger (ledger.h). core_keep_ledger(): from now on each step appends its entries to out, which the
 * caller empties after each step, before it carries out the actions; NULL: none is written. out has to take
 * any number of bytes; if it cannot, out->failed says so, and the ledger has to be begun anew.
 *
 * core_pass_ledger(): the same for a core that was loaded, which goes on with the ledger of the process
 * before: appends what its settings have changed.
 *
 * core_ledger_begin(): appends the first record, and all durable sessions with their losses.
 * core_ledger_scan(): appends the leases and holds of some names, for at least this budget (map.h), and
 * returns the cursor for the next call; 0: that was all. A whole ledger is the first record, the sessions,
 * and all leases of one scan, with the entries of the steps in between in the order in which they came.
 */
void core_keep_ledger(struct core *core, struct buffer *out);
void core_pass_ledger(struct core *core, struct buffer *out);
void core_ledger_begin(struct core *core, struct buffer *out);
uint64_t core_ledger_scan(struct core *core, uint64_t cursor, size_t budget, struct buffer *out);

/*
 * A core that goes on from the ledger of a process of this host and boot that crashed, under another
 * daemon-id (settings.daemon_id). Its sessions have no connection, and their grace begins now; EVENT_RETURN
 * brings connections back that have outlived that process. The first step emits ACTION_WATCH for each process
 * that a session is bound to. No ledger is written yet, and no link is up. NULL: the ledger cannot be used,
 * and why says why; or out of memory. Otherwise why says which of its leases are invalid, if there are some:
 * their holds are lost. "": none.
 */
struct core *core_recover(const struct core_settings *settings, struct now now, struct slice ledger,
	char why[RECORD_WHY_MAX]) __attribute__((warn_unused_result));

void core_step(struct core *core, struct now now, const struct event *event, struct actions *actions);

/* How many of its random numbers the last step used, from the first on. The next step may get the others:
 * they are still secret. */
unsigned core_drew(const struct core *core);

/* Whether another process has the same daemon-id: a copy of this one. All holds are lost, and their sessions
 * have been notified. Further events have no effect, and no more calls are made: what is at the masters may
 * belong to the other process. */
bool core_ended(const struct core *core);

/* Whether EVENT_DRAIN has come, and the daemon no longer waits for holders: they have been notified. */
bool core_drained(const struct core *core);

/* When EVENT_TIMER is due, CLOCK_BOOTTIME in ms; INT64_MAX: never. */
int64_t core_wake_at(const struct core *core);

/* New rules. A name that is held or waited for gets its new rule when the scan reaches it, some thousands of
 * names per ms. No name may get another key template. A longer lease is used only when the guards of all
 * daemons wait for it (master.h). False: out of memory, nothing has changed. */
bool core_set_rules(struct core *core, const struct rule *rules, size_t count);

/* New limits; sessions keep what they have. */
void core_set_limits(struct core *core, const struct core_grace *grace, const struct core_per_user *per_user);

/* The limits of this user (peer.user), for as long as it has sessions or anything of them is left; does
 * nothing if it has not. They are not in a saved state: the caller sets them again. */
void core_limit_user(struct core *core, uint64_t user, const struct core_user_limits *limits);

/* Asserts every invariant over the whole state. Slow: for tests and the simulator. */
void core_check(const struct core *core, int64_t now_ms);

#endif
