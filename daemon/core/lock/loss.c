/* loss: see loss.h. A hold that was lost, and a LOCK of a name that is held already. */
#include "daemon/core/lock/loss.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/mode.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/withheld.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/escape.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	const char *text;
} losses[] = {
#define LOSS(id, word, text) {word, text},
	LOSSES(LOSS)
#undef LOSS
};

const char *
loss_word(enum loss_reason reason)
{
	assert(reason < LOSS_COUNT);
	return losses[reason].word;
}

const char *
loss_text(enum loss_reason reason)
{
	assert(reason < LOSS_COUNT);
	return losses[reason].text;
}

/* A name and a tag as one text, and its hash. Clients choose both. */
struct loss_key {
	unsigned hash;
	size_t n;
	char bytes[sizeof(uint16_t) + NAME_BYTES_MAX + OWNER_BYTES_MAX];
};

static struct loss_key
loss_key(const struct core *core, struct slice name, struct slice owner)
{
	uint16_t name_n = (uint16_t)name.n;
	struct loss_key key = {.n = sizeof(name_n) + name.n + owner.n};
	char *at = key.bytes;

	assert(name.n <= NAME_BYTES_MAX && owner.n <= OWNER_BYTES_MAX);
	memcpy(at, &name_n, sizeof(name_n));
	memcpy(at += sizeof(name_n), name.p, name.n);
	if (owner.n > 0)
		memcpy(at + name.n, owner.p, owner.n);
	key.hash = (unsigned)hash_secretly(core->secret, (struct slice){key.bytes, key.n});
	return key;
}

static struct loss *
loss_with(const struct session *s, const struct loss_key *key)
{
	struct loss *found;

	HASH_FIND_BYHASHVALUE(hh, s->losses, key->bytes, key->n, key->hash, found);
	return found;
}

struct loss *
loss_find(const struct core *core, const struct session *s, struct slice name, struct slice owner)
{
	struct loss_key key;

	assert(name.n > 0);
	if (s->losses == NULL)
		return NULL;
	key = loss_key(core, name, owner);
	return loss_with(s, &key);
}

const struct loss *
loss_unreported(const struct session *s)
{
	const struct loss *loss = s->losses;

	while (loss != NULL && loss->reported)
		loss = loss->hh.next;
	return loss;
}

struct slice
loss_name(const struct loss *loss)
{
	uint16_t name_n;

	assert(loss->hh.keylen > sizeof(name_n));
	memcpy(&name_n, loss->bytes, sizeof(name_n));
	return (struct slice){loss->bytes + sizeof(name_n), name_n};
}

struct slice
loss_owner(const struct loss *loss)
{
	size_t before = sizeof(uint16_t) + loss_name(loss).n;

	assert(loss->hh.keylen >= before);
	return (struct slice){loss->bytes + before, loss->hh.keylen - before};
}

/* Those of its kind: losses, or holds that were given back. */
static struct loss **
loss_oldest(struct session *s, enum loss_reason reason)
{
	return reason == LOSS_RETURNED ? &s->oldest_returned : &s->oldest_loss;
}

static int64_t
loss_count(const struct session *s, enum loss_reason reason)
{
	return reason == LOSS_RETURNED ? s->returned_count : s->loss_count;
}

/* It is about to be forgotten, and was the oldest of its kind. A loss is passed here at most once in its
 * life, for one of the other kind. */
static struct loss *
loss_after(const struct session *s, const struct loss *loss)
{
	struct loss *next = loss->hh.next;

	if (loss_count(s, loss->reason) == 1)
		return NULL;
	while ((next->reason == LOSS_RETURNED) != (loss->reason == LOSS_RETURNED))
		next = next->hh.next;
	return next;
}

void
loss_forget(struct core *core, struct session *s, struct loss *loss)
{
	struct loss **oldest = loss_oldest(s, loss->reason);

	assert(loss_count(s, loss->reason) > 0);
	if (*oldest == loss)
		*oldest = loss_after(s, loss);
	loss_gone(core, loss);
	HASH_DELETE(hh, s->losses, loss);
	user_remind(s, loss->reason == LOSS_RETURNED, -1);
	freelist_retire(core, &loss->freed);
}

void
loss_forget_all(struct core *core, struct session *s)
{
	while (s->losses != NULL)
		loss_forget(core, s, s->losses);
	assert(s->loss_count == 0 && s->returned_count == 0);
	assert(s->oldest_loss == NULL && s->oldest_returned == NULL);
}

/* Whether the session has too many, or all sessions of its user together. What was given back is counted
 * apart, so that it never takes the place of a loss. */
static bool
loss_is_one_too_many(const struct core *core, const struct session *s, bool returned)
{
	int64_t mine = returned ? s->returned_count : s->loss_count;
	int64_t all = returned ? s->user->returned : s->user->losses;

	/* Its only one, which is the latest, is not forgotten for those of other sessions of the user. */
	return mine > core->settings.lost_per_session || (all > core->settings.per_user.locks && mine > 1);
}

bool
loss_put(struct core *core, struct session *s, struct slice name, struct slice owner, enum loss_reason reason,
	bool reported, int64_t token)
{
	struct loss_key key = loss_key(core, name, owner);
	struct loss *loss = loss_with(s, &key);

	assert(name.n > 0 && reason < LOSS_COUNT);
	/* The session has locked and lost this name before. */
	if (loss != NULL)
		loss_forget(core, s, loss);
	loss = freelist_new(core, sizeof(*loss) + key.n);
	if (loss == NULL)
		return false;
	memcpy(loss->bytes, key.bytes, key.n);
	loss->reason = reason;
	loss->reported = reported;
	loss->token = token;
	loss->session = s;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, s->losses, loss->bytes, key.n, key.hash, loss);
	if (loss->hh.tbl == NULL) {
		free(loss);
		return false;
	}
	if (*loss_oldest(s, reason) == NULL)
		*loss_oldest(s, reason) = loss;
	user_remind(s, reason == LOSS_RETURNED, 1);
	loss_changed(core, loss);
	return true;
}

void
loss_remember(struct core *core, struct session *s, struct slice name, struct slice owner,
	enum loss_reason reason, bool reported, int64_t token)
{
	bool returned = reason == LOSS_RETURNED;

	if (loss_put(core, s, name, owner, reason, reported, token) &&
		loss_is_one_too_many(core, s, returned))
		loss_forget(core, s, *loss_oldest(s, reason));
}

static void
loss_push(struct core *core, conn_id conn, struct slice name, struct slice owner, enum loss_reason reason,
	int64_t token)
{
	struct push push = {.type = PUSH_LOST, .token = token, .name = name, .owner = owner};

	assert(name.n > 0);
	(void)snprintf(push.text, sizeof(push.text), "%s %s", loss_word(reason), loss_text(reason));
	emit_push(core, conn, &push);
}

void
loss_add(struct core *core, struct session *s, const struct grant *g, enum loss_reason reason, bool report)
{
	bool push = report && s->onloss == ONLOSS_PUSH && conn_find(core, s->push_conn) != NULL;
	bool reported = !report || (push && s->named == NULL);
	struct conn *conn;

	assert(g->session == s);
	assert(reason != LOSS_RETURNED);
	loss_remember(core, s, resource_name(g->lease->resource), grant_owner(g), reason, reported, g->token);
	if (push)
		loss_push(core, s->push_conn, resource_name(g->lease->resource), grant_owner(g), reason,
			g->token);
	if (!report || s->onloss != ONLOSS_CLOSE || s->closes)
		return;
	s->closes = true;
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
}

static void
loss_set_reported(struct core *core, struct loss *loss, bool reported)
{
	loss->reported = reported;
	loss_changed(core, loss);
}

void
loss_report(struct core *core, struct session *s, const struct conn *conn)
{
	assert(conn->session == s);
	if (loss_unreported(s) == NULL)
		return;
	if (s->onloss == ONLOSS_CLOSE)
		emit_close(core, conn->id);
	if (s->onloss != ONLOSS_PUSH || s->push_conn != conn->id)
		return;
	for (struct loss *loss = s->losses; loss != NULL; loss = loss->hh.next) {
		if (loss->reported)
			continue;
		loss_push(core, conn->id, loss_name(loss), loss_owner(loss), loss->reason, loss->token);
		loss_set_reported(core, loss, true);
	}
}

void
loss_answer(struct core *core, const struct conn *conn, struct loss *loss, struct slice name)
{
	char of[2 * NAME_BYTES_MAX] = "";
	bool named = conn->session->named != NULL;

	assert(conn->session->loss_count > 0);
	if (name.n > 0)
		(void)escape_text(of, sizeof(of), name, ESCAPE_PLAIN);
	emit_error(core, conn->id, CODE_LOST, "%s %s, token %lld%s%s%s", loss_word(loss->reason),
		loss_text(loss->reason), (long long)loss->token, name.n > 0 ? " of " : "", of,
		named && !loss->reported ? "; UNLOCK with this TOKEN before you lock again" : "");
	if (loss->reported || named)
		return;
	loss_set_reported(core, loss, true);
}

/* The name is withheld because of it. NULL: no more. */
static struct grant *
loss_withheld(const struct core *core, const struct loss *loss)
{
	struct resource *r = names_find(&core->leases->names, loss_name(loss));

	return r == NULL ? NULL : withheld_find(core, r, loss->token);
}

void
loss_pass_on(struct core *core, const struct loss *loss)
{
	struct grant *g = loss_withheld(core, loss);

	if (g != NULL)
		grant_end_withheld(core, g);
}

void
loss_renounce(struct core *core, struct session *s, struct loss *loss, int64_t token)
{
	struct grant *g;

	if (token != loss->token)
		return;
	g = loss_withheld(core, loss);
	/* Who has entered more often may use it still. */
	if (g != NULL && g->count == 1)
		grant_end_withheld(core, g);
	if (loss->reported || s->named == NULL)
		return;
	loss_set_reported(core, loss, true);
}

void
loss_doubt(struct core *core, struct session *s)
{
	for (struct loss *loss = s->losses; loss != NULL; loss = loss->hh.next) {
		if (!loss->reported || loss->reason == LOSS_RETURNED || loss_is_chosen(loss->reason))
			continue;
		loss_set_reported(core, loss, false);
	}
}

/* ---- reentering ---- */

/* What is asked, by a LOCK or by a waiter. */
struct reentry {
	enum kind kind;
	int64_t permits;
	bool tagged;
	bool validity;
	bool claims; /* it may be the LOCK of the hold once more, sent by the same locker */
};

static void
reenter(struct core *core, struct grant *g, const struct reentry *reentry, struct reply *out)
{
	assert(g->session != NULL && g->count > 0);
	assert(part_of(g) == NULL);
	bool named = g->session->named != NULL;
	/* If the grant was not announced to its client, or is not claimed, this LOCK is not another entry. */
	bool repeated = !named && (g->unannounced || reentry->claims) && grant_claim(core, g) &&
			g->kind == reentry->kind && g->lease->permits == reentry->permits;
	/* Nor is a LOCK of a named session, which may be repeated because its answer was lost. */
	bool again = repeated || named;
	long long token = g->token;

	if (g->kind == KIND_SHARED && reentry->kind == KIND_EXCLUSIVE) {
		reply_error(out, CODE_UPGRADE,
			"this session holds it shared, token %lld: UNLOCK first, others may hold it shared, "
			"too",
			token);
	} else if (!reentry->tagged && !again) {
		reply_error(out, CODE_HELD,
			"this session holds it already, token %lld: use OWNER tags to re-enter%s", token,
			grant_claim_ends_ms(g) != TIMER_NEVER ? "; CHECK claims it" : "");
	} else if (reentry->permits > g->lease->permits) {
		reply_error(out, CODE_UPGRADE,
			"this OWNER holds %lld permits and asks for %lld: UNLOCK first, or take another "
			"OWNER",
			(long long)g->lease->permits, (long long)reentry->permits);
	} else if (g->count == UINT32_MAX && !again) {
		reply_error(out, CODE_LIMIT, "this OWNER holds it %lu times, and not more: UNLOCK first",
			(unsigned long)g->count);
	} else {
		g->count += !again;
		if (!again)
			grant_changed(core, g);
		*out = (struct reply){.type = REPLY_INT, .code = CODE_COUNT, .n = token};
		if (reentry->validity) {
			out->type = REPLY_VALIDITY;
			out->ms = grant_announced_ms(core, g);
		}
	}
}

void
grant_repeated(struct core *core, struct grant *g, int64_t claim_ms)
{
	const struct terms *t = grant_terms(g);
	int64_t offer_ms = named_session_offer_ms(g->session, t != NULL && t->leased ? 1 : 0, claim_ms);

	assert(g->session->named != NULL);
	if (offer_ms > 0)
		grant_defer_claim(core, g, offer_ms);
	else
		(void)grant_claim(core, g);
}

void
reenter_lock(struct core *core, struct grant *g, const struct command *c, struct reply *out)
{
	/* Threads without tags are told apart by nothing: another one may have the hold (3.5). */
	bool claims = c->owner.n > 0;
	const struct reentry reentry = {c->kind, c->permits, c->owner.n > 0, c->validity, claims};

	if (mode_refuses(g->lease->resource, c, out))
		return;
	if (g->session->named != NULL)
		grant_repeated(core, g, c->claim_ms);
	reenter(core, g, &reentry, out);
}

bool
reenter_waiter(struct core *core, struct waiter *w)
{
	/* Its LOCK came before the grant. */
	const struct reentry reentry = {w->kind, w->permits, w->owner_n > 0, w->validity, false};
	struct grant *g = grant_any(core, w->resource, w->session, waiter_owner(w));
	struct reply reply;

	if (g == NULL)
		return false;
	if (w->conn == NULL) {
		queue_remove(core, w);
		return true;
	}
	if (queue_end_unpushable(core, w))
		return true;
	if (part_of(g) != NULL || w->part != NULL) {
		reply_error(&reply, CODE_HELD, "this session holds it already, or is taking it by an MLOCK");
	} else {
		if (w->session->named != NULL)
			grant_repeated(core, g, w->claim_ms);
		reenter(core, g, &reentry, &reply);
	}
	queue_answer(core, w, &reply);
	return true;
}
