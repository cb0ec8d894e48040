/*
 * lock: takes a lock, for run, lock and hold; keeps people informed during a long wait; and watches the lock
 * while it is held.
 */
#ifndef CLIENT_LOCK_H
#define CLIENT_LOCK_H

#include "client/options.h"
#include "client/wire/deadline.h"
#include "client/wire/session.h"
#include "client/wire/wire.h"
#include "proto/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grant {
	int64_t token;
	int64_t granted_ms;                   /* CLOCK_BOOTTIME: when the lock was granted; 0: never */
	int64_t expire_ms;                    /* CLOCK_BOOTTIME: the hold is valid until then */
	int64_t also_tokens[OPTION_ALSO_MAX]; /* of --also, in the order of the names */
	bool busy;                            /* not granted, because another session has it */
	char secret[SECRET_BYTES_MAX + 1];    /* of the session; "": not requested */
};

struct taking {
	const struct options *o;
	const struct address *a;
	int pidfd;   /* binds the session to this process before LOCK; -1: to none */
	bool script; /* the session belongs to that process alone. Otherwise BIND may be refused, a loss is
			pushed, and the secret is requested */
	const char *label;
};

/*
 * Opens *w, asks for a grace, and takes the lock. If the connection ends meanwhile, it comes back: to its
 * position if only the connection was cut, and behind all others if the daemon crashed. False: *status is the
 * exit code; STATUS_DONE if the lock is busy and --skip-ok was given. A signal during the wait ends the
 * process, and the wait. The caller calls wire_goodbye() in any case, and wire_unguard() before it waits
 * elsewhere.
 */
bool take_lock(struct wire *w, const struct taking *t, struct grant *g, int *status)
	__attribute__((warn_unused_result));

/* Opens *w and says HELLO. If the daemon ends meanwhile, it tries the next one. STATUS_DONE or an exit code.
 */
int take_hello(struct wire *w, const struct address *a, const char *label)
	__attribute__((warn_unused_result));

/* Opens *w for the session with this secret, and asks one thing. The answer to that, or an error before it;
 * NULL: w->why. */
const struct answer *take_join(struct wire *w, const struct taking *t, const char *secret, size_t n,
	const char *const *words) __attribute__((warn_unused_result));

/* Whether this answer (NULL: none) means that the daemon is absent or about to end, or that the connection
 * was cut: then it may be asked again. came: the daemon has served this client before, so its absence will
 * pass. */
bool take_away(const struct wire *w, const struct answer *answer, bool came);

/* Prints what an error answer means for `what`, e.g. "cannot lock deploy", and returns its exit code. answer
 * NULL: the connection ended. */
int take_refusal(const struct wire *w, const struct answer *answer, const char *what);

/* Turns the reason of LOST or of the push, "broken an administrator broke it", into "broken: an ...". Returns
 * out.
 */
const char *take_loss(char out[WIRE_TEXT_MAX], struct slice told);

/* Writes the token to --token-file, and prints the grant with --json, if these were given. STATUS_DONE or an
 * exit code. */
int take_report(const struct options *o, const struct grant *g) __attribute__((warn_unused_result));

/*
 * A long wait for a lock: it tells people who holds the lock, gives up a wait without a master
 * (--master-wait), and repeats a wait that a restart of the daemon has ended. It uses a connection of its
 * own, since a connection that waits answers no other request.
 */
struct waiting {
	const struct options *o;
	const struct address *a;
	int64_t next_ms;    /* CLOCK_BOOTTIME: report to people, or check the master, then */
	int64_t over_ms;    /* CLOCK_BOOTTIME: the end of the wait; INT64_MAX: none */
	int64_t away_ms;    /* no master or no daemon since then; 0: both are there */
	int64_t pause_ms;   /* before the next attempt to reach the daemon */
	int64_t tried_ms;   /* this attempt began */
	bool answered;      /* the daemon was there in this attempt */
	bool came;          /* or in any */
	bool reported_away; /* a message says that the daemon is away */
	bool people;        /* stderr is a terminal, and -q was not given */
	bool tells;         /* says who holds the lock: once without a terminal, on each change to people */
	bool cycle_checked; /* cycle_find() was called */
	bool cycle;         /* this process may wait for itself */
	int64_t reported_token;    /* of the holder in the last message */
	int64_t reported_position; /* in the queue, or steps left of a latch, in the last message; -1: no
			       message yet */
};

#define LOSS_WORD_MAX 24 /* the reason of a loss, in one word, and a NUL */

/*
 * Watches one or several held locks: asks for their validity in time, reads pushes about their loss, and
 * comes back to the session if the connection ends. run and hold poll what holding_watch() says, and call
 * these functions. They send and read. Only holding_release() blocks, and only holding_tell() prints.
 */
struct holding {
	struct wire *wire;
	struct session session;
	const char *name;
	const struct also *also; /* more names; the shortest validity of all counts */
	const struct grant *grant;
	int64_t lease_ms;     /* of --lease; 0: the hold is renewed */
	size_t due;           /* outstanding answers to CHECK */
	int64_t announced_ms; /* the shortest validity among the answers so far */
	struct deadline deadline;
	bool lost; /* the daemon has told of a loss */
	bool away; /* the connection ended, and is not back; the deadline that was told last remains */
	bool gone; /* the daemon does not know the session any more; the deadline remains */
	bool reported_away, reported_gone; /* holding_tell() has said so */
	char word[LOSS_WORD_MAX];          /* lost: the first word of why, if the daemon has said it */
	char why[WIRE_TEXT_MAX];
};

#endif
