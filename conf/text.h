/*
 * text: which texts the keys of each type take. A part of value.c.
 */
#ifndef CONF_TEXT_H
#define CONF_TEXT_H

#include "conf/value.h"

#include <stddef.h>
#include <stdint.h>

struct schema_key;

/*
 * Why this text would not survive being written and read again, or would control a terminal: control
 * characters, also those of Unicode, YAML's line breaks, and bytes that are not UTF-8. NULL: it is fine.
 */
const char *text_fault(const char *text);
/* A copy of the text, for free(), which has from low to high bytes, or none. NULL: why says what is wrong. */
char *text_copy(const struct schema_key *key, const char *text, int64_t low, int64_t high,
	char why[VALUE_WHY_MAX]) __attribute__((warn_unused_result));

#endif
