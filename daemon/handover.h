/*
 * handover: passes the state of this daemon and its descriptors to the next process, and takes them back
 * there.
 *
 *     driver ──records, descriptors──▶ handover ──exec, or the service manager──▶ handed ──▶ main, driver
 *
 * The state is a memfd. It begins with a line that says whether it was taken: a state is used once. Either
 * the process becomes the new program (exec), with its descriptors open and the number of the memfd in the
 * environment; or the service manager keeps the descriptors and the memfd, and passes them to the process
 * that it starts next. Nothing here knows what the records mean, but the first one, which says whose state it
 * is.
 */
#ifndef DAEMON_HANDOVER_H
#define DAEMON_HANDOVER_H

#include "daemon/base/child.h"
#include "daemon/base/descriptors.h"
#include "daemon/core/base/peer.h"
#include "proto/buffer.h"
#include "proto/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct notify;
struct notify_fd;

#define HANDOVER_WHY_MAX 256

/* The first record: whose state it is. The boot and the user are written and checked with it. */
struct handover_daemon {
	char version[32];
	char id[33];
	int64_t started_ms; /* CLOCK_BOOTTIME */
	int64_t silent_ms;  /* since when no client is served, likewise */
	conn_id asked_by;   /* the connection that waits for the answer to RESTART; 0: none */
	conn_id last_conn;  /* the greatest number of a connection so far */
	bool private_master;
};

/* ---- giving ---- */

struct handover {
	struct buffer bytes;
	struct record record; /* writes to bytes */
	struct descriptors given;
	pid_t child; /* the private redis-server; 0: none */
};

/* Begins a state with its first record; the caller writes the others, RECORD_END included. */
void handover_begin(struct handover *h, struct handover_daemon *daemon);
void handover_done(struct handover *h);

/* The program that this process becomes. */
struct handover_program {
	const char *path;
	char **argv;
};

/* Where the program of this process is now, also if the file was replaced since. argv0: as it was started. */
bool handover_find_program(const char *argv0, char *path, size_t room) __attribute__((warn_unused_result));

/* A program that only checks its configuration and a state takes milliseconds; on a host that is short
 * of memory or of CPU, some seconds. Clients are served meanwhile. */
#define HANDOVER_TRY_MS 10000

/*
 * Tries the program before this process becomes it: runs it with -t, and with a state that has only a first
 * record. So it says whether it can be executed, finds its libraries, accepts the configuration, and reads
 * the form of the state. NULL: why says why it cannot be run.
 */
struct child *handover_try(const struct handover_program *program, struct handover_daemon *daemon,
	struct event_base *base, child_ended *ended, void *arg, char why[HANDOVER_WHY_MAX])
	__attribute__((warn_unused_result));

/* Becomes the program. It returns only on failure: then all is as before, and why says what failed. */
void handover_exec(struct handover *h, const struct handover_program *program, const struct notify *notify,
	char why[HANDOVER_WHY_MAX]);
/* Gives everything to the service manager. True: it has all, and this process may end. False: it has nothing,
 * and why says what failed. */
bool handover_store(struct handover *h, const struct notify *notify, char why[HANDOVER_WHY_MAX])
	__attribute__((warn_unused_result));

/* ---- taking ---- */

struct handed {
	bool there;           /* a state was taken, and its first record is right */
	struct record record; /* reads it; the first record is the current one */
	struct handover_daemon daemon;
	struct descriptors given;
	pid_t child;
	int memfd;
	void *map;
	size_t size;
};

/*
 * Takes what the process before left, and leaves in fds what the service manager passes for other reasons;
 * call it before any other thread or child is started. False: there is no state, or, if why is not "", it was
 * refused; then nothing of it is left.
 */
bool handed_take(struct handed *h, const struct notify *notify, struct notify_fd *fds, size_t *count,
	char why[HANDOVER_WHY_MAX]) __attribute__((warn_unused_result));
/* For a process that is only tried. False: there is a state of which it cannot read the first record. */
bool handed_try(char why[HANDOVER_WHY_MAX]) __attribute__((warn_unused_result));
/* The state was used: closes the descriptors that no part of the daemon took. */
void handed_done(struct handed *h);
/* The state cannot be used: ends the private redis-server of the process before, too, unless it was adopted.
 */
void handed_refuse(struct handed *h);

#endif
