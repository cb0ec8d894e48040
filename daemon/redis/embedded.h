/*
 * embedded: runs the private master of a daemon without configured masters.
 *
 * The master is a redis-server (or valkey-server) child process on a Unix socket in a directory of its own,
 * without a TCP port and without persistence. It is restarted if it dies, and dies with the daemon. main is
 * the only user; the pool connects to its socket as to any other master.
 *
 * The directory also records how the last run ended. A new master counts as one that forgot nothing if no
 * client can rely on a lock: after a clean end, after the deadline that the last daemon wrote, or if no
 * client can have known an earlier daemon. What is recorded counts in this boot, and not in a copy. While the
 * daemon runs it has a file of memory that is named after the directory. If the directory is removed, a
 * daemon that makes it anew sees by this file, among what processes of its user have open, that the earlier
 * one still runs.
 */
#ifndef REDIS_EMBEDDED_H
#define REDIS_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct descriptors;
struct embedded;
struct event_base;
struct log;
struct record;
struct stats;

#define EMBEDDED_WHY_MAX  512
#define EMBEDDED_READY_MS 10000 /* the first start is given up after this time */

struct embedded_settings {
	const char *directory; /* made with mode 0700 if it does not exist, its parents with mode 0755 */
	/* Path. NULL: redis-server, else valkey-server, from PATH, also under the name of its checker. */
	const char *program;
	/* Why clients may rely on locks of a daemon that left nothing in the directory: it may have run with
	 * another directory, on another disk or in another boot. NULL: none can. */
	const char *doubt;
	int64_t guard_ms; /* how long they may rely on them, from now on */
	/* A process that was killed, or a child of it that has not begun its program yet, may still have the
	 * directory. It is waited for until then (CLOCK_BOOTTIME, ms). */
	int64_t patient_until_ms;
};

/*
 * Starts the master and waits until it is ready, usually some milliseconds. NULL: why says what went wrong
 * and what to do: no server installed, the directory belongs to another user, another daemon uses it, ...
 */
struct embedded *embedded_new(struct event_base *base, const struct embedded_settings *settings,
	struct log *log, struct stats *stats, char why[EMBEDDED_WHY_MAX]) __attribute__((warn_unused_result));

/*
 * The record of the master, for the next process of this daemon, which the same process becomes (exec): the
 * server goes on as its child. Its descriptors are added to given.
 */
void embedded_save(const struct embedded *embedded, struct record *r, struct descriptors *given);
/*
 * Takes over the master of the current record, in the directory that it has, whatever settings says. If the
 * server has ended meanwhile, it is restarted as after any other end of it. NULL: r has failed; the server
 * goes on.
 */
struct embedded *embedded_load(struct event_base *base, const struct embedded_settings *settings,
	struct log *log, struct stats *stats, struct record *r, struct descriptors *given)
	__attribute__((warn_unused_result));

/* Whether there is a program to run: this one, or with NULL one in PATH. False: why says what to do. */
bool embedded_has_program(const char *program, char why[EMBEDDED_WHY_MAX]);

/* Clients may rely on locks until until_ms (CLOCK_BOOTTIME): the next daemon with this directory has to know.
 * Call it before they do; cheap. */
void embedded_relied_on(struct embedded *embedded, int64_t until_ms);

/* Stops the master. clean: no grant is live any more, so the next start may trust an empty master. until_ms:
 * from then on no client relies on a grant; INT64_MAX: as given to embedded_relied_on(). */
void embedded_free(struct embedded *embedded, bool clean, int64_t until_ms);

/* A child of this process was reaped, with this status. False: it is not the server. True: the end of the
 * server is handled as if embedded had reaped it. */
bool embedded_reaped(struct embedded *embedded, pid_t pid, int status);

/* The Unix socket of the master. */
const char *embedded_path(const struct embedded *embedded);
/* Whether the master that embedded_new() started has certainly forgotten nothing that matters
 * (pool_settings.trusted). */
bool embedded_trusted(const struct embedded *embedded);
/* If it is not trusted: from when on it may be used as if it were (CLOCK_BOOTTIME, ms); 0: unknown. */
int64_t embedded_doubted_until(const struct embedded *embedded);
/* Why it is not trusted; NULL: it is. */
const char *embedded_doubt(const struct embedded *embedded);
/* 0: the server is not running now. */
pid_t embedded_pid(const struct embedded *embedded);

#endif
