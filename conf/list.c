/*
 * list: the values that are lists: sets of words, texts, and the addresses of sentinels and nodes. A part of
 * value.c.
 */
#include "conf/list.h"

#include "conf/text.h"
#include "conf/url.h"
#include "conf/value_inner.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets of words ---- */

/* Adds the bit of this word. */
bool
set_add(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
{
	const char *const *words = value_words(key->type);

	for (unsigned i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*out |= 1U << i;
			return true;
		}
	}
	return value_refuse(why, key, text, "is unknown");
}

/* Reads a default, which has the form of a file: [lock, see] */
bool
set_read(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
{
	for (text += strspn(text, "[, ]"); *text != '\0'; text += strspn(text, ", ]")) {
		char word[32];
		size_t n = strcspn(text, ", ]");

		assert(n < sizeof(word));
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (!set_add(key, word, out, why))
			return false;
		text += n;
	}
	return true;
}

const char *
set_word(enum value_type type, unsigned set, size_t i)
{
	for (; i > 0; i--)
		set &= set - 1;
	assert(set != 0);
	return value_words(type)[__builtin_ctz(set)];
}

/* ---- texts ---- */

bool
text_add(const struct schema_key *key, const char *text, struct conf_texts *out, char why[VALUE_WHY_MAX])
{
	char *copy;
	char **list;

	if (text[0] == '\0')
		return value_refuse(why, key, text, "is empty");
	if (out->count == (size_t)key->high)
		return value_refuse(why, key, text, "is one too many");
	copy = text_copy(key, text, 1, GLOB_BYTES_MAX, why);
	if (copy == NULL)
		return false;
	list = realloc(out->list, (out->count + 1) * sizeof(*list));
	if (list == NULL) {
		free(copy);
		return value_refuse(why, key, text, "does not fit into memory");
	}
	out->list = list;
	list[out->count++] = copy;
	return true;
}

void
texts_free(struct conf_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->list[i]);
	free(texts->list);
}

/* ---- addresses ---- */

#define SENTINEL_PORT 26379
#define NODE_PORT     6379

bool
addresses_add(
	const struct schema_key *key, const char *text, struct conf_addresses *out, char why[VALUE_WHY_MAX])
{
	struct conf_address address;
	struct conf_address *list;

	if (!server_parse(text, key->type == TYPE_NODES ? NODE_PORT : SENTINEL_PORT, &address))
		return value_refuse(why, key, text, "is no host and port");
	if (out->count == (size_t)key->high)
		return value_refuse(why, key, text, "is one too many");
	list = realloc(out->list, (out->count + 1) * sizeof(*list));
	if (list == NULL)
		return value_refuse(why, key, text, "does not fit into memory");
	out->list = list;
	list[out->count++] = address;
	return true;
}
