/*
 * value_inner: what value.c, text.c and list.c share, and verify.c, user.c and masters.c; no other file
 * includes it.
 *
 *     value.c   the types of one number, word, address or text
 *     text.c    which texts a type takes
 *     list.c    the types that are lists
 *     verify.c  values against each other; user.c, masters.c: those of the items of users and masters
 */
#ifndef CONF_VALUE_INNER_H
#define CONF_VALUE_INNER_H

#include "conf/source.h"
#include "conf/value.h"

/* The words of a CHOICE or SET, NULL behind the last; NULL: the type has none. */
const char *const *value_words(enum value_type type);
/* Writes "TEXT WRONG; allowed: ..." to why. Returns false. */
bool value_refuse(char why[VALUE_WHY_MAX], const struct schema_key *key, const char *text, const char *wrong);

/*
 * Why this text would not survive being written and read again, or would control a terminal: control
 * characters, also those of Unicode, and YAML's line breaks. NULL: it is fine.
 */
const char *text_fault(const char *text);
/* A copy of the text, for free(), which has from low to high bytes, or none. NULL: why says what is wrong. */
char *text_copy(const struct schema_key *key, const char *text, int64_t low, int64_t high,
	char why[VALUE_WHY_MAX]) __attribute__((warn_unused_result));
/* Writes the text, quoted, from out[n] on. Returns where it ends. */
size_t text_put(char out[VALUE_TEXT_MAX], size_t n, const char *text);

/* Adds the bit of this word. False: as value_parse(). */
bool set_add(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
/* Adds the bits of a list in the form of a file, [lock, see]. */
bool set_read(const struct schema_key *key, const char *text, unsigned *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
void set_format(char out[VALUE_TEXT_MAX], enum value_type type, unsigned set);

/* Append one. False: as value_parse(). */
bool text_add(const struct schema_key *key, const char *text, struct conf_texts *out, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));
bool place_add(const struct schema_key *key, const char *text, struct conf_places *out,
	char why[VALUE_WHY_MAX]) __attribute__((warn_unused_result));
void texts_free(struct conf_texts *texts);
void texts_format(char out[VALUE_TEXT_MAX], const struct conf_texts *texts);
void places_format(char out[VALUE_TEXT_MAX], const struct conf_places *places);

/* Where this key of the mapping is, for an error; without it, where the mapping is. */
struct place item_place(const struct verify *v, const struct node *mapping, const char *key);
/* Where an item has its password: in a file, or in a variable; "" is neither. */
struct secret_source {
	const char *list; /* of the item: "users" */
	const char *file;
	const char *variable;
	enum secret_lines lines;
};

/* Reads the password from the item's file or variable. False: it names neither. */
bool secret_find(
	const struct verify *v, const struct node *node, const struct secret_source *source, char **out);
/* A group is a name that the host knows, or a number. */
bool group_find(const char *group, int64_t *gid) __attribute__((warn_unused_result));

/* Item i of the list under this key, counted through all files; NULL when they have none. */
const struct node *item_node(const struct verify *v, const char *key, size_t i);

#define ITEM_NAME_MAX (QUOTE_MAX + 32)

/* Names item j of this list in an error about item i: its number, and its file if it is in another file. */
const char *item_name(char out[ITEM_NAME_MAX], const struct verify *v, const char *key, size_t i, size_t j);

/* masters.c: checks an item of masters, and reads its passwords; and the items against each other. */
void master_verify(const struct verify *v, const struct node *node, struct conf_master *master);
void masters_verify(const struct verify *v, const struct conf *conf);

/* user.c: checks an item of users, and finds the accounts of this host that it names. */
void user_verify(const struct verify *v, const struct node *node, struct conf_user *user);

#endif
