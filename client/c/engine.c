/*
 * engine: the connection of a handle, and the thread that serves it; see library.h.
 *
 *     NONE ──a lock is wanted──▶ OPENING ──connected──▶ UP ──away for too long, nothing held──▶ NONE
 *       ▲                           │
 *       └──────── no daemon ────────┘
 *
 * UP: client/wire/session.h says whether the connection is there, and comes back to the session. A new
 * session is bound to this process on a Unix socket (BIND), and has a grace. So a restart or a crash of the
 * daemon ends nothing, and the end of the process ends all.
 */
#include "client/c/engine.h"

#include "client/c/handle.h"
#include "client/c/library.h"
#include "client/c/lock.h"
#include "client/c/part.h"
#include "client/c/seen.h"
#include "daemon/base/clock.h"
#include "proto/reply.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER_MS   10000 /* a daemon that has not answered for so long is gone; no request of ours waits */
#define SILENCE_MS  5000  /* then PING is sent */
#define FINAL_MS    1000  /* between attempts that a person has to make succeed */
#define BLIND_MS    50    /* between two turns if no timer can be made */
#define STACK_BYTES 524288

/* ---- requests ---- */

/* An answer is due. */
static void
engine_expect(struct holdfast *hf, struct part *part, enum asked what, int64_t now_ms)
{
	struct request *request = malloc(sizeof(*request));

	if (request == NULL) {
		hf->wire.out.failed = true; /* the connection is cut, and all of it sent again */
		return;
	}
	*request = (struct request){.what = what, .part = part, .sent_ms = now_ms};
	STAILQ_INSERT_TAIL(&hf->requests, request, next);
}

void
engine_ask(struct holdfast *hf, struct part *part, enum asked what, size_t n, const char *const *words,
	int64_t now_ms)
{
	engine_expect(hf, part, what, now_ms);
	wire_ask_words(&hf->wire, n, words);
}

/* The answers that are missing will not come. */
static void
engine_forget(struct holdfast *hf)
{
	struct request *request;

	while ((request = STAILQ_FIRST(&hf->requests)) != NULL) {
		STAILQ_REMOVE_HEAD(&hf->requests, next);
		if (request->part != NULL &&
			(request->what == ASKED_EXTEND || request->what == ASKED_DOWNGRADE)) {
			struct holdfast_lock *lock = request->part->lock;

			lock->extending--;
			(void)error_set(&lock->extended, HOLDFAST_UNREACHABLE, "",
				"cannot %s the lock %.200s: the connection was lost",
				request->what == ASKED_EXTEND ? "extend" : "share", request->part->name);
			(void)pthread_cond_broadcast(&lock->changed);
		}
		free(request);
	}
}

/* ---- the connection ---- */

/* What an error adds if there is no daemon: where else it was looked for, or what to do. room has n bytes,
 * and may be the result. */
static const char *
engine_hint(const struct holdfast *hf, const char *why, char *room, size_t n)
{
	if (strncmp(why, "cannot reach the daemon", strlen("cannot reach the daemon")) != 0) {
		return "";
	}
	if (hf->chooses && !hf->came && hf->address.passed != NULL) {
		(void)snprintf(room, n, "; %s/holdfast/holdfast.sock is not taken: %s", hf->runtime,
			hf->address.passed);
		return room;
	}
	if (hf->chooses && !hf->came && hf->runtime[0] != '\0' &&
		strncmp(hf->address.path, hf->runtime, strlen(hf->runtime)) != 0) {
		(void)snprintf(
			room, n, "; there is no socket at %s/holdfast/holdfast.sock either", hf->runtime);
		return room;
	}
	/* The first attempt of wire_open() says so itself. */
	return strstr(why, "holdfastd") != NULL
		       ? ""
		       : ": is holdfastd running? If it is elsewhere, set HOLDFAST_URL";
}

/* An attempt has failed. refused: why the daemon has refused HELLO; CODE_COUNT: there is no daemon. */
static void
engine_trouble(struct holdfast *hf, enum code refused)
{
	const char *why = hf->wire.why[0] != '\0' ? hf->wire.why : "the daemon does not answer";
	const char *code = refused == CODE_COUNT ? "" : code_word(refused);
	bool named = strstr(why, hf->address.text) != NULL;
	char room[sizeof(hf->runtime) + 128];
	const char *hint = refused == CODE_COUNT ? engine_hint(hf, why, room, sizeof(room)) : "";

	hf->final = hf->wire.denied || hf->wire.foreign ||
		    (refused != CODE_COUNT && refused != CODE_DRAINING && refused != CODE_LIMIT);
	(void)error_set(&hf->trouble, refused == CODE_COUNT ? HOLDFAST_UNREACHABLE : HOLDFAST_REFUSED, code,
		"%s%s%s%s%s", why, named ? "" : " (", named ? "" : hf->address.text, named ? "" : ")", hint);
}

static void
engine_cut(struct holdfast *hf, int64_t now_ms)
{
	struct holdfast_lock *lock;

	(void)error_set(&hf->trouble, HOLDFAST_OK, "", "%s", "");
	if (hf->ready) {
		seen_tell(hf, NULL, HOLDFAST_CUT, 0,
			hf->wire.why[0] != '\0' ? hf->wire.why : "the daemon closed the connection");
	}
	hf->ready = false;
	hf->away_ms = now_ms;
	session_cut(&hf->session, now_ms);
	engine_forget(hf);
	TAILQ_FOREACH (lock, &hf->locks, next) {
		for (size_t i = 0; i < lock->count; i++) {
			part_cut(&lock->parts[i], now_ms);
		}
	}
}

static bool
engine_holds(const struct holdfast *hf)
{
	const struct holdfast_lock *lock;

	TAILQ_FOREACH (lock, &hf->locks, next) {
		for (size_t i = 0; i < lock->count; i++) {
			if (lock->parts[i].state == PART_HELD) {
				return true;
			}
		}
	}
	return false;
}

static bool
engine_is_needed(const struct holdfast *hf)
{
	const struct holdfast_lock *lock;

	TAILQ_FOREACH (lock, &hf->locks, next) {
		if (!lock_is_done(lock)) {
			return true;
		}
	}
	return false;
}

/* The connection is not there, and need not come back: the next one may go to another address of the host. */
static void
engine_leave(struct holdfast *hf, int64_t now_ms)
{
	wire_close(&hf->wire);
	hf->link = LINK_NONE;
	hf->secret[0] = '\0';
	hf->pause_ms = session_pause_after(hf->pause_ms);
	hf->retry_ms = now_ms + (hf->final ? FINAL_MS : hf->pause_ms);
}

/* Connects, if that is due. The mutex is unlocked meanwhile. */
static void
engine_open(struct holdfast *hf)
{
	char why[ADDRESS_TEXT_MAX];
	bool opened;

	if (hf->link != LINK_NONE || clock_ms() < hf->retry_ms || !engine_is_needed(hf)) {
		return;
	}
	/* The paths have been parsed before: only which of them has a socket may be new. */
	if (hf->chooses && !hf->came) {
		(void)!handle_choose(hf, why);
	}
	hf->link = LINK_OPENING;
	(void)pthread_mutex_unlock(&hf->mutex);
	opened = wire_open(&hf->wire, &hf->address);
	(void)pthread_mutex_lock(&hf->mutex);
	hf->link = LINK_UP;
	session_start(&hf->session, &hf->wire, &hf->address, hf->label, hf->secret, false);
	hf->session.alone = !hf->wire.local;
	if (opened) {
		session_open(&hf->session, clock_ms());
	} else {
		engine_trouble(hf, CODE_COUNT);
		engine_leave(hf, clock_ms());
	}
}

/* The daemon has answered HELLO. Now the connection speaks for the session: for that of the secret, or else,
 * as the answer to GRACE may have been lost, for that of this process, or a new one. */
static void
engine_hello(struct holdfast *hf, int64_t now_ms)
{
	struct holdfast_lock *lock;
	bool unknown = hf->secret[0] == '\0';
	char ms[NUMBER_TEXT_MAX];
	int pidfd;

	seen_tell(hf, NULL, unknown ? HOLDFAST_CONNECTED : HOLDFAST_RESUMED, 0, hf->address.text);
	hf->came = true;
	hf->away_ms = 0;
	hf->pause_ms = 0;
	hf->final = false;
	hf->heard_ms = now_ms;
	(void)error_set(&hf->trouble, HOLDFAST_OK, "", "%s", "");
	pidfd = unknown && hf->wire.local ? (int)syscall(SYS_pidfd_open, hf->pid, 0) : -1;
	if (pidfd >= 0) {
		/* The buffers of a new connection are empty: it does not block. */
		engine_expect(hf, NULL, ASKED_BIND, now_ms);
		(void)wire_bind(&hf->wire, pidfd);
		(void)close(pidfd);
	}
	if (unknown) {
		engine_ask(hf, NULL, ASKED_GRACE, 3,
			(const char *const[]){"SESSION", "GRACE", number_text(ms, GRACE_MS)}, now_ms);
	}
	engine_ask(hf, NULL, ASKED_PUSH, 3, (const char *const[]){"SESSION", "ONLOSS", "PUSH"}, now_ms);
	hf->ready = true;
	hf->unannounced = false;
	TAILQ_FOREACH (lock, &hf->locks, next) {
		for (size_t i = 0; i < lock->count; i++) {
			if (lock->parts[i].state == PART_HELD && lock->parts[i].sure) {
				deadline_back(&lock->parts[i].deadline, now_ms);
			}
		}
	}
}

/* UP, and the connection is not there: an event came, or the time for an attempt. */
static void
engine_return(struct holdfast *hf, bool event, int64_t now_ms)
{
	bool attempts = hf->session.state != SESSION_AWAY || now_ms >= session_next(&hf->session);

	if (hf->session.state == SESSION_AWAY && !engine_is_needed(hf)) {
		engine_leave(hf, now_ms);
		return;
	}
	switch (session_turn(&hf->session, event, now_ms)) {
	case SESSION_BACK:
		engine_hello(hf, now_ms);
		return;
	case SESSION_UNKNOWN:
		hf->secret[0] = '\0';
		session_cut(&hf->session, now_ms);
		return;
	case SESSION_NOTHING:
		break;
	}
	if (attempts && hf->session.state == SESSION_AWAY) {
		engine_trouble(hf, hf->session.refused);
		if (!engine_holds(hf) &&
			(hf->secret[0] == '\0' || now_ms > hf->away_ms + GRACE_MS || hf->final)) {
			engine_leave(hf, now_ms);
		}
	}
}

/* ---- answers ---- */

static void
engine_answer(struct holdfast *hf, const struct answer *answer, int64_t now_ms)
{
	struct request *request = STAILQ_FIRST(&hf->requests);

	if (request == NULL) {
		hf->wire.ended = true; /* the daemon closes the connection, and says why */
		return;
	}
	STAILQ_REMOVE_HEAD(&hf->requests, next);
	if (request->part != NULL) {
		part_answer(request->part, request->what, request->sent_ms, answer, now_ms);
	} else if (request->what == ASKED_GRACE && !session_secret(hf->secret, answer)) {
		/* No such grace is allowed: the bound process alone keeps the session. */
		hf->secret[0] = '\0';
	}
	free(request);
}

static void
engine_read(struct holdfast *hf, int64_t now_ms)
{
	const struct answer *answer;
	bool more = wire_fill(&hf->wire);

	hf->heard_ms = now_ms;
	while (!(hf->wire.ended && more) && (answer = wire_next(&hf->wire)) != NULL) {
		if (answer->type == ANSWER_PUSH) {
			part_push(hf, answer, now_ms);
		} else {
			engine_answer(hf, answer, now_ms);
		}
	}
	if (hf->wire.ended) {
		engine_cut(hf, now_ms);
	}
}

/* ---- turns ---- */

/* Whether silence is worth a PING. Over TCP it keeps the connection alive between two locks, too. */
static bool
engine_pings(const struct holdfast *hf)
{
	return !hf->wire.local || engine_is_needed(hf);
}

/* A daemon that is silent, or that owes an answer for too long. */
static void
engine_listen(struct holdfast *hf, int64_t now_ms)
{
	const struct request *oldest = STAILQ_FIRST(&hf->requests);

	if (oldest != NULL && now_ms >= oldest->sent_ms + ANSWER_MS && now_ms >= hf->heard_ms + ANSWER_MS) {
		(void)snprintf(hf->wire.why, sizeof(hf->wire.why), "the daemon does not answer");
		engine_cut(hf, now_ms);
	} else if (oldest == NULL && now_ms >= hf->heard_ms + SILENCE_MS && engine_pings(hf)) {
		engine_ask(hf, NULL, ASKED_PING, 1, (const char *const[]){"PING"}, now_ms);
	}
}

static int64_t
engine_next(const struct holdfast *hf, int64_t now_ms)
{
	const struct holdfast_lock *lock;
	const struct request *oldest = STAILQ_FIRST(&hf->requests);
	bool needed = engine_is_needed(hf);
	int64_t next_ms = INT64_MAX;

	if (hf->close_ms > 0) {
		next_ms = hf->close_ms;
	}
	if (hf->link == LINK_NONE && needed && hf->retry_ms < next_ms) {
		next_ms = hf->retry_ms;
	}
	if (hf->link == LINK_UP && session_next(&hf->session) < next_ms) {
		next_ms = session_next(&hf->session);
	}
	if (hf->ready && (oldest != NULL || engine_pings(hf))) {
		int64_t limit_ms =
			oldest != NULL ? (oldest->sent_ms > hf->heard_ms ? oldest->sent_ms : hf->heard_ms) +
						 ANSWER_MS
				       : hf->heard_ms + SILENCE_MS;

		next_ms = limit_ms < next_ms ? limit_ms : next_ms;
	}
	TAILQ_FOREACH (lock, &hf->locks, next) {
		for (size_t i = 0; i < lock->count; i++) {
			int64_t due_ms = part_next(&lock->parts[i], now_ms);

			next_ms = due_ms < next_ms ? due_ms : next_ms;
		}
	}
	return next_ms;
}

void
engine_step(struct holdfast *hf, int64_t now_ms)
{
	struct holdfast_lock *lock, *next;

	/* A new attempt comes before the end of a wait. */
	bool attempts = hf->link == LINK_OPENING || (hf->link == LINK_NONE && now_ms >= hf->retry_ms);

	TAILQ_FOREACH_SAFE (lock, &hf->locks, next, next) {
		for (size_t i = 0; i < lock->count && !attempts; i++) {
			part_step(&lock->parts[i], now_ms);
		}
		if (lock->dropped && lock_is_done(lock)) {
			lock_free(lock);
		}
	}
	if (hf->ready) {
		engine_listen(hf, now_ms);
	}
	if (hf->ready && !wire_send(&hf->wire)) {
		engine_cut(hf, now_ms);
	}
	if (hf->wakes_ms > 0 &&
		(engine_next(hf, now_ms) < hf->wakes_ms || (hf->ready && buffer_length(&hf->wire.out) > 0))) {
		hf->wakes_ms = 0;
		handle_wake(hf);
	}
}

/* Sets it. If the program has closed it, there is a new one, or, without a number for it, none. */
static void
engine_timer(int *timer, int64_t at_ms)
{
	if (*timer >= 0 && wakeup_set(*timer, at_ms)) {
		return;
	}
	*timer = wakeup_open();
	if (*timer >= 0) {
		(void)wakeup_set(*timer, at_ms);
	}
}

/* Waits for the daemon, for a caller, or until something is due. The mutex is unlocked meanwhile. */
static void
engine_wait(struct holdfast *hf)
{
	struct pollfd p[3] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
	bool idle;

	if (hf->link == LINK_UP) {
		session_watch(&hf->session, &p[0]);
		if (hf->ready && buffer_length(&hf->wire.out) > 0) {
			p[0].events = POLLIN | POLLOUT;
		}
	}
	hf->wakes_ms = engine_next(hf, clock_ms());
	idle = TAILQ_EMPTY(&hf->locks);
	engine_timer(&hf->timer, hf->wakes_ms);
	p[1].fd = hf->wake;
	p[2].fd = hf->timer;
	(void)pthread_mutex_unlock(&hf->mutex);
	/* If the program closes the descriptors meanwhile, this thread stays in poll(2), and nothing can wake
	 * it. */
	(void)poll(p, 3, p[1].fd < 0 || p[2].fd < 0 ? BLIND_MS : idle ? SILENCE_MS : LOOK_MS);
	(void)pthread_mutex_lock(&hf->mutex);
	hf->wakes_ms = 0;
	if (p[1].revents != 0 || p[1].fd < 0) {
		engine_timer(&hf->wake, INT64_MAX);
	}
	/* A caller may have cut the connection meanwhile. */
	if (hf->link != LINK_UP) {
		return;
	}
	if (hf->session.state != SESSION_THERE) {
		engine_return(hf, p[0].fd == hf->wire.fd && p[0].fd >= 0 && p[0].revents != 0, clock_ms());
	} else if (p[0].revents != 0) {
		engine_read(hf, clock_ms());
	}
}

static bool
engine_is_over(const struct holdfast *hf)
{
	return hf->close_ms > 0 && (TAILQ_EMPTY(&hf->locks) || clock_ms() >= hf->close_ms);
}

static void *
engine_run(void *handle)
{
	struct holdfast *hf = handle;

	(void)pthread_mutex_lock(&hf->mutex);
	while (true) {
		engine_open(hf);
		engine_step(hf, clock_ms());
		if (engine_is_over(hf)) {
			break;
		}
		if (!seen_deliver(hf)) {
			engine_wait(hf);
		}
	}
	/* The session ends with the process, or with this connection. */
	if (hf->ready) {
		engine_ask(hf, NULL, ASKED_PING, 1, (const char *const[]){"QUIT"}, clock_ms());
		(void)wire_send(&hf->wire);
	}
	(void)pthread_mutex_unlock(&hf->mutex);
	return NULL;
}

/* All signals are blocked in it, so that the program's own threads handle them. */
bool
engine_start(struct holdfast *hf)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	if (hf->running) {
		return true;
	}
	(void)sigfillset(&all);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	hf->running = pthread_create(&hf->thread, &attributes, engine_run, hf) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return hf->running;
}
