/*
 * bench: the closed loop of `holdfast bench`, and its report.
 *
 *     LOCK name [SHARED] WAIT 30000    its answer is the grant; read all else that has arrived
 *     UNLOCK name                      its answer is the end of the hold; then the next LOCK
 *
 * A hold lasts until all other grants that have arrived were read, so that the checker sees two holders at
 * once. When the time is over no further LOCK is sent, and the current ones are completed.
 *
 * A client whose connection ends comes back (client/wire/session.h) and repeats its request. A claim on a
 * lock ends when UNLOCK is sent for the first time, so what happens meanwhile cannot break a promise by
 * mistake. With --durable the session is the same afterwards: if the repeated UNLOCK still finds the hold, no
 * other client may have been granted the name before.
 */
#include "client/bench/bench.h"

#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/wire/session.h"
#include "client/wire/wire.h"
#include "daemon/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define NAME_BYTES 96
#define WAIT_TEXT  "30000"
#define SILENCE_MS 35000 /* longer than WAIT: a daemon that has not answered is stuck */

enum phase { IDLE, LOCKING, HOLDING, UNLOCKING };

struct client {
	struct wire wire;
	struct session session;
	char secret[SECRET_BYTES_MAX + 1]; /* "": the session ends with its connection */
	bool away;                         /* the connection ended, and is not back */
	bool again;                        /* its request was sent on an earlier connection, too */
	bool stray;                        /* a grant was not answered: it is given back before LOCK */
	int64_t token;                     /* of the hold */
	int64_t seen;                      /* UNLOCK again: greatest token of an exclusive grant before */
	size_t number;
	enum phase phase;
	size_t name; /* index of its checker */
	bool shared;
	int64_t began_us;
	uint64_t grants;
};

struct load {
	const struct load_plan *plan;
	struct load_result *result;
	struct client *clients;
	struct checker *checkers; /* of the shared names, then of each client's own name */
	const struct address *a;
	struct client **turn; /* the clients that send next */
	size_t turns;
	size_t busy; /* clients that wait for an answer */
	size_t away; /* clients whose connection is not back */
	bool over;
	uint64_t draw;
	int poll;
	int status;
	int64_t heard_ms; /* the latest answer */
	int64_t began_ms; /* makes the names different from those of other runs */
};

const char *
load_word(enum load_kind kind)
{
	static const char *const words[] = {"uncontended", "contended", "mixed"};

	assert(kind < LOAD_COUNT);
	return words[kind];
}

static void
name_print(const struct load *load, size_t name, char text[NAME_BYTES])
{
	bool own = name >= load->plan->names;

	(void)snprintf(text, NAME_BYTES, "holdfast-bench/%" PRId64 "-%ld/%s%zu", load->began_ms,
		(long)getpid(), own ? "own/" : "", own ? name - load->plan->names : name);
}

/* Prints the name that broke a promise, or could not be locked, and ends the load. */
static void
load_fail(struct load *load, const struct client *p, const struct answer *answer, const char *broken)
{
	char name[NAME_BYTES];
	char what[NAME_BYTES + 32];

	name_print(load, p->name, name);
	(void)snprintf(what, sizeof(what), "cannot %s %s", p->phase == UNLOCKING ? "unlock" : "lock", name);
	if (broken != NULL) {
		message("a promise was broken: %s was %s", name, broken);
		load->status = STATUS_INTERNAL;
	} else if (answer != NULL && answer->type == ANSWER_NULL) {
		message("%s: it was not granted in %s ms: fewer clients, or more names?", what, WAIT_TEXT);
		load->status = STATUS_BUSY;
	} else {
		load->status = take_refusal(&p->wire, answer, what);
	}
}

/* xorshift: the same choices in every run. */
static size_t
load_draw(struct load *load, size_t below)
{
	load->draw ^= load->draw << 13;
	load->draw ^= load->draw >> 7;
	load->draw ^= load->draw << 17;
	return (size_t)(load->draw >> 33) % below;
}

static void
client_choose(struct load *load, struct client *p)
{
	size_t own = load->plan->names + p->number;

	p->shared = false;
	switch (load->plan->kind) {
	case LOAD_CONTENDED:
		p->name = p->number % load->plan->names;
		return;
	case LOAD_MIXED:
		p->name = load_draw(load, 2) == 0 ? own : load_draw(load, load->plan->names);
		p->shared = p->name != own && load_draw(load, 2) == 0;
		return;
	case LOAD_UNCONTENDED:
	case LOAD_COUNT:
		break;
	}
	p->name = own;
}

/* The connection has ended: the client comes back. */
static void
client_cut(struct load *load, struct client *p)
{
	if (!p->away) {
		load->result->interruptions++;
		p->away = true;
		p->again = true;
		if (load->away++ == 0 && !load->plan->quiet) {
			message("%s; coming back", p->wire.why);
		}
	}
	(void)epoll_ctl(load->poll, EPOLL_CTL_DEL, p->wire.fd, NULL);
	session_cut(&p->session, clock_ms());
}

/* Sends the request of its phase, for the first time or again. */
static void
client_ask(struct load *load, struct client *p)
{
	char name[NAME_BYTES];

	name_print(load, p->name, name);
	if (load->plan->durable && p->secret[0] == '\0') {
		session_ask_grace(&p->wire);
	}
	if (p->phase == UNLOCKING || p->stray) {
		p->seen = load->checkers[p->name].exclusive_token;
		wire_ask(&p->wire, "UNLOCK", name);
	} else if (p->shared) {
		wire_ask(&p->wire, "LOCK", name, "SHARED", "WAIT", WAIT_TEXT);
	} else {
		wire_ask(&p->wire, "LOCK", name, "WAIT", WAIT_TEXT);
	}
	if (!wire_flush(&p->wire)) {
		client_cut(load, p);
	}
}

static void
client_send(struct load *load, struct client *p)
{
	if (p->phase == IDLE) {
		client_choose(load, p);
		p->began_us = clock_us();
		p->phase = LOCKING;
		load->busy++;
	} else {
		checker_release(&load->checkers[p->name], p->shared);
		p->phase = UNLOCKING;
	}
	p->again = false;
	client_ask(load, p);
}

static void
client_granted(struct load *load, struct client *p, int64_t token)
{
	const char *broken = checker_grant(&load->checkers[p->name], p, p->shared, token);

	if (broken != NULL) {
		load_fail(load, p, NULL, broken);
		return;
	}
	histogram_add(&load->result->waits, clock_us() - p->began_us);
	p->grants++;
	p->token = token;
	p->phase = HOLDING;
	load->turn[load->turns++] = p;
}

static void
client_done(struct load *load, struct client *p)
{
	histogram_add(&load->result->rounds, clock_us() - p->began_us);
	p->phase = IDLE;
	load->busy--;
	if (!load->over) {
		load->turn[load->turns++] = p;
	}
}

/* What a request may be answered that was sent before its connection ended. False: nothing of that kind. */
static bool
client_recovered(struct load *load, struct client *p, const struct answer *answer)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);

	if (code == CODE_DRAINING) {
		(void)snprintf(p->wire.why, sizeof(p->wire.why), "the daemon is shutting down");
		client_cut(load, p);
		return true;
	}
	if (!p->again || (answer->type == ANSWER_ERROR && code != CODE_HELD && code != CODE_LOST &&
				 code != CODE_NOTHELD)) {
		return false;
	}
	if (p->stray) {
		p->stray = false;
		client_ask(load, p);
		return true;
	}
	load->result->lost += code == CODE_LOST;
	if (p->phase == LOCKING && (code == CODE_HELD || code == CODE_LOST)) {
		p->stray = code == CODE_HELD;
		client_ask(load, p);
		return true;
	}
	if (p->phase != UNLOCKING || (answer->type == ANSWER_INT && answer->n != 0)) {
		return false;
	}
	if (answer->type == ANSWER_INT && p->seen > p->token) {
		load_fail(load, p, NULL, "kept over a cut, and granted to another meanwhile");
	} else {
		client_done(load, p);
	}
	return true;
}

static void
client_answered(struct load *load, struct client *p, const struct answer *answer)
{
	load->heard_ms = clock_ms();
	if (answer->type == ANSWER_PUSH) {
		return;
	}
	if (session_secret(p->secret, answer) || client_recovered(load, p, answer)) {
		return;
	}
	if (answer->type != ANSWER_INT) {
		load_fail(load, p, answer, NULL);
	} else if (p->phase == LOCKING) {
		client_granted(load, p, answer->n);
	} else if (answer->n != 0) {
		load_fail(load, p, NULL, "not released by its only UNLOCK");
	} else {
		client_done(load, p);
	}
}

static void
client_read(struct load *load, struct client *p)
{
	const struct answer *answer;
	bool more = wire_fill(&p->wire);

	while (load->status == STATUS_DONE && !p->away && (answer = wire_next(&p->wire)) != NULL) {
		client_answered(load, p, answer);
	}
	if (!more && !p->away && load->status == STATUS_DONE) {
		client_cut(load, p);
	}
}

/* The connection is back; known: with its session. */
static void
client_back(struct load *load, struct client *p, bool known)
{
	p->away = false;
	if (--load->away == 0 && !load->plan->quiet) {
		message("the daemon is back");
	}
	if (!known && load->plan->durable) {
		load->result->lost += p->phase == UNLOCKING;
		p->secret[0] = '\0';
	}
	if (p->phase == UNLOCKING && (!known || !load->plan->durable)) {
		client_done(load, p); /* there is nothing to unlock any more */
	} else if (p->phase != IDLE) {
		client_ask(load, p);
	}
}

/* ready: there is an event. Otherwise it may be time for an attempt. */
static void
client_return(struct load *load, struct client *p, bool ready)
{
	struct pollfd before, after;
	struct epoll_event event = {.data.ptr = p};
	enum session_news news;

	session_watch(&p->session, &before);
	news = session_turn(&p->session, ready, clock_ms());
	session_watch(&p->session, &after);
	if (after.fd >= 0 && (after.fd != before.fd || after.events != before.events)) {
		event.events = after.events == POLLOUT ? EPOLLOUT : EPOLLIN;
		if (epoll_ctl(load->poll, before.fd >= 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, after.fd, &event) !=
			0) {
			message("cannot watch a connection: %s", strerror(errno));
			load->status = STATUS_INTERNAL;
		}
	} else if (after.fd < 0 && before.fd >= 0) {
		(void)epoll_ctl(load->poll, EPOLL_CTL_DEL, before.fd, NULL);
	}
	if (news != SESSION_NOTHING) {
		client_back(load, p, news == SESSION_BACK);
	}
}

static int
client_join(struct load *load, struct client *p)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
	int status = take_hello(&p->wire, load->a, "holdfast-bench");

	if (status == STATUS_DONE && epoll_ctl(load->poll, EPOLL_CTL_ADD, p->wire.fd, &event) != 0) {
		message("cannot watch a connection: %s", strerror(errno));
		status = STATUS_INTERNAL;
	}
	session_start(&p->session, &p->wire, load->a, "holdfast-bench", p->secret, false);
	return status;
}

/* Those that are away try to come back. Returns when the next one does; INT64_MAX: none is away. */
static int64_t
load_return(struct load *load)
{
	int64_t next_ms = INT64_MAX, now = clock_ms();

	for (size_t i = 0; load->away > 0 && i < load->plan->clients; i++) {
		struct client *p = &load->clients[i];

		if (p->away && session_next(&p->session) <= now) {
			client_return(load, p, false);
		}
		if (p->away && session_next(&p->session) < next_ms) {
			next_ms = session_next(&p->session);
		}
	}
	return next_ms;
}

/* Reads all answers that have arrived; then the clients send. */
static void
load_turn(struct load *load, int64_t end_us)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t until_ms = load->heard_ms + SILENCE_MS, return_ms = load_return(load), left_ms;
	int n;

	if (!load->over && end_us / 1000 + 1 < until_ms) {
		until_ms = end_us / 1000 + 1;
	}
	left_ms = (return_ms < until_ms ? return_ms : until_ms) - clock_ms();
	n = epoll_wait(load->poll, events, EVENTS_MAX, (int)(left_ms > 0 ? left_ms : 0));
	for (int i = 0; i < n && load->status == STATUS_DONE; i++) {
		struct client *p = events[i].data.ptr;

		if (p->away) {
			client_return(load, p, true);
		} else {
			client_read(load, p);
		}
	}
	if (n == 0 && clock_ms() - load->heard_ms >= SILENCE_MS) {
		message("the daemon does not answer");
		load->status = STATUS_UNAVAILABLE;
	}
	load->over = load->over || clock_us() >= end_us;
	for (size_t i = 0; i < load->turns && load->status == STATUS_DONE; i++) {
		if (load->turn[i]->phase == HOLDING || !load->over) {
			client_send(load, load->turn[i]);
		}
	}
	load->turns = 0;
}

static void
load_loop(struct load *load)
{
	int64_t began_us = clock_us();
	int64_t end_us = began_us + load->plan->run_ms * 1000;

	load->heard_ms = clock_ms();
	for (size_t i = 0; i < load->plan->clients && load->status == STATUS_DONE; i++) {
		client_send(load, &load->clients[i]);
	}
	while (load->status == STATUS_DONE && (!load->over || load->busy > 0)) {
		load_turn(load, end_us);
	}
	load->result->seconds = (double)(clock_us() - began_us) / 1e6;
}

static void
load_sum(const struct load *load)
{
	struct load_result *result = load->result;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < load->plan->clients; i++) {
		uint64_t own = load->clients[i].grants;

		least = own < least ? own : least;
		result->pairs += own;
	}
	for (size_t i = 0; i < load->plan->names + load->plan->clients; i++) {
		result->changes += load->checkers[i].changes;
	}
	result->least_share = (double)least * (double)load->plan->clients / (double)result->pairs;
}

/* Raises the limit of descriptors, which is too low in login shells. */
static void
descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static bool
load_init(struct load *load)
{
	size_t n = load->plan->clients;

	descriptors_raise();
	load->poll = epoll_create1(EPOLL_CLOEXEC);
	load->clients = calloc(n, sizeof(*load->clients));
	load->turn = calloc(n, sizeof(struct client *));
	load->checkers = calloc(load->plan->names + n, sizeof(*load->checkers));
	for (size_t i = 0; load->clients != NULL && i < n; i++) {
		load->clients[i].number = i;
		load->clients[i].wire.fd = -1;
	}
	return load->poll >= 0 && load->clients != NULL && load->turn != NULL && load->checkers != NULL;
}

static void
load_done(struct load *load)
{
	for (size_t i = 0; load->clients != NULL && i < load->plan->clients; i++) {
		if (load->clients[i].secret[0] != '\0') {
			wire_goodbye(&load->clients[i].wire);
		} else {
			wire_close(&load->clients[i].wire);
		}
	}
	if (load->poll >= 0) {
		(void)close(load->poll);
	}
	free(load->clients);
	free((void *)load->turn);
	free(load->checkers);
}

int
load_run(const struct load_plan *plan, const struct address *a, struct load_result *result)
{
	struct load load = {.plan = plan,
		.result = result,
		.a = a,
		.draw = 88172645463325252u,
		.status = STATUS_DONE,
		.began_ms = clock_ms()};

	memset(result, 0, sizeof(*result));
	if (!load_init(&load)) {
		message("no memory, or no descriptors, for %zu clients", plan->clients);
		load.status = STATUS_INTERNAL;
	}
	for (size_t i = 0; i < plan->clients && load.status == STATUS_DONE; i++) {
		load.status = client_join(&load, &load.clients[i]);
	}
	if (load.status == STATUS_DONE) {
		load_loop(&load);
	}
	if (load.status == STATUS_DONE) {
		load_sum(&load);
	}
	load_done(&load);
	return load.status;
}
