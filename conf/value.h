/*
 * value: parses one scalar of the file into the field of its key, and formats it.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/schema.h"

#define VALUE_WHY_MAX  400
#define VALUE_TEXT_MAX (4 * 4096 + 8)

/*
 * Parses text into the key's field, which value_init() has initialised. The new value replaces the old one;
 * in a list of places it is appended. False: the field is unchanged, and why says what was read and what is
 * allowed, without secrets.
 */
bool value_parse(const struct schema_key *key, const char *text, void *field, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));

/* Sets the default in a zeroed field. False: out of memory. Does nothing for LIST and MAP. */
bool value_init(const struct schema_key *key, void *field) __attribute__((warn_unused_result));
void value_free(const struct schema_key *key, void *field);

/* The value in the form of a file, quoted if YAML requires it, without passwords. */
void value_format(char out[VALUE_TEXT_MAX], const struct schema_key *key, const void *field);

/* Whether a text, an address or a URL is empty. */
bool value_is_absent(const struct schema_key *key, const void *field);

#endif
