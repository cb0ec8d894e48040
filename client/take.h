/*
 * take: greets the daemon and takes a lock, for run, lock and hold.
 *
 * Everything that can go wrong is said on stderr here, and comes back as an exit code.
 */
#ifndef CLIENT_TAKE_H
#define CLIENT_TAKE_H

#include "client/options.h"
#include "client/wire.h"
#include "proto/command.h"

struct grant {
	int64_t token;
	int64_t granted_ms;                   /* CLOCK_BOOTTIME: when it was there; 0: never */
	int64_t expire_ms;                    /* CLOCK_BOOTTIME: surely good until then */
	int64_t also_tokens[OPTION_ALSO_MAX]; /* of --also, in the order of the names */
	bool busy;                            /* it is not, because somebody else has it */
	char secret[SECRET_BYTES_MAX + 1];    /* of the session; "" unless it was asked for */
};

struct taking {
	const struct options *o;
	const struct address *a;
	int pidfd; /* bind the session to this process first; -1: the session is the connection's, its loss is
		      pushed, and its secret is wanted */
	const char *label;
};

/* Opens *w and takes the lock, also from the next daemon if the first one ends meanwhile. False: *status is
 * the exit code; STATUS_DONE when busy is fine (--skip-ok). A signal during the wait ends the process, and
 * with its connection the wait. The caller closes *w in any case. */
bool take_lock(struct wire *w, const struct taking *t, struct grant *g, int *status)
	__attribute__((warn_unused_result));

/* Opens *w and greets, also the next daemon if the first one ends meanwhile: STATUS_DONE or an exit code. */
int take_greeting(struct wire *w, const struct address *a, const char *label)
	__attribute__((warn_unused_result));

/* Whether that answer, or none, means that the daemon is not there, or is about to end: nothing is held then,
 * and the next one may be asked. */
bool take_away(const struct wire *w, const struct answer *answer);

/* Says what an error answer means for `what`, e.g. "cannot lock deploy", and returns its exit code. NULL: the
 * connection ended. */
int take_refusal(const struct wire *w, const struct answer *answer, const char *what);

/* Of "broken an administrator broke it", as LOST and the push say it, a sentence: "broken: an ...". Returns
 * out.
 */
const char *take_loss(char out[WIRE_TEXT_MAX], struct slice told);

/* Writes the token as --token-file says, when it does: STATUS_DONE or an exit code. */
int take_token_file(const struct options *o, int64_t token) __attribute__((warn_unused_result));

/* "command@host", made fit for a connection's name. */
#define TAKE_LABEL_MAX (LABEL_BYTES_MAX + 1)
void take_label(char label[TAKE_LABEL_MAX], const char *command);

#endif
