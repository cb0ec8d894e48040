/*
 * calls: writes down every call that a program built with -finstrument-functions makes. Preloaded
 * (LD_PRELOAD) by tests/measure-acquire; linked into nothing.
 *
 * HOLDFAST_CALLS names the file: how many calls it has, then for each where the function is in the program's
 * file, with the depth of the call in the upper 16 bits. The file is mapped, so it can be read while the
 * program runs. A process that finds calls of an earlier one appends to them. Without the variable nothing is
 * written. Calls past the end of the file are not written.
 */
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS_MAX  (UINT64_C(1) << 21)
#define DEPTH_BITS 48

struct calls {
	_Atomic uint64_t count;
	uint64_t list[CALLS_MAX];
};

/* The compiler's calls say only which function begins or ends: there is nothing to pass these in. The program
 * has one thread that makes calls. */
static struct calls *calls_map;
static uint64_t calls_depth;
/* Where the program is loaded. */
static uint64_t calls_base;

/* The compiler calls these names. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
/* NOLINTEND(bugprone-reserved-identifier) */

/* The first object that is told is the program itself. */
static int
take_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

__attribute__((constructor)) static void
calls_begin(void)
{
	const char *path = getenv("HOLDFAST_CALLS");
	if (!path) {
		return;
	}
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct calls)) != 0) {
		/* A measurement without its calls must not look like one of a short way. */
		abort();
	}
	void *map = mmap(NULL, sizeof(struct calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		abort();
	}
	dl_iterate_phdr(take_base, &calls_base);
	calls_map = map;
}

void
__cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	calls_depth++;
	if (!calls_map) {
		return;
	}
	uint64_t n = atomic_load_explicit(&calls_map->count, memory_order_relaxed);
	if (n < CALLS_MAX) {
		calls_map->list[n] = ((uint64_t)(uintptr_t)function - calls_base) | calls_depth << DEPTH_BITS;
		atomic_store_explicit(&calls_map->count, n + 1, memory_order_release);
	}
}

void
__cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	calls_depth--;
}
