/*
 * value: one scalar of the file, read into the field of its key and written back.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/schema.h"

#define VALUE_WHY_MAX  400
#define VALUE_TEXT_MAX (4 * 4096 + 8)

/*
 * Reads text into the key's field, which holds a value already (value_init() at first) that is replaced; of a
 * list of places the text is one more.
 * False: the field is left alone and why says what was read and what is allowed, secrets excepted.
 */
bool value_parse(const struct schema_key *key, const char *text, void *field, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));

/* The default into a zeroed field. False: out of memory. LIST and MAP: nothing to do. */
bool value_init(const struct schema_key *key, void *field) __attribute__((warn_unused_result));
void value_free(const struct schema_key *key, void *field);

/* As it stands in a file, quoted where YAML wants it; passwords left out. */
void value_format(char out[VALUE_TEXT_MAX], const struct schema_key *key, const void *field);

/* A text, an address or a URL that says nothing. */
bool value_is_absent(const struct schema_key *key, const void *field);

#endif
