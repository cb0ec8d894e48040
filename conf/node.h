/*
 * node: a YAML document as a small tree. Each node has its file, line and column.
 *
 * Bytes, nodes and depth are bounded, so that no file can use much memory or time. Aliases, anchors, tags and
 * further documents are errors: each value of a configuration is written in one place.
 */
#ifndef CONF_NODE_H
#define CONF_NODE_H

#include "conf/errors.h"

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

/* NULL if the text cannot be parsed; an empty document is an empty mapping. Errors may be added in either
 * case. file must outlive the tree. */
struct node *node_parse(const char *file, const char *text, size_t n, struct conf_errors *errors)
	__attribute__((warn_unused_result));
void node_free(struct node *node);

/* The value of this key in a mapping, or NULL. */
const struct node *node_get(const struct node *mapping, const char *key);

/* Whether the value is missing: `key:` and no more. */
bool node_is_empty(const struct node *node);

struct place node_place(const struct node *node);

#endif
