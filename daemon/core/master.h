/*
 * master: what this daemon knows of one Redis master, and whether leases may be asked for there.
 *
 *     AWAY ──link up──▶ GREETING ──hello──┬─ remembers ───────▶ ADMITTED
 *      ▲                   ▲              ├─ may have forgotten ▶ GUARDED ──guard over, admit──▶ ADMITTED
 *      │                   │              └─ replica, cluster, … ▶ REFUSED ──asked again──▶ …
 *      └── all links down  └── forgotten, demoted, identity to be checked
 *
 * A master that restarted, was flushed or is new to us may have forgotten leases. It is guarded from the
 * moment we saw it, by our clock, for the longest lease, the drift of two clocks in that time, and the clock
 * margin. A guarded master takes reclaims and grants nothing new. When the guard is over, quorum.h finds the
 * floor of its tokens and has it admitted.
 */
#ifndef CORE_MASTER_H
#define CORE_MASTER_H

#include "daemon/core/core_inner.h"
#include "daemon/core/usable.h"

void master_link_up(struct core *core, struct master *m, unsigned link);
void master_link_down(struct core *core, struct master *m, unsigned link, struct slice why);
/* The master says that its data was flushed. */
void master_flushed(struct core *core, struct master *m);
/* An answer to HELLO or ADMIT. */
void master_vote(struct core *core, struct master *m, const struct vote *vote);
void master_timer(struct core *core, struct master *m);

/* Sends a call to a master, and notes from when on its link is silent. */
void master_call(struct core *core, const struct call *call);

/* To be called with every answer, of any call: takes its TIME, its tokens and its error, and greets the
 * master again if it forgot. */
void master_heard(struct core *core, struct master *m, const struct vote *vote);

/*
 * Whether this answer shows that the master's clock went ahead of ours by more than the clock margin within a
 * lease. Either leases ended there before their time, and another daemon may still rely on a lease that the
 * master now grants again; or our clock stood still, and our leases end earlier than we count. Nothing that
 * the master grants counts for the length of a guard. All masters are greeted: this one, to be told of the
 * leap; the others, because their clocks show which of the two it was (leap). To be called with every answer,
 * before master_heard().
 */
bool master_leapt(struct core *core, struct master *m, const struct vote *vote);

/* A call was not answered in time: nothing new is asked on this link until it answers again. */
void master_suspect(struct core *core, struct master *m, unsigned link);

/* Asks on every link who the master is and which tokens it has seen. */
void master_greet_all(struct core *core, struct master *m);
/* The same for all masters, in the next turn. */
void masters_greet(struct core *core);

/* Its guard is over (master_guard_over()): asks to admit it with this floor; or looks again after ms. */
void master_admit(struct core *core, struct master *m, int64_t floor);
void master_admit_later(struct core *core, struct master *m, int64_t ms);

#endif
