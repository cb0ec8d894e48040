/*
 * usable: what a master can be asked for in its present state, why not, and how long that may take. It
 * changes no state of a master; master.c does. Only master_vague() notes what it has said.
 */
#ifndef CORE_USABLE_H
#define CORE_USABLE_H

#include "daemon/core/base/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct master;
struct master_link;
struct rule;

/*
 * The offset: how far a master's clock is ahead of ours, as its HELLOs show, and whether it has jumped
 * since.
 *
 * The time in an answer was read after the question left and before the answer came. Compared with the moment
 * the question left, it shows the most that the clock can be ahead; compared with the moment the answer came,
 * the least. If the least is now above the most of an earlier HELLO, the clock has jumped, in one step or
 * little by little. HELLOs of more than a lease are stored: a clock that runs fast may stay within the
 * margin in each third of a lease, and not in all of it.
 */

#define OFFSET_SAMPLES 8

struct offset_sample {
	int64_t from_ms;  /* when its first HELLO left; 0: no sample */
	int64_t at_ms;    /* when the HELLO left that showed the least */
	int64_t ahead_us; /* by which the clock is ahead of ours at most */
};

struct offset {
	struct offset_sample samples[OFFSET_SAMPLES];
	unsigned newest;
};

/* How far a clock jumped, or ours stood still, in steps that are less than a guard apart. */
struct clock_jump {
	int64_t at_ms; /* when that was last seen, or taken off leases; 0: never */
	int64_t ms;
};

/* A HELLO that left at sent_ms was answered with time_us. The times of one offset come in the order in
 * which the master read them. Samples of over_ms, the same in all calls, are stored at least. */
void offset_sample(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us);

/* When the last stored HELLO left; 0: there is none. */
int64_t offset_latest_ms(const struct offset *offset);

/* An answer with time_us comes at now_ms: how far the clock went ahead since a HELLO of the last over_ms,
 * or since the last HELLO, in ms, rounded up. 0: not more than allowed_ms and the difference of the rates.
 * Some HELLOs that are up to a fifth older are compared, too. */
int64_t offset_jump_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us);

/* A jump by ms is known: from now on only what goes beyond it is reported. */
void offset_jumped(struct offset *offset, int64_t ms);

/* New leases may be asked for on this link. master_why_not(): why not, as a clause that follows the master's
 * name. */
bool master_usable(const struct master *m, unsigned link);
void master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room);

/* Leases may be prolonged: by CALL_RENEW, or by CALL_RECLAIM while guarded. False: neither. */
bool master_keeps(const struct master *m, unsigned link, enum call_op *op);

/* Releases are taken. */
bool master_releases(const struct master *m, unsigned link);

/* Another of our masters that is the same server: its vote would count twice. idle: also one that is not in
 * use. */
const struct master *master_twin(const struct core *core, const struct master *m, bool idle);
/* Another of our masters has not yet said which server it is, and may be this one. Not waited for if this one
 * no longer takes us for registered. */
bool master_unanswered(const struct core *core, const struct master *m);

/* A HELLO is under way on some link. */
bool master_hello_under_way(const struct core *core, const struct master *m);

/* The first HELLO that was to measure its clock was answered on this link, but took longer than the clock
 * margin: a jump of that size would not show against it. False for the HELLO after that. */
bool master_vague(const struct core *core, struct master *m, unsigned link);

/* Its TIME ms from now, by the last one seen; 0 ms: now. */
int64_t master_time_us(const struct core *core, const struct master *m, int64_t ms);

/* How long a call may go unanswered, ms. */
int64_t master_patience_ms(const struct core *core);

/* When a silent link becomes suspect; TIMER_NEVER: it is not asked. What came while this daemon stood still
 * has not been read yet. */
int64_t link_doubt_ms(const struct core *core, const struct master_link *l);

/* GUARDED, and the guard is over. */
bool master_guard_over(const struct core *core, const struct master *m);

/* Until when this daemon is registered there by its last HELLO. Whatever lease it asks for until then ends
 * before that registration does: daemons with other limits, or of another format, wait for the end of the
 * registration. Later it asks for nothing. */
int64_t master_registered_until(const struct core *core, const struct master *m);

/* How often HELLO is sent; how soon again after a HELLO failed, since leases have to survive a short
 * absence; for how long a HELLO counts as a sample of its clock: at the end of a lease the last one before
 * the lease has to be among them. ms. */
int64_t master_hello_every_ms(const struct core *core);
int64_t master_hello_again_ms(struct core *core);
int64_t master_offset_over_ms(const struct core *core);

/*
 * Terms: how long leases may be. Daemons of a namespace may differ in the longest lease that they would take,
 * so that it can be changed at one daemon after the other (lua/hello.lua):
 *
 *     wanted    the longest lease by the rules of this daemon. It grows with them, and never shrinks in the
 *               life of a process
 *     guarded   the longest lease that its guards wait for: no shorter than what it wants, or than what any
 *               master has reported of any daemon. It never shrinks either: the masters rely on it
 *     longest   at a master: what it takes now. It is no longer than what all daemons that live there guard
 *
 * All of them are in milliseconds.
 */

/* The rules have a lease as long as this. True: the masters have to be notified. */
bool terms_ruled(struct core *core, int64_t lease_ms);

/* The answer to a HELLO reports the longest lease that the master takes, and the longest that guards have to
 * wait for: guards under way grow with it. True: the masters have to be notified. */
bool terms_answered(struct core *core, struct master *m, const struct vote *vote);

/* How much of this lease: this master takes; every connected master takes. How much of the lease of this rule
 * every connected master takes. */
int64_t terms_at_ms(const struct master *m, int64_t lease_ms);
int64_t terms_least_ms(const struct core *core, int64_t lease_ms);
int64_t terms_lease_ms(const struct core *core, const struct rule *rule);

/* How long new leases are withheld after a master forgot. */
int64_t terms_guard_ms(const struct core *core);
/* And until when; first: no memory of it was known before. */
int64_t terms_guard_until(const struct core *core, bool first);

#endif
