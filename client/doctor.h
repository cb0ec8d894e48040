/*
 * doctor: what the parts of `holdfast doctor` share: the findings, and what the daemon has told.
 */
#ifndef CLIENT_DOCTOR_H
#define CLIENT_DOCTOR_H

#include "client/output.h"
#include "client/probe.h"
#include "client/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define DOCTOR_TEXT_MAX 640 /* bytes of a text of a finding, NUL included */

/* How bad it is; the worst one of all findings is the exit status. */
enum grade { GRADE_OK, GRADE_WARNING, GRADE_ERROR };

struct options;

struct doctor {
	const struct options *o;
	struct slice info; /* INFO of the daemon; n == 0: it was not reached */
	enum grade worst;
	bool seen;          /* something was wrong with the part that is looked at */
	bool masters;       /* something was wrong with a master */
	struct probe probe; /* a lock that was tried, before INFO was asked for */
	char version[32];   /* of the daemon */
	char daemon[40];    /* its id */
	json_t *json;       /* NULL: lines, or out of memory */
};

/* Tells a finding: of which part, what there is, why it matters, and the command that mends it. Of GRADE_OK
 * only what is told. */
void tell(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend);

/* Prints into out, cut to its room, and returns it. */
const char *text_print(char out[DOCTOR_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A number of INFO; absent if there is none. */
int64_t info_number(const struct doctor *d, const char *key, int64_t absent);

/* Whether the text has these words. */
bool says(struct slice text, const char *words);

/* What mends the error that a LOCK was answered with; the text may be in out. */
const char *lock_mend(const struct doctor *d, struct slice error, char out[DOCTOR_TEXT_MAX]);

/* What mends a -LIMIT of the daemon. */
const char *limit_mend(struct slice error);

/* Looks at each master that INFO names. */
void look_at_masters(struct doctor *d);

#endif
