/*
 * source: reads the files of a configuration, builds small trees from libyaml's events, and lists what is
 * wrong.
 *
 * Called by the loader; the list is called by every part of conf/. It does not interpret the files, must not
 * keep their texts, which may contain passwords, and must never recurse deeper than NODE_DEPTH_MAX, whatever
 * a file contains.
 *
 * libyaml's own documents do not serve: they keep neither anchors nor aliases nor whether a tag was written,
 * do not bound the number of nodes, and with aliases they may have cycles.
 */
#include "conf/source.h"

#include "proto/escape.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/* ---- errors ---- */

static void
errors_init(struct conf_errors *errors)
{
	errors->count = 0;
	errors->dropped = 0;
}

void
errors_add(struct conf_errors *errors, struct position at, const char *format, ...)
{
	char where[CONF_ERROR_TEXT_MAX];
	char text[CONF_ERROR_TEXT_MAX];
	char whole[2 * CONF_ERROR_TEXT_MAX + 2];
	va_list ap;

	if (errors->count == CONF_ERRORS_MAX) {
		errors->dropped++;
		return;
	}
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (at.line > 0)
		snprintf(where, sizeof(where), "%s:%zu:%zu", at.file, at.line, at.column);
	else
		snprintf(where, sizeof(where), "%s", at.file);
	snprintf(whole, sizeof(whole), "%s: %s", where, text);
	(void)escape_text(errors->text[errors->count++], CONF_ERROR_TEXT_MAX, slice_of(whole), ESCAPE_PLAIN);
}

const char *
errors_quote(char out[QUOTE_MAX], const char *text)
{
	char body[QUOTE_MAX - 6];
	bool whole = escape_length(slice_of(text), ESCAPE_PLAIN) < sizeof(body);

	(void)escape_text(body, sizeof(body), slice_of(text), ESCAPE_PLAIN);
	snprintf(out, QUOTE_MAX, "\"%s\"%s", body, whole ? "" : "...");
	return out;
}

/* ---- trees ---- */

struct builder {
	const char *file;
	struct conf_errors *errors;
	struct node *root;
	struct node *open[NODE_DEPTH_MAX]; /* collections that have not ended */
	struct node *key[NODE_DEPTH_MAX];  /* of an open mapping: a key without its value yet */
	size_t depth;
	size_t count;
	size_t documents;
};

/* What to do after an event: continue, end, or fail. */
enum step { STEP_ON, STEP_DONE, STEP_FAILED };

static struct position
mark_position(const struct builder *b, yaml_mark_t mark)
{
	return (struct position){b->file, mark.line + 1, mark.column + 1};
}

static void
node_free(struct node *node)
{
	while (node != NULL) {
		struct node *next = node->next;

		node_free(node->key);
		node_free(node->first);
		free(node->text);
		free(node);
		node = next;
	}
}

/* Attaches the node to the open collection. */
static void
node_attach(struct builder *b, struct node *node)
{
	struct node *parent = b->depth > 0 ? b->open[b->depth - 1] : NULL;

	if (parent == NULL) {
		assert(b->root == NULL);
		b->root = node;
		return;
	}
	if (parent->kind == NODE_MAPPING && b->key[b->depth - 1] == NULL) {
		b->key[b->depth - 1] = node;
		return;
	}
	if (parent->kind == NODE_MAPPING) {
		node->key = b->key[b->depth - 1];
		b->key[b->depth - 1] = NULL;
	}
	if (parent->last == NULL)
		parent->first = node;
	else
		parent->last->next = node;
	parent->last = node;
}

static bool
is_key(const struct builder *b)
{
	return b->depth > 0 && b->open[b->depth - 1]->kind == NODE_MAPPING && b->key[b->depth - 1] == NULL;
}

static struct node *
node_new(struct builder *b, enum node_kind kind, yaml_mark_t mark)
{
	struct node *node;

	if (b->count == NODE_COUNT_MAX) {
		errors_add(b->errors, mark_position(b, mark),
			"more than %d values; a configuration has fewer", NODE_COUNT_MAX);
		return NULL;
	}
	node = calloc(1, sizeof(*node));
	if (node == NULL) {
		errors_add(b->errors, mark_position(b, mark), "out of memory");
		return NULL;
	}
	b->count++;
	node->kind = kind;
	node->file = b->file;
	node->line = mark.line + 1;
	node->column = mark.column + 1;
	return node;
}

static void
refuse_extras(struct builder *b, yaml_mark_t mark, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		errors_add(b->errors, mark_position(b, mark),
			"anchors (&name) are not taken here; leave it out, or "
			"put a value that begins with & in quotes");
	if (tag != NULL)
		errors_add(b->errors, mark_position(b, mark),
			"tags (!name) are not taken here; leave it out, or put a value that begins with ! in "
			"quotes");
}

/* U+2018 to U+201F, as text programs write them in place of ' and ". */
static bool
is_typographic_quote(const char *value, size_t length)
{
	return length >= 3 && memcmp(value, "\xe2\x80", 2) == 0 && (unsigned char)value[2] >= 0x98 &&
	       (unsigned char)value[2] <= 0x9f;
}

static enum step
scalar_read(struct builder *b, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	struct node *node = node_new(b, NODE_SCALAR, event->start_mark);

	if (node == NULL)
		return STEP_FAILED;
	refuse_extras(b, event->start_mark, event->data.scalar.anchor, event->data.scalar.tag);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (length > NODE_SCALAR_MAX) {
		errors_add(b->errors, mark_position(b, event->start_mark),
			"a value of %zu bytes; at most %d are allowed", length, NODE_SCALAR_MAX);
		node->kind = NODE_BROKEN;
	} else if (memchr(value, '\0', length) != NULL) {
		errors_add(b->errors, mark_position(b, event->start_mark),
			"a NUL byte in a value; leave it out");
		node->kind = NODE_BROKEN;
	} else if (node->plain && is_typographic_quote(value, length)) {
		errors_add(b->errors, mark_position(b, event->start_mark),
			"a typographic quote is no quote in YAML; write \" or '");
		node->kind = NODE_BROKEN;
	}
	node->text = node->kind == NODE_BROKEN ? strdup("") : strndup(value, length);
	node_attach(b, node);
	if (node->text == NULL) {
		errors_add(b->errors, mark_position(b, event->start_mark), "out of memory");
		return STEP_FAILED;
	}
	return STEP_ON;
}

static enum step
alias_read(struct builder *b, const yaml_event_t *event)
{
	struct node *node = node_new(b, NODE_BROKEN, event->start_mark);

	if (node == NULL)
		return STEP_FAILED;
	errors_add(b->errors, mark_position(b, event->start_mark),
		"aliases (*name) are not taken here; write the value out, or put a value that begins with * "
		"in quotes");
	node_attach(b, node);
	return STEP_ON;
}

static enum step
collection_open(struct builder *b, enum node_kind kind, const yaml_event_t *event)
{
	bool key = is_key(b);
	struct node *node;

	if (b->depth == NODE_DEPTH_MAX) {
		errors_add(b->errors, mark_position(b, event->start_mark),
			"nested deeper than %d levels; no key needs that", NODE_DEPTH_MAX);
		return STEP_FAILED;
	}
	if (key)
		errors_add(b->errors, mark_position(b, event->start_mark),
			"a list or a mapping in the place of a key; a key is a word");
	node = node_new(b, kind, event->start_mark);
	if (node == NULL)
		return STEP_FAILED;
	node_attach(b, node);
	b->open[b->depth] = node;
	b->key[b->depth] = NULL;
	b->depth++;
	return STEP_ON;
}

static enum step
document_open(struct builder *b, const yaml_event_t *event)
{
	if (b->documents++ == 0)
		return STEP_ON;
	errors_add(b->errors, mark_position(b, event->start_mark), "a second document (---); one is allowed");
	return STEP_FAILED;
}

static enum step
event_take(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return scalar_read(b, event);
	case YAML_ALIAS_EVENT:
		return alias_read(b, event);
	case YAML_SEQUENCE_START_EVENT:
		refuse_extras(b, event->start_mark, event->data.sequence_start.anchor,
			event->data.sequence_start.tag);
		return collection_open(b, NODE_SEQUENCE, event);
	case YAML_MAPPING_START_EVENT:
		refuse_extras(b, event->start_mark, event->data.mapping_start.anchor,
			event->data.mapping_start.tag);
		return collection_open(b, NODE_MAPPING, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		assert(b->depth > 0);
		b->depth--;
		return STEP_ON;
	case YAML_DOCUMENT_START_EVENT:
		return document_open(b, event);
	case YAML_STREAM_END_EVENT:
		return STEP_DONE;
	default:
		return STEP_ON;
	}
}

/* If libyaml cannot decode the text, it gives only a byte offset. */
static struct position
offset_position(const char *file, const char *text, size_t n, size_t offset)
{
	struct position at = {file, 1, 1};

	for (size_t i = 0; i < n && i < offset; i++) {
		at.column++;
		if (text[i] == '\n') {
			at.line++;
			at.column = 1;
		}
	}
	return at;
}

/* The first byte of the value in a line "- key: value"; NUL: there is none. */
static char
value_begins(const char *line, const char *end)
{
	const char *stop = memchr(line, '\n', (size_t)(end - line));
	const char *colon;

	stop = stop != NULL ? stop : end;
	while (line < stop && (*line == ' ' || *line == '-'))
		line++;
	colon = memmem(line, (size_t)(stop - line), ": ", 2);
	line = colon != NULL ? colon + 2 : line;
	while (line < stop && *line == ' ')
		line++;
	return line < stop ? *line : '\0';
}

#define HINT_MAX 96

/* What is wrong as a rule where libyaml only says what it expected; "": its words will do. */
static const char *
syntax_hint(const yaml_parser_t *parser, const char *problem, const char *text, size_t n, char out[HINT_MAX])
{
	static const char *const expected[] = {"mapping values are not allowed in this context",
		"did not find expected key", "did not find expected '-' indicator",
		"could not find expected ':'"};
	const char *line = text, *end = text + n;
	char first;

	for (size_t i = 0; i < parser->problem_mark.line && line < end; i++) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		line = stop != NULL ? stop + 1 : end;
	}
	first = value_begins(line, end);
	while (line < end && *line == ' ')
		line++;
	if (line < end && *line == '\t')
		return ": the line is indented with a tab; YAML takes spaces";
	/* Such as `match: *`, `tcp: [::1]:7420` and `match: %a`. */
	if (first != '\0' && strchr("*&![{]},@`%|>", first) != NULL) {
		(void)snprintf(out, HINT_MAX, ": a text that begins with %c is in quotes, as \"%c...\"",
			first, first);
		return out;
	}
	if (strstr(problem, "unexpected end of stream") != NULL ||
		strstr(problem, "document indicator") != NULL)
		return ": a quote is opened there and not closed";
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		if (strcmp(problem, expected[i]) == 0)
			return ": the keys of a mapping begin in one column, and a text with \": \" is "
			       "in quotes";
	return "";
}

static void
syntax_error(struct builder *b, const yaml_parser_t *parser, const char *text, size_t n)
{
	const char *problem = parser->problem != NULL ? parser->problem : "not YAML";
	char quoted[HINT_MAX];
	const char *hint = syntax_hint(parser, problem, text, n, quoted);

	if (parser->error == YAML_MEMORY_ERROR)
		errors_add(b->errors, (struct position){b->file, 0, 0}, "out of memory");
	else if (parser->error == YAML_READER_ERROR)
		errors_add(b->errors, offset_position(b->file, text, n, parser->problem_offset),
			"%s; the file must be UTF-8 without control characters", problem);
	else if (parser->context != NULL)
		errors_add(b->errors, mark_position(b, parser->problem_mark), "not YAML: %s, %s (line %zu)%s",
			problem, parser->context, parser->context_mark.line + 1, hint);
	else
		errors_add(
			b->errors, mark_position(b, parser->problem_mark), "not YAML: %s%s", problem, hint);
}

static enum step
document_read(struct builder *b, yaml_parser_t *parser, const char *text, size_t n)
{
	enum step step = STEP_ON;

	while (step == STEP_ON) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event)) {
			syntax_error(b, parser, text, n);
			return STEP_FAILED;
		}
		step = event_take(b, &event);
		yaml_event_delete(&event);
	}
	return step;
}

/* NULL if the text cannot be parsed; an empty document is an empty mapping. Errors may be added in either
 * case. file must outlive the tree. */
static struct node *
node_parse(const char *file, const char *text, size_t n, struct conf_errors *errors)
{
	struct builder b = {.file = file, .errors = errors};
	const char *nul = n > 0 ? memchr(text, '\0', n) : NULL;
	yaml_parser_t parser;
	enum step step;

	if (n > NODE_BYTES_MAX) {
		errors_add(errors, (struct position){file, 0, 0},
			"larger than %d bytes; a configuration is smaller", NODE_BYTES_MAX);
		return NULL;
	}
	if (nul != NULL) {
		errors_add(errors, offset_position(file, text, n, (size_t)(nul - text)),
			"a NUL byte; the file must be UTF-8 text");
		return NULL;
	}
	if (!yaml_parser_initialize(&parser)) {
		errors_add(errors, (struct position){file, 0, 0}, "out of memory");
		return NULL;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	step = document_read(&b, &parser, text, n);
	yaml_parser_delete(&parser);
	if (step == STEP_DONE && b.root == NULL)
		b.root = node_new(&b, NODE_MAPPING, (yaml_mark_t){0, 0, 0});
	if (step == STEP_DONE)
		return b.root;
	while (b.depth > 0)
		node_free(b.key[--b.depth]);
	node_free(b.root);
	return NULL;
}

const struct node *
node_get(const struct node *mapping, const char *key)
{
	if (mapping->kind != NODE_MAPPING)
		return NULL;
	for (const struct node *node = mapping->first; node != NULL; node = node->next)
		if (node->key->kind == NODE_SCALAR && strcmp(node->key->text, key) == 0)
			return node;
	return NULL;
}

bool
node_is_empty(const struct node *node)
{
	return node->kind == NODE_SCALAR && node->plain &&
	       (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

struct position
node_position(const struct node *node)
{
	return (struct position){node->file, node->line, node->column};
}

/* ---- files ---- */

void
source_init(struct source *source, struct conf_errors *errors)
{
	errors_init(errors);
	*source = (struct source){.errors = errors};
}

void
source_done(struct source *source)
{
	node_free(source->roots);
	for (size_t i = 0; i < source->count; i++)
		free(source->files[i]);
}

static void
complain(struct source *source, const char *file, const char *why)
{
	errors_add(source->errors, (struct position){file, 0, 0}, "%s", why);
}

void
source_add(struct source *source, const char *file, const char *text, size_t n)
{
	char *name = strdup(file);
	struct node *root;

	if (name == NULL) {
		complain(source, file, "out of memory");
		return;
	}
	source->files[source->count++] = name;
	root = node_parse(name, text, n, source->errors);
	if (root == NULL)
		return;
	if (source->last == NULL)
		source->roots = root;
	else
		source->last->next = root;
	source->last = root;
}

/* Reads at most one byte more than allowed, so that the parser detects a file that is too long. -1 and
 * errno. */
static ssize_t
fd_read(int fd, char *buffer, size_t room)
{
	size_t n = 0;

	while (n < room) {
		ssize_t got = read(fd, buffer + n, room - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

/* A pipe is never waited for, neither to open nor to read it. */
static bool
is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static void
file_read(struct source *source, const char *file, bool needed)
{
	size_t room = NODE_BYTES_MAX + 1;
	char *buffer = malloc(room);
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool pipe = fd >= 0 && is_pipe(fd);
	ssize_t n = fd >= 0 && !pipe && buffer != NULL ? fd_read(fd, buffer, room) : -1;

	if (n >= 0)
		source_add(source, file, buffer, (size_t)n);
	else if (pipe)
		complain(source, file,
			"cannot be read: it is a pipe, and a reload reads the file again; name a file");
	else if (buffer == NULL)
		complain(source, file, "cannot be read: out of memory");
	else if (needed || errno != ENOENT)
		errors_add(
			source->errors, (struct position){file, 0, 0}, "cannot be read: %s", strerror(errno));
	if (buffer != NULL)
		explicit_bzero(buffer, room);
	free(buffer);
	if (fd >= 0)
		close(fd);
}

/* The length of ".yml" or ".yaml" at the end of the name; 0: it ends otherwise. */
static size_t
suffix_size(const char *name)
{
	static const char *const suffixes[] = {".yml", ".yaml"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t size = strlen(suffixes[i]);

		if (n > size && strcmp(name + n - size, suffixes[i]) == 0)
			return size;
	}
	return 0;
}

static int
entry_wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && suffix_size(entry->d_name) > 0;
}

/* In byte order: the meaning of a configuration must not depend on the locale. */
static int
entry_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
entry_read(struct source *source, const char *directory, const char *name)
{
	char *file;

	if (asprintf(&file, "%s/%s", directory, name) < 0) {
		complain(source, directory, "out of memory");
		return;
	}
	file_read(source, file, true);
	free(file);
}

static void
directory_read(struct source *source, const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, entry_wanted, entry_compare);

	if (n < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			errors_add(source->errors, (struct position){directory, 0, 0}, "cannot be read: %s",
				strerror(errno));
		return;
	}
	if ((size_t)n > SOURCE_FILES_MAX - 1)
		errors_add(source->errors, (struct position){directory, 0, 0},
			"%d files; at most %d are read, so put some into one", n, SOURCE_FILES_MAX - 1);
	for (int i = 0; i < n; i++) {
		if ((size_t)n < SOURCE_FILES_MAX)
			entry_read(source, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

void
source_read(struct source *source, const char *file, bool needed)
{
	char *directory;

	file_read(source, file, needed);
	if (suffix_size(file) == 0)
		return;
	if (asprintf(&directory, "%.*s.d", (int)(strlen(file) - suffix_size(file)), file) < 0) {
		complain(source, file, "out of memory");
		return;
	}
	directory_read(source, directory);
	free(directory);
}

char *
source_names(const struct source *source)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	if (to == NULL)
		return NULL;
	for (size_t i = 0; i < source->count; i++)
		fprintf(to, "%s%s", i > 0 ? ", " : "", source->files[i]);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
