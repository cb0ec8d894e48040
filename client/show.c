/*
 * show: prints a name with all its holders and waiters, which come in pages.
 */
#include "client/duration.h"
#include "client/json_output.h"
#include "client/list.h"
#include "client/pages.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "client/who.h"
#include "proto/command.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define LINE_BYTES 1024

struct showing {
	bool local;      /* the daemon is on this host */
	json_t *json;    /* JSON output; NULL: lines, or out of memory */
	size_t holders;  /* holders shown so far */
	size_t waiters;  /* waiters shown so far */
	int64_t missing; /* holders and waiters that were missing after the last page */
	bool excess;     /* there are more than the daemon reports */
	bool known;      /* the name has a holder or a waiter */
	bool told;       /* the part between holders and waiters was shown */
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

/* A text of a map for %.*s */
#define TEXT(map, key)                                                                                       \
	(int)answer_get_text(map, key).n, answer_get_text(map, key).n == 0 ? "" : answer_get_text(map, key).p

static void
show_holder(const struct answer *holder, bool local)
{
	char held[DURATION_TEXT_MAX];
	char valid[DURATION_TEXT_MAX];
	char name[WHO_TEXT_MAX];
	char place[WHO_TEXT_MAX];

	show_line("holder", "%s (%s, uid %" PRId64 ", session %" PRId64 ")", who_name(name, holder, local),
		who_place(place, holder), answer_get_int(holder, "uid", -1),
		answer_get_int(holder, "session", 0));
	show_line("for", "%s; surely good for %s more",
		duration_text(held, answer_get_int(holder, "held_ms", 0)),
		duration_text(valid, answer_get_int(holder, "valid_ms", 0)));
	if (answer_get_text(holder, "why").n > 0) {
		show_line("why", "%.*s", TEXT(holder, "why"));
	}
	if (answer_get_text(holder, "owner").n > 0) {
		show_line("owner", "%.*s, entered %" PRId64 " times", TEXT(holder, "owner"),
			answer_get_int(holder, "count", 0));
	}
	show_line("token", "%" PRId64, answer_get_int(holder, "token", 0));
}

/* first: this is the first page with waiters */
static void
show_waiters(const struct answer *waiters, bool first, bool local)
{
	char age[DURATION_TEXT_MAX];
	char name[WHO_TEXT_MAX];
	char place[WHO_TEXT_MAX];

	for (size_t i = 0; i < waiters->count; i++) {
		const struct answer *w = &waiters->items[i];
		bool why = answer_get_text(w, "why").n > 0;

		show_line(i == 0 && first ? "waiting" : "", "%" PRId64 ". %s (%s) for %s%s%.*s",
			answer_get_int(w, "position", (int64_t)i + 1), who_name(name, w, local),
			who_place(place, w), duration_text(age, answer_get_int(w, "age_ms", 0)),
			why ? ": " : "", TEXT(w, "why"));
	}
}

static void
show_head(const struct answer *lock)
{
	show_line("name", "%.*s", TEXT(lock, "name"));
	show_line("kind", "%.*s", TEXT(lock, "kind"));
	show_line("state", "%.*s", TEXT(lock, "state"));
	if (answer_get_int(lock, "limit", 0) > 0) {
		show_line("permits", "%" PRId64 " of %" PRId64 " are taken here",
			answer_get_int(lock, "taken", 0), answer_get_int(lock, "limit", 0));
	}
	if (slice_equal(answer_get_text(lock, "kind"), SLICE("latch"))) {
		show_line("left", "%" PRId64 " of %" PRId64 " steps", answer_get_int(lock, "left", 0),
			answer_get_int(lock, "set", 0));
	}
}

/* Printed after the holders. */
static void
show_lease(struct showing *s, const struct answer *lock)
{
	if (s->told) {
		return;
	}
	s->told = true;
	if (answer_get_text(lock, "elsewhere").n > 0) {
		show_line("elsewhere", "the daemon %.*s has the lease", TEXT(lock, "elsewhere"));
	}
	if (answer_get_text(lock, "lease").n > 0) {
		show_line("lease", "%.*s", TEXT(lock, "lease"));
	}
	show_line("master", "%.*s", TEXT(lock, "master"));
}

static void
show_page(struct showing *s, const struct answer *lock, bool last)
{
	const struct answer *holders = answer_get(lock, "holders");
	const struct answer *waiters = answer_get(lock, "waiters");

	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		show_holder(&holders->items[i], s->local);
	}
	if (last || (waiters != NULL && waiters->count > 0)) {
		show_lease(s, lock);
	}
	if (waiters != NULL) {
		show_waiters(waiters, s->waiters == 0, s->local);
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
		s->known = (!slice_equal(answer_get_text(lock, "state"), SLICE("free")) &&
				   !slice_equal(answer_get_text(lock, "state"), SLICE("leased"))) ||
			   answer_get_text(lock, "elsewhere").n > 0;
	}
	if (o->json && first) {
		s->json = json_output_of(lock);
		printed = s->json != NULL && json_object_del(s->json, "cursor") == 0;
	} else if (o->json) {
		printed = json_add_page(s, lock);
	} else {
		if (first) {
			show_head(lock);
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
	if (printed && o->json) {
		status = json_output_print_json(s->json);
		s->json = NULL;
	} else if (printed && fflush(stdout) == 0) {
		status = STATUS_DONE;
	}
	json_decref(s->json);
	if (status == STATUS_DONE && !pages->whole) {
		return list_say_error(pages, s->holders + s->waiters, s->missing);
	}
	return status == STATUS_DONE && !s->known ? STATUS_NO : status;
}

int
task_show(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct showing showing = {.local = !a->tcp};
	struct pages pages;
	const struct answer *lock;
	bool printed = true, first = true;
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		pages_begin(&pages, &wire, 2, (const char *const[]){"INSPECT", o->name});
		for (; printed && (lock = pages_next(&pages)) != NULL; first = false) {
			printed = show_next(&showing, o, lock, first, pages.whole);
		}
		status = pages.begun ? show_end(&showing, o, &pages, printed)
				     : take_refusal(&wire, pages.answer, "cannot look");
	}
	wire_close(&wire);
	return status;
}
