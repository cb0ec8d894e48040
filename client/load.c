/*
 * load: the closed loop of `holdfast bench`.
 *
 *     LOCK name [SHARED] WAIT 30000    its answer is the grant; read all else that has arrived
 *     UNLOCK name                      its answer is the end of the hold; then the next LOCK
 *
 * A hold lasts until all other grants that have arrived were read, so that the checker sees two holders at
 * once. When the time is over no further LOCK is sent, and the current ones are completed.
 */
#include "client/load.h"

#include "client/checker.h"
#include "client/message.h"
#include "client/status.h"
#include "client/take.h"
#include "client/wire.h"
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

struct player {
	struct wire wire;
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
	struct player *players;
	struct checker *checkers; /* of the shared names, then of each client's own name */
	struct player **turn;     /* the players that send next */
	size_t turns;
	size_t busy; /* players that wait for an answer */
	bool over;
	uint64_t draw;
	int poll;
	int status;
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
name_print(const struct load *c, size_t name, char text[NAME_BYTES])
{
	bool own = name >= c->plan->names;

	(void)snprintf(text, NAME_BYTES, "holdfast-bench/%" PRId64 "-%ld/%s%zu", c->began_ms, (long)getpid(),
		own ? "own/" : "", own ? name - c->plan->names : name);
}

/* Prints the name that broke a promise, or could not be locked, and ends the load. */
static void
load_fail(struct load *c, const struct player *p, const struct answer *answer, const char *broken)
{
	char name[NAME_BYTES];
	char what[NAME_BYTES + 32];

	name_print(c, p->name, name);
	(void)snprintf(what, sizeof(what), "cannot %s %s", p->phase == UNLOCKING ? "unlock" : "lock", name);
	if (broken != NULL) {
		message("a promise was broken: %s was %s", name, broken);
		c->status = STATUS_INTERNAL;
	} else if (answer != NULL && answer->type == ANSWER_NULL) {
		message("%s: it was not granted in %s ms: fewer clients, or more names?", what, WAIT_TEXT);
		c->status = STATUS_BUSY;
	} else {
		c->status = take_refusal(&p->wire, answer, what);
	}
}

/* xorshift: the same choices in every run. */
static size_t
load_draw(struct load *c, size_t below)
{
	c->draw ^= c->draw << 13;
	c->draw ^= c->draw >> 7;
	c->draw ^= c->draw << 17;
	return (size_t)(c->draw >> 33) % below;
}

static void
player_choose(struct load *c, struct player *p)
{
	size_t own = c->plan->names + p->number;

	p->shared = false;
	switch (c->plan->kind) {
	case LOAD_CONTENDED:
		p->name = p->number % c->plan->names;
		return;
	case LOAD_MIXED:
		p->name = load_draw(c, 2) == 0 ? own : load_draw(c, c->plan->names);
		p->shared = p->name != own && load_draw(c, 2) == 0;
		return;
	case LOAD_UNCONTENDED:
	case LOAD_COUNT:
		break;
	}
	p->name = own;
}

static void
player_send(struct load *c, struct player *p)
{
	char name[NAME_BYTES];

	if (p->phase == IDLE) {
		player_choose(c, p);
		p->began_us = clock_us();
		p->phase = LOCKING;
		c->busy++;
	} else {
		checker_release(&c->checkers[p->name], p->shared);
		p->phase = UNLOCKING;
	}
	name_print(c, p->name, name);
	if (p->phase == UNLOCKING) {
		wire_ask(&p->wire, "UNLOCK", name);
	} else if (p->shared) {
		wire_ask(&p->wire, "LOCK", name, "SHARED", "WAIT", WAIT_TEXT);
	} else {
		wire_ask(&p->wire, "LOCK", name, "WAIT", WAIT_TEXT);
	}
	if (!wire_flush(&p->wire)) {
		load_fail(c, p, NULL, NULL);
	}
}

static void
player_granted(struct load *c, struct player *p, int64_t token)
{
	const char *broken = checker_grant(&c->checkers[p->name], p, p->shared, token);

	if (broken != NULL) {
		load_fail(c, p, NULL, broken);
		return;
	}
	histogram_add(&c->result->waits, clock_us() - p->began_us);
	p->grants++;
	p->phase = HOLDING;
	c->turn[c->turns++] = p;
}

static void
player_answered(struct load *c, struct player *p, const struct answer *answer)
{
	if (answer->type == ANSWER_PUSH) {
		return;
	}
	if (answer->type != ANSWER_INT) {
		load_fail(c, p, answer, NULL);
	} else if (p->phase == LOCKING) {
		player_granted(c, p, answer->n);
	} else if (answer->n != 0) {
		load_fail(c, p, NULL, "not released by its only UNLOCK");
	} else {
		histogram_add(&c->result->rounds, clock_us() - p->began_us);
		p->phase = IDLE;
		c->busy--;
		if (!c->over) {
			c->turn[c->turns++] = p;
		}
	}
}

static void
player_read(struct load *c, struct player *p)
{
	const struct answer *answer;
	bool more = wire_fill(&p->wire);

	while (c->status == STATUS_DONE && (answer = wire_next(&p->wire)) != NULL) {
		player_answered(c, p, answer);
	}
	if (!more && c->status == STATUS_DONE) {
		load_fail(c, p, NULL, NULL);
	}
}

static int
player_join(struct load *c, struct player *p, const struct address *a)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
	int status = take_greeting(&p->wire, a, "holdfast-bench");

	if (status == STATUS_DONE && epoll_ctl(c->poll, EPOLL_CTL_ADD, p->wire.fd, &event) != 0) {
		message("cannot watch a connection: %s", strerror(errno));
		status = STATUS_INTERNAL;
	}
	return status;
}

/* Reads all answers that have arrived; then the players send. */
static void
load_turn(struct load *c, int64_t end_us)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t left_ms = c->over ? SILENCE_MS : (end_us - clock_us() + 999) / 1000;
	int n;

	if (left_ms < 0) {
		left_ms = 0;
	}
	n = epoll_wait(c->poll, events, EVENTS_MAX, (int)(left_ms < SILENCE_MS ? left_ms : SILENCE_MS));
	for (int i = 0; i < n && c->status == STATUS_DONE; i++) {
		player_read(c, events[i].data.ptr);
	}
	if (n == 0 && left_ms >= SILENCE_MS) {
		message("the daemon does not answer");
		c->status = STATUS_UNAVAILABLE;
	}
	c->over = c->over || clock_us() >= end_us;
	for (size_t i = 0; i < c->turns && c->status == STATUS_DONE; i++) {
		if (c->turn[i]->phase == HOLDING || !c->over) {
			player_send(c, c->turn[i]);
		}
	}
	c->turns = 0;
}

static void
load_play(struct load *c)
{
	int64_t began_us = clock_us();
	int64_t end_us = began_us + c->plan->run_ms * 1000;

	for (size_t i = 0; i < c->plan->clients && c->status == STATUS_DONE; i++) {
		player_send(c, &c->players[i]);
	}
	while (c->status == STATUS_DONE && (!c->over || c->busy > 0)) {
		load_turn(c, end_us);
	}
	c->result->seconds = (double)(clock_us() - began_us) / 1e6;
}

static void
load_sum(const struct load *c)
{
	struct load_result *result = c->result;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < c->plan->clients; i++) {
		uint64_t own = c->players[i].grants;

		least = own < least ? own : least;
		result->pairs += own;
	}
	for (size_t i = 0; i < c->plan->names + c->plan->clients; i++) {
		result->changes += c->checkers[i].changes;
	}
	result->least_share = (double)least * (double)c->plan->clients / (double)result->pairs;
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
load_init(struct load *c)
{
	size_t n = c->plan->clients;

	descriptors_raise();
	c->poll = epoll_create1(EPOLL_CLOEXEC);
	c->players = calloc(n, sizeof(*c->players));
	c->turn = calloc(n, sizeof(struct player *));
	c->checkers = calloc(c->plan->names + n, sizeof(*c->checkers));
	for (size_t i = 0; c->players != NULL && i < n; i++) {
		c->players[i].number = i;
		c->players[i].wire.fd = -1;
	}
	return c->poll >= 0 && c->players != NULL && c->turn != NULL && c->checkers != NULL;
}

static void
load_done(struct load *c)
{
	for (size_t i = 0; c->players != NULL && i < c->plan->clients; i++) {
		wire_close(&c->players[i].wire);
	}
	if (c->poll >= 0) {
		(void)close(c->poll);
	}
	free(c->players);
	free((void *)c->turn);
	free(c->checkers);
}

int
load_run(const struct load_plan *plan, const struct address *a, struct load_result *result)
{
	struct load c = {.plan = plan,
		.result = result,
		.draw = 88172645463325252u,
		.status = STATUS_DONE,
		.began_ms = clock_ms()};

	memset(result, 0, sizeof(*result));
	if (!load_init(&c)) {
		message("no memory, or no descriptors, for %zu clients", plan->clients);
		c.status = STATUS_INTERNAL;
	}
	for (size_t i = 0; i < plan->clients && c.status == STATUS_DONE; i++) {
		c.status = player_join(&c, &c.players[i], a);
	}
	if (c.status == STATUS_DONE) {
		load_play(&c);
	}
	if (c.status == STATUS_DONE) {
		load_sum(&c);
	}
	load_done(&c);
	return c.status;
}
