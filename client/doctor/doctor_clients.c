/*
 * doctor_clients: what is wrong with a client of this host's daemon: it waits for long, it keeps the daemon
 * busy, or it has nearly all locks that it may have; see doctor.h. doctor.c calls it.
 */
#include "client/doctor/doctor_clients.h"

#include "client/doctor/doctor.h"
#include "client/fleet.h"
#include "client/list.h"
#include "client/message.h"
#include "client/options.h"
#include "client/process.h"
#include "daemon/base/clock.h"
#include "proto/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUSY_US 500000 /* of the processor's time in a second, for one session */
#define FAST                                                                                                 \
	100000 /* requests of one session in a second: the host may not give the daemon half a processor */
#define ASK_MS        5000 /* for all pages of a list */
#define NAME_TEXT_MAX (NAME_BYTES_MAX + 1)

static void
list_begin(struct pages *pages, struct wire *w, const char *verb)
{
	pages_begin(pages, w, 1, (const char *const[]){verb});
	pages->rows = true;
	pages->until_ms = clock_ms() + ASK_MS;
}

/* ---- a wait ---- */

struct wait {
	char name[NAME_TEXT_MAX]; /* of the lock; "": none is waited for */
	int64_t ms;
	int64_t waiters;
};

/* The lock of which the first waiter has waited longest. */
static void
wait_find(struct wait *wait, struct wire *w)
{
	struct pages pages;
	const struct answer *lock;

	*wait = (struct wait){.ms = 0};
	list_begin(&pages, w, "LOCKS");
	while (pages_next(&pages) != NULL) {
		while ((lock = pages_element(&pages)) != NULL) {
			struct slice name = answer_get_text(lock, "name");
			int64_t ms = answer_get_int(lock, "longest_wait_ms", 0);

			if (ms > wait->ms && name.n < sizeof(wait->name)) {
				slice_text(wait->name, sizeof(wait->name), name);
				wait->ms = ms;
				wait->waiters = answer_get_int(lock, "waiters", 0);
			}
		}
	}
}

/* The token of the oldest hold of an exclusive or shared lock, or of permits, that its holder still has; 0:
 * nobody has it. */
static int64_t
token_of(const struct answer *fleet)
{
	const struct answer *hosts = answer_get(fleet, "hosts");

	for (size_t i = 0; hosts != NULL && i < hosts->count; i++) {
		const struct answer *holder = answer_get(&hosts->items[i], "holder");

		if (holder != NULL && holder->type == ANSWER_MAP &&
			answer_get_int(holder, "withheld", 0) == 0) {
			return answer_get_int(holder, "token", 0);
		}
	}
	return 0;
}

static void
tell_wait(struct doctor *d, const struct wait *wait, const struct answer *fleet, bool local)
{
	char what[DOCTOR_TEXT_MAX], mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX] = "", word[DOCTOR_TEXT_MAX];
	char waited[DURATION_TEXT_MAX], holder[DOCTOR_TEXT_MAX] = "who has it is not known";
	int64_t token = fleet != NULL ? token_of(fleet) : 0;
	const char *dashes = wait->name[0] == '-' ? "-- " : "";

	if (fleet != NULL) {
		(void)fleet_describe(holder, sizeof(holder), fleet, local);
	}
	text_print(what, "%" PRId64 " client%s of this host wait%s for %s, for %s by now: %s", wait->waiters,
		wait->waiters == 1 ? "" : "s", wait->waiters == 1 ? "s" : "", wait->name,
		duration_text(waited, wait->ms), holder);
	(void)shell_word(word, slice_of(wait->name));
	text_print(mend,
		"ask its holder, or end it: then the lock passes on at once; holdfast show %s%s has all of "
		"it; "
		"where the holder cannot be ended, an administrator takes the lock away",
		dashes, word);
	if (token > 0 && word[0] != '\0') {
		(void)run_print(run, "holdfast break --token %" PRId64 " %s%s", token, dashes, word);
	}
	tell_run(d, GRADE_WARNING, "wait", what, "a holder that hangs keeps all others waiting",
		token > 0 ? mend
			  : "see who has it, on which host: holdfast show; what is withheld passes on by "
			    "itself",
		run);
}

static void
check_wait(struct doctor *d, struct wire *w)
{
	struct wait wait;

	if (d->wait_ms < d->o->long_wait_ms) {
		return;
	}
	wait_find(&wait, w);
	if (wait.ms > 0 && wait.ms >= d->o->long_wait_ms) {
		tell_wait(d, &wait, fleet_inspect(w, wait.name, clock_ms() + ASK_MS), w->local);
	}
}

/* ---- sessions ---- */

struct loud {
	int64_t session; /* 0: none */
	int64_t amount;
	int64_t rate;
	int64_t pid;
	char who[2 * PEER_TEXT_MAX];
};

static void
loud_take(struct loud *loud, const struct answer *session, const char *key, bool local)
{
	int64_t amount = answer_get_int(session, key, 0);
	char name[PEER_TEXT_MAX], origin[PEER_TEXT_MAX];

	if (amount <= loud->amount) {
		return;
	}
	loud->session = answer_get_int(session, "session", 0);
	loud->amount = amount;
	loud->rate = answer_get_int(session, "requests_s", 0);
	loud->pid = answer_get_int(session, "pid", 0);
	(void)snprintf(loud->who, sizeof(loud->who), "session %" PRId64 " of %s (%s)", loud->session,
		peer_name(name, session, local), peer_origin(origin, session, ""));
}

static void
tell_loud(struct doctor *d, const struct loud *loud, const char *part, const char *what, const char *why)
{
	char mend[DOCTOR_TEXT_MAX], run[DOCTOR_TEXT_MAX], process[64] = "its program";

	if (loud->pid > 0) {
		(void)snprintf(process, sizeof(process), "the process %" PRId64, loud->pid);
	}
	text_print(mend,
		"end %s, or its session with this: its locks pass on when it can rely on them no longer; "
		"a program that connects again begins anew",
		process);
	tell_run(d, GRADE_WARNING, part, what, why, mend,
		run_print(run, "holdfast kill %" PRId64, loud->session));
}

/* ---- users ---- */

#define USERS_MAX  64 /* that are counted: one that leaks has been there for long */
#define USER_BYTES 129

/* What the sessions of a user hold together. */
struct user {
	char name[USER_BYTES];
	int64_t sessions, holds;
	struct loud first; /* of its sessions the one that holds most */
};

struct users {
	struct user list[USERS_MAX];
	size_t n;
};

static void
users_take(struct users *users, const struct answer *session, bool local)
{
	char name[USER_BYTES];
	struct slice user = answer_get_text(session, "user");
	int64_t uid = answer_get_int(session, "uid", -1);
	size_t i = 0;

	if (user.n > 0) {
		(void)snprintf(name, sizeof(name), "%.*s", SLICE_ARG(user));
	} else if (uid >= 0) {
		(void)snprintf(name, sizeof(name), "uid %" PRId64, uid);
	} else {
		(void)snprintf(name, sizeof(name), "of all TCP clients without a login");
	}
	while (i < users->n && strcmp(users->list[i].name, name) != 0) {
		i++;
	}
	if (i == USERS_MAX) {
		return;
	}
	struct user *one = &users->list[i];

	if (i == users->n) {
		*one = (struct user){.sessions = 0};
		memcpy(one->name, name, sizeof(name));
		users->n++;
	}
	one->sessions++;
	one->holds += answer_get_int(session, "grants", 0);
	loud_take(&one->first, session, "grants", local);
}

/* A user that holds nearly all that it may, spread over many sessions, of which none stands out. */
static void
tell_users(struct doctor *d, const struct users *users)
{
	char what[DOCTOR_TEXT_MAX];

	for (size_t i = 0; i < users->n; i++) {
		const struct user *user = &users->list[i];

		if (user->holds < NEARLY(d->user_locks) || user->first.amount >= NEARLY(d->locks_max)) {
			continue;
		}
		text_print(what,
			"the user %s holds %" PRId64 " of the %" PRId64
			" locks that limits.locks-per-user allows, over %" PRId64
			" sessions: most in %s, %" PRId64,
			user->name, user->holds, d->user_locks, user->sessions, user->first.who,
			user->first.amount);
		tell_run(d, GRADE_WARNING, "load", what,
			"past the limit each further LOCK of this user is refused with LIMIT",
			"find the program that does not give back: its clients, the one with most locks "
			"first, are listed by this; end its process, or with holdfast kill SESSION one "
			"session after the other",
			"holdfast ls --here --by client");
	}
}

static void
check_sessions(struct doctor *d, struct wire *w)
{
	struct loud busy = {.amount = BUSY_US - 1}, fast = {.amount = FAST - 1},
		    full = {.amount = NEARLY(d->locks_max)};
	struct users users = {.n = 0};
	struct pages pages;
	const struct answer *session;
	char what[DOCTOR_TEXT_MAX];

	list_begin(&pages, w, "SESSIONS");
	while (pages_next(&pages) != NULL) {
		while ((session = pages_element(&pages)) != NULL) {
			loud_take(&busy, session, "busy_us_s", w->local);
			loud_take(&fast, session, "requests_s", w->local);
			loud_take(&full, session, "grants", w->local);
			users_take(&users, session, w->local);
		}
	}
	tell_users(d, &users);
	if (busy.session > 0) {
		text_print(what,
			"%s sends %" PRId64 " requests a second, and keeps the daemon busy for %" PRId64
			" %% of the time",
			busy.who, busy.rate, busy.amount / 10000);
		tell_loud(d, &busy, "load", what, "the daemon serves all other clients late");
	} else if (fast.session > 0) {
		text_print(what, "%s sends %" PRId64 " requests a second", fast.who, fast.rate);
		tell_loud(d, &fast, "load", what,
			"no program needs so many, and where the daemon gets little of a processor, others "
			"are "
			"served late");
	}
	if (full.session > 0) {
		text_print(what, "%s holds %" PRId64 " of the %" PRId64 " locks that %s allows", full.who,
			full.amount, d->locks_max, d->locks_key);
		tell_loud(d, &full, "load", what,
			"past the limit each further LOCK is refused with LIMIT; a program that needs so "
			"many wants a higher one");
	}
}

void
doctor_check_clients(struct doctor *d, struct wire *w)
{
	d->seen = false;
	check_wait(d, w);
	check_sessions(d, w);
	if (!d->seen) {
		tell(d, GRADE_OK, "clients", "none waits for long, and none keeps the daemon busy", "", "");
	}
}
