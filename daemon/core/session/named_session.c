/* named_session: see named_session.h. guest.c handles requests AS id, heartbeat.c the end of a TTL. */
#include "daemon/core/session/named_session.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- ids ---- */

struct id_key {
	uint64_t user;
	struct slice id;
};

static uint64_t
id_hash(const struct core *core, const struct id_key *key)
{
	uint64_t hash = hash_secretly(core->secret, key->id) + hash_key(&key->user, sizeof(key->user));

	return hash != 0 ? hash : 1;
}

struct slice
named_session_id(const struct session *s)
{
	const struct named_session *d = s->named;

	return d == NULL ? (struct slice){NULL, 0} : (struct slice){d->id, d->id_n};
}

static bool
id_is_of(const void *thing, const void *what)
{
	const struct session *s = thing;
	const struct id_key *key = what;

	return s->user->id == key->user && slice_equal(named_session_id(s), key->id);
}

struct session *
named_session_find(const struct core *core, uint64_t user, struct slice id)
{
	const struct id_key key = {user, id};

	return map_search(&core->sessions->ids, id_hash(core, &key), id_is_of, &key);
}

bool
named_session_give(struct core *core, struct session *s, struct slice id)
{
	const struct id_key key = {s->user->id, id};
	struct named_session *d;

	assert(s->named == NULL);
	assert(id.n > 0 && id.n <= AS_BYTES_MAX);
	assert(s->ends || named_session_find(core, key.user, id) == NULL);
	d = freelist_new(core, sizeof(*d) + id.n);
	if (d == NULL)
		return false;
	if (!s->ends && map_add(&core->sessions->ids, id_hash(core, &key), s) != 0) {
		free(d);
		return false;
	}
	d->session = s;
	d->hidden = s->ends;
	d->id_n = (uint8_t)id.n;
	memcpy(d->id, id.p, id.n);
	s->named = d;
	if (!s->ends)
		TAILQ_INSERT_TAIL(&core->sessions->named, d, in_core);
	return true;
}

bool
named_session_is_found(const struct session *s)
{
	return s->named != NULL && !s->named->hidden;
}

void
named_session_hide(struct core *core, struct session *s)
{
	struct named_session *d = s->named;
	struct id_key key;

	if (!named_session_is_found(s))
		return;
	assert(d->session == s);
	key = (struct id_key){s->user->id, named_session_id(s)};
	map_remove(&core->sessions->ids, id_hash(core, &key), s);
	TAILQ_REMOVE(&core->sessions->named, d, in_core);
	d->hidden = true;
}

void
named_session_leave(struct core *core, struct session *s)
{
	struct named_session *d = s->named;

	named_session_hide(core, s);
	s->named = NULL;
	if (d != NULL)
		freelist_retire(core, &d->freed);
}

bool
named_session_is_idle(const struct session *s)
{
	return s->grant_count == 0 && s->waiter_count == 0 && s->conn_count == 0;
}

/* ---- answers ---- */

void
named_session_refusal(struct reply *out, bool ended)
{
	reply_error(out, CODE_ERR, "%s",
		ended ? "the session of this id was ended by SESSION END over another connection"
		      : "the same request came again with this id, over another connection, and waits there");
}

/* ---- time ---- */

int64_t
named_session_offer_ms(const struct session *s, int64_t lease_ms, int64_t claim_ms)
{
	assert(lease_ms >= 0 && claim_ms >= 0);
	if (s->named == NULL || claim_ms > 0 || lease_ms > 0)
		return claim_ms;
	assert(s->heartbeat_ms > 0);
	return s->heartbeat_ms;
}

int64_t
named_session_claim_until(const struct core *core, const struct session *s)
{
	assert(s->named != NULL && s->heartbeat_ms > 0);
	return core->now.ms +
	       (s->heartbeat_ms < NAMED_SESSION_CLAIM_MS ? s->heartbeat_ms : NAMED_SESSION_CLAIM_MS);
}
