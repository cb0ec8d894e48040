/*
 * memory: see memory.h. With another libc than glibc the heap cannot be examined, and freed memory is
 * returned when that libc does so.
 */
#include "daemon/base/memory.h"

#include "daemon/base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define HEAP_IS_GLIBC 1
#include <malloc.h>
#endif
#endif

/* A block of this size is mapped by itself, and unmapped when it is freed. By default glibc raises this
 * threshold to the size that was freed last; then a few bytes in use at the end of the heap keep megabytes
 * from the system. */
#define BIG_BYTES (128 * 1024)
/* Up to this much free memory stays at the end of the heap: the next turn needs what one turn frees. */
#define TOP_BYTES (4 * 1024 * 1024)

#ifdef HEAP_IS_GLIBC
static void
heap_init(void)
{
	mallopt(M_MMAP_THRESHOLD, BIG_BYTES);
	mallopt(M_TRIM_THRESHOLD, TOP_BYTES);
}

/* The bytes of the heap that are in use. */
static size_t
heap_used(size_t resident)
{
	struct mallinfo2 info = mallinfo2();

	(void)resident;
	return info.uordblks + info.hblkhd;
}

static void
heap_trim(void)
{
	malloc_trim(0);
}
#else
static void
heap_init(void)
{
}

static size_t
heap_used(size_t resident)
{
	return resident;
}

static void
heap_trim(void)
{
}
#endif

void
memory_init(struct memory *memory, struct log *log)
{
	*memory = (struct memory){.log = log, .fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)};
	heap_init();
}

void
memory_done(struct memory *memory)
{
	if (memory->fd >= 0) {
		close(memory->fd);
	}
	memory->fd = -1;
}

void
memory_set_limit(struct memory *memory, size_t bytes)
{
	memory->limit = bytes;
	memory->sample_at_ms = 0;
	memory->heap_at_ms = 0;
}

/* The second number of statm, in pages. */
static void
memory_read(struct memory *memory)
{
	char text[128];
	unsigned long long pages;
	ssize_t n = memory->fd < 0 ? 0 : pread(memory->fd, text, sizeof text - 1, 0);
	if (n <= 0) {
		return;
	}
	text[n] = '\0';
	if (sscanf(text, "%*u %llu", &pages) == 1) {
		memory->resident = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
	}
}

/* Whether this much more can be allocated. The block is neither written to nor kept. */
static bool
memory_ahead(size_t bytes)
{
	void *volatile block = malloc(bytes);
	bool had = block != NULL;
	free(block);
	return had;
}

static bool
memory_is_used_up(struct memory *memory, int64_t now_ms)
{
	if (memory->limit == 0 || memory->resident < memory->limit) {
		memory->heap_full = false;
		return false;
	}
	if (now_ms >= memory->heap_at_ms) {
		memory->heap_at_ms = now_ms + MEMORY_HEAP_MS;
		/* The state ends at a lower level than it begins. */
		size_t spare = memory->limit / (memory->heap_full ? 8 : 16);
		memory->heap_full = heap_used(memory->resident) >= memory->limit - spare;
	}
	return memory->heap_full;
}

static void
memory_tell(struct memory *memory, int64_t now_ms, bool used_up)
{
	if (!memory->full || now_ms < memory->tell_at_ms) {
		return;
	}
	memory->tell_at_ms = now_ms + MEMORY_TELL_MS;
	LOG_EVENT(memory->log, LOG_WARNING_LEVEL, "memory.full",
		log_text("why", used_up ? "limits.memory" : "the system gives no more"),
		log_number("bytes", (int64_t)memory->resident), log_number("limit", (int64_t)memory->limit),
		log_text("text", "no new clients, locks and latches; what is there goes on"));
}

/* Whether the load has fallen by enough to return free memory. */
static bool
memory_has_fallen(struct memory *memory, size_t load)
{
	if (load > memory->load_most) {
		memory->load_most = load;
	}
	size_t fall = memory->load_most - load;
	return fall >= MEMORY_TRIM_LESS || (fall >= MEMORY_TRIM_HALF && fall > load);
}

/* Returns free memory after a fall, and a second later once more, until the load falls no further: a fall is
 * noticed amid it, and its objects leave the load before they are freed. Returns when it is due. */
static int64_t
memory_return(struct memory *memory, int64_t now_ms, size_t load)
{
	bool fallen = memory_has_fallen(memory, load);
	if ((fallen || memory->trim_again) && now_ms >= memory->trim_at_ms) {
		fallen |= memory->trim_again && load + MEMORY_TRIM_HALF <= memory->load_trimmed;
		memory->trim_again = fallen;
		memory->trim_at_ms = now_ms + MEMORY_TRIM_MS;
		memory->load_most = memory->load_trimmed = load;
		memory->sample_at_ms = 0;
		heap_trim();
		fallen = false;
	}
	return fallen || memory->trim_again ? memory->trim_at_ms : INT64_MAX;
}

static void
memory_sample(struct memory *memory, int64_t now_ms, size_t rise)
{
	memory->sample_at_ms = now_ms + MEMORY_SAMPLE_MS;
	memory_read(memory);
	bool used_up = memory_is_used_up(memory, now_ms);
	memory->full = used_up || !memory_ahead(MEMORY_AHEAD + rise);
	memory_tell(memory, now_ms, used_up);
}

int64_t
memory_turn(struct memory *memory, int64_t now_ms, size_t load, size_t rise)
{
	int64_t trim_at_ms = memory_return(memory, now_ms, load);
	if (now_ms >= memory->sample_at_ms) {
		memory_sample(memory, now_ms, rise);
	}
	return memory->full ? now_ms + MEMORY_HEAP_MS : trim_at_ms;
}
