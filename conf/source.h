/*
 * source: the files that a configuration is made of, as trees: the one that was named, and what lies in the
 * directory beside it.
 */
#ifndef CONF_SOURCE_H
#define CONF_SOURCE_H

#include "conf/node.h"

#define SOURCE_FILES_MAX 64 /* each is read at every reload */

struct source {
	struct conf_errors *errors;
	char *files[SOURCE_FILES_MAX]; /* in the order they were read; nodes point here */
	size_t count;
	struct node *roots; /* of those that are YAML, in the same order */
	struct node *last;
};

void source_init(struct source *source, struct conf_errors *errors);
void source_done(struct source *source);

/* A text that was read elsewhere; file names it in errors. */
void source_add(struct source *source, const char *file, const char *text, size_t n);

/*
 * Reads file, which may be missing unless it is needed, and then, where its name ends in .yml, each *.yml of
 * the directory whose name ends in .d in its place, in the order of the bytes of their names. Hidden files
 * are left out.
 */
void source_read(struct source *source, const char *file, bool needed);

/* "a.yml, a.d/b.yml" for people, or NULL without memory; to be freed. */
char *source_names(const struct source *source) __attribute__((warn_unused_result));

#endif
