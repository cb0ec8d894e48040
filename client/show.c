/*
 * show: the verbs ls, sessions and show. Holders and waiters of a name come in pages.
 */
#include "client/fleet.h"
#include "client/grouped.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/process.h"
#include "daemon/base/clock.h"
#include "proto/command.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What the rows of a list are made from. */
struct listing {
	const struct options *o;
	bool local;       /* the daemon is on this host */
	bool names;       /* print names instead of a table */
	const char *what; /* it lists, for messages */
	void (*add)(struct listing *listing, struct list *list, const struct answer *element);
	const char *const *heads;
	unsigned flexible;
	const char *const *counts; /* fields of INFO whose sum bounds the length of its list; NULL: unknown */
	char host[HOST_TEXT_MAX];  /* this one */
	/* Cache of the last process that was looked up, because one process may hold thousands of locks. */
	int64_t pid;
	char client[LABEL_BYTES_MAX + 1];
	char name[PEER_TEXT_MAX];
};

/* Whether the element is of another host, whose processes cannot be inspected. */
static bool
list_is_far(const struct listing *listing, const struct answer *element)
{
	struct slice host = answer_get_text(element, "host");

	return !listing->local || (host.n > 0 && !slice_equal(host, slice_of(listing->host)));
}

static struct slice
list_name(struct listing *listing, const struct answer *element)
{
	bool far = list_is_far(listing, element);
	struct slice client = answer_get_text(element, "client");
	int64_t pid = answer_get_int(element, "pid", 0);

	if (pid == 0 || far || pid != listing->pid || !slice_equal(client, slice_of(listing->client))) {
		(void)peer_name(listing->name, element, !far);
		(void)snprintf(listing->client, sizeof(listing->client), "%.*s", SLICE_ARG(client));
		listing->pid = far ? 0 : pid;
	}
	return slice_of(listing->name);
}

static int
list_print(const struct listing *listing, struct list *list, struct pages *pages, int64_t most)
{
	if (pages->whole && pages->silent[0] != '\0') {
		pages->whole = false;
		pages->answer = NULL;
		silent_why(pages->w->why, sizeof(pages->w->why), pages->silent, pages->unasked);
	}
	size_t told = list->count;
	int64_t missing = most < 0 ? -1 : most > (int64_t)told ? most - (int64_t)told : 0;
	int status = listing->o->json ? list_print_json(list, pages, missing)
		     : listing->names ? list_print_names(list)
				      : list_print_table(list, listing->heads, listing->flexible);

	if (pages->refusal.n > 0 && !listing->o->quiet) {
		message("only the %s of this daemon: %.*s", listing->what, SLICE_ARG(pages->refusal));
	}
	return status == STATUS_DONE && !pages->whole ? list_report_error(pages, told, missing) : status;
}

/* words: the n words of the request */
static int
listing_run(struct listing *listing, const struct address *a, size_t n, const char *const *words)
{
	struct wire wire = {.fd = -1};
	struct list list = {.rows = NULL};
	struct pages pages;
	const struct answer *element;
	int status = take_hello(&wire, a, "holdfast");

	host_text(listing->host);
	if (status == STATUS_DONE) {
		bool counted = listing->o->here && listing->counts != NULL;
		int64_t most = counted ? list_expect(&wire, listing->counts) : -1;

		pages_begin(&pages, &wire, n, words);
		pages.ahead = true;
		pages.rows = true;
		if (!listing->o->here) {
			pages_of_fleet(&pages);
		}
		while (pages_next(&pages) != NULL) {
			while ((element = pages_element(&pages)) != NULL) {
				listing->add(listing, &list, element);
			}
		}
		status = pages.begun ? list_print(listing, &list, &pages, most)
				     : take_refusal(&wire, pages.answer, "cannot list");
	}
	wire_close(&wire);
	return status;
}

/* The oldest holds come first, and names that are only waited for come last. */
static void
ls_add(struct listing *listing, struct list *list, const struct answer *lock)
{
	int64_t token = answer_get_int(lock, "token", 0);
	int64_t rank = token > 0 ? answer_get_int(lock, "held_ms", 0) : -1;
	struct slice cells[8] = {answer_get_text(lock, "name"), answer_get_text(lock, "state"), SLICE("-"),
		SLICE("-"), SLICE("-")};
	char duration[DURATION_TEXT_MAX], address[PEER_TEXT_MAX], number[NUMBER_TEXT_MAX],
		waiters[NUMBER_TEXT_MAX];
	struct slice host = answer_get_text(lock, "host");
	size_t n = 5;

	if (listing->o->json) {
		list_add_json(list, rank, cells[0], lock);
		return;
	}
	if (token > 0 && !listing->names) {
		cells[2] = slice_of(duration_text(duration, answer_get_int(lock, "held_ms", 0)));
		cells[3] = list_name(listing, lock);
		cells[4] = slice_of(fleet_peer(address, lock, listing->host));
	}
	/* No client of that host holds it: the host is that of the waiters. */
	if (token == 0 && !slice_equal(host, slice_of(listing->host))) {
		cells[4] = host.n > 0 ? host : cells[4];
	}
	if (listing->o->verbose) {
		cells[n++] = slice_of(number_text(number, token));
	}
	cells[n++] = slice_of(number_text(waiters, answer_get_int(lock, "waiters", 0)));
	cells[n++] = answer_get_text(lock, "why");
	list_add(list, rank, cells, n);
}

int
task_ls(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {
		"NAME", "STATE", "FOR", "HOLDER", "WHERE", "WAITING", "WHY", NULL};
	static const char *const more[] = {
		"NAME", "STATE", "FOR", "HOLDER", "WHERE", "TOKEN", "WAITING", "WHY", NULL};
	static const char *const counts[] = {"names", "latches", NULL};
	const char *words[] = {"LOCKS", "MATCH", o->name};
	struct listing listing = {
		.o = o,
		.local = !a->tcp,
		.names = o->quiet,
		.what = "locks",
		.add = ls_add,
		.heads = o->verbose ? more : heads,
		/* NAME, HOLDER, WHERE and WHY */
		.flexible = 1U << 0 | 1U << 3 | 1U << 4 | 1U << (o->verbose ? 7 : 6),
		.counts = o->name == NULL ? counts : NULL,
	};

	return o->by != NULL ? ls_grouped(o, a) : listing_run(&listing, a, o->name == NULL ? 1 : 3, words);
}

/* The grace of the session, or the rest of it. */
static struct slice
grace_text(char out[PEER_TEXT_MAX], const struct answer *session)
{
	int64_t grace_ms = answer_get_int(session, "grace_ms", 0);
	int64_t left_ms = answer_get_int(session, "left_ms", -1);
	char duration[DURATION_TEXT_MAX];

	if (grace_ms == 0) {
		return SLICE("-");
	}
	(void)snprintf(out, PEER_TEXT_MAX, "%s%s", duration_text(duration, left_ms < 0 ? grace_ms : left_ms),
		left_ms < 0 ? "" : " left");
	return slice_of(out);
}

/* What --sort may say, and the field that it sorts by. */
static const struct {
	const char *word;
	const char *field;
} session_sorts[] = {{"holds", "grants"}, {"rate", "requests_s"}, {"waits", "waiters"}};

/* The field; NULL: there is no such word. */
static const char *
session_sort(const char *word)
{
	for (size_t i = 0; i < sizeof(session_sorts) / sizeof(session_sorts[0]); i++) {
		if (strcmp(session_sorts[i].word, word) == 0) {
			return session_sorts[i].field;
		}
	}
	return NULL;
}

static void
sessions_add(struct listing *listing, struct list *list, const struct answer *s)
{
	static const char *const numbers[] = {
		"session", "uid", "connections", "grants", "waiters", "bound_pid", "requests_s"};
	const char *sort = listing->o->sort != NULL ? session_sort(listing->o->sort) : NULL;
	int64_t rank = sort != NULL ? answer_get_int(s, sort, 0) : 0;
	char texts[7][NUMBER_TEXT_MAX], duration[DURATION_TEXT_MAX], address[PEER_TEXT_MAX],
		grace[PEER_TEXT_MAX], busy[NUMBER_TEXT_MAX + 8];
	struct slice n[7];

	(void)snprintf(busy, sizeof(busy), "%.1f%%", (double)answer_get_int(s, "busy_us_s", 0) / 10000.0);
	for (size_t i = 0; i < 7; i++) {
		n[i] = slice_of(number_text(texts[i], answer_get_int(s, numbers[i], i == 1 ? -1 : 0)));
	}
	if (listing->o->json) {
		list_add_json(list, rank, n[0], s);
		return;
	}
	list_add(list, rank,
		(const struct slice[]){n[0], list_name(listing, s),
			slice_of(fleet_peer(address, s, listing->host)), n[1],
			slice_of(duration_text(duration, answer_get_int(s, "age_ms", 0))), n[2], n[3], n[4],
			n[6], slice_of(busy), n[5], grace_text(grace, s)},
		12);
}

int
task_sessions(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {"SESSION", "CLIENT", "WHERE", "UID", "AGE", "CONNECTIONS",
		"HOLDS", "WAITS", "REQ/S", "BUSY", "BOUND TO", "GRACE", NULL};
	static const char *const counts[] = {"sessions", NULL};
	struct listing listing = {
		.o = o,
		.local = !a->tcp,
		.what = "sessions",
		.add = sessions_add,
		.heads = heads,
		.flexible = 1U << 1 | 1U << 2, /* CLIENT and WHERE */
		.counts = counts,
	};

	if (o->sort != NULL && session_sort(o->sort) == NULL) {
		message("--sort %s: holds, rate or waits is allowed", o->sort);
		return STATUS_USAGE;
	}
	return listing_run(&listing, a, 1, (const char *const[]){"SESSIONS"});
}

/* ---- show ---- */

#define LINE_BYTES 1024

struct showing {
	bool local;      /* the daemon is on this host */
	json_t *json;    /* JSON output; NULL: lines, or out of memory */
	size_t holders;  /* holders shown so far */
	size_t waiters;  /* waiters shown so far */
	int64_t missing; /* holders and waiters that were missing after the last page */
	bool excess;     /* there are more than the daemon reports */
	bool known;      /* the name has a holder or a waiter */
	bool between;    /* the part between holders and waiters was shown */
	/* Of all daemons; NULL: unknown. Another connection keeps it. */
	const struct answer *fleet;
};

__attribute__((format(printf, 2, 3))) static void
show_line(const char *key, const char *format, ...)
{
	char text[LINE_BYTES];
	char line[LINE_BYTES * 2];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	(void)escape_text(line, sizeof(line), slice_of(text), ESCAPE_PLAIN);
	(void)printf("%-10s%s\n", key, line);
}

/* on: the host of the client; "": this host. */
static void
show_holder(const struct answer *holder, const char *on, bool local)
{
	char held[DURATION_TEXT_MAX];
	char valid[DURATION_TEXT_MAX];
	char name[PEER_TEXT_MAX];
	char origin[PEER_TEXT_MAX];

	show_line("holder", "%s (%s, session %" PRId64 ")", peer_name(name, holder, local),
		peer_origin(origin, holder, on), answer_get_int(holder, "session", 0));
	show_line("for", "%s; surely good for %s more",
		duration_text(held, answer_get_int(holder, "held_ms", 0)),
		duration_text(valid, answer_get_int(holder, "valid_ms", 0)));
	if (answer_get_text(holder, "why").n > 0) {
		show_line("why", "%.*s", SLICE_ARG(answer_get_text(holder, "why")));
	}
	if (answer_get_text(holder, "owner").n > 0) {
		show_line("owner", "%.*s, entered %" PRId64 " times",
			SLICE_ARG(answer_get_text(holder, "owner")), answer_get_int(holder, "count", 0));
	}
	show_line("token", "%" PRId64, answer_get_int(holder, "token", 0));
}

/* first: this is the first page with waiters; on: as show_holder() */
static void
show_waiters(const struct answer *waiters, bool first, const char *on, bool local)
{
	char age[DURATION_TEXT_MAX];
	char name[PEER_TEXT_MAX];
	char address[PEER_TEXT_MAX];

	for (size_t i = 0; i < waiters->count; i++) {
		const struct answer *w = &waiters->items[i];
		bool why = answer_get_text(w, "why").n > 0;

		show_line(i == 0 && first ? "waiting" : "", "%" PRId64 ". %s (%s%s%s) for %s%s%.*s",
			answer_get_int(w, "position", (int64_t)i + 1), peer_name(name, w, local),
			peer_address(address, w), on[0] != '\0' ? " on " : "", on,
			duration_text(age, answer_get_int(w, "age_ms", 0)), why ? ": " : "",
			SLICE_ARG(answer_get_text(w, "why")));
	}
}

static void
show_head(const struct showing *s, const struct answer *lock)
{
	bool latch = slice_equal(answer_get_text(lock, "kind"), SLICE("latch"));
	bool all = s->fleet != NULL && !latch;

	struct slice state;
	char wait[DURATION_TEXT_MAX];
	int64_t guard_ms;

	lock = all ? s->fleet : lock;
	state = answer_get_text(lock, "state");
	guard_ms = answer_get_int(lock, "guard_ms", 0);
	show_line("name", "%.*s", SLICE_ARG(answer_get_text(lock, "name")));
	show_line("kind", "%.*s", SLICE_ARG(answer_get_text(lock, "kind")));
	if (answer_get_text(lock, "key").n > 0) {
		show_line("key", "%.*s at the masters, by the rule; interop %.*s",
			SLICE_ARG(answer_get_text(lock, "key")), SLICE_ARG(answer_get_text(lock, "interop")));
	}
	if (slice_equal(state, SLICE("unknown")) && guard_ms > 0) {
		show_line("state", "unknown: the master may have forgotten it; wait %s",
			duration_text(wait, guard_ms));
	} else {
		show_line("state", "%.*s", SLICE_ARG(state));
	}
	if (answer_get_int(lock, "limit", 0) > 0) {
		show_line("permits", "%" PRId64 " of %" PRId64 " are taken%s",
			answer_get_int(lock, "taken", 0), answer_get_int(lock, "limit", 0),
			all ? "" : " here");
	}
	if (latch) {
		show_line("left", "%" PRId64 " of %" PRId64 " steps", answer_get_int(lock, "left", 0),
			answer_get_int(lock, "set", 0));
	}
}

/* Printed after the holders. */
static void
show_lease(struct showing *s, const struct answer *lock)
{
	if (s->between) {
		return;
	}
	s->between = true;
	if (s->fleet == NULL && answer_get_text(lock, "elsewhere").n > 0) {
		show_line("elsewhere", "the daemon %.*s has the lease",
			SLICE_ARG(answer_get_text(lock, "elsewhere")));
	}
	if (answer_get_text(lock, "lease").n > 0) {
		show_line("lease", "%.*s", SLICE_ARG(answer_get_text(lock, "lease")));
	}
	if (answer_get_text(lock, "blocked_by").n > 0) {
		show_line("blocked", "%.*s", SLICE_ARG(answer_get_text(lock, "blocked_by")));
	}
	show_line("master", "%.*s", SLICE_ARG(answer_get_text(lock, "master")));
}

static void
show_page(struct showing *s, const struct answer *lock, bool last)
{
	const struct answer *holders = answer_get(lock, "holders");
	const struct answer *waiters = answer_get(lock, "waiters");

	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		show_holder(&holders->items[i], "", s->local);
	}
	if (last || (waiters != NULL && waiters->count > 0)) {
		show_lease(s, lock);
	}
	if (waiters != NULL) {
		show_waiters(waiters, s->waiters == 0, "", s->local);
	}
}

/* What one other daemon has of the name. */
static void
show_host(const struct answer *inspect, bool local, bool first)
{
	const struct answer *holders = answer_get(inspect, "holders"),
			    *waiters = answer_get(inspect, "waiters");
	int64_t all = answer_get_int(inspect, "holder_count", 0) + answer_get_int(inspect, "waiter_count", 0);
	size_t shown = (holders == NULL ? 0 : holders->count) + (waiters == NULL ? 0 : waiters->count);
	char host[HOST_TEXT_MAX];

	slice_text(host, sizeof(host), answer_get_text(inspect, "host"));
	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		show_holder(&holders->items[i], host, local);
	}
	if (waiters != NULL) {
		show_waiters(waiters, first, host, local);
	}
	if (all > (int64_t)shown) {
		show_line("", "and %" PRId64 " more on %s", all - (int64_t)shown, host);
	}
}

/* The other daemons, and what the masters say of those that do not answer. */
static void
show_fleet(const struct showing *s)
{
	const struct answer *hosts = answer_get(s->fleet, "hosts"), *silent = answer_get(s->fleet, "silent"),
			    *holders = answer_get(s->fleet, "holders");
	struct slice asked = answer_get_text(s->fleet, "daemon");
	bool waits = s->waiters > 0;
	char host[HOST_TEXT_MAX], duration[DURATION_TEXT_MAX], foreign[LINE_BYTES];

	host_text(host);
	for (size_t i = 0; hosts != NULL && i < hosts->count; i++) {
		const struct answer *one = &hosts->items[i];
		bool near = s->local && slice_equal(answer_get_text(one, "host"), slice_of(host));

		if (!slice_equal(answer_get_text(one, "daemon"), asked)) {
			show_host(one, near, !waits);
			waits = waits || answer_get_int(one, "waiter_count", 0) > 0;
		}
	}
	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		const struct answer *one = &holders->items[i];

		if (fleet_is_silent(s->fleet, answer_get_text(one, "daemon"))) {
			show_line("held by",
				"the daemon of %.*s, which does not answer; its lease ends in %s unless it "
				"is renewed",
				SLICE_ARG(answer_get_text(one, "host")),
				duration_text(duration, answer_get_int(one, "left_ms", 0)));
		}
	}
	if (foreign_describe(foreign, sizeof(foreign), s->fleet)) {
		show_line("held by", "%s", foreign + strlen("held by "));
	}
	for (size_t i = 0; silent != NULL && i < silent->count; i++) {
		bool was_asked = answer_get_int(&silent->items[i], "asked", 1) != 0;

		show_line(was_asked ? "silent" : "not asked",
			"the daemon of %.*s%s; a master heard of it %s ago",
			SLICE_ARG(answer_get_text(&silent->items[i], "host")),
			was_asked ? " does not answer" : ": no master carries messages (holdfast doctor)",
			duration_text(duration, answer_get_int(&silent->items[i], "seen_ms", 0)));
	}
}

/* False: out of memory. */
static bool
json_add_page(struct showing *s, const struct answer *lock)
{
	static const char *const lists[] = {"holders", "waiters"};
	bool added = true;

	for (size_t i = 0; added && i < sizeof(lists) / sizeof(*lists); i++) {
		const struct answer *list = answer_get(lock, lists[i]);
		json_t *more = list == NULL ? NULL : json_output_of(list);

		added = list == NULL || json_array_extend(json_object_get(s->json, lists[i]), more) == 0;
		json_decref(more);
	}
	return added;
}

/* The state is that of the name at all hosts, as without --json. False: out of memory. */
static bool
json_add_fleet(struct showing *s)
{
	static const char *const keys[] = {"state", "kind", "limit", "taken", "guard_ms"};
	bool latch = slice_equal(answer_get_text(s->fleet, "kind"), SLICE("latch"));
	bool added = json_object_set_new(s->json, "fleet", json_output_of(s->fleet)) == 0;

	for (size_t i = 0; added && !latch && i < sizeof(keys) / sizeof(*keys); i++) {
		const struct answer *value = answer_get(s->fleet, keys[i]);

		added = value == NULL || json_object_set_new(s->json, keys[i], json_output_of(value)) == 0;
	}
	return added;
}

/* False: out of memory. */
static bool
show_next(struct showing *s, const struct options *o, const struct answer *lock, bool first, bool last)
{
	const struct answer *holders = answer_get(lock, "holders");
	const struct answer *waiters = answer_get(lock, "waiters");
	int64_t held = answer_get_int(lock, "holder_count", 0);
	int64_t waited = answer_get_int(lock, "waiter_count", 0);
	bool printed = true;

	if (first) {
		struct slice state = answer_get_text(s->fleet != NULL ? s->fleet : lock, "state");

		s->known = (!slice_equal(state, SLICE("free")) && !slice_equal(state, SLICE("leased"))) ||
			   answer_get_text(lock, "elsewhere").n > 0;
	}
	if (o->json && first) {
		s->json = json_output_of(lock);
		printed = s->json != NULL && json_object_del(s->json, "cursor") == 0 &&
			  (s->fleet == NULL || json_add_fleet(s));
	} else if (o->json) {
		printed = json_add_page(s, lock);
	} else {
		if (first) {
			show_head(s, lock);
		}
		show_page(s, lock, last);
	}
	s->holders += holders == NULL ? 0 : holders->count;
	s->waiters += waiters == NULL ? 0 : waiters->count;
	held -= (int64_t)s->holders;
	waited -= (int64_t)s->waiters;
	s->missing = (held > 0 ? held : 0) + (waited > 0 ? waited : 0);
	s->excess = answer_get_int(lock, "holder_count", 0) > COMMAND_QUEUE_MAX ||
		    answer_get_int(lock, "waiter_count", 0) > COMMAND_QUEUE_MAX;
	return printed;
}

static int
show_end(struct showing *s, const struct options *o, struct pages *pages, bool printed)
{
	int status = STATUS_INTERNAL;

	if (pages->whole && s->excess) {
		pages->whole = false;
		pages->answer = NULL;
		(void)snprintf(pages->w->why, sizeof(pages->w->why),
			"the daemon tells of the first %d holders and waiters of a name", COMMAND_QUEUE_MAX);
	}
	if (printed && o->json && !pages->whole) {
		printed = list_add_error(s->json, pages, s->missing);
	}
	if (printed && !o->json && s->fleet != NULL) {
		show_fleet(s);
	}
	if (printed && o->json) {
		status = json_output_print_json(s->json);
		s->json = NULL;
	} else if (printed && fflush(stdout) == 0) {
		status = STATUS_DONE;
	}
	json_decref(s->json);
	if (status == STATUS_DONE && !pages->whole) {
		return list_report_error(pages, s->holders + s->waiters, s->missing);
	}
	return status == STATUS_DONE && !s->known ? STATUS_NO : status;
}

int
task_show(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1}, side = {.fd = -1};
	struct showing showing = {.local = !a->tcp};
	struct pages pages;
	const struct answer *lock;
	bool printed = true, first = true;
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE && !o->here) {
		status = take_hello(&side, a, "holdfast");
	}
	if (status == STATUS_DONE && !o->here) {
		showing.fleet = fleet_inspect(&side, o->name, clock_ms() + WIRE_ANSWER_MS);
	}
	if (status == STATUS_DONE) {
		pages_begin(&pages, &wire, 2, (const char *const[]){"INSPECT", o->name});
		for (; printed && (lock = pages_next(&pages)) != NULL; first = false) {
			printed = show_next(&showing, o, lock, first, pages.whole);
		}
		status = pages.begun ? show_end(&showing, o, &pages, printed)
				     : take_refusal(&wire, pages.answer, "cannot inspect");
	}
	wire_close(&wire);
	wire_close(&side);
	return status;
}
