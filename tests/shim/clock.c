/*
 * clock: clocks that can be stepped, for one process and while it runs. Preloaded (LD_PRELOAD) into a
 * redis-server or a holdfastd by the end-to-end tests, and into a redis-server by suites about scripts;
 * linked into nothing.
 *
 * HOLDFAST_CLOCK names a file of int64_t of this machine: the µs to add to CLOCK_REALTIME, those to add to
 * CLOCK_BOOTTIME, and, if the file has a third one that is not 0, the µs since 1970 at which CLOCK_REALTIME
 * stands still. It is mapped, so a write to the file is seen at the next reading of the clock. Without the
 * variable nothing is changed. Less boot time is what a guest has that was stunned; a
 * timer of it may come too early then, as it may anyway. Monotonic time is never touched.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A preloaded library is called by functions that know nothing of it: there is nobody to pass this in. */
static const _Atomic int64_t *clock_offsets_us;

__attribute__((constructor)) static void
clock_offset_map(void)
{
	const char *path = getenv("HOLDFAST_CLOCK");
	if (!path) {
		return;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Behind the end of the file there are zeros. */
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 3 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		/* A test that thinks it steps this clock must not pass. */
		abort();
	}
	close(fd);
	clock_offsets_us = page;
}

static struct timespec
clock_read(clockid_t id, int which)
{
	struct timespec ts = {0};
	(void)syscall(SYS_clock_gettime, id, &ts);
	if (clock_offsets_us) {
		int64_t offset_us = atomic_load_explicit(&clock_offsets_us[which], memory_order_relaxed);
		int64_t still_us = atomic_load_explicit(&clock_offsets_us[2], memory_order_relaxed);
		int64_t us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
		us = which == 0 && still_us != 0 ? still_us : us + offset_us;
		ts.tv_sec = us / 1000000;
		ts.tv_nsec = us % 1000000 * 1000 + ts.tv_nsec % 1000;
	}
	return ts;
}

int
clock_gettime(clockid_t id, struct timespec *tp)
{
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
		*tp = clock_read(id, 0);
	} else if (id == CLOCK_BOOTTIME) {
		*tp = clock_read(id, 1);
	} else {
		return (int)syscall(SYS_clock_gettime, id, tp);
	}
	return 0;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	(void)tz;
	struct timespec ts = clock_read(CLOCK_REALTIME, 0);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *timer)
{
	struct timespec ts = clock_read(CLOCK_REALTIME, 0);
	if (timer) {
		*timer = ts.tv_sec;
	}
	return ts.tv_sec;
}
