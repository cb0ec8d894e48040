/*
 * list: the values that are lists: sets of words, texts, and the addresses of sentinels and nodes. A part of
 * value.c.
 */
#ifndef CONF_LIST_H
#define CONF_LIST_H

#include "conf/schema.h"
#include "conf/value.h"

#include <stdbool.h>

struct conf_addresses;
struct conf_texts;

/* Adds the bit of this word. False: as value_parse(). */
bool set_add(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
/* Adds the bits of a list in the form of a file, [lock, see]. */
bool set_read(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
/* Word i of those that are in the set. */
const char *set_word(enum value_type type, unsigned set, size_t i);

/* Append one. False: as value_parse(). */
bool text_add(const struct schema_key *key, const char *text, struct conf_texts *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
bool addresses_add(const struct schema_key *key, const char *text, struct conf_addresses *out,
	char why[VALUE_WHY_MAX]) __attribute__((warn_unused_result));
void texts_free(struct conf_texts *texts);

#endif
