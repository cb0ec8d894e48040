/*
 * soak: threads that lock at random through one handle, and write down what they asked and were told, in the
 * words of tests/history/HISTORY.md. Each line is one write(2), so that a process that is
 * killed leaves all it knew. It ends when its standard input does.
 *
 *     soak PATH THREADS unix|tcp    each thread writes to PATH.NUMBER
 */
#include "client/c/holdfast.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define NAMES       16
#define LINE_BYTES  1024

struct locker {
	struct holdfast *hf;
	atomic_bool *stop;
	pthread_t thread;
	unsigned seed;
	int file;
	char form; /* x, s or p */
	int64_t permits;
	char name[32];
};

static int64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void
tell(const struct locker *l, const char *format, ...)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "%" PRId64 " ", now_ns());
	va_list list;

	va_start(list, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, list);
	va_end(list);
	line[n++] = '\n';
	if (write(l->file, line, (size_t)n) != n) {
		abort();
	}
}

static unsigned
chance(struct locker *l, unsigned below)
{
	return (unsigned)rand_r(&l->seed) % below;
}

/* Chooses a name and a kind, and says so. */
static struct holdfast_options
choose(struct locker *l)
{
	struct holdfast_options options = {0};
	char form[8] = "x";

	l->form = "xxxspp"[chance(l, 6)];
	l->permits = 1 + chance(l, 2);
	options.wait_ms = chance(l, 10) == 0 ? HOLDFAST_TRY : chance(l, 10) == 0 ? 5 : 5000;
	if (l->form == 'p') {
		options.limit = 3;
		options.permits = l->permits;
		(void)snprintf(form, sizeof(form), "p%d/3", (int)l->permits);
	} else if (l->form == 's') {
		options.shared = 1;
		(void)snprintf(form, sizeof(form), "s");
	}
	(void)snprintf(
		l->name, sizeof(l->name), "%s%u", l->form == 'p' ? "permits" : "name", chance(l, NAMES));
	tell(l, "ask %s %d %s", l->name, options.wait_ms < 0 ? 0 : (int)options.wait_ms, form);
	return options;
}

/* Holds it for a short time. A loss is told by the descriptor, and written down at once. */
static void
work(struct locker *l, struct holdfast_lock *lock)
{
	struct pollfd p = {holdfast_fd(lock), POLLIN, 0};
	struct holdfast_error error;
	int ms = chance(l, 100) == 0 ? 50 : chance(l, 4) == 0 ? 1 : 0;

	(void)poll(&p, 1, ms);
	if (holdfast_check(lock, &error) == HOLDFAST_OK) {
		tell(l, "check %s", l->name);
		tell(l, "valid %s %" PRId64, l->name, holdfast_valid_ms(lock));
	} else {
		tell(l, "told %s %" PRId64 " %s", l->name, holdfast_token(lock), error.code);
	}
	tell(l, "unlock %s", l->name);
	switch (holdfast_unlock(lock, &error)) {
	case HOLDFAST_OK:
		tell(l, "unlocked %s 0", l->name);
		break;
	case HOLDFAST_LOST:
		tell(l, "error UNLOCK LOST %s", error.code);
		break;
	default:
		tell(l, "end peer");
		break;
	}
}

static void
turn(struct locker *l)
{
	struct holdfast_options options = choose(l);
	struct holdfast_error error;
	struct holdfast_lock *lock = holdfast_lock(l->hf, l->name, &options, &error);

	if (lock != NULL) {
		tell(l, "grant %s %" PRId64 " %" PRId64, l->name, holdfast_token(lock),
			holdfast_valid_ms(lock));
		work(l, lock);
	} else if (error.status == HOLDFAST_BUSY || error.status == HOLDFAST_TIMEOUT) {
		tell(l, "null %s", l->name);
	} else if (error.status == HOLDFAST_REFUSED) {
		tell(l, "error LOCK %s", error.code);
	} else if (error.status == HOLDFAST_LOST) {
		tell(l, "error LOCK LOST %s", error.code);
	} else if (error.status == HOLDFAST_UNREACHABLE) {
		tell(l, "end peer");
	} else {
		(void)fprintf(stderr, "soak: %s\n", error.text);
		abort();
	}
}

static void *
run(void *argument)
{
	struct locker *l = argument;

	while (!atomic_load(l->stop)) {
		turn(l);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct locker lockers[THREADS_MAX];
	size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	struct holdfast *hf = holdfast_open(NULL, NULL);
	atomic_bool stop = false;
	char byte, path[LINE_BYTES];

	if (hf == NULL || count == 0 || count > THREADS_MAX) {
		return 64;
	}
	for (size_t i = 0; i < count; i++) {
		struct locker *l = &lockers[i];

		(void)snprintf(path, sizeof(path), "%s.%zu", argv[1], i);
		l->hf = hf;
		l->stop = &stop;
		l->seed = (unsigned)getpid() * THREADS_MAX + (unsigned)i;
		l->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		tell(l, "open %s", argv[3]);
		tell(l, "grace 10000");
		tell(l, "graced");
		if (strcmp(argv[3], "unix") == 0) {
			tell(l, "bind");
			tell(l, "bound 0");
		}
		if (pthread_create(&l->thread, NULL, run, l) != 0) {
			abort();
		}
	}
	while (read(STDIN_FILENO, &byte, 1) > 0) {
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < count; i++) {
		(void)pthread_join(lockers[i].thread, NULL);
	}
	holdfast_close(hf);
	return 0;
}
