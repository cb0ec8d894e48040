/*
 * user: how many sessions with a grace each user has, so that one of them cannot take all there may be.
 *
 * Who is a user is said by peer.user; 0 is nobody in particular, and is not counted apart.
 */
#ifndef CORE_USER_H
#define CORE_USER_H

#include "daemon/core/state.h"

/* One more. False, and conn has its answer: there is no room. */
bool user_enter(struct core *core, const struct conn *conn, uint64_t id) __attribute__((warn_unused_result));
void user_leave(struct core *core, uint64_t id);

#endif
