/* effects: see effects.h. */
#include "tests/sim/judge/effects.h"

#include "daemon/redis/vote.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_US 1000   /* a key's time is counted in whole ms */
#define CLAIM_US 300000 /* as lua/queue.inc has it */

/* One call and what it did. */
struct effect {
	struct server *server;
	const char *daemon_id;
	const struct call *call;
	const struct vote *vote;
	const struct keys *before;
	const struct keys *after;
	bool newer;
	int64_t most_us; /* no lease ends later than that */
	char mine[CALL_OWNER_SIZE];
};

static void fail(const struct effect *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
fail(const struct effect *e, const char *format, ...)
{
	char text[200];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	world_fail(e->server->world, "effects: %s of %.*s for %s at m%u %s", scripts[script_of(e->call)].name,
		(int)e->call->name.n, e->call->name.p, e->mine, e->server->index, text);
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool
is_native(const char *owner)
{
	return strspn(owner, "0123456789abcdef") == 32 && owner[32] == ':';
}

/* ---- the leases of others ---- */

static const struct keys_member *
member_find(const struct keys *k, const struct keys_member *like)
{
	for (unsigned i = 0; i < k->n; i++)
		if (keys_lives(k, &k->members[i]) && strcmp(k->members[i].slot, like->slot) == 0 &&
			strcmp(k->members[i].owner, like->owner) == 0)
			return &k->members[i];
	return NULL;
}

/* Whether this is one of the previous owners of the call. */
static bool
is_previous(const struct call *call, const char *owner)
{
	bool takes = call->op == CALL_ADOPT || call->op == CALL_RECLAIM;
	size_t n = strlen(owner);
	for (size_t at = 0; takes && at + n <= call->previous.n; at++)
		if (memcmp(call->previous.p + at, owner, n) == 0 &&
			(at == 0 || call->previous.p[at - 1] == ' ') &&
			(at + n == call->previous.n || call->previous.p[at + n] == ' '))
			return true;
	return false;
}

/* They last as long as before, or, if a clock stepped back, as the longest lease. */
static void
check_other(const struct effect *e, const struct keys_member *m)
{
	const struct keys_member *now = member_find(e->after, m);
	bool same = e->before->lock == e->after->lock && strcmp(e->before->kind, e->after->kind) == 0;
	if (now == NULL || !same) {
		fail(e, "ends what %s has", m->owner);
		return;
	}
	if (now->till_us == m->till_us)
		return;
	if (!is_native(m->owner) || now->till_us < earlier(m->till_us, e->most_us) - ROUND_US)
		fail(e, "shortens what %s has by %" PRId64 " us", m->owner, m->till_us - now->till_us);
	else if (now->till_us > m->till_us)
		fail(e, "prolongs what %s has by %" PRId64 " us", m->owner, now->till_us - m->till_us);
}

/* Whether the key lives for as long as each of its members. Of a crowd only some are looked at: those of
 * `known`, if it is one, and the caller's own. */
static bool
covers(const struct effect *e, const struct keys *k, const struct keys *known)
{
	if (k->lock != KEYS_GROUP)
		return true;
	for (unsigned i = 0; i < k->n; i++) {
		const struct keys_member *m = &k->members[i];
		if (known->crowd && strcmp(m->owner, e->mine) != 0 && member_find(known, m) == NULL)
			continue;
		if (k->till_us < earlier(m->till_us, e->most_us) - ROUND_US)
			return false;
	}
	return k->till_us != KEYS_NEVER;
}

static void
check_others(const struct effect *e)
{
	const struct keys *before = e->before;
	bool reclaims = e->call->op == CALL_RECLAIM && e->vote->outcome == OUTCOME_YES;
	bool adopts = e->call->op == CALL_ADOPT && e->vote->outcome == OUTCOME_YES;
	if (covers(e, before, before) && !covers(e, e->after, before))
		fail(e, "lets the key end before a member");
	if (before->lock == KEYS_STRANGE && e->after->lock != KEYS_STRANGE && !reclaims)
		fail(e, "ends what is no lease of ours");
	if (before->crowd || reclaims || before->lock == KEYS_STRANGE)
		return;
	for (unsigned i = 0; i < before->n; i++)
		if (keys_lives(before, &before->members[i]) &&
			strcmp(before->members[i].owner, e->mine) != 0 &&
			!(adopts && is_previous(e->call, before->members[i].owner)))
			check_other(e, &before->members[i]);
}

/* ---- our own ---- */

/* How many members it has in all when it has what it asks for. */
static int64_t
whole(const struct call *call)
{
	return call->kind == KIND_PERMITS ? call->permits : 1;
}

/* Whether what is there is of the kind of the call. */
static bool
is_kind(const struct keys *k, const struct call *call)
{
	if (call->kind == KIND_EXCLUSIVE)
		return k->lock == KEYS_ALONE;
	return k->lock == KEYS_GROUP && k->limit == (call->kind == KIND_PERMITS ? call->limit : 0);
}

static void
check_kept(const struct effect *e, int64_t had, int64_t had_us)
{
	int64_t till_us, have = keys_have(e->after, e->mine, &till_us);
	int64_t least_us = e->after->now_us + e->call->ttl_ms * 1000;
	if (had > 0 && had_us > least_us)
		least_us = earlier(had_us, e->most_us);
	bool keeps = e->call->op == CALL_RENEW || e->call->op == CALL_ADOPT;
	if (have < whole(e->call) || (!keeps && have > whole(e->call)))
		fail(e, "says yes, and %" PRId64 " of %" PRId64 " are its own", have, whole(e->call));
	else if (till_us < least_us - ROUND_US)
		fail(e, "leaves %" PRId64 " us, %" PRId64 " too few", till_us - e->after->now_us,
			least_us - till_us);
	else if (till_us > e->most_us + ROUND_US)
		fail(e, "lasts for %" PRId64 " us, longer than any lease", till_us - e->after->now_us);
}

/* What it or one of its previous owners had is its own, and that of none else. */
static void
check_adopted(const struct effect *e)
{
	const struct keys *before = e->before;
	int64_t had = 0, had_us = 0;
	bool later = false; /* it has a share by a later attempt, and there is room for one */
	for (unsigned i = 0; i < before->n; i++) {
		const struct keys_member *m = &before->members[i];
		later |= keys_lives(before, m) && strcmp(m->owner, e->mine) != 0 &&
			 strncmp(m->owner, e->daemon_id, 32) == 0;
		if (!keys_lives(before, m) ||
			(strcmp(m->owner, e->mine) != 0 && !is_previous(e->call, m->owner)))
			continue;
		had++;
		had_us = m->till_us > had_us ? m->till_us : had_us;
	}
	bool kind = is_kind(before, e->call) || (e->call->kind == KIND_SHARED && before->lock == KEYS_ALONE);
	if (e->vote->outcome == OUTCOME_YES && had < whole(e->call))
		fail(e, "takes over %" PRId64 ", and %" PRId64 " were its own or of those before it",
			whole(e->call), had);
	else if (e->vote->outcome == OUTCOME_YES)
		check_kept(e, had, had_us);
	else if (e->vote->outcome == OUTCOME_NO && had >= whole(e->call) && kind && !later &&
		 e->call->kind != KIND_PERMITS)
		fail(e, "is refused what those before it have");
}

static void
check_own(const struct effect *e)
{
	enum outcome outcome = e->vote->outcome;
	int64_t had_us, have_us, had = keys_have(e->before, e->mine, &had_us);
	int64_t have = keys_have(e->after, e->mine, &have_us);
	bool whole_before = had >= whole(e->call) && is_kind(e->before, e->call);
	if (e->before->crowd || e->after->crowd)
		return;
	switch (e->call->op) {
	case CALL_ACQUIRE:
		if (outcome == OUTCOME_YES)
			check_kept(e, had, had_us);
		else if (have > had)
			fail(e, "is refused, and has it");
		else if (whole_before && e->call->kind != KIND_PERMITS)
			fail(e, "is refused what it has");
		return;
	case CALL_RENEW:
		if (outcome == OUTCOME_YES)
			check_kept(e, had, had_us);
		else if (outcome == OUTCOME_NO && whole_before && e->call->kind != KIND_PERMITS)
			fail(e, "is refused what it has");
		return;
	case CALL_ADOPT:
		check_adopted(e);
		return;
	case CALL_RECLAIM:
		if (outcome == OUTCOME_YES)
			check_kept(e, 0, 0);
		return;
	case CALL_RELEASE:
		if (have > 0)
			fail(e, "leaves it");
		return;
	default:
		if (have != had)
			fail(e, "changes whether it has it");
	}
}

/* Who looked at what is taken leaves nobody in it who is dead, or lives for longer than any lease. */
static void
check_swept(const struct effect *e)
{
	const struct keys *k = e->after;
	bool group = k->lock == KEYS_GROUP;
	if (e->call->op != CALL_ACQUIRE || e->vote->outcome != OUTCOME_BUSY || k->crowd || e->before->crowd)
		return;
	if (k->lock != KEYS_GROUP && !(k->lock == KEYS_ALONE && is_native(k->members[0].owner)))
		return;
	for (unsigned i = 0; i < k->n && group; i++)
		if (!keys_lives(k, &k->members[i]))
			fail(e, "leaves %s, who is dead", k->members[i].owner);
		else if (k->members[i].till_us > e->most_us)
			fail(e, "leaves %s for longer than any lease", k->members[i].owner);
	if (k->till_us > e->most_us + ROUND_US)
		fail(e, "leaves the key for longer than any lease");
}

/* A reclaim is refused for one that is newer, and for nothing else. */
static void
check_newer(const struct effect *e)
{
	if (e->call->op != CALL_RECLAIM)
		return;
	if (e->vote->outcome == OUTCOME_NO && !e->newer)
		fail(e, "is refused, and nobody has reclaimed a newer one");
	else if (e->vote->outcome == OUTCOME_YES && e->newer && e->call->kind == KIND_EXCLUSIVE)
		fail(e, "takes what is somebody else's by a newer lease");
}

/* ---- the queue ---- */

static void
place_remove(struct keys_place *places, unsigned *n, unsigned at)
{
	memmove(&places[at], &places[at + 1], (*n - at - 1) * sizeof(*places));
	(*n)--;
}

static bool
is_order(const struct keys *k, const struct keys_place *places, unsigned n)
{
	for (unsigned i = 0; i < n && i < k->places_n; i++)
		if (strcmp(places[i].daemon, k->places[i].daemon) != 0)
			return false;
	return n == k->places_n;
}

/* The lock is free, and kept for the head, who has let its window pass: somebody else asks for it. */
static bool
finds_late(const struct effect *e)
{
	const struct keys *before = e->before;
	return e->call->op == CALL_ACQUIRE && e->call->kind == KIND_EXCLUSIVE && before->lock == KEYS_FREE &&
	       before->places_n > 0 && strcmp(before->claim, before->places[0].daemon) == 0 &&
	       before->claim_us <= e->after->now_us && strcmp(before->claim, e->daemon_id) != 0;
}

/* The order of before, with this daemon where it belongs if it stands there now; who was called and has not
 * come in its window may be the last now, and is if somebody asks for the free lock (G10). */
static void
check_order(const struct effect *e)
{
	const struct keys *before = e->before, *after = e->after;
	struct keys_place places[KEYS_PLACES + 1], head;
	unsigned n = before->places_n, at = keys_position(before, e->daemon_id);
	bool stands = keys_position(after, e->daemon_id) > 0;
	bool returns =
		e->call->op == CALL_RELEASE && e->vote->outcome == OUTCOME_YES && e->call->queue_ms > 0;
	memcpy(places, before->places, sizeof(before->places));
	if (at > 0 && (!stands || returns))
		place_remove(places, &n, at - 1);
	if (returns) {
		memmove(&places[1], &places[0], n++ * sizeof(places[0]));
		memcpy(places[0].daemon, e->daemon_id, 33);
	} else if (at == 0 && stands) {
		memcpy(places[n++].daemon, e->daemon_id, 33);
	}
	if (!finds_late(e) && is_order(after, places, n))
		return;
	bool late =
		n > 0 && before->claim_us <= after->now_us && strcmp(before->claim, places[0].daemon) == 0;
	head = places[0];
	if (late && e->call->op == CALL_ACQUIRE) {
		place_remove(places, &n, 0);
		places[n++] = head;
		if (is_order(after, places, n))
			return;
	}
	fail(e, "changes the order of those who wait");
}

static void
form_text(const struct call *call, char *out, size_t size)
{
	if (call->op == CALL_ENTER || call->kind == KIND_EXCLUSIVE)
		snprintf(out, size, "x");
	else if (call->kind == KIND_SHARED)
		snprintf(out, size, "s");
	else
		snprintf(out, size, "p%" PRId64, call->permits);
}

/* It waits as it asked to. */
static void
check_place(const struct effect *e, unsigned at)
{
	const struct keys_place *p = &e->after->places[at - 1];
	char form[24];
	form_text(e->call, form, sizeof(form));
	if (strcmp(p->form, form) != 0 || p->attempt != e->call->attempt ||
		p->till_us != e->after->now_us + e->call->queue_ms * 1000)
		fail(e, "gives it the place %s of attempt %" PRIu64 " for %" PRId64 " us", p->form,
			p->attempt, p->till_us - e->after->now_us);
}

/* Whether this daemon is in its own way, with a lease of before. */
static bool
busy_ours(const struct effect *e)
{
	return e->vote->holder.n > 32 && memcmp(e->vote->holder.p, e->daemon_id, 32) == 0;
}

static void
check_stands(const struct effect *e)
{
	unsigned before = keys_position(e->before, e->daemon_id), at = keys_position(e->after, e->daemon_id);
	enum outcome outcome = e->vote->outcome;
	switch (e->call->op) {
	case CALL_ACQUIRE:
		if (outcome == OUTCOME_YES && at > 0)
			fail(e, "leaves its place to who has got it");
		if (outcome != OUTCOME_BUSY)
			return;
		if (e->vote->position != 0 && e->vote->position != (int64_t)at)
			fail(e, "says that it is number %" PRId64 ", and it is %u", e->vote->position, at);
		if (before > 0 && at == 0)
			fail(e, "takes its place");
		if (e->call->queue_ms > 0 && !busy_ours(e) && at == 0)
			fail(e, "gives it no place");
		else if (e->call->queue_ms > 0 && !busy_ours(e))
			check_place(e, at);
		return;
	case CALL_LEAVE: {
		bool later = before > 0 && e->before->places[before - 1].attempt > e->call->attempt;
		if (later != (at > 0) || later != (outcome == OUTCOME_NO))
			fail(e, "%s the place of a%s attempt", at > 0 ? "keeps" : "takes",
				later ? " later" : "n earlier");
		return;
	}
	case CALL_ENTER:
		if (outcome == OUTCOME_YES && at == 0)
			fail(e, "gives it no place");
		else if (outcome == OUTCOME_YES)
			check_place(e, at);
		return;
	case CALL_RELEASE:
		if (before > 0 && at == 0)
			fail(e, "takes its place");
		return;
	default:
		if ((before > 0) != (at > 0))
			fail(e, "changes whether it waits");
	}
}

/* A place is no shorter than it was said to be, and no key of a queue lives for ever. */
static bool
queue_lives(const struct keys *k)
{
	for (unsigned i = 0; i < k->places_n; i++)
		if (k->queue_till_us < k->places[i].till_us - ROUND_US)
			return false;
	return !k->queue || k->queue_till_us != KEYS_NEVER;
}

/* ---- who is called ---- */

void
herald_add(struct herald *herald, struct slice channel, struct slice message)
{
	if (herald->n == HERALD_MOST)
		return;
	snprintf(herald->of[herald->n].channel, sizeof(herald->of[0].channel), "%.*s", (int)channel.n,
		channel.p);
	snprintf(herald->of[herald->n].message, sizeof(herald->of[0].message), "%.*s", (int)message.n,
		message.p);
	herald->n++;
}

static bool
is_published(const struct effect *e, const char *daemon, const char *word)
{
	const struct herald *herald = &e->server->herald;
	char message[32];
	snprintf(message, sizeof(message), "%s %.*s", word, (int)e->call->name.n, e->call->name.p);
	for (unsigned i = 0; i < herald->n; i++) {
		size_t n = strlen(herald->of[i].channel);
		if (strcmp(herald->of[i].message, message) == 0 && n > 32 &&
			strncmp(herald->of[i].channel + n - 32, daemon, 32) == 0)
			return true;
	}
	return herald->n == HERALD_MOST;
}

/* Whether this call looks for whom the lock is to be kept. */
static bool
calls_head(const struct effect *e)
{
	enum outcome outcome = e->vote->outcome;
	bool shares = e->call->kind == KIND_SHARED && e->before->lock == KEYS_ALONE;
	switch (e->call->op) {
	case CALL_ACQUIRE:
		/* Who would write looks at readers as at one lock: those who wait have been called. */
		return outcome == OUTCOME_YES ||
		       (outcome == OUTCOME_BUSY && !busy_ours(e) &&
			       (e->call->kind != KIND_EXCLUSIVE || e->after->lock != KEYS_GROUP));
	case CALL_RENEW:
	case CALL_ADOPT:
		return outcome == OUTCOME_YES && shares;
	case CALL_RELEASE:
		return outcome == OUTCOME_YES && e->call->queue_ms <= 0;
	case CALL_LEAVE:
		return outcome == OUTCOME_YES && keys_position(e->before, e->daemon_id) > 0;
	default:
		return false;
	}
}

static void
check_head(const struct effect *e)
{
	const struct keys *k = e->after, *before = e->before;
	const struct keys_place *head = &k->places[0];
	bool kept = k->places_n > 0 && strcmp(k->claim, head->daemon) == 0 && k->claim_us > k->now_us;
	bool was_kept = kept && strcmp(before->claim, k->claim) == 0 && before->claim_us == k->claim_us;
	if (k->places_n == 0 || k->crowd || !calls_head(e))
		return;
	bool ours = strcmp(head->daemon, e->daemon_id) == 0;
	bool takes = keys_take(k, head->form);
	if (takes && !kept && !(ours && e->call->op == CALL_ACQUIRE))
		fail(e, "keeps it not for %.6s, who is next and can have it", head->daemon);
	else if (kept && !was_kept && !is_published(e, head->daemon, "wake"))
		fail(e, "does not tell %.6s that it is next", head->daemon);
	else if (!takes && before->queue && k->claim[0] != '\0' && k->claim_us > k->now_us)
		fail(e, "keeps for %.6s what cannot be had", k->claim);
}

/* Who has it alone, or reads where another would write, is told that somebody waits. */
static void
check_wanted(const struct effect *e)
{
	const struct keys *k = e->after;
	bool alone = k->lock == KEYS_ALONE, writes = e->call->kind == KIND_EXCLUSIVE && k->limit == 0;
	bool waits = e->call->op == CALL_ACQUIRE && e->vote->outcome == OUTCOME_BUSY && (alone || writes);
	bool enters = e->call->op == CALL_ENTER && e->vote->outcome == OUTCOME_YES;
	if (k->crowd || !(waits || enters) || (k->lock != KEYS_ALONE && k->lock != KEYS_GROUP))
		return;
	for (unsigned i = 0; i < k->n; i++)
		if (keys_lives(k, &k->members[i]) && is_native(k->members[i].owner) &&
			strncmp(k->members[i].owner, e->daemon_id, 32) != 0 &&
			!is_published(e, k->members[i].owner, "want"))
			fail(e, "does not tell %.6s that it waits", k->members[i].owner);
}

static void
check_queue(const struct effect *e)
{
	const struct master_health *health = master_health(e->server->master);
	/* A server that refuses writes costs an order, or a call. */
	if (health->full || health->readonly || health->misconf || e->before->places_many ||
		e->after->places_many)
		return;
	check_order(e);
	check_stands(e);
	check_head(e);
	check_wanted(e);
	if (queue_lives(e->before) && !queue_lives(e->after))
		fail(e, "lets the keys of the queue end before a place in it, or never");
}

/* ---- all ---- */

/* Whether somebody else's lease is the newer one, or a foreign one is there. */
static bool
is_newer(const struct effects *effects, struct server *s, const char *mine, const struct call *call, size_t i)
{
	const struct keys *k = &effects->before[i];
	struct slice lease = server_lease_key(s->world, k->name), field, value;
	if (k->lock == KEYS_STRANGE || (k->lock == KEYS_ALONE && !is_native(k->members[0].owner)))
		return true;
	for (size_t at = 0;
		store_pair(master_store(s->master), k->now_us, SLICE("hf:reclaimed"), at, &field, &value);
		at++) {
		const char *blank = memchr(value.p, ' ', value.n);
		bool whose = field.n >= lease.n && memcmp(field.p, lease.p, lease.n) == 0 &&
			     (field.n == lease.n || field.p[lease.n] == ' ');
		if (call->kind == KIND_EXCLUSIVE && field.n != lease.n)
			continue;
		char owner[CALL_OWNER_SIZE] = "";
		if (blank != NULL && (size_t)(blank - value.p) < sizeof(owner))
			memcpy(owner, value.p, (size_t)(blank - value.p));
		if (whose && blank != NULL && strtoll(blank, NULL, 10) >= call->newest &&
			strcmp(owner, mine) != 0 && !is_previous(call, owner))
			return true;
	}
	return false;
}

void
effects_before(
	struct effects *effects, struct server *s, const char *daemon_id, const struct call *calls, size_t n)
{
	unsigned names = 0;
	effects->n = 0;
	s->herald.n = 0;
	if (n > EFFECTS_MOST || calls[0].name.n == 0 || calls[0].op == CALL_LATCH ||
		calls[0].interop != INTEROP_NONE)
		return;
	effects->highest = server_highest(master_store(s->master));
	for (size_t i = 0; i < n; i++) {
		unsigned name = checker_name_of(calls[i].name);
		char mine[CALL_OWNER_SIZE];
		if (names >> name & 1)
			return;
		names |= 1U << name;
		keys_read(&effects->before[i], s, name);
		call_owner(daemon_id, calls[i].attempt, mine);
		effects->newer[i] = calls[i].op == CALL_RECLAIM && is_newer(effects, s, mine, &calls[i], i);
	}
	effects->n = (unsigned)n;
}

/* A grant is a mark; who is refused is told one (G4). */
static void
check_marks(const struct effect *e, int64_t before)
{
	int64_t highest = server_highest(master_store(e->server->master));
	if (highest < before)
		fail(e, "makes the highest token less, %" PRId64 " after %" PRId64, highest, before);
	else if (e->vote->token_last > highest)
		fail(e, "gives %" PRId64 ", and %" PRId64 " is the highest token", e->vote->token_last,
			highest);
	else if (e->call->op == CALL_ACQUIRE && e->vote->outcome == OUTCOME_YES && highest <= before)
		fail(e, "leaves no mark");
	else if (e->call->op == CALL_ACQUIRE && e->vote->outcome == OUTCOME_BUSY && e->vote->highest < before)
		fail(e, "tells the mark %" PRId64 ", and it is %" PRId64, e->vote->highest, before);
}

static void
check_one(struct effect *e, int64_t highest)
{
	switch (e->vote->outcome) {
	case OUTCOME_FORGOTTEN:
	case OUTCOME_LATE:
	case OUTCOME_DEMOTED:
		if (!keys_equal(e->before, e->after))
			fail(e, "does something, and was not to");
		return;
	case OUTCOME_YES:
	case OUTCOME_BUSY:
	case OUTCOME_NO:
	case OUTCOME_WRONGKIND:
	case OUTCOME_LIMIT:
		break;
	default:
		return;
	}
	check_others(e);
	check_own(e);
	check_swept(e);
	check_newer(e);
	check_marks(e, highest);
	/* Whose queue is at another master heeds none here. */
	if (e->call->op != CALL_ACQUIRE || e->call->queue_ms >= 0)
		check_queue(e);
}

void
effects_check(const struct effects *effects, struct server *s, const char *daemon_id,
	const struct call *calls, size_t n, const redisReply *reply)
{
	struct vote votes[CALL_GROUP_MAX];
	if (effects->n != n || call_noscript(reply))
		return;
	call_decode(reply, calls, n, votes);
	int64_t longest_us = server_longest_ms(master_store(s->master)) * 1000;
	for (size_t i = 0; i < n; i++) {
		struct keys after;
		keys_read(&after, s, effects->before[i].name);
		struct effect e = {.server = s,
			.daemon_id = daemon_id,
			.call = &calls[i],
			.vote = &votes[i],
			.before = &effects->before[i],
			.after = &after,
			.newer = effects->newer[i],
			.most_us = after.now_us + longest_us};
		call_owner(daemon_id, calls[i].attempt, e.mine);
		check_one(&e, effects->highest);
	}
}
