/*
 * access: the users that may log in, and what each of them may do.
 *
 * The users come from the configuration. A client of a Unix socket need not log in: the kernel names its uid.
 * The verbs AUTH and HELLO call this; it knows nothing of connections.
 */
#ifndef NET_ACCESS_H
#define NET_ACCESS_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* The user that AUTH with a password alone means, as in Redis. */
#define ACCESS_DEFAULT_USER "default"

struct access_user {
	const char *name;
	const char *password; /* never empty */
	bool admin;           /* may BREAK, CLIENT KILL, DRAIN and RELOAD */
};

struct access;

/* Copies the users. NULL: out of memory. */
struct access *access_new(const struct access_user *users, size_t count) __attribute__((warn_unused_result));
/* Wipes the passwords. */
void access_free(struct access *access);

/* Whether TCP clients have to log in, those of this host too. */
bool access_required(const struct access *access);

/* The user. NULL: no such user, or the wrong password. Takes the same time for every password of one length.
 * An empty name means the default user. */
const struct access_user *access_login(const struct access *access, struct slice name, struct slice password);

/* The user of that name, whatever the password; NULL: none. A reload uses it to see which logged-in clients
 * are still users. */
const struct access_user *access_find(const struct access *access, struct slice name);

#endif
