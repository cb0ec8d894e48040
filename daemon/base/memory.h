/*
 * memory: how much of it the daemon has, whether that is as much as it may, and what goes back to the system.
 *
 *     statm, malloc ──look──▶ full ──▶ admission: nobody new, core: nothing new
 *
 * The driver looks at the end of its turns. A look costs some microseconds; only past the limit the heap is
 * asked as well, since memory that was freed and not returned is no reason to refuse anybody.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log;

#define MEMORY_LOOK_MS   10                 /* between two looks, */
#define MEMORY_HEAP_MS   100                /* at the heap, */
#define MEMORY_TRIM_MS   1000               /* and between two trims */
#define MEMORY_TELL_MS   10000              /* it is told again that memory is short */
#define MEMORY_AHEAD     ((size_t)8 << 20)  /* more than the rise can be had, or memory is short */
#define MEMORY_TRIM_LESS ((size_t)16 << 20) /* after a load that was so much more what is free goes back */

struct memory {
	struct log *log;
	int fd;           /* /proc/self/statm; -1: it cannot be read */
	size_t limit;     /* bytes; 0: none */
	size_t resident;  /* bytes, at the last look */
	size_t load_most; /* since the last trim */
	int64_t look_at_ms;
	int64_t heap_at_ms;
	int64_t trim_at_ms;
	int64_t tell_at_ms;
	bool heap_full; /* at the last look at the heap */
	bool full;      /* there is enough for what is there, and for nothing new */
};

/* log is kept by reference. From now on big blocks go back to the system when they are freed. */
void memory_init(struct memory *memory, struct log *log);
void memory_done(struct memory *memory);
void memory_set_limit(struct memory *memory, size_t bytes);

/* The end of a turn. load: bytes of what comes and goes in masses, roughly; rise: bytes that what is there
 * may take besides for a moment. Returns when it wants to be called again at the latest; INT64_MAX: when
 * something has happened. */
int64_t memory_turn(struct memory *memory, int64_t now_ms, size_t load, size_t rise);

#endif
