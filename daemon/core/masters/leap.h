/*
 * leap: what leaps of the masters' clocks tell of ours, and what that takes off leases.
 *
 * For each master the core counts how far the clock of every master has leapt since this one caught up. It
 * catches up with the answer to a greeting that left after all leaps, if what these showed has been taken off
 * the leases there: by then its own clock has shown what it had to show. One master may miss a leap that
 * another one shows. So what they have shown since different times is never compared.
 *
 * leap_seen(): an answer on this link shows that the clock of this master leapt by ms. leap_take_off():
 * after that, for each master; if the clocks of a majority have leapt, its leases end earlier than was
 * counted, by so many ms more than has been taken off yet; 0: by none. leap_caught_up(): a greeting was
 * answered that had left after all leaps.
 */
#ifndef CORE_LEAP_H
#define CORE_LEAP_H

#include <stdint.h>

struct core;
struct master;

void leap_seen(struct core *core, struct master *of, unsigned link, int64_t ms);
int64_t leap_take_off(struct core *core, struct master *m);
void leap_caught_up(struct master *m);

#endif
