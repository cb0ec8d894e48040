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

/* Where an item has its password: in a file, or in a variable; "" is neither. */
struct secret_source {
	const char *list; /* of the item: "users" */
	const char *file;
	const char *variable;
	enum secret_lines lines;
};

#define ITEM_NAME_MAX (QUOTE_MAX + 32)

#endif
