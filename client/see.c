/*
 * see: the verbs ls and sessions.
 */
#include "client/duration.h"
#include "client/json_output.h"
#include "client/list.h"
#include "client/message.h"
#include "client/pages.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "client/who.h"
#include "proto/command.h"

#include <stdio.h>

/* What the rows of a list are made from. */
struct seeing {
	const struct options *o;
	bool local; /* the daemon is on this host */
	bool names; /* print names instead of a table */
	void (*add)(struct seeing *seeing, struct list *list, const struct answer *element);
	const char *const *heads;
	unsigned flexible;
	const char *const *counts; /* fields of INFO whose sum bounds the length of the list; NULL: unknown */
	/* Cache of the last process that was looked up, because one process may hold thousands of locks. */
	int64_t pid;
	char client[LABEL_BYTES_MAX + 1];
	char name[WHO_TEXT_MAX];
};

static struct slice
list_name(struct seeing *seeing, const struct answer *element)
{
	struct slice client = answer_get_text(element, "client");
	int64_t pid = answer_get_int(element, "pid", 0);

	if (pid == 0 || pid != seeing->pid || !slice_equal(client, slice_of(seeing->client))) {
		(void)who_name(seeing->name, element, seeing->local);
		(void)snprintf(seeing->client, sizeof(seeing->client), "%.*s", (int)client.n,
			client.n > 0 ? client.p : "");
		seeing->pid = pid;
	}
	return slice_of(seeing->name);
}

static int
list_print(const struct seeing *seeing, struct list *list, const struct pages *pages, int64_t most)
{
	size_t told = list->count;
	int64_t missing = most < 0 ? -1 : most > (int64_t)told ? most - (int64_t)told : 0;
	int status = seeing->o->json ? list_print_json(list, pages, missing)
		     : seeing->names ? list_print_names(list)
				     : list_print_table(list, seeing->heads, seeing->flexible);

	return status == STATUS_DONE && !pages->whole ? list_say_error(pages, told, missing) : status;
}

/* words: the n words of the request */
static int
see(struct seeing *seeing, const struct address *a, size_t n, const char *const *words)
{
	struct wire wire = {.fd = -1};
	struct list list = {.rows = NULL};
	struct pages pages;
	const struct answer *page;
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		int64_t most = seeing->counts == NULL ? -1 : list_expect(&wire, seeing->counts);

		pages_begin(&pages, &wire, n, words);
		while ((page = pages_next(&pages)) != NULL) {
			for (size_t i = 0; i < page->count; i++) {
				seeing->add(seeing, &list, &page->items[i]);
			}
		}
		status = pages.begun ? list_print(seeing, &list, &pages, most)
				     : take_refusal(&wire, pages.answer, "cannot look");
	}
	wire_close(&wire);
	return status;
}

static struct slice
number_text(char out[NUMBER_TEXT_MAX], int64_t n)
{
	return (struct slice){out, number_print(out, n)};
}

/* The oldest holds come first, and names that are only waited for come last. */
static void
ls_add(struct seeing *seeing, struct list *list, const struct answer *lock)
{
	int64_t token = answer_get_int(lock, "token", 0);
	int64_t rank = token > 0 ? answer_get_int(lock, "held_ms", 0) : -1;
	struct slice cells[8] = {answer_get_text(lock, "name"), answer_get_text(lock, "state"), SLICE("-"),
		SLICE("-"), SLICE("-")};
	char span[DURATION_TEXT_MAX], place[WHO_TEXT_MAX], number[NUMBER_TEXT_MAX], waiters[NUMBER_TEXT_MAX];
	size_t n = 5;

	if (seeing->o->json) {
		list_add_json(list, rank, cells[0], json_output_of(lock));
		return;
	}
	if (token > 0 && !seeing->names) {
		cells[2] = slice_of(duration_text(span, answer_get_int(lock, "held_ms", 0)));
		cells[3] = list_name(seeing, lock);
		cells[4] = slice_of(who_place(place, lock));
	}
	if (seeing->o->verbose) {
		cells[n++] = number_text(number, token);
	}
	cells[n++] = number_text(waiters, answer_get_int(lock, "waiters", 0));
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
	struct seeing seeing = {
		.o = o,
		.local = !a->tcp,
		.names = o->quiet,
		.add = ls_add,
		.heads = o->verbose ? more : heads,
		/* NAME, HOLDER, WHERE and WHY */
		.flexible = 1U << 0 | 1U << 3 | 1U << 4 | 1U << (o->verbose ? 7 : 6),
		.counts = o->name == NULL ? counts : NULL,
	};

	return see(&seeing, a, o->name == NULL ? 1 : 3, words);
}

/* The grace of the session, or the rest of it. */
static struct slice
grace_text(char out[WHO_TEXT_MAX], const struct answer *session)
{
	int64_t grace_ms = answer_get_int(session, "grace_ms", 0);
	int64_t left_ms = answer_get_int(session, "left_ms", -1);
	char span[DURATION_TEXT_MAX];

	if (grace_ms == 0) {
		return SLICE("-");
	}
	(void)snprintf(out, WHO_TEXT_MAX, "%s%s", duration_text(span, left_ms < 0 ? grace_ms : left_ms),
		left_ms < 0 ? "" : " left");
	return slice_of(out);
}

static void
sessions_add(struct seeing *seeing, struct list *list, const struct answer *s)
{
	static const char *const numbers[] = {
		"session", "uid", "connections", "grants", "waiters", "bound_pid"};
	char texts[6][NUMBER_TEXT_MAX], span[DURATION_TEXT_MAX], place[WHO_TEXT_MAX], grace[WHO_TEXT_MAX];
	struct slice n[6];

	for (size_t i = 0; i < 6; i++) {
		n[i] = number_text(texts[i], answer_get_int(s, numbers[i], i == 1 ? -1 : 0));
	}
	if (seeing->o->json) {
		list_add_json(list, 0, n[0], json_output_of(s));
		return;
	}
	list_add(list, 0,
		(const struct slice[]){n[0], list_name(seeing, s), slice_of(who_place(place, s)), n[1],
			slice_of(duration_text(span, answer_get_int(s, "age_ms", 0))), n[2], n[3], n[4], n[5],
			grace_text(grace, s)},
		10);
}

int
task_sessions(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {"SESSION", "CLIENT", "WHERE", "UID", "AGE", "CONNECTIONS",
		"HOLDS", "WAITS", "BOUND TO", "GRACE", NULL};
	static const char *const counts[] = {"sessions", NULL};
	struct seeing seeing = {
		.o = o,
		.local = !a->tcp,
		.add = sessions_add,
		.heads = heads,
		.flexible = 1U << 1 | 1U << 2, /* CLIENT and WHERE */
		.counts = counts,
	};

	return see(&seeing, a, 1, (const char *const[]){"SESSIONS"});
}
