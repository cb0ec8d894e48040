/*
 * master: what this daemon knows of one Redis master, and whether leases may be asked for there.
 *
 *     AWAY ──link up──▶ GREETING ──hello──┬─ remembers ───────▶ ADMITTED
 *      ▲                   ▲              ├─ may have forgotten ▶ GUARDED ──guard over, admit──▶ ADMITTED
 *      │                   │              └─ replica, cluster, … ▶ REFUSED ──asked again──▶ …
 *      └── all links down  └── forgotten, demoted, identity to be checked
 *
 * A master that restarted, was flushed or is new to us may have forgotten leases. It is guarded for the
 * longest lease, what two clocks may differ in it, and the clock margin, by our clock, from the moment we saw
 * it: reclaims are taken, nothing new is granted. When the guard is over, quorum.h finds the floor of its
 * tokens and has it admitted.
 */
#ifndef CORE_MASTER_H
#define CORE_MASTER_H

#include "daemon/core/state.h"
#include "daemon/core/usable.h"

void master_link_up(struct core *core, struct master *m, unsigned link);
void master_link_down(struct core *core, struct master *m, unsigned link, struct slice why);
/* It says that its data was flushed. */
void master_flushed(struct core *core, struct master *m);
/* HELLO or ADMIT. */
void master_vote(struct core *core, struct master *m, const struct vote *vote);
void master_timer(struct core *core, struct master *m);

/* Sends a call to it, and notes how long it is silent. */
void master_call(struct core *core, const struct call *call);

/* Every answer, of whatever call: its clock, its links, its words; greets again when it forgot. */
void master_heard(struct core *core, struct master *m, const struct vote *vote);

/*
 * Whether this answer shows that its clock went ahead of ours by more than the clock margin in the time of a
 * lease. Either leases ended there before their time, and another daemon may still rely on what it grants; or
 * our clock stood still, and our leases end earlier than we count. It is asked for nothing new for the length
 * of a guard. All masters are greeted: it, to be told of the leap; the others, because their clocks show
 * which of the two it was (leap). To be called with every answer, before master_heard().
 */
bool master_leapt(struct core *core, struct master *m, const struct vote *vote);

/* A question went unanswered: no new ones on this link until something is heard. */
void master_suspect(struct core *core, struct master *m, unsigned link);

/* Asks on every link who it is and which tokens it has seen. */
void master_greet_all(struct core *core, struct master *m);
/* All of them, in the next turn. */
void masters_greet(struct core *core);

/* Its guard is over (master_guard_over()): it is to be admitted with this floor, or looked at again after ms.
 */
void master_admit(struct core *core, struct master *m, int64_t floor);
void master_admit_later(struct core *core, struct master *m, int64_t ms);

#endif
