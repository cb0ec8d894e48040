/*
 * quota: how many connections each user has, so that one user cannot take all there are.
 *
 * Admission counts local clients by uid as they come and others by name as they log in; processes counts what
 * they have bound.
 */
#ifndef NET_QUOTA_H
#define NET_QUOTA_H

#include <stddef.h>
#include <stdint.h>

/* A user with at least one connection. */
struct quota_seat;

struct quota {
	struct quota_seat *first; /* few users at a time: a list does */
	size_t most;              /* connections of one user */
};

/* Seats that were not left are gone too. */
void quota_done(struct quota *quota);

/* NULL: the user has as many as allowed, or out of memory. */
struct quota_seat *quota_enter_uid(struct quota *quota, int64_t uid) __attribute__((warn_unused_result));
struct quota_seat *quota_enter_name(struct quota *quota, const char *name)
	__attribute__((warn_unused_result));
/* The same user as a number, for the core, which counts what outlives connections (peer.user). Never 0. */
uint64_t quota_uid_number(int64_t uid);
uint64_t quota_name_number(const char *name);

/* seat may be NULL. */
void quota_leave(struct quota *quota, struct quota_seat *seat);

#endif
