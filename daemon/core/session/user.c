/*
 * user: see user.h.
 */
#include "daemon/core/session/user.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/core.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static struct user *
user_find(const struct core *core, uint64_t id)
{
	struct user *found;

	HASH_FIND(hh, core->sessions->users, &id, sizeof(id), found);
	return found;
}

static bool
user_add(struct core *core, struct user *user)
{
	HASH_ADD(hh, core->sessions->users, id, sizeof(user->id), user);
	return user->hh.tbl != NULL;
}

static void
user_remove(struct core *core, struct user *user)
{
	HASH_DELETE(hh, core->sessions->users, user);
}

struct user *
user_get(struct core *core, uint64_t id)
{
	struct user *u = user_find(core, id);

	if (u != NULL)
		return u;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->id = id;
	if (!user_add(core, u)) {
		free(u);
		return NULL;
	}
	return u;
}

/* Forgets a user without sessions, withheld locks or latches. */
static void
user_schedule(struct core *core, struct user *u)
{
	if (u->sessions > 0 || u->withheld > 0 || u->latches > 0)
		return;
	assert(u->locks == 0 && u->graces == 0 && u->losses == 0 && u->returned == 0);
	user_remove(core, u);
	free(u);
}

bool
user_join(struct core *core, struct session *s)
{
	assert(s->user == NULL && s->locks == 0);
	s->user = user_get(core, s->peer.user);
	if (s->user == NULL)
		return false;
	s->user->sessions++;
	return true;
}

void
user_quit(struct core *core, struct session *s)
{
	assert(s->locks == 0 && s->loss_count == 0);
	assert(s->user->sessions > 0);
	s->user->sessions--;
	user_schedule(core, s->user);
	s->user = NULL;
}

void
core_limit_user(struct core *core, uint64_t user, const struct core_user_limits *limits)
{
	struct user *u = user_find(core, user);

	assert(limits->locks >= 0 && limits->graces >= 0);
	if (u != NULL)
		u->own = *limits;
}

static int64_t
user_locks_most(const struct core *core, const struct user *u)
{
	return u->own.locks > 0 ? u->own.locks : core->settings.per_user.locks;
}

static int64_t
user_graces_most(const struct core *core, const struct user *u)
{
	return u->own.graces > 0 ? u->own.graces : core->settings.grace.per_user;
}

/* Whether the user has room for all that this session has. */
static bool
user_has_room(const struct core *core, const struct user *u, const struct session *s)
{
	int64_t most = user_locks_most(core, u);

	/* What the session has counts there already, if it is its own. */
	assert(u != s->user);
	return (s->locks == 0 || u->locks + s->locks <= most) &&
	       (s->loss_count == 0 || u->losses + s->loss_count <= most) &&
	       (!session_has_grace(s) || u->id == 0 || u->graces < user_graces_most(core, u));
}

bool
user_change(struct core *core, struct session *s)
{
	struct user *before = s->user, *u;

	if (before->id == s->peer.user)
		return true;
	u = user_get(core, s->peer.user);
	if (u == NULL)
		return false;
	if (!user_has_room(core, u, s)) {
		user_schedule(core, u);
		return false;
	}
	assert(before->sessions > 0 && before->graces >= (s->grace_ms > 0));
	assert(before->locks >= s->locks && before->losses >= s->loss_count);
	before->sessions--;
	u->sessions++;
	before->locks -= s->locks;
	u->locks += s->locks;
	before->graces -= session_has_grace(s);
	u->graces += session_has_grace(s);
	assert(s->returned_count == 0);
	before->losses -= s->loss_count;
	u->losses += s->loss_count;
	s->user = u;
	user_schedule(core, before);
	return true;
}

bool
user_grace_enter(struct core *core, const struct conn *conn)
{
	const struct core_grace *most = &core->settings.grace;
	struct user *u = conn->session->user;

	if ((int64_t)core->counts.graces >= most->sessions)
		emit_error(core, conn->id, CODE_LIMIT,
			"grace-sessions: %zu sessions have a grace or an id, as many as it allows",
			core->counts.graces);
	else if (u->own.graces > 0 && u->graces >= u->own.graces)
		emit_error(core, conn->id, CODE_LIMIT,
			"users: sessions: this user has %lld sessions with a grace or an id, as many as it "
			"may",
			(long long)u->graces);
	else if (u->id != 0 && u->graces >= user_graces_most(core, u))
		emit_error(core, conn->id, CODE_LIMIT,
			"grace-sessions: this user has %lld sessions with a grace or an id, as many as one "
			"may: three "
			"quarters of "
			"it, and sessions-per-user",
			(long long)u->graces);
	else {
		core->counts.graces++;
		u->graces++;
		return true;
	}
	return false;
}

void
user_grace_leave(struct core *core, struct user *u)
{
	assert(u->graces > 0 && core->counts.graces > 0);
	core->counts.graces--;
	u->graces--;
}

bool
user_grace_full(const struct core *core, const struct user *u)
{
	const struct core_grace *most = &core->settings.grace;

	return (int64_t)core->counts.graces >= most->sessions ||
	       (u->id != 0 && u->graces >= user_graces_most(core, u));
}

/* Whether there is memory only for what exists. True: conn has its answer. */
static bool
memory_full(struct core *core, const struct conn *conn)
{
	if (!core->now.full && core->reserve.memory != NULL)
		return false;
	emit_error(core, conn->id, CODE_LIMIT,
		"memory: this daemon has as much as limits.memory or the system allows, and begins nothing "
		"new: UNLOCK some, or wait");
	return true;
}

bool
user_full(struct core *core, const struct conn *conn, int64_t locks)
{
	const struct user *u = conn->session->user;

	assert(locks >= 0);
	if (memory_full(core, conn))
		return true;
	if (u->locks + locks <= user_locks_most(core, u))
		return false;
	emit_error(core, conn->id, CODE_LIMIT,
		"%s: this user holds and waits for %lld, %lld of them withheld after sessions "
		"that "
		"ended, and %lld more are too many: UNLOCK some, or wait",
		u->own.locks > 0 ? "users: locks" : "locks-per-user", (long long)u->locks,
		(long long)u->withheld, (long long)locks);
	return true;
}

void
user_withhold(struct session *s, int64_t permits)
{
	int64_t locks = user_locks(permits);

	assert(s->locks >= locks);
	s->locks -= locks;
	s->user->withheld += locks;
}

void
user_end_withheld(struct core *core, struct user *u, int64_t permits)
{
	int64_t locks = user_locks(permits);

	assert(u->withheld >= locks && u->locks >= u->withheld);
	u->locks -= locks;
	u->withheld -= locks;
	user_schedule(core, u);
}

void
user_latch_enter(struct user *u, int64_t cost)
{
	assert(cost > 0);
	u->latches += cost;
}

void
user_latch_leave(struct core *core, struct user *u, int64_t cost)
{
	assert(u->latches >= cost);
	u->latches -= cost;
	user_schedule(core, u);
}

bool
user_latches_full(struct core *core, const struct conn *conn, int64_t cost)
{
	const struct user *u = conn->session->user;

	assert(cost > 0);
	if (memory_full(core, conn))
		return true;
	if (u->latches + cost <= core->settings.per_user.latches)
		return false;
	emit_error(core, conn->id, CODE_LIMIT,
		"latches-per-user: this user has made latches that count for %lld, and %lld more are too "
		"many: "
		"use those again, or give them a LEASE and wait until it is over",
		(long long)u->latches, (long long)cost);
	return true;
}

void
user_free_all(struct core *core)
{
	struct user *user, *next;

	/* These point to users. */
	assert(core->sessions->all == NULL);
	HASH_ITER (hh, core->sessions->users, user, next) {
		user_remove(core, user);
		free(user);
	}
}
