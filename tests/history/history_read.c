/*
 * history_read: lines become events. What has not the form of a line is refused with its file and number.
 */
#include "tests/history/history.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 64

void
list_add(struct list *l, void *one)
{
	if (l->n == l->room) {
		l->room = l->room > 0 ? 2 * l->room : 16;
		l->at = realloc(l->at, l->room * sizeof(void *));
		assert(l->at != NULL);
	}
	l->at[l->n++] = one;
}

void
list_free(struct list *l, bool each)
{
	for (size_t i = 0; each && i < l->n; i++)
		free(l->at[i]);
	free(l->at);
	*l = (struct list){0};
}

struct history *
history_begin(void)
{
	struct history *h = calloc(1, sizeof(*h));

	assert(h != NULL);
	h->running = HISTORY_NEVER;
	h->late_ms = STUCK_MS;
	return h;
}

static void
client_free(struct client *c)
{
	for (size_t i = 0; i < c->events.n; i++)
		free(((struct event *)c->events.at[i])->args);
	list_free(&c->events, true);
	list_free(&c->waits, true);
	list_free(&c->held, false);
	list_free(&c->own, false);
	list_free(&c->asks, false);
	free(c);
}

void
history_done(struct history *h)
{
	for (size_t i = 0; i < h->clients.n; i++)
		client_free(h->clients.at[i]);
	list_free(&h->clients, false);
	list_free(&h->names, true);
	list_free(&h->texts, true);
	list_free(&h->holds, true);
	list_free(&h->latches, true);
	list_free(&h->given, true);
	list_free(&h->harms, true);
	list_free(&h->bounds, true);
	free(h);
}

const char *
history_error(const struct history *h)
{
	return h->error;
}

/* The one copy of this text. */
static const char *
intern(struct history *h, const char *text)
{
	size_t from = 0, to = h->names.n;
	char *copy;

	while (from < to) {
		size_t middle = (from + to) / 2;
		int order = strcmp(h->names.at[middle], text);
		if (order == 0)
			return h->names.at[middle];
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	copy = strdup(text);
	assert(copy != NULL);
	list_add(&h->names, copy);
	memmove(h->names.at + from + 1, h->names.at + from, (h->names.n - 1 - from) * sizeof(void *));
	h->names.at[from] = copy;
	return copy;
}

static struct client *
client_of(struct history *h, const char *text)
{
	const char *name = intern(h, text);
	struct client *c;

	for (size_t i = 0; i < h->clients.n; i++) {
		c = h->clients.at[i];
		if (c->name == name)
			return c;
	}
	c = calloc(1, sizeof(*c));
	assert(c != NULL);
	c->history = h;
	c->name = name;
	c->unix_socket = true;
	list_add(&h->clients, c);
	return c;
}

#define NUMBER_DIGITS 18
#define MS_DIGITS     10 /* in ns they are a number, too */

static bool
is_number(const char *text, size_t most)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= most && text[digits] == '\0';
}

int64_t
history_number(const char *text)
{
	assert(text != NULL);
	return strtoll(text, NULL, 10);
}

/* x, s, or pK/N. */
static bool
is_form(const char *text)
{
	int64_t permits, limit;
	int end = 0;

	if (strcmp(text, "x") == 0 || strcmp(text, "s") == 0)
		return true;
	return sscanf(text, "p%9" SCNd64 "/%9" SCNd64 "%n", &permits, &limit, &end) == 2 &&
	       text[end] == '\0' && permits > 0 && permits <= limit;
}

static bool
has_kind(char kind, const char *text)
{
	if (kind == 'i' || kind == 'm')
		return is_number(text, kind == 'm' ? MS_DIGITS : NUMBER_DIGITS);
	return kind == 'f' ? is_form(text) : *text != '\0';
}

/* Whether these arguments are those of the word. */
static bool
fits(const struct word *word, const char *const *args, size_t n)
{
	const char *form = word->form;
	bool more = true; /* something is missing if it ends here */
	size_t i = 0;

	for (; *form != '\0'; form++) {
		if (*form == '?') {
			more = false;
		} else if (*form == '*') {
			return true;
		} else if (*form == '+') {
			while (i < n && has_kind(form[-1], args[i]))
				i++;
		} else if (i == n) {
			return !more;
		} else if (!has_kind(*form, args[i++])) {
			return false;
		}
	}
	return i == n;
}

/* The kind of the argument with this number. */
static char
kind_at(const char *form, size_t number)
{
	for (char kind = '*';; form++) {
		if (*form == '+' || *form == '\0')
			return kind;
		if (*form == '?')
			continue;
		kind = *form;
		if (number-- == 0)
			return kind;
	}
}

static bool
is_latch(const char *const *args, size_t n)
{
	const char *what = args[1];

	if (strcmp(what, "down") == 0)
		return n == 4 && is_number(args[2], MS_DIGITS);
	if (strcmp(what, "set") == 0 || strcmp(what, "await") == 0)
		return n == 3 && is_number(args[2], MS_DIGITS);
	return strcmp(what, "count") == 0 && n == 2;
}

/* Ns, or with `ms` behind it; -1: it is no time. */
static int64_t
time_of(char *text)
{
	size_t n = strlen(text);
	bool ms = n > 2 && strcmp(text + n - 2, "ms") == 0;

	if (ms)
		text[n - 2] = '\0';
	if (!is_number(text, ms ? MS_DIGITS : NUMBER_DIGITS))
		return -1;
	return history_number(text) * (ms ? MS : 1);
}

static void
add_bound(struct history *h, const char *name, const char *ms)
{
	struct bound *bound = malloc(sizeof(*bound));

	assert(bound != NULL);
	*bound = (struct bound){name, history_number(ms)};
	list_add(&h->bounds, bound);
}

/* Its words, without the time; NULL: all is well, otherwise what is wrong. */
static const char *
take_words(struct history *h, struct event *e, const char **args, size_t n)
{
	const struct word *word = history_words;

	while (word->text != NULL && strcmp(word->text, args[0]) != 0)
		word++;
	if (word->text == NULL)
		return "no such word";
	args++;
	n--;
	if (word->as && n >= 2 && strcmp(args[n - 2], "as") == 0) {
		e->as = intern(h, args[n - 1]);
		n -= 2;
	}
	if (!fits(word, args, n) || (strcmp(word->text, "latch") == 0 && !is_latch(args, n)))
		return "not the arguments of this word";
	e->word = word;
	e->argc = (unsigned)n;
	e->args = calloc(n + 1, sizeof(*args));
	assert(e->args != NULL);
	for (size_t i = 0; i < n; i++)
		e->args[i] = kind_at(word->form, i) == 'n' ? intern(h, args[i]) : args[i];
	if (strcmp(word->text, "lease") == 0)
		add_bound(h, NULL, e->args[0]);
	else if (strcmp(word->text, "maxhold") == 0)
		add_bound(h, e->args[0], e->args[1]);
	else if (strcmp(word->text, "late") == 0)
		h->late_ms = history_number(e->args[0]);
	return NULL;
}

static const char *
take_line(struct history *h, struct client **c, char *text, unsigned number)
{
	const char *args[ARGS_MAX];
	struct event *e;
	char *rest = text;
	size_t n = 0;
	int64_t at;

	if (*text == '\0' || *text == '#')
		return NULL;
	while (rest != NULL && n < ARGS_MAX)
		args[n++] = strsep(&rest, " ");
	if (rest != NULL)
		return "too many words";
	if (n == 2 && strcmp(args[0], "client") == 0) {
		*c = client_of(h, args[1]);
		return NULL;
	}
	at = time_of(text);
	if (at < 0 || n < 2)
		return "no line of a history";
	e = calloc(1, sizeof(*e));
	assert(e != NULL);
	e->at = at;
	e->client = *c;
	e->line = number;
	list_add(&(*c)->events, e);
	h->until = at > h->until ? at : h->until;
	return take_words(h, e, args + 1, n - 1);
}

bool
history_take(struct history *h, const char *client, char *lines)
{
	struct client *c = client_of(h, client);
	char *rest = lines;

	for (unsigned number = 1; rest != NULL; number++) {
		/* A line without an end is being written. */
		char *line = rest, *end = strchr(rest, '\n');
		const char *wrong;

		if (end != NULL)
			*end = '\0';
		rest = end != NULL ? end + 1 : NULL;
		wrong = end != NULL ? take_line(h, &c, line, number) : NULL;
		if (wrong != NULL) {
			snprintf(h->error, sizeof(h->error), "%.200s:%u: %s", client, number, wrong);
			return false;
		}
	}
	return true;
}

bool
history_read(struct history *h, const char *path)
{
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (file == NULL) {
		snprintf(h->error, sizeof(h->error), "%.200s: %s", path, strerror(errno));
		return false;
	}
	n = getdelim(&text, &room, '\0', file);
	if (n < 0 && ferror(file)) {
		snprintf(h->error, sizeof(h->error), "%.200s: %s", path, strerror(errno));
		fclose(file);
		free(text);
		return false;
	}
	fclose(file);
	if (n < 0) {
		free(text);
		return true; /* it is empty */
	}
	list_add(&h->texts, text);
	return history_take(h, name, text);
}

size_t
history_line(const struct event *e, char *line, size_t room)
{
	int n = snprintf(line, room, "%s:%u: %" PRId64 " %s", e->client->name, e->line, e->at, e->word->text);

	for (unsigned i = 0; i < e->argc && (size_t)n < room; i++)
		n += snprintf(line + n, room - (size_t)n, " %s", e->args[i]);
	if (e->as != NULL && (size_t)n < room)
		n += snprintf(line + n, room - (size_t)n, " as %s", e->as);
	return (size_t)n < room ? (size_t)n : room - 1;
}

void
history_found(struct history *h, enum history_rule rule, const struct event *const *lines, size_t n,
	const char *form, ...)
{
	const struct event *known[8];
	char what[160];
	va_list list;
	size_t some = 0;

	for (size_t i = 0; i < n; i++) {
		if (lines[i] != NULL && some < sizeof(known) / sizeof(known[0]))
			known[some++] = lines[i];
	}
	va_start(list, form);
	vsnprintf(what, sizeof(what), form, list);
	va_end(list);
	h->report(h->context, rule, what, known, some);
}
