/*
 * master: whether the master may be asked for leases, and what it remembers.
 *
 *     AWAY ──link up──▶ GREETING ──it remembers──▶ ADMITTED
 *      ▲                  │  ▲  └──it forgot───▶ GUARDED ──guard over, ADMIT──▶ ADMITTED
 *      └─no link left─────┘  └──any script says it forgot, READONLY, ...──┘
 *                         └──replica, evicting, other limits──▶ REFUSED (greeted again from time to time)
 *
 * A master that restarted, was flushed or restored may have forgotten leases. It is guarded for the longest
 * lease and the clock margin, by our clock, from the moment we saw it: reclaims are taken, nothing new is
 * granted.
 */
#ifndef CORE_MASTER_H
#define CORE_MASTER_H

#include "daemon/core/state.h"

void master_init(struct core *core);
void master_link_up(struct core *core, unsigned link);
void master_link_down(struct core *core, unsigned link, struct slice why);
/* It says that its data was flushed. */
void master_flushed(struct core *core);
void master_vote(struct core *core, const struct vote *vote);
void master_timer(struct core *core);

/* Every answer, of whatever call: its clock, its links, its words; greets again when it forgot. */
void master_heard(struct core *core, const struct vote *vote);

/* New leases may be asked for on this link. When not, why (not null). */
bool master_usable(const struct core *core, unsigned link);
void master_verdict(const struct core *core, unsigned link, struct reply *why);

/* Leases may be kept: by CALL_RENEW, or by CALL_RECLAIM while guarded. False: neither. */
bool master_keeps(const struct core *core, unsigned link, enum call_op *op);

/* Releases are taken. */
bool master_releases(const struct core *core, unsigned link);

/* An acquire went unanswered: no new ones on this link until something is heard. */
void master_suspect(struct core *core, unsigned link);

/* The master's TIME after ms from now, as far as it was seen; 0 ms: now. */
int64_t master_time_us(const struct core *core, int64_t ms);

/*
 * A fencing token to begin with: the wall clock, and above whatever an earlier memory of the master may have
 * given out. The master itself counts on from what this memory has given out. Nothing but the wall clock
 * remembers the tokens of a master and daemons that are gone together, so tokens must not run ahead of it:
 * while they do, small blocks are asked for.
 */
int64_t master_propose(const struct core *core);
bool master_tokens_ahead(const struct core *core);
void master_saw_token(struct core *core, int64_t token);

/* How long a call may go unanswered, ms. */
int64_t master_patience_ms(const struct core *core);

/* How long new leases are withheld after the master forgot, ms. */
int64_t master_guard_ms(const struct core *core);

#endif
