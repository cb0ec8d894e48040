/*
 * quota: counts the connections of each user, so that one user cannot take all of them.
 *
 * Admission counts local clients by uid when they connect and others by name when they log in; process.c
 * counts the bound processes of each uid.
 */
#ifndef NET_QUOTA_H
#define NET_QUOTA_H

#include <stddef.h>
#include <stdint.h>

/* A user with at least one connection. */
struct quota_seat;

struct quota {
	struct quota_seat *first; /* a list, since few users are connected at a time */
	size_t most;              /* connections of one user */
};

/* Frees the seats that are still taken, too. */
void quota_done(struct quota *quota);

/* NULL: the user has as many as allowed, or out of memory. */
struct quota_seat *quota_enter_uid(struct quota *quota, int64_t uid) __attribute__((warn_unused_result));
struct quota_seat *quota_enter_name(struct quota *quota, const char *name)
	__attribute__((warn_unused_result));
/* The same user as a number, for the core (peer.user): the core counts what outlives connections. Never 0. */
uint64_t quota_uid_number(int64_t uid);
uint64_t quota_name_number(const char *name);

/* seat may be NULL. */
void quota_leave(struct quota *quota, struct quota_seat *seat);

#endif
