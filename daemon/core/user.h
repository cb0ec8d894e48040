/*
 * user: what the sessions of each user have together, so that one of them cannot take all there may be.
 *
 *     session ──▶ user ◀── what was withheld after a session of his
 *
 * Who is a user is said by peer.user; 0 is everybody of whom nothing is known. A lock is a hold or a wait;
 * of a semaphore each permit is one. What is withheld counts on after its session, until it passes on.
 */
#ifndef CORE_USER_H
#define CORE_USER_H

#include "daemon/core/state.h"

/* Begins to count for the user of its peer. False: out of memory. */
bool user_join(struct core *core, struct session *s) __attribute__((warn_unused_result));
/* And for the one that this has become. False, and it is counted as before: that one has no room for what it
 * has, or there is no memory. Else who knows two users could fill one of them again and again. */
bool user_change(struct core *core, struct session *s) __attribute__((warn_unused_result));
/* It ends, and holds and waits for nothing. */
void user_quit(struct core *core, struct session *s);

/* One session more of his has a grace, or one less. False, and conn has its answer: there is no room. */
bool user_grace_enter(struct core *core, const struct conn *conn) __attribute__((warn_unused_result));
void user_grace_leave(struct core *core, struct session *s);

/* A hold or wait of so many permits, 0: that is no semaphore's. */
static inline int64_t
user_locks(int64_t permits)
{
	return permits > 0 ? permits : 1;
}

static inline void
user_take(struct session *s, int64_t permits)
{
	s->locks += user_locks(permits);
	s->user->locks += user_locks(permits);
}

static inline void
user_give(struct session *s, int64_t permits)
{
	s->locks -= user_locks(permits);
	s->user->locks -= user_locks(permits);
}

/* Its session is reminded of one loss more, or of one less. */
static inline void
user_remind(struct session *s, int64_t losses)
{
	s->loss_count += losses;
	s->user->losses += losses;
}

/* This many more are too many, for this user or for the memory of the daemon. True: conn has its answer. */
bool user_full(struct core *core, const struct conn *conn, int64_t locks);

/* A hold is cut from its session and withheld; and passes on. */
void user_leave_behind(struct grant *g, struct session *s);
void user_pass_on(struct core *core, struct grant *g);

/* A latch more, which counts for so many; and one less. */
void user_latch_enter(struct user *u, int64_t cost);
void user_latch_leave(struct core *core, struct user *u, int64_t cost);
/* One that costs this would be too many, likewise. True: conn has its answer. */
bool user_latches_full(struct core *core, const struct conn *conn, int64_t cost);

#endif
