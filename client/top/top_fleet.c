/*
 * top_fleet: asks the daemon for all daemons, what the screen of top shows by itself. See top.h.
 */
#include "client/top/top_fleet.h"

#include "client/fleet.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/top/top.h"
#include "client/top/top_data.h"
#include "daemon/base/clock.h"
#include "proto/command.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the first screen waits for daemons that have not gone through all their names. */
#define WHOLE_MS 2000
#define AGAIN_MS 100

void
top_switch(struct top *t, bool here)
{
	free(t->hosts);
	t->hosts = NULL;
	t->host_count = t->silent_count = 0;
	t->silent[0] = '\0';
	t->here = here;
	t->info = t->before = (struct top_info){.at_ms = 0};
}

static void
host_read(struct top_host *host, const struct answer *map)
{
	*host = (struct top_host){
		.clients = answer_get_int(map, "clients", 0),
		.sessions = answer_get_int(map, "sessions", 0),
		.held = answer_get_int(map, "held", 0),
		.withheld = answer_get_int(map, "withheld", 0),
		.waiters = answer_get_int(map, "waiters", 0),
		.longest_ms = answer_get_int(map, "longest_wait_ms", 0),
		.requests = answer_get_int(map, "requests", 0),
		.granted = answer_get_int(map, "granted", 0),
		.timed_out = answer_get_int(map, "timed_out", 0),
		.lost = answer_get_int(map, "lost", 0),
		.masters = answer_get_int(map, "masters", 0),
		.usable = answer_get_int(map, "masters_usable", 0),
		.available = answer_get_int(map, "available", 1) != 0,
		.complete = answer_get_int(map, "complete", 1) != 0,
		.cut = answer_get_int(map, "cut", 0) != 0,
	};
	slice_text(host->host, sizeof(host->host), answer_get_text(map, "host"));
	slice_text(host->daemon, sizeof(host->daemon), answer_get_text(map, "daemon"));
	slice_text(host->health, sizeof(host->health), answer_get_text(map, "health"));
}

static int
host_compare(const void *a, const void *b)
{
	const struct top_host *x = a, *y = b;

	if (x->longest_ms != y->longest_ms) {
		return (x->longest_ms < y->longest_ms) - (x->longest_ms > y->longest_ms);
	}
	return strverscmp(x->host, y->host);
}

static int64_t
grown(int64_t now, int64_t before)
{
	return now > before ? now - before : 0;
}

/* Counters go on from those of the last screen by what each daemon has counted since: one that is new, or was
 * away, does not count as a sudden rate. */
static void
info_count(struct top *t, const struct top_host *now)
{
	for (size_t i = 0; i < t->host_count; i++) {
		const struct top_host *before = &t->hosts[i];

		if (strcmp(now->daemon, before->daemon) == 0) {
			t->info.requests += grown(now->requests, before->requests);
			t->info.granted += grown(now->granted, before->granted);
			t->info.timed_out += grown(now->timed_out, before->timed_out);
			t->info.lost += grown(now->lost, before->lost);
			return;
		}
	}
}

/* The numbers of INFO are those of this daemon: from here on they are the sums of all. */
static void
info_sum(struct top *t, const struct top_host *hosts, size_t count)
{
	struct top_info *info = &t->info;

	info->requests = t->last.requests;
	info->granted = t->last.granted;
	info->timed_out = t->last.timed_out;
	info->lost = t->last.lost;
	info->clients = info->sessions = info->held = info->withheld = info->waiters = 0;
	for (size_t i = 0; i < count; i++) {
		info->clients += hosts[i].clients;
		info->sessions += hosts[i].sessions;
		info->held += hosts[i].held;
		info->withheld += hosts[i].withheld;
		info->waiters += hosts[i].waiters;
		info_count(t, &hosts[i]);
	}
}

/* "app-3, app-4 (of another version)" */
static void
silent_read(struct top *t, const struct answer *silent)
{
	size_t n = 0;

	t->silent[0] = '\0';
	t->silent_count = silent->count;
	for (size_t i = 0; i < silent->count && n < sizeof(t->silent); i++) {
		const struct answer *one = &silent->items[i];
		const char *why = answer_get_text(one, "error").n > 0    ? " (of another version)"
				  : answer_get_int(one, "asked", 1) == 0 ? " (not asked: no master)"
									 : "";

		n += (size_t)snprintf(t->silent + n, sizeof(t->silent) - n, "%s%.*s%s", i > 0 ? ", " : "",
			SLICE_ARG(answer_get_text(one, "host")), why);
	}
}

/* Whether an answer has the form that PROTOCOL.md 6.27 says. */
static bool
is_top(const struct answer *answer)
{
	bool good = answer->type == ANSWER_ARRAY && answer->count == 3;

	for (size_t i = 0; good && i < 3; i++) {
		good = answer->items[i].type == ANSWER_ARRAY;
	}
	return good;
}

/* False: out of memory. */
static bool
take(struct top *t, const struct answer *answer)
{
	const struct answer *maps = &answer->items[0], *lock;
	struct top_host *hosts = calloc(maps->count + 1, sizeof(*hosts));
	struct pages pages = {.page = &answer->items[1]};
	bool kept = hosts != NULL;

	for (size_t i = 0; hosts != NULL && i < maps->count; i++) {
		host_read(&hosts[i], &maps->items[i]);
	}
	if (hosts != NULL) {
		qsort(hosts, maps->count, sizeof(*hosts), host_compare);
		info_sum(t, hosts, maps->count);
		free(t->hosts);
		t->hosts = hosts;
		t->host_count = maps->count;
		silent_read(t, &answer->items[2]);
	}
	while (kept && (lock = pages_element(&pages)) != NULL) {
		kept = top_row_add(t, lock);
	}
	top_sort(t);
	return kept;
}

/* Whether each daemon that answers has gone through all its names. */
static bool
is_whole(const struct answer *answer)
{
	bool whole = true;

	for (size_t i = 0; i < answer->items[0].count; i++) {
		whole &= answer_get_int(&answer->items[0].items[i], "complete", 1) != 0;
	}
	return whole;
}

static const struct answer *
ask(struct top *t, int64_t until_ms)
{
	const char *words[] = {"TOP", "COUNT", "500", "FLEET", "MATCH", t->filter};

	wire_ask_words(&t->wire, t->filter[0] == '\0' ? 4 : 6, words);
	(void)wire_flush(&t->wire);
	return wire_wait(&t->wire, until_ms);
}

/* An error: of a daemon of an earlier version, or of one that shows all daemons to administrators only. */
static bool
refused(struct top *t, const struct answer *answer, bool *alone)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);

	if (code == CODE_NOPERM || (code == CODE_ERR && t->hosts == NULL && t->filter[0] == '\0')) {
		struct top_info here = t->info;

		top_switch(t, true);
		t->info = here; /* INFO told it of this daemon */
		*alone = true;
		if (code == CODE_NOPERM) {
			top_say(t, "only the locks of this daemon: %.*s", SLICE_ARG(answer->text));
		}
		return true;
	}
	top_refuse(t, answer);
	t->filter[0] = '\0';
	return true;
}

bool
top_ask_fleet(struct top *t, int64_t until_ms, bool *alone)
{
	int64_t whole_ms = t->asked ? 0 : clock_ms() + WHOLE_MS;
	const struct answer *answer = ask(t, until_ms);

	while (answer != NULL && is_top(answer) && !is_whole(answer) && clock_ms() < whole_ms) {
		(void)poll(NULL, 0, AGAIN_MS);
		answer = ask(t, until_ms);
	}
	if (answer != NULL && answer->type == ANSWER_ERROR) {
		return refused(t, answer, alone);
	}
	if (answer == NULL || !is_top(answer)) {
		return false;
	}
	t->asked = true;
	top_rows_free(t);
	if (!take(t, answer)) {
		top_say(t, "no memory for all locks");
	}
	return true;
}
