/*
 * memory: how much memory the daemon uses, whether that is more than the limit, and when free memory goes
 * back to the system.
 *
 *     statm, malloc ─sample─▶ full ──▶ admission: no new clients, core: nothing new
 *
 * The driver calls it at the end of its turns. A sample of statm costs some microseconds. The heap is
 * examined only past the limit: memory that was freed but not yet returned to the system must not refuse a
 * client.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log;

#define MEMORY_SAMPLE_MS 10                 /* between two samples of statm */
#define MEMORY_HEAP_MS   100                /* between two examinations of the heap */
#define MEMORY_TRIM_MS   1000               /* between two trims */
#define MEMORY_TELL_MS   10000              /* between two log lines that say that memory is short */
#define MEMORY_AHEAD     ((size_t)8 << 20)  /* must be free beyond the rise, else memory is short */
#define MEMORY_TRIM_LESS ((size_t)16 << 20) /* a fall of the load that returns free memory */
#define MEMORY_TRIM_HALF ((size_t)2 << 20)  /* the same for a load that is halved */

struct memory {
	struct log *log;
	int fd;              /* /proc/self/statm; -1: it cannot be read */
	size_t limit;        /* bytes; 0: no limit */
	size_t resident;     /* bytes, in the last sample */
	size_t load_most;    /* the highest load since the last trim, bytes */
	size_t load_trimmed; /* the load at the last trim, bytes */
	int64_t sample_at_ms;
	int64_t heap_at_ms;
	int64_t trim_at_ms;
	int64_t tell_at_ms;
	bool trim_again; /* at trim_at_ms */
	bool heap_full;  /* when the heap was last examined */
	bool full;       /* memory suffices for what exists, and for nothing new */
};

/* log is held by reference. From now on freed big blocks go back to the system. */
void memory_init(struct memory *memory, struct log *log);
void memory_done(struct memory *memory);
void memory_set_limit(struct memory *memory, size_t bytes);

/* The end of a turn. load: a rough count of the bytes in objects that come and go in large numbers. rise:
 * bytes that existing objects may need on top for a moment. Returns when it has to be called again at the
 * latest; INT64_MAX: when something has happened. */
int64_t memory_turn(struct memory *memory, int64_t now_ms, size_t load, size_t rise);

#endif
