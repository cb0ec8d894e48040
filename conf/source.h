/*
 * source: the files of a configuration as trees of YAML, and the bounded list of the errors in them.
 *
 * The files are the named one, and those in the directory beside it. Each node has its file, line and column.
 * Bytes, nodes and depth are bounded, so that no file can use much memory or time. Aliases, anchors, tags and
 * further documents are errors: each value of a configuration is written in one place.
 */
#ifndef CONF_SOURCE_H
#define CONF_SOURCE_H

#include "conf/conf.h"

/* A position in a file. Lines and columns count from 1; line 0: no position. */
struct position {
	const char *file;
	size_t line;
	size_t column;
};

/* Adds "file:line:column: " and the text. Control characters are escaped. */
void errors_add(struct conf_errors *errors, struct position at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define QUOTE_MAX 80

/* The text in quotes, shortened, with unprintable characters escaped; returns out. */
const char *errors_quote(char out[QUOTE_MAX], const char *text);

#define NODE_BYTES_MAX  (1024 * 1024) /* of a file; a thousand rules and users need far less */
#define NODE_COUNT_MAX  20000
#define NODE_DEPTH_MAX  8    /* the schema needs 4 */
#define NODE_SCALAR_MAX 4096 /* a path's length */

enum node_kind {
	NODE_SCALAR,
	NODE_SEQUENCE,
	NODE_MAPPING,
	NODE_BROKEN /* already reported; skip it without a message */
};

struct node {
	enum node_kind kind;
	const char *file; /* not owned */
	size_t line;
	size_t column;
	char *text;        /* SCALAR: without NUL inside */
	bool plain;        /* SCALAR: written without quotes */
	struct node *key;  /* in a mapping: SCALAR, or already reported */
	struct node *next; /* in the same sequence or mapping; of a root: the root of the next file */
	struct node *first;
	struct node *last;
};

/* The value of this key in a mapping, or NULL. */
const struct node *node_get(const struct node *mapping, const char *key);

/* Whether the value is missing: `key:` and no more. */
bool node_is_empty(const struct node *node);

struct position node_position(const struct node *node);

#define SOURCE_FILES_MAX 64 /* each is read at every reload */

struct source {
	struct conf_errors *errors;
	char *files[SOURCE_FILES_MAX]; /* in the order they were read; nodes point to these names */
	size_t count;
	struct node *roots; /* of the files that are valid YAML, in the same order */
	struct node *last;
};

void source_init(struct source *source, struct conf_errors *errors);
void source_done(struct source *source);

/* Adds a text that the caller has read; file is its name in errors. */
void source_add(struct source *source, const char *file, const char *text, size_t n);

/*
 * Reads file, which must exist only if `needed`. If its name ends in .yml, it then reads each *.yml of the
 * directory with .d in place of .yml, in the byte order of their names. Hidden files are skipped.
 */
void source_read(struct source *source, const char *file, bool needed);

/* "a.yml, a.d/b.yml" for people; the caller frees it. NULL: out of memory. */
char *source_names(const struct source *source) __attribute__((warn_unused_result));

#endif
