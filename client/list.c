/*
 * list: requests each page with the cursor from the previous page. It keeps only the printed part of each
 * row, so that a hundred thousand rows need a few tens of megabytes.
 */
#include "client/list.h"

#include "client/message.h"
#include "client/output.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"
#include "proto/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
pages_begin(struct pages *pages, struct wire *w, size_t n, const char *const *words)
{
	assert(n <= PAGES_WORDS_MAX);
	*pages = (struct pages){.w = w, .n = n, .cursor = "0"};
	memcpy(pages->words, words, n * sizeof(*words));
}

void
pages_of_fleet(struct pages *pages)
{
	pages->fleet = true;
}

static void
pages_send(struct pages *pages)
{
	size_t n = pages->n;

	if (pages->fleet) {
		pages->words[n++] = "FLEET";
	}
	if (pages->rows) {
		pages->words[n++] = "ROWS";
	}
	pages->words[n++] = "CURSOR";
	pages->words[n++] = pages->cursor;
	wire_ask_words(pages->w, n, pages->words);
	(void)wire_flush(pages->w);
	pages->asked = true;
}

static const struct answer *
pages_ask(struct pages *pages)
{
	if (!pages->asked) {
		pages_send(pages);
	}
	pages->asked = false;
	return pages->until_ms == 0 ? wire_answer(pages->w) : wire_wait(pages->w, pages->until_ms);
}

/* The page in an answer, and the cursor of the next page. NULL: not a page. */
static const struct answer *
page_of(const struct answer *answer, struct slice *cursor)
{
	if (answer == NULL) {
		return NULL;
	}
	if (answer->type == ANSWER_MAP) {
		*cursor = answer_get_text(answer, "cursor");
		return answer;
	}
	if (answer->type != ANSWER_ARRAY || answer->count < 2 || answer->items[0].type != ANSWER_TEXT ||
		answer->items[1].type != ANSWER_ARRAY) {
		return NULL;
	}
	*cursor = answer->items[0].text;
	return &answer->items[1];
}

bool
silent_add(char text[SILENT_TEXT_MAX], const struct answer *silent)
{
	bool unasked = false;

	for (size_t i = 0; i < silent->count; i++) {
		struct slice host = answer_get_text(&silent->items[i], "host");
		size_t n = strlen(text);

		unasked |= answer_get_int(&silent->items[i], "asked", 1) == 0;
		(void)snprintf(text + n, SILENT_TEXT_MAX - n, "%s%.*s", n > 0 ? ", " : "", SLICE_ARG(host));
	}
	return unasked;
}

void
silent_why(char *out, size_t room, const char *text, bool unasked)
{
	(void)snprintf(out, room,
		unasked ? "the daemon of %s was not asked: no master carries messages (holdfast doctor)"
			: "no answer from the daemon of %s",
		text);
}

/* A daemon of an earlier version does not know FLEET or ROWS, and a client may not be allowed FLEET. */
static bool
pages_refused(struct pages *pages)
{
	bool unknown = answer_is_error(pages->answer, CODE_ERR) && (pages->rows || pages->fleet);

	if (pages->begun || (!unknown && (!answer_is_error(pages->answer, CODE_NOPERM) || !pages->fleet))) {
		return false;
	}
	if (pages->fleet) {
		slice_text(pages->refused, sizeof(pages->refused), pages->answer->text);
		pages->refusal = slice_of(pages->refused);
	}
	pages->fleet = false;
	pages->rows = pages->rows && !unknown;
	return true;
}

const struct answer *
pages_next(struct pages *pages)
{
	const struct answer *page;
	struct slice cursor;

	pages->page = NULL;
	pages->at = 0;
	if (pages->whole) {
		return NULL;
	}
	pages->answer = pages_ask(pages);
	if (pages_refused(pages)) {
		pages->answer = pages_ask(pages);
	}
	page = page_of(pages->answer, &cursor);
	if (page == NULL || cursor.n == 0 || cursor.n >= sizeof(pages->cursor)) {
		return NULL;
	}
	if (pages->answer->type == ANSWER_ARRAY && pages->answer->count == 3) {
		pages->unasked |= silent_add(pages->silent, &pages->answer->items[2]);
	}
	memcpy(pages->cursor, cursor.p, cursor.n);
	pages->cursor[cursor.n] = '\0';
	pages->begun = true;
	pages->whole = slice_equal(cursor, SLICE("0"));
	if (pages->ahead && !pages->whole) {
		pages_send(pages);
	}
	pages->page = page;
	return page;
}

const struct answer *
pages_element(struct pages *pages)
{
	const struct answer *page = pages->page, *keys = page != NULL ? page->items : NULL, *row;
	bool rows = keys != NULL && keys->type == ANSWER_ARRAY, first = pages->at == 0;
	size_t n;

	pages->at += rows && first;
	if (page == NULL || pages->at >= page->count) {
		return NULL;
	}
	row = &page->items[pages->at++];
	if (!rows) {
		return row;
	}
	n = keys->count < PAGES_KEYS_MAX ? keys->count : PAGES_KEYS_MAX;
	for (size_t i = 0; first && i < n; i++) {
		pages->pairs[2 * i] = keys->items[i];
	}
	n = n < row->count ? n : row->count;
	for (size_t i = 0; i < n; i++) {
		pages->pairs[2 * i + 1] = row->items[i];
	}
	pages->element = (struct answer){.type = ANSWER_MAP, .items = pages->pairs, .count = 2 * n};
	return &pages->element;
}

/* Takes ownership of texts; NULL: out of memory. */
static void
list_keep(struct list *list, int64_t rank, char *texts)
{
	if (list->count == list->room && texts != NULL) {
		size_t room = list->room == 0 ? 64 : list->room * 2;
		struct list_row *rows = reallocarray(list->rows, room, sizeof(*rows));

		if (rows != NULL) {
			list->rows = rows;
			list->room = room;
		}
	}
	if (list->count == list->room || texts == NULL) {
		list->failed = true;
		free(texts);
		return;
	}
	list->rows[list->count++] = (struct list_row){rank, texts};
}

void
list_add(struct list *list, int64_t rank, const struct slice *cells, size_t columns)
{
	size_t n = 0;
	char *texts, *at;

	for (size_t i = 0; i < columns; i++) {
		n += cells[i].n + 1;
	}
	texts = at = malloc(n);
	for (size_t i = 0; at != NULL && i < columns; i++) {
		slice_text(at, cells[i].n + 1, cells[i]);
		/* Texts of holdfastd have no NUL, but another server's might. */
		for (char *nul; (nul = memchr(at, '\0', cells[i].n)) != NULL;) {
			*nul = ' ';
		}
		at += cells[i].n + 1;
	}
	list_keep(list, rank, texts);
}

void
list_add_json(struct list *list, int64_t rank, struct slice name, const struct answer *element)
{
	struct buffer text;

	buffer_init(&text, SIZE_MAX / 4);
	json_put_answer(&text, element, clock_wall_us());
	const char *bytes = buffer_bytes(&text);
	if (text.failed || bytes == NULL) {
		list->failed = true;
	} else {
		list_add(list, rank, (const struct slice[]){name, {bytes, buffer_length(&text)}}, 2);
	}
	buffer_done(&text);
}

static int
row_compare(const void *a, const void *b)
{
	const struct list_row *left = a, *right = b;

	if (left->rank != right->rank) {
		return (left->rank < right->rank) - (left->rank > right->rank);
	}
	return strverscmp(left->texts, right->texts);
}

static void
list_sort(struct list *list)
{
	if (list->count > 0) {
		qsort(list->rows, list->count, sizeof(*list->rows), row_compare);
	}
}

static int
list_end(struct list *list, bool printed)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->rows[i].texts);
	}
	free(list->rows);
	if (printed && !list->failed && fflush(stdout) == 0) {
		return STATUS_DONE;
	}
	message("cannot print: no memory, or standard output is closed");
	return STATUS_INTERNAL;
}

/* The text after this one. */
static const char *
text_behind(const char *text)
{
	return text + strlen(text) + 1;
}

static struct slice
pages_why(const struct pages *pages)
{
	if (pages->answer == NULL) {
		return slice_of(pages->w->why);
	}
	return pages->answer->type == ANSWER_ERROR ? pages->answer->text
						   : SLICE("the daemon answered something unknown");
}

bool
list_add_error(json_t *object, const struct pages *pages, int64_t missing)
{
	return json_object_set_new(object, "error", json_output_text(pages_why(pages))) == 0 &&
	       json_object_set_new(object, "missing", missing < 0 ? json_null() : json_integer(missing)) == 0;
}

/* NULL: out of memory. */
static char *
error_text(const struct pages *pages, int64_t missing)
{
	json_t *error = json_object();
	char *text = list_add_error(error, pages, missing) ? json_dumps(error, JSON_COMPACT) : NULL;

	json_decref(error);
	return text;
}

int
list_print_json(struct list *list, const struct pages *pages, int64_t missing)
{
	char *last = pages->whole ? NULL : error_text(pages, missing);
	bool printed = !list->failed && (pages->whole || last != NULL) && putchar('[') != EOF;

	list_sort(list);
	for (size_t i = 0; printed && i < list->count; i++) {
		printed = (i == 0 || putchar(',') != EOF) &&
			  json_output_write(text_behind(list->rows[i].texts));
	}
	if (printed && last != NULL) {
		printed = (list->count == 0 || putchar(',') != EOF) && json_output_write(last);
	}
	free(last);
	return list_end(list, printed && puts("]") != EOF);
}

int
list_print_names(struct list *list)
{
	char name[1024 * ESCAPE_BYTE_MAX];
	bool printed = true;

	list_sort(list);
	for (size_t i = 0; printed && i < list->count; i++) {
		(void)escape_text(name, sizeof(name), slice_of(list->rows[i].texts), ESCAPE_PLAIN);
		printed = puts(name) != EOF;
	}
	return list_end(list, printed);
}

int
list_print_table(struct list *list, const char *const *heads, unsigned flexible)
{
	struct table t;
	bool printed;

	table_init(&t, heads);
	t.ordered = true;
	t.flexible = flexible;
	list_sort(list);
	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->rows[i].texts;

		for (size_t c = 0; c < t.columns; c++) {
			struct slice cell = slice_of(text);

			table_refer(&t, cell);
			text += cell.n + 1;
		}
	}
	printed = table_print(&t);
	table_done(&t);
	return list_end(list, printed);
}

int64_t
list_expect(struct wire *w, const char *const *keys)
{
	const struct answer *info;
	int64_t sum = 0;

	wire_ask(w, "INFO", "locks");
	info = wire_answer(w);
	for (size_t i = 0; info != NULL && info->type == ANSWER_TEXT && keys[i] != NULL; i++) {
		int64_t number;

		if (!number_parse(answer_info(info->text, keys[i]), 0, INT64_MAX / 4, &number)) {
			return -1;
		}
		sum += number;
	}
	return info != NULL && info->type == ANSWER_TEXT ? sum : -1;
}

int
list_report_error(const struct pages *pages, size_t told, int64_t missing)
{
	struct slice why = pages_why(pages);
	char text[64] = "how many are missing is not known";

	if (missing >= 0) {
		(void)snprintf(text, sizeof(text), "at most %" PRId64 " are missing", missing);
	}
	message("the list ends early, after %zu: %s; %.*s", told, text, SLICE_ARG(why));
	return STATUS_NO;
}
