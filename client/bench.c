/*
 * bench: the closed loop of `holdfast bench`, and its report.
 *
 *     LOCK name [SHARED] WAIT 30000    its answer is the grant; read all else that has arrived
 *     UNLOCK name                      its answer is the end of the hold; then the next LOCK
 *
 * A hold lasts until all other grants that have arrived were read, so that the checker sees two holders at
 * once. When the time is over no further LOCK is sent, and the current ones are completed.
 */
#include "client/bench.h"

#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
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

struct client {
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
	struct client *clients;
	struct checker *checkers; /* of the shared names, then of each client's own name */
	struct client **turn;     /* the clients that send next */
	size_t turns;
	size_t busy; /* clients that wait for an answer */
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

static void
client_send(struct load *load, struct client *p)
{
	char name[NAME_BYTES];

	if (p->phase == IDLE) {
		client_choose(load, p);
		p->began_us = clock_us();
		p->phase = LOCKING;
		load->busy++;
	} else {
		checker_release(&load->checkers[p->name], p->shared);
		p->phase = UNLOCKING;
	}
	name_print(load, p->name, name);
	if (p->phase == UNLOCKING) {
		wire_ask(&p->wire, "UNLOCK", name);
	} else if (p->shared) {
		wire_ask(&p->wire, "LOCK", name, "SHARED", "WAIT", WAIT_TEXT);
	} else {
		wire_ask(&p->wire, "LOCK", name, "WAIT", WAIT_TEXT);
	}
	if (!wire_flush(&p->wire)) {
		load_fail(load, p, NULL, NULL);
	}
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
	p->phase = HOLDING;
	load->turn[load->turns++] = p;
}

static void
client_answered(struct load *load, struct client *p, const struct answer *answer)
{
	if (answer->type == ANSWER_PUSH) {
		return;
	}
	if (answer->type != ANSWER_INT) {
		load_fail(load, p, answer, NULL);
	} else if (p->phase == LOCKING) {
		client_granted(load, p, answer->n);
	} else if (answer->n != 0) {
		load_fail(load, p, NULL, "not released by its only UNLOCK");
	} else {
		histogram_add(&load->result->rounds, clock_us() - p->began_us);
		p->phase = IDLE;
		load->busy--;
		if (!load->over) {
			load->turn[load->turns++] = p;
		}
	}
}

static void
client_read(struct load *load, struct client *p)
{
	const struct answer *answer;
	bool more = wire_fill(&p->wire);

	while (load->status == STATUS_DONE && (answer = wire_next(&p->wire)) != NULL) {
		client_answered(load, p, answer);
	}
	if (!more && load->status == STATUS_DONE) {
		load_fail(load, p, NULL, NULL);
	}
}

static int
client_join(struct load *load, struct client *p, const struct address *a)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
	int status = take_greeting(&p->wire, a, "holdfast-bench");

	if (status == STATUS_DONE && epoll_ctl(load->poll, EPOLL_CTL_ADD, p->wire.fd, &event) != 0) {
		message("cannot watch a connection: %s", strerror(errno));
		status = STATUS_INTERNAL;
	}
	return status;
}

/* Reads all answers that have arrived; then the clients send. */
static void
load_turn(struct load *load, int64_t end_us)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t left_ms = load->over ? SILENCE_MS : (end_us - clock_us() + 999) / 1000;
	int n;

	if (left_ms < 0) {
		left_ms = 0;
	}
	n = epoll_wait(load->poll, events, EVENTS_MAX, (int)(left_ms < SILENCE_MS ? left_ms : SILENCE_MS));
	for (int i = 0; i < n && load->status == STATUS_DONE; i++) {
		client_read(load, events[i].data.ptr);
	}
	if (n == 0 && left_ms >= SILENCE_MS) {
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
		wire_close(&load->clients[i].wire);
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
		.draw = 88172645463325252u,
		.status = STATUS_DONE,
		.began_ms = clock_ms()};

	memset(result, 0, sizeof(*result));
	if (!load_init(&load)) {
		message("no memory, or no descriptors, for %zu clients", plan->clients);
		load.status = STATUS_INTERNAL;
	}
	for (size_t i = 0; i < plan->clients && load.status == STATUS_DONE; i++) {
		load.status = client_join(&load, &load.clients[i], a);
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

/* ---- the report ---- */

#define CELL_BYTES 32

/* How many clients share a name of a mixed load, without --names. */
#define CLIENTS_PER_NAME 4

static struct load_plan
plan_of(const struct options *o, enum load_kind kind)
{
	struct load_plan plan = {kind, (size_t)o->clients, (size_t)o->names, o->bench_ms};

	if (kind == LOAD_UNCONTENDED) {
		plan.names = 0;
	} else if (plan.names == 0) {
		plan.names = kind == LOAD_CONTENDED ? 1 : (plan.clients - 1) / CLIENTS_PER_NAME + 1;
	}
	return plan;
}

static void
table_number(struct table *t, const char *format, double n)
{
	char text[CELL_BYTES];

	(void)snprintf(text, sizeof(text), format, n);
	table_text(t, slice_of(text));
}

static void
table_row(struct table *t, const struct load_plan *plan, const struct load_result *r)
{
	table_text(t, slice_of(load_word(plan->kind)));
	table_int(t, (int64_t)plan->clients);
	table_int(t, plan->kind == LOAD_UNCONTENDED ? (int64_t)plan->clients : (int64_t)plan->names);
	table_number(t, "%.0f", (double)r->pairs / r->seconds);
	table_int(t, histogram_percentile_us(&r->waits, 50));
	table_int(t, histogram_percentile_us(&r->waits, 99));
	table_int(t, r->waits.longest_us);
	table_number(t, "%.2f", r->least_share);
}

static json_t *
result_json(const struct load_plan *plan, const struct load_result *r)
{
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:f}", "kind",
		load_word(plan->kind), "clients", (json_int_t)plan->clients, "names",
		(json_int_t)(plan->kind == LOAD_UNCONTENDED ? plan->clients : plan->names), "seconds",
		r->seconds, "pairs", (json_int_t)r->pairs, "changes", (json_int_t)r->changes,
		"pairs_per_second", (double)r->pairs / r->seconds, "wait_p50_us",
		(json_int_t)histogram_percentile_us(&r->waits, 50), "wait_p99_us",
		(json_int_t)histogram_percentile_us(&r->waits, 99), "wait_max_us",
		(json_int_t)r->waits.longest_us, "pair_p50_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 50), "pair_p99_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 99), "least_share", r->least_share);
}

/* The results of the kinds so far. */
struct report {
	struct table table;
	json_t *list;
	uint64_t grants;
};

static int
load_add(const struct load_plan *plan, const struct address *a, struct report *report)
{
	struct load_result result;
	int status = load_run(plan, a, &result);

	if (status != STATUS_DONE) {
		return status;
	}
	report->grants += result.pairs;
	table_row(&report->table, plan, &result);
	if (json_array_append_new(report->list, result_json(plan, &result)) != 0) {
		message("no memory for the result");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

static int
report_print(const struct options *o, struct report *report)
{
	bool printed;

	if (o->json) {
		return json_output_print_json(json_incref(report->list));
	}
	if (o->quiet) {
		return STATUS_DONE;
	}
	printed = table_print(&report->table);
	(void)printf("%" PRIu64
		     " grants: nobody held a lock beside an exclusive holder, and every token grew\n",
		report->grants);
	if (!printed || fflush(stdout) != 0) {
		message("cannot print: no memory, or standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

/* The requested kind as a bit, or all kinds; 0: an unknown kind. */
static unsigned
kinds_of(const char *word)
{
	for (unsigned i = 0; i < LOAD_COUNT; i++) {
		if (word != NULL && strcmp(word, load_word((enum load_kind)i)) == 0) {
			return 1u << i;
		}
	}
	return word == NULL ? (1u << LOAD_COUNT) - 1 : 0;
}

int
task_bench(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {
		"KIND", "CLIENTS", "NAMES", "PAIRS/S", "WAIT P50 US", "P99", "MAX", "LEAST SHARE", NULL};
	unsigned kinds = kinds_of(o->name);
	struct report report = {.grants = 0};
	int status = STATUS_DONE;

	if (kinds == 0) {
		message("holdfast bench %s: uncontended, contended or mixed is allowed", o->name);
		return STATUS_USAGE;
	}
	report.list = json_array();
	table_init(&report.table, heads);
	for (unsigned i = 0; i < LOAD_COUNT && status == STATUS_DONE; i++) {
		struct load_plan plan = plan_of(o, (enum load_kind)i);

		if ((kinds & (1u << i)) != 0) {
			status = load_add(&plan, a, &report);
		}
	}
	if (status == STATUS_DONE) {
		status = report_print(o, &report);
	}
	table_done(&report.table);
	json_decref(report.list);
	return status;
}
