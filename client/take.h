/*
 * take: greets the daemon and takes a lock, for run, lock and hold.
 *
 * Errors are printed on stderr here, and returned as an exit code.
 */
#ifndef CLIENT_TAKE_H
#define CLIENT_TAKE_H

#include "client/options.h"
#include "client/wire.h"
#include "proto/command.h"

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
	int pidfd; /* binds the session to this process before LOCK; -1: the session belongs to the
		      connection, a loss is pushed, and the secret is requested */
	const char *label;
};

/* Opens *w and takes the lock. If the daemon ends meanwhile, it asks the next one. False: *status is the exit
 * code; STATUS_DONE if the lock is busy and --skip-ok was given. A signal during the wait ends the process;
 * its connection closes, and that ends the wait. The caller closes *w in any case. */
bool take_lock(struct wire *w, const struct taking *t, struct grant *g, int *status)
	__attribute__((warn_unused_result));

/* Opens *w and greets. If the daemon ends meanwhile, it greets the next one. STATUS_DONE or an exit code. */
int take_greeting(struct wire *w, const struct address *a, const char *label)
	__attribute__((warn_unused_result));

/* Whether this answer (NULL: none) means that the daemon is absent or about to end. Then nothing is held, and
 * the next daemon may be asked. */
bool take_away(const struct wire *w, const struct answer *answer);

/* Prints what an error answer means for `what`, e.g. "cannot lock deploy", and returns its exit code. answer
 * NULL: the connection ended. */
int take_refusal(const struct wire *w, const struct answer *answer, const char *what);

/* Turns the reason of LOST or of the push, "broken an administrator broke it", into "broken: an ...". Returns
 * out.
 */
const char *take_loss(char out[WIRE_TEXT_MAX], struct slice told);

/* Writes the token to --token-file, if that was given. STATUS_DONE or an exit code. */
int take_token_file(const struct options *o, int64_t token) __attribute__((warn_unused_result));

/* "command@host", with only the characters that a connection's name may have. */
#define TAKE_LABEL_MAX (LABEL_BYTES_MAX + 1)
void take_label(char label[TAKE_LABEL_MAX], const char *command);

#endif
