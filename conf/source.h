/*
 * source: the files of a configuration as trees: the named file, and those in the directory beside it.
 */
#ifndef CONF_SOURCE_H
#define CONF_SOURCE_H

#include "conf/node.h"

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
