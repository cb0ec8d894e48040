/*
 * starts: when the oldest of many things began that begin one after the other and end in any order.
 *
 * A thing is counted under the millisecond in which it began, and takes no memory of its own: there may be
 * millions of holds. To check the oldest costs the same however many there are. To begin costs that as well;
 * to end, a search among the milliseconds that are still counted.
 *
 *     first            n        room
 *       ▼              ▼          ▼
 *     ..7:2 9:0 15:1 20:4..........     seven go on: two at 7, one at 15, four at 20; 9 is empty
 */
#ifndef CORE_STARTS_H
#define CORE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct start {
	int64_t ms;
	uint64_t count;
};

struct starts {
	struct start *list;
	size_t first; /* has things left, unless it is n */
	size_t n;
	size_t room;
	bool mixed; /* they are out of order: loaded from a state */
};

/* False: out of memory. */
bool starts_init(struct starts *s) __attribute__((warn_unused_result));
void starts_done(struct starts *s);

/* One begins; out of memory, it counts as one of those that began last before it. */
void starts_add(struct starts *s, int64_t ms);
/* One that began then ends. */
void starts_remove(struct starts *s, int64_t ms);

/* When the oldest began; none: TIMER_NEVER. */
int64_t starts_oldest(const struct starts *s);

/* How many there are. Goes through all milliseconds. */
uint64_t starts_count(const struct starts *s);

#endif
