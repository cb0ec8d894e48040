/*
 * embedded: the private master of a daemon that was given none.
 *
 * A redis-server (or valkey-server) child on a Unix socket in a directory of its own, without a TCP port and
 * without persistence. It is started again when it dies, and dies with the daemon. main is the only user; the
 * pool connects to its socket as to any other master.
 *
 * The directory also remembers how the last run ended (ending.h). The new master counts as one that forgot
 * nothing if nobody can rely on a lock: after a clean end, after the deadline that the last daemon wrote, in
 * another boot or on a first start whose clients can have known no earlier daemon. While it runs the daemon
 * has an abstract Unix socket that is named after the directory: if the directory is removed, a daemon that
 * makes it anew sees that this one still runs.
 */
#ifndef REDIS_EMBEDDED_H
#define REDIS_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct embedded;
struct event_base;
struct log;
struct stats;

#define EMBEDDED_WHY_MAX  512
#define EMBEDDED_READY_MS 10000 /* it is given up when the first start takes longer */

struct embedded_settings {
	const char *directory; /* made, mode 0700, if it is not there, and its parents, mode 0755 */
	const char *program;   /* path; NULL: redis-server, else valkey-server, from PATH, also under the name
				of its checker */
	const char *doubt; /* why clients may rely on locks of a daemon that left nothing in the directory: it
			      was at another place, on another disk or in another boot; NULL: none can */
	int64_t guard_ms;  /* how long they may do so, from now on */
};

/*
 * Starts the master and waits until it is ready, usually some milliseconds. NULL: why says what went wrong
 * and what to do: no server installed, the directory is not ours, another daemon uses it, ...
 */
struct embedded *embedded_new(struct event_base *base, const struct embedded_settings *settings,
	struct log *log, struct stats *stats, char why[EMBEDDED_WHY_MAX]) __attribute__((warn_unused_result));

/* Clients may rely on locks until then (CLOCK_BOOTTIME, ms): the next daemon of the directory has to know. To
 * be called before they do; cheap. */
void embedded_relied_on(struct embedded *embedded, int64_t until_ms);

/* Stops the master. clean: no grant is live any more, so the next start may trust an empty master. until_ms:
 * nobody relies on one from then on; INT64_MAX: as embedded_relied_on() was told. */
void embedded_free(struct embedded *embedded, bool clean, int64_t until_ms);

/* Somebody has waited for a child of this process. False: it is not the server. Else its end is handled as
 * if nobody had. */
bool embedded_reaped(struct embedded *embedded, pid_t pid, int status);

/* Its Unix socket. */
const char *embedded_path(const struct embedded *embedded);
/* Whether the master that embedded_new() started surely forgot nothing that matters (pool_settings.trusted).
 */
bool embedded_trusted(const struct embedded *embedded);
/* Not trusted: from when on it may be used as if it were (CLOCK_BOOTTIME, ms); 0: that is not known. */
int64_t embedded_doubted_until(const struct embedded *embedded);
/* Why it is not trusted; NULL: it is. */
const char *embedded_doubt(const struct embedded *embedded);
/* 0: it is down just now. */
pid_t embedded_pid(const struct embedded *embedded);

#endif
