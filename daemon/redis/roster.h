/*
 * roster: a list of servers by their names, as the node hash of a master stores the group of its replicas.
 *
 * A name has no blank: "host:port", or the id of a node of a cluster. The text has the names with a blank
 * between. All zero is an empty list. Copied by assignment.
 */
#ifndef REDIS_ROSTER_H
#define REDIS_ROSTER_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define ROSTER_BYTES    2048
#define ROSTER_NAME_MAX 272

struct roster {
	size_t n;    /* names */
	size_t used; /* bytes of text */
	bool over;   /* there was no room for a name */
	char text[ROSTER_BYTES];
};

static inline struct slice
roster_text(const struct roster *roster)
{
	return (struct slice){roster->text, roster->used};
}

/* Takes the first name off a text of names. False: there is none. */
bool roster_take(struct slice *text, struct slice *name);

bool roster_has(const struct roster *roster, struct slice name);
/* The position of the name, from 0; -1: it is not there. */
int roster_find(const struct roster *roster, struct slice name);
/* The name at that position; n == 0: there are fewer. */
struct slice roster_at(const struct roster *roster, size_t position);
/* No effect if it is there, or is no name: then it was empty, too long, or has a blank or control character.
 * Without room for it the list is over. */
void roster_add(struct roster *roster, struct slice name);
/* Also if it is there already: for lists that go along with another one. */
void roster_append(struct roster *roster, struct slice name);
void roster_add_all(struct roster *roster, const struct roster *more);
void roster_read(struct roster *roster, struct slice text);
/* Without the names of the other list. */
void roster_drop_all(struct roster *roster, const struct roster *gone);

/* How many names both have. */
size_t roster_common(const struct roster *a, const struct roster *b);
/* The same names, in any order. */
bool roster_same(const struct roster *a, const struct roster *b);

#endif
