/*
 * user: what the sessions of each user have together, so that no user can take all there is.
 *
 *     session ──▶ user ◀── what was withheld after a session of the user
 *
 * peer.user says which user it is; 0 is all clients of which nothing is known. A lock is a hold or a wait; a
 * semaphore counts each permit. What is withheld counts on after its session, until it passes on.
 */
#ifndef CORE_USER_H
#define CORE_USER_H

#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/session/session.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct core;

/* A user, remembered while it has sessions, or while anything of them is left. */
struct user {
	UT_hash_handle hh;
	uint64_t id;
	int64_t sessions;
	int64_t graces;   /* of these: with a grace */
	int64_t locks;    /* held, waited for, or withheld after a session */
	int64_t withheld; /* of these: withheld */
	int64_t losses;   /* that its sessions are reminded of (grant.h) */
	int64_t returned; /* holds that its sessions have given back and may again (grant.h) */
	int64_t latches;  /* made by its sessions (latch.h) */
	struct core_user_limits own;
};

/* The user with this number, made if it is not known. It goes when the first thing that counts for it has
 * come and gone. NULL: out of memory. */
struct user *user_get(struct core *core, uint64_t id) __attribute__((warn_unused_result));

/* Begins to count for the user of its peer. False: out of memory. */
bool user_join(struct core *core, struct session *s) __attribute__((warn_unused_result));
/* Counts from now on for the user that its peer has become. False: it counts as before, because that user has
 * no room for what the session has, or there is no memory. Otherwise a client that knows two users could fill
 * one of them again and again. */
bool user_change(struct core *core, struct session *s) __attribute__((warn_unused_result));
/* It ends, and holds and waits for nothing. */
void user_quit(struct core *core, struct session *s);

/* One session more of the user has a grace, or one less. False: there is no room, and conn has its answer. */
bool user_grace_enter(struct core *core, const struct conn *conn) __attribute__((warn_unused_result));
void user_grace_leave(struct core *core, struct user *u);
/* There is no room for one more. */
bool user_grace_full(const struct core *core, const struct user *u);

/* Locks that a hold or wait of so many permits counts for; 0 permits: not of a semaphore. */
static inline int64_t
user_locks(int64_t permits)
{
	assert(permits >= 0);
	return permits > 0 ? permits : 1;
}

static inline void
user_take(struct session *s, int64_t permits)
{
	s->locks += user_locks(permits);
	s->user->locks += user_locks(permits);
	assert(s->user->locks >= s->locks);
}

static inline void
user_give(struct session *s, int64_t permits)
{
	s->locks -= user_locks(permits);
	s->user->locks -= user_locks(permits);
	assert(s->locks >= 0 && s->user->locks >= s->locks);
}

/* Adds to the losses that its session remembers, or takes off if negative. returned: to the holds that it has
 * given back and may give back again. */
static inline void
user_remind(struct session *s, bool returned, int64_t losses)
{
	if (returned) {
		s->returned_count += losses;
		s->user->returned += losses;
	} else {
		s->loss_count += losses;
		s->user->losses += losses;
	}
	assert(s->loss_count >= 0 && s->user->losses >= s->loss_count);
	assert(s->returned_count >= 0 && s->user->returned >= s->returned_count);
}

/* So many locks more are too many, for this user or for the memory of the daemon; 0: only the memory is
 * checked. True: conn has its answer. */
bool user_full(struct core *core, const struct conn *conn, int64_t locks);

/* A hold of so many permits is cut from its session and withheld; what a session of the user has left behind
 * passes on. */
void user_withhold(struct session *s, int64_t permits);
void user_end_withheld(struct core *core, struct user *u, int64_t permits);

/* A latch more, which counts for cost; one less. */
void user_latch_enter(struct user *u, int64_t cost);
void user_latch_leave(struct core *core, struct user *u, int64_t cost);
/* A latch of this cost would be too many. True: conn has its answer. */
bool user_latches_full(struct core *core, const struct conn *conn, int64_t cost);

/* For core_free(). */
void user_free_all(struct core *core);

#endif
