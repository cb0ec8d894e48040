/*
 * grouped: `ls --by client|user`: the holds and waits of each client or user. SESSIONS has the numbers,
 * LOCKS how long the oldest hold of each session lasts.
 */
#include "client/grouped.h"

#include "client/fleet.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/process.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAEMON_MAX 33
#define USER_MAX   129

/* A session, and then the sum of several. */
struct party {
	char user[USER_MAX], client[PEER_TEXT_MAX], host[HOST_TEXT_MAX], daemon[DAEMON_MAX];
	int64_t session;
	int64_t sessions, holds, waits, oldest_ms, rate, busy_us;
};

struct parties {
	struct party *list;
	size_t n, room;
	bool by_user;
	bool local;
	bool failed; /* out of memory */
	char host[HOST_TEXT_MAX];
};

static int
by_session(const void *a, const void *b)
{
	const struct party *x = a, *y = b;
	int daemons = strcmp(x->daemon, y->daemon);

	return daemons != 0 ? daemons : (x->session > y->session) - (x->session < y->session);
}

static int
by_who(const void *a, const void *b)
{
	const struct party *x = a, *y = b;
	int order = strcmp(x->user, y->user);

	order = order != 0 ? order : strcmp(x->client, y->client);
	return order != 0 ? order : strcmp(x->host, y->host);
}

static void
party_name(struct party *party, const struct answer *session, const struct parties *parties)
{
	struct slice user = answer_get_text(session, "user"), host = answer_get_text(session, "host");
	int64_t uid = answer_get_int(session, "uid", -1);
	bool near = parties->local && (host.n == 0 || slice_equal(host, slice_of(parties->host)));

	if (user.n > 0) {
		slice_text(party->user, sizeof(party->user), user);
	} else if (uid >= 0) {
		(void)snprintf(party->user, sizeof(party->user), "uid %" PRId64, uid);
	} else {
		(void)snprintf(party->user, sizeof(party->user), "-");
	}
	if (!parties->by_user) {
		(void)peer_name(party->client, session, near);
		slice_text(party->host, sizeof(party->host), host.n > 0 ? host : slice_of(parties->host));
	}
}

static void
parties_add(struct parties *parties, const struct answer *session)
{
	if (parties->n == parties->room) {
		size_t room = parties->room == 0 ? 64 : parties->room * 2;
		struct party *list = reallocarray(parties->list, room, sizeof(*list));

		if (list == NULL) {
			parties->failed = true;
			return;
		}
		parties->list = list;
		parties->room = room;
	}
	struct party *party = &parties->list[parties->n++];

	*party = (struct party){
		.session = answer_get_int(session, "session", 0),
		.sessions = 1,
		.holds = answer_get_int(session, "grants", 0),
		.waits = answer_get_int(session, "waiters", 0),
		.rate = answer_get_int(session, "requests_s", 0),
		.busy_us = answer_get_int(session, "busy_us_s", 0),
	};
	slice_text(party->daemon, sizeof(party->daemon), answer_get_text(session, "daemon"));
	party_name(party, session, parties);
}

/* A lock: how long its holder has it. */
static void
parties_hold(struct parties *parties, const struct answer *lock)
{
	struct party key = {.session = answer_get_int(lock, "session", 0)}, *found;
	int64_t held_ms = answer_get_int(lock, "held_ms", 0);

	slice_text(key.daemon, sizeof(key.daemon), answer_get_text(lock, "daemon"));
	found = key.session > 0 && parties->n > 0
			? bsearch(&key, parties->list, parties->n, sizeof(key), by_session)
			: NULL;
	if (found != NULL && held_ms > found->oldest_ms) {
		found->oldest_ms = held_ms;
	}
}

static void
parties_sum(struct parties *parties)
{
	size_t n = 0;

	if (parties->n > 0) {
		qsort(parties->list, parties->n, sizeof(*parties->list), by_who);
	}
	for (size_t i = 0; i < parties->n; i++) {
		const struct party *one = &parties->list[i];
		struct party *sum = n > 0 ? &parties->list[n - 1] : NULL;

		if (sum == NULL || by_who(sum, one) != 0) {
			parties->list[n++] = *one;
			continue;
		}
		sum->sessions += one->sessions;
		sum->holds += one->holds;
		sum->waits += one->waits;
		sum->rate += one->rate;
		sum->busy_us += one->busy_us;
		sum->oldest_ms = one->oldest_ms > sum->oldest_ms ? one->oldest_ms : sum->oldest_ms;
	}
	parties->n = n;
}

/* ---- printed ---- */

static void
add_json(struct list *list, const struct party *p, bool by_user)
{
	const struct {
		const char *key;
		int64_t n;
	} numbers[] = {{"sessions", p->sessions}, {"holds", p->holds}, {"waits", p->waits},
		{"oldest_ms", p->oldest_ms}, {"requests_s", p->rate}, {"busy_us_s", p->busy_us}};
	const struct {
		const char *key, *text;
	} texts[] = {{"user", p->user}, {"client", p->client}, {"host", p->host}};
	struct answer pairs[2 * 9];
	size_t n = 0;

	for (size_t i = 0; i < (by_user ? 1 : 3); i++) {
		pairs[n++] = (struct answer){.type = ANSWER_TEXT, .text = slice_of(texts[i].key)};
		pairs[n++] = (struct answer){.type = ANSWER_TEXT, .text = slice_of(texts[i].text)};
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		pairs[n++] = (struct answer){.type = ANSWER_TEXT, .text = slice_of(numbers[i].key)};
		pairs[n++] = (struct answer){.type = ANSWER_INT, .n = numbers[i].n};
	}
	list_add_json(list, p->holds, slice_of(p->user),
		&(struct answer){.type = ANSWER_MAP, .items = pairs, .count = n});
}

static void
add_row(struct list *list, const struct party *p, bool by_user)
{
	char numbers[4][NUMBER_TEXT_MAX], oldest[DURATION_TEXT_MAX], busy[NUMBER_TEXT_MAX + 8];
	struct slice cells[9] = {slice_of(p->user)};
	size_t n = 1;

	if (!by_user) {
		cells[n++] = slice_of(p->client);
		cells[n++] = slice_of(p->host);
	}
	(void)snprintf(busy, sizeof(busy), "%.1f%%", (double)p->busy_us / 10000.0);
	cells[n++] = slice_of(number_text(numbers[0], p->sessions));
	cells[n++] = slice_of(number_text(numbers[1], p->holds));
	cells[n++] = slice_of(number_text(numbers[2], p->waits));
	cells[n++] = p->oldest_ms > 0 ? slice_of(duration_text(oldest, p->oldest_ms)) : SLICE("-");
	cells[n++] = slice_of(number_text(numbers[3], p->rate));
	cells[n++] = slice_of(busy);
	list_add(list, p->holds, cells, n);
}

static int
parties_print(struct parties *parties, const struct options *o, const struct pages *pages)
{
	static const char *const clients[] = {
		"USER", "CLIENT", "HOST", "SESSIONS", "HOLDS", "WAITS", "OLDEST", "REQ/S", "BUSY", NULL};
	static const char *const users[] = {
		"USER", "SESSIONS", "HOLDS", "WAITS", "OLDEST", "REQ/S", "BUSY", NULL};
	struct list list = {.rows = NULL, .failed = parties->failed};

	parties_sum(parties);
	for (size_t i = 0; i < parties->n; i++) {
		if (o->json) {
			add_json(&list, &parties->list[i], parties->by_user);
		} else {
			add_row(&list, &parties->list[i], parties->by_user);
		}
	}
	return o->json ? list_print_json(&list, pages, -1)
		       : list_print_table(&list, parties->by_user ? users : clients,
				 parties->by_user ? 1U << 0 : 1U << 0 | 1U << 1 | 1U << 2);
}

/* Reads a list to its end; false: it is not whole, and pages say why. */
static bool
read_all(struct pages *pages, struct wire *wire, const char *verb, const struct options *o,
	struct parties *parties, void (*take)(struct parties *parties, const struct answer *element))
{
	const struct answer *element;

	pages_begin(pages, wire, 1, (const char *const[]){verb});
	pages->ahead = true;
	pages->rows = true;
	if (!o->here) {
		pages_of_fleet(pages);
	}
	while (pages_next(pages) != NULL) {
		while ((element = pages_element(pages)) != NULL) {
			take(parties, element);
		}
	}
	if (pages->whole && pages->silent[0] != '\0') {
		pages->whole = false;
		pages->answer = NULL;
		silent_why(wire->why, sizeof(wire->why), pages->silent, pages->unasked);
	}
	return pages->whole;
}

int
ls_grouped(const struct options *o, const struct address *a)
{
	struct parties parties = {.local = !a->tcp, .by_user = strcmp(o->by, "user") == 0};
	struct wire wire = {.fd = -1};
	struct pages pages;
	int status;

	if (!parties.by_user && strcmp(o->by, "client") != 0) {
		message("--by %s: client or user is allowed", o->by);
		return STATUS_USAGE;
	}
	if (o->name != NULL) {
		message("--by %s counts all locks of each: it takes no glob", o->by);
		return STATUS_USAGE;
	}
	status = take_hello(&wire, a, "holdfast");
	host_text(parties.host);
	if (status == STATUS_DONE) {
		bool whole = read_all(&pages, &wire, "SESSIONS", o, &parties, parties_add);

		if (parties.n > 0) {
			qsort(parties.list, parties.n, sizeof(*parties.list), by_session);
		}
		/* A list that was cut is not asked for again. */
		whole = whole && read_all(&pages, &wire, "LOCKS", o, &parties, parties_hold);
		status = pages.begun ? parties_print(&parties, o, &pages)
				     : take_refusal(&wire, pages.answer, "cannot list");
		if (pages.begun && status == STATUS_DONE && !whole) {
			status = list_report_error(&pages, parties.n, -1);
		}
	}
	free(parties.list);
	wire_close(&wire);
	return status;
}
