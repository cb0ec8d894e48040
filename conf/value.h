/*
 * value: parses one scalar of the file into the field of its key, formats it, and checks values against each
 * other. Some have a form of their own: addresses, the URLs of masters, and passwords.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/conf.h"
#include "conf/schema.h"

#include <stdbool.h>

#define VALUE_WHY_MAX  400
#define VALUE_TEXT_MAX 4097 /* a path */

/*
 * Parses text into the key's field, which value_init() has initialised. The new value replaces the old one;
 * in a list it is appended, and in a set it is added. False: the field is unchanged, and why says what was
 * read and what is allowed, without secrets.
 */
bool value_parse(const struct schema_key *key, const char *text, void *field, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));

/* Sets the default in a zeroed field. False: out of memory. Does nothing for LIST and MAP. */
bool value_init(const struct schema_key *key, void *field) __attribute__((warn_unused_result));
/* A list follows that takes the place of the default. */
void value_begin_list(const struct schema_key *key, void *field);
void value_free(const struct schema_key *key, void *field);

/* Whether a value is a list of texts, and how many there are; any other value is one. */
bool value_is_list(const struct schema_key *key);
size_t value_count(const struct schema_key *key, const void *field);
/* Text i of the value as value_parse() reads it, without passwords. True: it is in quotes in a file, as it
 * might look like something else. */
bool value_text(char out[VALUE_TEXT_MAX], const struct schema_key *key, const void *field, size_t i);

/* Whether a text, an address or a URL is empty. */
bool value_is_absent(const struct schema_key *key, const void *field);

#define WHY_MAX      200
#define URL_TEXT_MAX 1400 /* of a formatted URL, escapes included */

#define SECRET_TEXT_MAX 512

/* How many passwords a file or a variable may have. One is the first line of a file, and all of a variable.
 * Otherwise each line is a password, and two stay apart by one newline. */
enum secret_lines { SECRET_ONE, SECRET_ONE_OR_TWO };

struct node;
struct schema_key;

/* The context of every check: the error list, and the source of the values. */
struct verify {
	const char *file; /* the first file, for an error without a position */
	struct conf_errors *errors;
	struct node *roots; /* of each file, in the order they were read */
};

/* The words of a CHOICE or SET, NULL behind the last; NULL: the type has none. */
const char *const *value_words(enum value_type type);
/* Writes "TEXT WRONG; allowed: ..." to why. Returns false. */
bool value_refuse(char why[VALUE_WHY_MAX], const struct schema_key *key, const char *text, const char *wrong);

#endif
