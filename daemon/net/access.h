/*
 * access: who may use the daemon, for what and how much of it: users with their passwords and rights, failed
 * logins, connections of a user.
 *
 * The users come from the configuration. A client of a Unix socket need not log in: the kernel names its uid
 * and its groups, by which it can be one of the users. The verbs AUTH and HELLO, admission, process and
 * whatever shows names call this; it knows nothing of connections.
 */
#ifndef NET_ACCESS_H
#define NET_ACCESS_H

#include "daemon/core/base/peer.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The user that AUTH with a password alone means, as in Redis. */
#define ACCESS_DEFAULT_USER "default"

/* What a user may do (PROTOCOL.md 6.8). */
enum right {
	RIGHT_LOCK = 1,   /* of its names: everything that takes a lock or makes a latch */
	RIGHT_SHARED = 2, /* of its names: shared locks; to await latches */
	RIGHT_SEE = 4,    /* its names: lists and events */
	RIGHT_BREAK = 8,  /* BREAK its names */
	RIGHT_ADMIN = 16  /* all of that with all names, CLIENT KILL, DRAIN, RELOAD, RESTART and MASTERS */
};

/* The rights of clients that are no user of the configuration, with all names. */
#define RIGHTS_USUAL (RIGHT_LOCK | RIGHT_SEE)
#define RIGHTS_ALL   (RIGHT_LOCK | RIGHT_SHARED | RIGHT_SEE | RIGHT_BREAK | RIGHT_ADMIN)

#define ACCESS_NOBODY INT64_C(-1) /* no uid, no gid */
#define ACCESS_ANYONE INT64_C(-2) /* every uid */

/* A user has two while one replaces the other. */
#define ACCESS_PASSWORDS_MAX 2

struct access_password {
	const char *text; /* or its hash; NULL: none */
	bool hashed;
	bool remembered; /* right is known */
	uint64_t right;  /* the mark of the password that has this hash */
};

struct access_user {
	const char *name;
	const char *password; /* or its hash (crypt(3)), one a line; "": it can log in nowhere. Not copied. */
	unsigned hashed;      /* bit n: line n of password is a hash. Not copied. */
	unsigned rights;      /* of enum right */
	int64_t uid;          /* who is this user on a Unix socket; or ACCESS_NOBODY, ACCESS_ANYONE */
	int64_t gid;          /* and so are clients in this group; or ACCESS_NOBODY */
	const char *const *names; /* globs, each well-formed */
	size_t name_count;        /* 0: all names */
	/* Limits in place of those for all users; 0: these count. */
	size_t connections;
	int64_t sessions; /* with a grace or an id */
	int64_t locks;
	/* Of struct access: */
	struct glob **globs; /* of names */
	struct access_password passwords[ACCESS_PASSWORDS_MAX];
};

/* A user with all names that no client is without a login. */
#define ACCESS_LOGIN(name_, password_, rights_)                                                              \
	{                                                                                                    \
		.name = (name_), .password = (password_), .rights = (rights_), .uid = ACCESS_NOBODY,         \
		.gid = ACCESS_NOBODY                                                                         \
	}

struct access;
struct glob;
struct quota_user; /* a user with at least one connection */

/* Copies the users. NULL: out of memory. */
struct access *access_new(const struct access_user *users, size_t count) __attribute__((warn_unused_result));
/* Wipes the passwords. */
void access_free(struct access *access);

/* Whether TCP clients have to log in, those of this host, too. */
bool access_required(const struct access *access);

/* No longer password is hashed. */
#define ACCESS_PASSWORD_MAX 511

/* A request to log in. An empty name means the default user. */
struct access_login {
	struct slice name;
	struct slice password;
	uint64_t compared; /* the mark of the password, if it was compared with a hash; 0: it was not yet */
};

/*
 * The user; *hash is the text of the password by which it logs in, or the hash of that. NULL: no such user,
 * or the wrong password, if *hash is NULL; otherwise that is not known before the password is compared with
 * *hash (passwords.h). A wrong password is compared with as many hashes as the user with the most has, also
 * for a user with fewer and for an unknown one: so the time of the answer does not tell which names exist.
 * Without hashes it takes the same time for every password of one length.
 */
const struct access_user *access_login(
	const struct access *access, const struct access_login *login, const char **hash);
/* The user still has the password of this mark, which access_text_mark() has made with this salt. */
bool access_has(const struct access_user *user, const uint64_t salt[2], uint64_t mark);
/* The mark by which a connection remembers the text of its password, or the hash; never 0. */
uint64_t access_text_mark(const uint64_t salt[2], struct slice text);
/* The password has this hash: from now on the users with that hash log in with it at once. What is stored is
 * a mark of the password, by a secret of this process. */
void access_remember(struct access *access, const char *hash, struct slice password);
/* The mark of a password that was compared with this hash; never 0. */
uint64_t access_mark(const struct access *access, const char *hash, struct slice password);

/* The user of that name, whatever the password; NULL: none. A reload uses it to see which logged-in clients
 * are still users. */
const struct access_user *access_find(const struct access *access, struct slice name);

/* The users in turn; NULL: there are not so many. */
const struct access_user *access_at(const struct access *access, size_t index);
/* Adds a user that can be found by its name, until the users of the configuration are there. False: out of
 * memory, nothing has changed. Pointers to users become invalid. */
bool access_add(struct access **access, struct slice name, struct slice password, unsigned rights)
	__attribute__((warn_unused_result));

/* The user that a client of a Unix socket is without a login: the first one with this uid or one of these
 * groups; NULL: none. */
const struct access_user *access_local(
	const struct access *access, int64_t uid, const uint32_t *groups, size_t count);
/* The same for the client with this uid at the other end of a socket. */
const struct access_user *access_of_socket(const struct access *access, int fd, int64_t uid);

/* The client that reads something, or asks for it. */
struct viewer {
	const struct access_user *user; /* NULL: none of the configuration */
	bool admin;
	bool fleet;      /* of a page: may see all hosts, too, as far as its rights are for all names */
	uint64_t number; /* peer.user */
};

/* Whether the client has one of these rights. */
bool viewer_may(const struct viewer *viewer, unsigned rights);
/* Whether its rights are for this name. */
bool viewer_names(const struct viewer *viewer, struct slice name);
/* Whether its rights are for all names: it also sees what belongs to no name, and what other users do. */
bool viewer_names_all(const struct viewer *viewer);
/* Whether it may see what other hosts have (PROTOCOL.md 6.24, 11.2): an administrator; a user with `see` for
 * all names; and on a page whoever sees all names where its address says so. */
static inline bool
viewer_sees_fleet(const struct viewer *viewer)
{
	return viewer->admin ||
	       ((viewer->user || viewer->fleet) && viewer_names_all(viewer) && viewer_may(viewer, RIGHT_SEE));
}
/* Whether it sees what this user (peer.user) has. */
static inline bool
viewer_sees_user(const struct viewer *viewer, uint64_t number)
{
	return viewer_names_all(viewer) || viewer->number == number;
}

/*
 * Counts the connections of each user, so that one user cannot take all of them.
 *
 * Admission counts local clients by uid when they connect and others by name when they log in; process.c
 * counts the bound processes of each uid.
 */
struct quota {
	struct quota_user *first; /* a list, since few users are connected at a time */
	size_t most;              /* connections of one user */
};

/* Frees the users that are still counted, too. */
void quota_done(struct quota *quota);

/* own: how many it may have if quota.most is not for it; 0: that is. NULL: the user has as many as allowed,
 * or out of memory. */
struct quota_user *quota_enter_uid(struct quota *quota, int64_t uid, size_t own)
	__attribute__((warn_unused_result));
struct quota_user *quota_enter_name(struct quota *quota, const char *name, size_t own)
	__attribute__((warn_unused_result));
/* The same user as a number, for the core (peer.user): the core counts what outlives connections. Never 0. */
uint64_t quota_uid_number(int64_t uid);
uint64_t quota_name_number(const char *name);

/* user may be NULL. */
void quota_leave(struct quota *quota, struct quota_user *user);

#endif
