/*
 * clock_jump: what jumps of the masters' clocks tell of ours, and what that takes off leases.
 *
 * For each master m the core counts how far each master's clock has jumped since m caught up. m catches up
 * when it answers a HELLO that left after all these jumps, and its leases have been shortened by what they
 * showed: its own clock has then shown what it had to show. A master may miss a jump that another one shows,
 * and each counts from a time of its own; so the total of one master is never compared with that of another.
 *
 * clock_jump_seen(): an answer on this link shows that the clock of this master jumped by ms.
 * clock_jump_take_off(): then, for each master: if the clocks of a majority have jumped, by how many more ms
 * its leases end earlier than was counted; otherwise 0. clock_jump_caught_up(): a HELLO was answered that
 * had left after all jumps.
 */
#ifndef CORE_CLOCK_JUMP_H
#define CORE_CLOCK_JUMP_H

#include <stdint.h>

struct core;
struct master;

void clock_jump_seen(struct core *core, struct master *of, unsigned link, int64_t ms);
int64_t clock_jump_take_off(struct core *core, struct master *m);
void clock_jump_caught_up(struct master *m);

#endif
