/*
 * doctor: what the parts of `holdfast doctor` share: the findings, and what the daemon has told.
 */
#ifndef CLIENT_DOCTOR_H
#define CLIENT_DOCTOR_H

#include "client/output.h"
#include "client/probe.h"
#include "client/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define DOCTOR_TEXT_MAX 1024 /* bytes of a text of a finding, NUL included */
#define NEARLY(n)       ((n) / 10 * 9)

/* How bad it is; the worst one of all findings is the exit status. */
enum grade { GRADE_OK, GRADE_WARNING, GRADE_ERROR };

struct options;

struct doctor {
	const struct options *o;
	struct slice info; /* INFO of the daemon; n == 0: it was not reached, or something else was asked */
	enum grade worst;
	bool seen;             /* something was wrong with the part that is checked */
	bool masters;          /* something was wrong with a master */
	bool excluded;         /* masters refuse the daemon, whose settings are others than the fleet's */
	struct probe probe;    /* a lock that was tried, before INFO was asked for */
	char version[32];      /* of the daemon */
	char daemon[40];       /* its id */
	int64_t wait_ms;       /* how long the oldest wait has lasted at this daemon */
	int64_t locks_max;     /* which a session may hold; INT64_MAX: not known */
	const char *locks_key; /* of the configuration, which says so */
	int64_t user_locks;    /* which a user may hold over all its sessions; INT64_MAX: not known */
	json_t *json;          /* NULL: lines, or out of memory */
};

/* Tells a finding: of which part, what there is, why it matters, and what mends it. Of GRADE_OK only `what`
 * is printed. */
void tell(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend);
/* The same with a command for a shell, complete as it is; "": there is none. */
void tell_run(struct doctor *d, enum grade grade, const char *part, const char *what, const char *why,
	const char *mend, const char *run);

/* Prints into out, cut to its room, and returns it. */
const char *text_print(char out[DOCTOR_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a command: "" if there is no room for all of it, since half a command is another one. */
const char *run_print(char out[DOCTOR_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A text as a word of a shell: in quotes if it needs them. Returns out; "": it has no room, or a control
 * character. */
const char *shell_word(char out[DOCTOR_TEXT_MAX], struct slice text);

/* A number of INFO; absent if there is none. */
int64_t info_number(const struct doctor *d, const char *key, int64_t absent);

/* Whether the text has these words. */
bool says(struct slice text, const char *words);

/* Has the daemon read its configuration again. */
#define RELOAD_RUN "systemctl reload holdfastd"

/* More descriptors for the daemon, at once. */
#define DESCRIPTORS_RUN "prlimit --pid $(systemctl show -p MainPID --value holdfastd) --nofile="

#endif
