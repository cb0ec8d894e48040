/*
 * answer: scans until one answer is complete, then builds its tree.
 *
 *     bytes ──▶ scan, element by element ──▶ build: one array of nodes,
 *               (answer_parser: which             children of one parent side by side
 *               aggregates are open)
 *
 * Both passes read elements with the same function, so they cannot disagree. Called by the bundled client and
 * by tests. It never prints.
 */
#include "proto/answer.h"

#include <assert.h>
#include <stdlib.h>

#define MS_MOST    INT64_C(31536000000) /* COMMAND_MS_MAX */
#define TOKEN_MOST (INT64_C(1) << 53)

enum got { GOT_WHOLE, GOT_PART, GOT_BAD };

/* One element without its children. */
struct element {
	struct answer node;
	size_t next; /* where the next element starts */
};

static const char *const fault_form = "what the server sent is not RESP";
static const char *const fault_size = "the server's answer is too large";
static const char *const fault_depth = "the server's answer is nested too deeply";
static const char *const fault_memory = "out of memory for the server's answer";

/* The line at `at`. *scanned keeps how far there is no end of line, so that the next call need not search
 * again. */
static enum got
read_line(const char *data, size_t n, size_t at, size_t *scanned, struct slice *line)
{
	const char *end = memchr(data + at + *scanned, '\n', n - at - *scanned);
	size_t length;

	if (end == NULL) {
		*scanned = n - at;
		return GOT_PART;
	}
	length = (size_t)(end - data) - at;
	if (length == 0 || end[-1] != '\r')
		return GOT_BAD;
	*line = (struct slice){data + at, length - 1};
	return GOT_WHOLE;
}

/* The number of a line of at most SHORT_DIGITS digits, as nearly all lengths, counts and numbers are. False:
 * the line is not one of those, or not all of it is there. */
#define SHORT_DIGITS 15

static bool
read_short(const char *data, size_t n, size_t at, int64_t *number, size_t *next)
{
	size_t end = n - at > SHORT_DIGITS ? at + SHORT_DIGITS : n;
	size_t i = at;
	int64_t value = 0;

	while (i < end && data[i] >= '0' && data[i] <= '9')
		value = value * 10 + (data[i++] - '0');
	if (i == at || n - i < 2 || data[i] != '\r' || data[i + 1] != '\n' || (data[at] == '0' && i > at + 1))
		return false;
	*number = value;
	*next = i + 2;
	return true;
}

/* The `length` bytes that follow `$n`, `=n` or `!n`; -1: null. */
static enum got
read_bulk(const char *data, size_t n, int64_t length, struct element *e)
{
	if (length < 0) {
		e->node.type = ANSWER_NULL;
		return GOT_WHOLE;
	}
	if (n - e->next < 2 || (uint64_t)length > n - e->next - 2)
		return GOT_PART;
	e->node.text = (struct slice){data + e->next, (size_t)length};
	e->next += (size_t)length + 2;
	return memcmp(data + e->next - 2, "\r\n", 2) == 0 ? GOT_WHOLE : GOT_BAD;
}

/* count: -1: null */
static enum got
read_aggregate(int64_t count, struct element *e)
{
	if (count > (int64_t)ANSWER_ELEMENTS_MAX)
		return GOT_BAD;
	if (count < 0)
		e->node.type = ANSWER_NULL;
	else
		e->node.count = (size_t)count * (e->node.type == ANSWER_MAP ? 2 : 1);
	return GOT_WHOLE;
}

/* RESP's type bytes: TYPE(byte, type of the answer, form of the element) */
enum form { FORM_LINE, FORM_NUMBER, FORM_BULK, FORM_AGGREGATE, FORM_FLAG, FORM_NULL };

static const struct resp_type {
	char byte;
	enum answer_type type;
	enum form form;
} resp_types[] = {
	{'$', ANSWER_TEXT, FORM_BULK},
	{':', ANSWER_INT, FORM_NUMBER},
	{'*', ANSWER_ARRAY, FORM_AGGREGATE},
	{'+', ANSWER_STATUS, FORM_LINE},
	{'-', ANSWER_ERROR, FORM_LINE},
	{'%', ANSWER_MAP, FORM_AGGREGATE},
	{'~', ANSWER_ARRAY, FORM_AGGREGATE},
	{'>', ANSWER_PUSH, FORM_AGGREGATE},
	{'_', ANSWER_NULL, FORM_NULL},
	{'#', ANSWER_FLAG, FORM_FLAG},
	{',', ANSWER_TEXT, FORM_LINE},
	{'(', ANSWER_TEXT, FORM_LINE},
	{'=', ANSWER_TEXT, FORM_BULK},
	{'!', ANSWER_ERROR, FORM_BULK},
};

static const struct resp_type *
find_type(char byte)
{
	for (size_t i = 0; i < sizeof(resp_types) / sizeof(*resp_types); i++) {
		if (resp_types[i].byte == byte)
			return &resp_types[i];
	}
	return NULL;
}

/* A verbatim string begins with its format in four bytes, "txt:". */
static enum got
strip_verbatim(struct element *e)
{
	if (e->node.type == ANSWER_NULL || e->node.text.n < 4 || e->node.text.p[3] != ':')
		return GOT_BAD;
	e->node.text.p += 4;
	e->node.text.n -= 4;
	return GOT_WHOLE;
}

/* What follows the number of an element that has one. */
static enum got
read_numbered(const struct resp_type *type, const char *data, size_t n, int64_t number, struct element *e)
{
	enum got got;

	switch (type->form) {
	case FORM_BULK:
		got = read_bulk(data, n, number, e);
		return got == GOT_WHOLE && type->byte == '=' ? strip_verbatim(e) : got;
	case FORM_AGGREGATE:
		return read_aggregate(number, e);
	default:
		e->node.n = number;
		return GOT_WHOLE;
	}
}

static bool
form_is_numbered(enum form form)
{
	return form == FORM_NUMBER || form == FORM_BULK || form == FORM_AGGREGATE;
}

/* rest: the line after its type byte */
static enum got
read_form(const struct resp_type *type, const char *data, size_t n, struct slice rest, struct element *e)
{
	int64_t number;

	switch (type->form) {
	case FORM_NUMBER:
	case FORM_BULK:
	case FORM_AGGREGATE:
		if (!number_parse(rest, type->form == FORM_NUMBER ? INT64_MIN : -1, INT64_MAX, &number))
			return GOT_BAD;
		return read_numbered(type, data, n, number, e);
	case FORM_LINE:
		e->node.text = rest;
		return GOT_WHOLE;
	case FORM_FLAG:
		e->node.n = rest.n == 1 && rest.p[0] == 't';
		return rest.n == 1 && (rest.p[0] == 't' || rest.p[0] == 'f') ? GOT_WHOLE : GOT_BAD;
	case FORM_NULL:
		break;
	}
	return rest.n == 0 ? GOT_WHOLE : GOT_BAD;
}

/* The element at `at`. Malformed elements are detected as soon as their first line has arrived. */
static enum got
read_element(const char *data, size_t n, size_t at, size_t *scanned, struct element *e)
{
	const struct resp_type *type;
	struct slice line;
	int64_t number;
	enum got got;

	if (at >= n)
		return GOT_PART;
	type = find_type(data[at]);
	if (type == NULL)
		return GOT_BAD;
	*e = (struct element){.node = {.type = type->type}};
	if (form_is_numbered(type->form) && read_short(data, n, at + 1, &number, &e->next))
		return read_numbered(type, data, n, number, e);
	got = read_line(data, n, at, scanned, &line);
	if (got != GOT_WHOLE)
		return got;
	e->next = at + line.n + 2;
	return read_form(type, data, n, (struct slice){line.p + 1, line.n - 1}, e);
}

/* One more element is complete. True: so is the answer. */
static bool
close_element(struct answer_parser *p)
{
	while (p->depth > 0) {
		if (--p->left[p->depth - 1] > 0)
			return false;
		p->depth--;
	}
	return true;
}

/* 1: an answer is complete, 0: more bytes are needed, -1: *fault. */
static int
scan(struct answer_parser *p, const char *data, size_t n, const struct answer_limits *limits,
	const char **fault)
{
	for (;;) {
		struct element e;
		enum got got = read_element(data, n, p->seen, &p->scanned, &e);

		*fault = fault_form;
		if (got == GOT_BAD)
			return -1;
		*fault = fault_size;
		if (got == GOT_PART)
			return n > limits->bytes ? -1 : 0;
		if (e.next > limits->bytes || ++p->elements > limits->elements)
			return -1;
		if (e.node.count > limits->elements - p->elements)
			return -1;
		p->seen = e.next;
		p->scanned = 0;
		*fault = fault_form;
		if (e.node.type == ANSWER_PUSH && p->depth > 0)
			return -1;
		if (e.node.count == 0) {
			if (close_element(p))
				return 1;
			continue;
		}
		*fault = fault_depth;
		if (p->depth == ANSWER_DEPTH_MAX)
			return -1;
		p->left[p->depth++] = e.node.count;
	}
}

struct builder {
	const char *data;
	size_t n;
	size_t at;
	struct answer *next; /* first free node */
};

/* Depth is at most ANSWER_DEPTH_MAX, as the scan has checked. */
static void
build(struct builder *b, struct answer *node)
{
	struct element e;
	size_t scanned = 0;
	enum got got = read_element(b->data, b->n, b->at, &scanned, &e);
	struct answer *items = b->next;

	assert(got == GOT_WHOLE);
	b->at = e.next;
	b->next += e.node.count;
	*node = e.node;
	node->items = node->count > 0 ? items : NULL;
	for (size_t i = 0; i < node->count; i++)
		build(b, items + i);
}

static bool
make_room(struct answer_parser *p)
{
	struct answer *tree;

	if (p->elements <= p->room)
		return true;
	tree = realloc(p->tree, p->elements * sizeof(*tree));
	if (tree == NULL)
		return false;
	p->tree = tree;
	p->room = p->elements;
	return true;
}

void
answer_done(struct answer_parser *parser)
{
	free(parser->tree);
	*parser = (struct answer_parser){0};
}

ssize_t
answer_parse(struct answer_parser *parser, const char *data, size_t n, const struct answer_limits *limits,
	const struct answer **out, const char **fault)
{
	struct builder b = {data, n, 0, NULL};
	const char *why;
	ssize_t got;

	assert(limits->bytes <= ANSWER_BYTES_MAX && limits->elements <= ANSWER_ELEMENTS_MAX);
	got = scan(parser, data, n, limits, &why);
	if (got > 0 && out == NULL) {
		got = (ssize_t)parser->seen;
		*parser = (struct answer_parser){.tree = parser->tree, .room = parser->room};
		return got;
	}
	if (got > 0 && !make_room(parser)) {
		why = fault_memory;
		got = -1;
	}
	if (got < 0)
		*fault = why;
	if (got <= 0)
		return got;
	b.next = parser->tree + 1;
	build(&b, parser->tree);
	assert(b.at == parser->seen);
	*parser = (struct answer_parser){.tree = parser->tree, .room = parser->room};
	*out = parser->tree;
	return (ssize_t)b.at;
}

const struct answer *
answer_get(const struct answer *map, const char *key)
{
	if (map == NULL || (map->type != ANSWER_MAP && map->type != ANSWER_ARRAY))
		return NULL;
	for (size_t i = 0; i + 1 < map->count; i += 2) {
		const struct answer *k = &map->items[i];

		/* Most keys differ in their first byte. */
		if ((k->type == ANSWER_TEXT || k->type == ANSWER_STATUS) && k->text.n > 0 &&
			k->text.p[0] == key[0] && slice_equal(k->text, slice_of(key)))
			return &map->items[i + 1];
	}
	return NULL;
}

struct slice
answer_get_text(const struct answer *map, const char *key)
{
	const struct answer *value = answer_get(map, key);

	if (value == NULL || (value->type != ANSWER_TEXT && value->type != ANSWER_STATUS))
		return (struct slice){NULL, 0};
	return value->text;
}

struct slice
answer_info(struct slice text, const char *key)
{
	size_t length = strlen(key);

	while (text.n > 0) {
		const char *end = memchr(text.p, '\r', text.n);
		size_t n = end == NULL ? text.n : (size_t)(end - text.p);

		if (n > length && memcmp(text.p, key, length) == 0 && text.p[length] == ':')
			return (struct slice){text.p + length + 1, n - length - 1};
		n = n + 2 < text.n ? n + 2 : text.n;
		text = (struct slice){text.p + n, text.n - n};
	}
	return (struct slice){"", 0};
}

int64_t
answer_get_int(const struct answer *map, const char *key, int64_t absent)
{
	const struct answer *value = answer_get(map, key);

	if (value == NULL || (value->type != ANSWER_INT && value->type != ANSWER_FLAG))
		return absent;
	return value->n;
}

enum code
answer_code(const struct answer *answer, struct slice *rest)
{
	struct slice text = answer->text, word = slice_word(&text);

	*rest = answer->text;
	for (int code = 0; code < CODE_COUNT && answer->type == ANSWER_ERROR; code++) {
		if (slice_equal(word, slice_of(code_word((enum code)code)))) {
			*rest = text;
			return (enum code)code;
		}
	}
	return CODE_COUNT;
}

bool
answer_is_error(const struct answer *answer, enum code code)
{
	struct slice rest;

	return answer != NULL && answer->type == ANSWER_ERROR && answer_code(answer, &rest) == code;
}

bool
answer_is_push(const struct answer *answer, const char *name, size_t count)
{
	return answer->type == ANSWER_PUSH && answer->count >= count && answer->count > 0 &&
	       (answer->items[0].type == ANSWER_TEXT || answer->items[0].type == ANSWER_STATUS) &&
	       slice_equal(answer->items[0].text, slice_of(name));
}

bool
answer_is_ms(const struct answer *answer)
{
	return answer->type == ANSWER_INT && answer->n >= 0 && answer->n <= MS_MOST;
}

bool
answer_is_token(const struct answer *answer)
{
	return answer->type == ANSWER_INT && answer->n >= 1 && answer->n <= TOKEN_MOST;
}
