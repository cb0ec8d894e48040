/*
 * access: who may log in, and what for.
 *
 * Users come from the configuration. On a Unix socket nobody has to log in: the kernel says who it is. The
 * verbs AUTH and HELLO ask here; nothing here knows connections.
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

/* Whether a client of another host, or of this one over TCP, has to log in first. */
bool access_required(const struct access *access);

/* The user, or NULL: no such user or another password. Takes the same time for every password of one length.
 * An empty name is the default user. */
const struct access_user *access_login(const struct access *access, struct slice name, struct slice password);

/* The user of that name, whatever the password; NULL: none. For a reload: who is still a user? */
const struct access_user *access_find(const struct access *access, struct slice name);

#endif
