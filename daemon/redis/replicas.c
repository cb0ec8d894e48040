/*
 * replicas: see replicas.h.
 */
#include "daemon/redis/replicas.h"

#include "daemon/redis/call.h"
#include "daemon/redis/vote.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it says something that a majority may not have. That there is no latch is one, too. */
static bool
vote_rests_on_replicas(const struct vote *vote)
{
	if (vote->op == CALL_HELLO)
		return vote->outcome == OUTCOME_YES && vote->hello == HELLO_GOOD;
	return vote->outcome == OUTCOME_YES || (vote->op == CALL_LATCH && vote->outcome == OUTCOME_NO);
}

bool
replicas_disbelieve(const struct replicas *r, const struct call *call, struct vote *vote)
{
	bool asks = call->op == CALL_HELLO && r->missing;
	int64_t time_us = vote->time_us;

	if (!vote_rests_on_replicas(vote))
		return false;
	call_fail(call, asks ? OUTCOME_ERROR : OUTCOME_UNKNOWN,
		asks ? r->why : "too few replicas acknowledged it", vote);
	vote->time_us = time_us;
	return true;
}

/* ---- groups ---- */

/*
 * A group of which a majority has to have a change. The first member was the master when it was stored. Of
 * the others a majority will do for another master: the first one, for itself, needs half of them, rounded
 * down, and one of them cannot follow both.
 */
struct quota {
	struct roster group;
	struct roster rest; /* without the master before; empty: this is the same one */
	unsigned unnamed;   /* further members whose names are unknown */
};

static struct slice
self_of(const struct replicas *r)
{
	return slice_of(r->found.self);
}

#define QUOTAS_MAX 3

/* The master, what the sentinels or nodes name, and what is connected to it. */
static void
group_in_view(const struct replicas *r, struct quota *view)
{
	unsigned replicas;

	*view = (struct quota){0};
	roster_add(&view->group, self_of(r));
	roster_add_all(&view->group, &r->found.named);
	roster_add_all(&view->group, &r->attached);
	replicas = (unsigned)view->group.n - roster_has(&view->group, self_of(r));
	view->unnamed = r->found.count > replicas ? r->found.count - replicas : 0;
}

/* What may belong to the group, for all that is known. */
static void
quota_in_view(const struct replicas *r, struct quota *q)
{
	group_in_view(r, q);
	roster_add_all(&q->group, &r->found.previous);
	roster_drop_all(&q->group, &r->found.gone);
}

static void
quota_set(const struct replicas *r, const struct roster *group, struct quota *q)
{
	struct slice owner = roster_at(group, 0);

	*q = (struct quota){.group = *group};
	if (!r->remembered && group->n > 1 && !slice_equal(owner, self_of(r))) {
		struct roster before = {0};

		roster_add(&before, owner);
		q->rest = *group;
		roster_drop_all(&q->rest, &before);
	}
}

/* The quotas of the group, 1 to QUOTAS_MAX. What is in view counts while no group is known, and beside one
 * that is remembered only, or of which some are gone: as many as these need not acknowledge any more. */
static size_t
quotas_of(const struct replicas *r, struct quota quotas[QUOTAS_MAX])
{
	size_t n = 0;

	if (r->members.n > 0)
		quota_set(r, &r->members, &quotas[n++]);
	if (r->joining.n > 0)
		quota_set(r, &r->joining, &quotas[n++]);
	if (n == 0 || r->remembered || roster_common(&r->members, &r->found.gone) > 0)
		quota_in_view(r, &quotas[n++]);
	return n;
}

static unsigned
quota_size(const struct quota *q)
{
	return (unsigned)q->group.n + q->unnamed;
}

/* How many of these are still lacking for a majority. The master has it; who serves the keys no more has left
 * the master before. */
static unsigned
majority_lacks(
	const struct replicas *r, const struct roster *group, unsigned unnamed, const struct roster *acked)
{
	unsigned majority = ((unsigned)group->n + unnamed) / 2 + 1;
	unsigned sure = roster_has(group, self_of(r)) + (unsigned)roster_common(group, &r->found.gone) +
			(unsigned)roster_common(group, acked);

	return majority > sure ? majority - sure : 0;
}

static unsigned
quota_lacks(const struct replicas *r, const struct quota *q, const struct roster *acked)
{
	unsigned all = majority_lacks(r, &q->group, q->unnamed, acked);
	unsigned rest = q->rest.n > 0 ? majority_lacks(r, &q->rest, 0, acked) : all;

	return rest < all ? rest : all;
}

static unsigned
quota_needs(const struct replicas *r, const struct quota *q)
{
	static const struct roster none;

	return quota_lacks(r, q, &none);
}

unsigned
replicas_ask(const struct replicas *r)
{
	struct quota quotas[QUOTAS_MAX];
	size_t n = quotas_of(r, quotas);
	unsigned most = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned needs = quota_needs(r, &quotas[i]);
		unsigned others = r->strangers +
				  (unsigned)(r->attached.n - roster_common(&r->attached, &quotas[i].group));

		if (needs > 0 && needs + others > most)
			most = needs + others;
	}
	return most;
}

/* ---- answers ---- */

/* The value of "key:value" at the beginning of a line; n == 0: there is none. */
static struct slice
info_field(const struct redisReply *reply, const char *key)
{
	const char *at = reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
	size_t n = strlen(key);

	for (; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, key, n) == 0 && at[n] == ':')
			return (struct slice){at + n + 1, strcspn(at + n + 1, "\r\n")};
	return (struct slice){NULL, 0};
}

/* The value of "key=value" among others with commas between. */
static struct slice
part_field(struct slice parts, const char *key)
{
	size_t n = strlen(key);

	while (parts.n > 0) {
		const char *comma = memchr(parts.p, ',', parts.n);
		size_t length = comma ? (size_t)(comma - parts.p) : parts.n;

		if (length > n && memcmp(parts.p, key, n) == 0 && parts.p[n] == '=')
			return (struct slice){parts.p + n + 1, length - n - 1};
		parts.p += length + (comma != NULL);
		parts.n -= length + (comma != NULL);
	}
	return (struct slice){NULL, 0};
}

static bool
info_of_master(const struct redisReply *reply, int64_t *offset, char replid[REPLICAS_REPLID])
{
	struct slice id = info_field(reply, "master_replid");

	if (!slice_equal(info_field(reply, "role"), SLICE("master")) || id.n == 0 ||
		id.n >= REPLICAS_REPLID ||
		!number_parse(info_field(reply, "master_repl_offset"), 0, INT64_MAX, offset))
		return false;
	memcpy(replid, id.p, id.n);
	replid[id.n] = '\0';
	return true;
}

void
replicas_read_group(struct replicas_round *round, const struct redisReply *reply)
{
	const struct redisReply *fields[2];

	*round = (struct replicas_round){.target = -1, .acknowledged = -1};
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
		return;
	for (size_t i = 0; i < 2; i++) {
		fields[i] = reply->element[i];
		if (fields[i]->type != REDIS_REPLY_STRING && fields[i]->type != REDIS_REPLY_NIL)
			return;
	}
	round->stored_known = true;
	if (fields[0]->type == REDIS_REPLY_STRING)
		roster_read(&round->members, (struct slice){fields[0]->str, fields[0]->len});
	if (fields[1]->type == REDIS_REPLY_STRING && round->members.n > 0)
		roster_read(&round->joining, (struct slice){fields[1]->str, fields[1]->len});
	round->stored = round->members.n > 0;
}

void
replicas_read_target(struct replicas_round *round, const struct redisReply *reply)
{
	if (!info_of_master(reply, &round->target, round->replid))
		round->target = -1;
}

/* A connected replica: where it is, whether it is online, and how far it has come. */
struct line {
	char address[ROSTER_NAME_MAX];
	bool online;
	int64_t offset;
};

static bool
line_read(const struct redisReply *reply, unsigned i, struct line *line)
{
	struct slice parts, host, port;
	char key[24];
	int n;

	snprintf(key, sizeof key, "slave%u", i);
	parts = info_field(reply, key);
	host = part_field(parts, "ip");
	port = part_field(parts, "port");
	n = snprintf(line->address, sizeof line->address, "%.*s:%.*s", SLICE_ARG(host), SLICE_ARG(port));
	if (host.n == 0 || port.n == 0 || n < 0 || (size_t)n >= sizeof line->address)
		return false;
	line->online = slice_equal(part_field(parts, "state"), SLICE("online"));
	if (!number_parse(part_field(parts, "offset"), 0, INT64_MAX, &line->offset))
		line->offset = -1;
	return true;
}

/* Adds up to *count names of the list that are not there yet, and counts them off. */
static void
add_some(struct roster *to, const struct roster *list, unsigned *count)
{
	struct slice text = roster_text(list), one;

	while (*count > 0 && roster_take(&text, &one)) {
		if (roster_has(to, one))
			continue;
		roster_add(to, one);
		--*count;
	}
}

/*
 * Nodes that announce other addresses than they connect from cannot be told apart here. But they are among
 * those that name this master as theirs, and that no other line stands for. The worst is assumed: those who
 * are no members, and of the members the master before, are connected, and have acknowledged, first.
 */
static unsigned
add_strangers(const struct replicas *r, const struct roster *known, unsigned count, struct roster *to)
{
	struct roster others = r->found.named, members = {0};

	roster_drop_all(&others, known);
	for (size_t i = 0; i < r->joining.n; i++)
		if (roster_has(&others, roster_at(&r->joining, i)) &&
			!roster_has(&r->members, roster_at(&r->joining, i)))
			roster_add(&members, roster_at(&r->joining, i));
	for (size_t i = 0; i < r->members.n; i++)
		if (roster_has(&others, roster_at(&r->members, i)))
			roster_add(&members, roster_at(&r->members, i));
	roster_drop_all(&others, &members);
	add_some(to, &others, &count);
	add_some(to, &members, &count);
	return count;
}

/* Those that are connected, and of these the ones that have come so far. An address may be listed twice while
 * a replica is synchronised. */
static void
lines_read(struct replicas *r, const struct redisReply *reply, int64_t offset, struct roster *reached)
{
	unsigned strangers = 0, strangers_reached = 0;
	struct roster known;
	int64_t n = 0;
	struct line line;

	r->attached = *reached = (struct roster){0};
	if (!number_parse(info_field(reply, "connected_slaves"), 0, INT64_MAX, &n))
		return;
	for (unsigned i = 0; i < 2 * n + 8 && i < 1000; i++) {
		struct slice name;
		bool here;
		int at;

		if (!line_read(reply, i, &line))
			continue;
		here = line.online && line.offset >= offset;
		name = slice_of(line.address);
		at = roster_find(&r->found.addresses, name);
		if (at >= 0)
			name = roster_at(&r->found.named, (size_t)at);
		else if (r->found.ids) {
			strangers++;
			strangers_reached += here;
			continue;
		}
		roster_add(&r->attached, name);
		if (here)
			roster_add(reached, name);
	}
	known = r->attached;
	r->strangers = add_strangers(r, &known, strangers, &r->attached);
	/* Nothing is known of those beyond the ones that are named. */
	strangers_reached = strangers_reached > r->strangers ? strangers_reached - r->strangers : 0;
	(void)add_strangers(r, &known, strangers_reached, reached);
}

/* ---- the verdict ---- */

static unsigned
quota_has(const struct quota *q, const struct roster *acked)
{
	return (unsigned)roster_common(&q->group, acked);
}

/* The first member that is neither the master, nor has acknowledged, nor is gone. */
static struct slice
first_lacking(const struct replicas *r, const struct quota *q, const struct roster *acked)
{
	struct slice text = roster_text(&q->group), one;

	while (roster_take(&text, &one))
		if (!slice_equal(one, self_of(r)) && !roster_has(acked, one) &&
			!roster_has(&r->found.gone, one))
			return one;
	return (struct slice){NULL, 0};
}

/* All of the list are the master, or here, or gone. */
static bool
roster_covered(const struct replicas *r, const struct roster *list, const struct roster *here)
{
	const struct quota q = {.group = *list};

	return !list->over && first_lacking(r, &q, here).n == 0;
}

static void
complain(struct replicas *r, const struct quota *q, const struct roster *acked, bool stored)
{
	struct slice lacks = first_lacking(r, q, acked);
	size_t n = (size_t)snprintf(r->why, sizeof r->why,
		"NOREPLICAS %u of %u replicas acknowledge, at least %u must", quota_has(q, acked),
		quota_size(q) - roster_has(&q->group, self_of(r)), quota_needs(r, q));

	if (q->group.over)
		snprintf(r->why, sizeof r->why, "NOREPLICAS the group has too many replicas");
	else if (stored && acked->n > quota_has(q, acked) && lacks.n > 0 && n < sizeof r->why)
		snprintf(r->why + n, sizeof r->why - n,
			"; %zu more count when %.*s follows, or after MASTERS FORGET",
			acked->n - quota_has(q, acked), SLICE_ARG(lacks));
}

/* Sets missing, why and the numbers for reports: of the first quota that lacks replicas, or else of the last.
 */
static void
count(struct replicas *r, const struct quota *quotas, size_t n, const struct roster *acked, bool stored)
{
	const struct quota *q = &quotas[n - 1];

	r->missing = false;
	for (size_t i = 0; i < n && !r->missing; i++) {
		r->missing = quota_lacks(r, &quotas[i], acked) > 0 || quotas[i].group.over;
		if (r->missing)
			q = &quotas[i];
	}
	r->known = quota_size(q) - roster_has(&q->group, self_of(r));
	r->needed = quota_needs(r, q);
	if (r->missing)
		complain(r, q, acked, stored);
}

/* Whether enough are connected, so that they may acknowledge yet. */
static bool
could_do(const struct replicas *r, const struct quota *quotas, size_t n, const struct roster *attached)
{
	for (size_t i = 0; i < n; i++)
		if (quota_lacks(r, &quotas[i], attached) > 0)
			return false;
	return true;
}

static bool
group_same(const struct roster *a, const struct roster *b)
{
	return roster_same(a, b) && slice_equal(roster_at(a, 0), roster_at(b, 0));
}

/* The master comes first. */
static void
group_lead(const struct replicas *r, struct roster *group)
{
	const struct roster before = *group;

	*group = (struct roster){0};
	roster_add(group, self_of(r));
	roster_add_all(group, &before);
}

/* The group without those that an operator has declared gone; of a group that is not stored, at once. */
static void
change_forgets(struct replicas *r, struct replicas_change *c)
{
	if (roster_common(&c->members, &r->forgotten) + roster_common(&c->joining, &r->forgotten) == 0) {
		r->forgotten = (struct roster){0};
		return;
	}
	group_lead(r, &c->next_members);
	roster_drop_all(&c->next_members, &r->forgotten);
	roster_drop_all(&c->next_joining, &r->forgotten);
	if (group_same(&c->next_members, &c->next_joining))
		c->next_joining = (struct roster){0};
}

/* The two steps. settled: those that have the stored group. */
static void
change_steps(struct replicas *r, struct replicas_change *c, const struct roster *settled)
{
	struct quota view;

	group_in_view(r, &view);
	if (c->joining.n > 0) {
		if (roster_covered(r, &c->members, settled) && roster_covered(r, &c->joining, settled)) {
			c->next_members = c->joining;
			c->next_joining = (struct roster){0};
		}
		return;
	}
	roster_add_all(&view.group, &c->members);
	roster_drop_all(&view.group, &r->found.gone);
	if (view.unnamed == 0 && !view.group.over && !group_same(&view.group, &c->members) &&
		roster_covered(r, &c->members, settled) && roster_covered(r, &view.group, settled))
		c->next_joining = view.group;
}

/* What the master has to store now, if anything. Without a stored group it is what is remembered of it; else
 * what is in view. */
static void
change_decide(struct replicas *r, const struct replicas_round *round, const struct quota *quotas,
	const struct roster *settled)
{
	struct replicas_change *c = &r->change;

	if (!round->stored) {
		roster_drop_all(&r->members, &r->forgotten);
		roster_drop_all(&r->joining, &r->forgotten);
		r->forgotten = (struct roster){0};
	}
	*c = (struct replicas_change){.stored = round->stored,
		.members = round->members,
		.joining = round->joining,
		.next_members = r->members,
		.next_joining = r->joining};
	if (r->remembered) {
		group_lead(r, &c->next_members);
		if (c->next_joining.n > 0)
			group_lead(r, &c->next_joining);
	}
	if (r->forgotten.n > 0)
		change_forgets(r, c);
	else if (!r->missing && round->stored)
		change_steps(r, c, settled);
	else if (!r->missing && r->members.n == 0 && quotas[0].unnamed == 0)
		c->next_members = quotas[0].group;
	c->due = (round->stored || !r->missing) && c->next_members.n > 0 &&
		 !(group_same(&c->members, &c->next_members) && group_same(&c->joining, &c->next_joining));
}

/* From where on the stream has had the group of this round. */
static void
settle(struct replicas *r, const struct replicas_round *round)
{
	bool same = round->stored && strcmp(r->settled_replid, round->replid) == 0 &&
		    group_same(&r->members, &round->members) && group_same(&r->joining, &round->joining);

	if (!same) {
		r->settled = round->target;
		memcpy(r->settled_replid, round->replid, sizeof r->settled_replid);
	}
	r->remembered = !round->stored && r->members.n > 0;
	if (round->stored) {
		r->members = round->members;
		r->joining = round->joining;
	}
}

enum replicas_worth
replicas_judge(struct replicas *r, const struct replicas_round *round, unsigned asked,
	const struct redisReply *reply)
{
	struct roster acked, settled;
	struct quota quotas[QUOTAS_MAX];
	char replid[REPLICAS_REPLID];
	int64_t offset;
	size_t n;

	if (!round->stored_known || round->target < 0 || !info_of_master(reply, &offset, replid) ||
		strcmp(replid, round->replid) != 0) {
		replicas_fail(r);
		return REPLICAS_TOO_FEW;
	}
	settle(r, round);
	lines_read(r, reply, r->settled, &settled);
	lines_read(r, reply, round->target, &acked);
	n = quotas_of(r, quotas);
	count(r, quotas, n, &acked, r->members.n > 0);
	change_decide(r, round, quotas, &settled);
	if (!r->missing)
		return REPLICAS_ENOUGH;
	return (asked == 0 || round->acknowledged >= (int64_t)asked) && could_do(r, quotas, n, &r->attached)
		       ? REPLICAS_AGAIN
		       : REPLICAS_TOO_FEW;
}

void
replicas_fail(struct replicas *r)
{
	static const struct roster none;
	struct quota quotas[QUOTAS_MAX];
	size_t n = quotas_of(r, quotas);

	r->change.due = false;
	count(r, quotas, n, &none, false);
}

/* ---- others ---- */

void
replicas_find(struct replicas *r, const struct replicas_found *found, bool another)
{
	struct quota quotas[QUOTAS_MAX];
	bool missing = r->missing;
	size_t n;

	r->found = *found;
	if (another) {
		r->attached = (struct roster){0};
		r->settled_replid[0] = '\0';
		missing = false;
	}
	n = quotas_of(r, quotas);
	r->known = quota_size(&quotas[n - 1]) - roster_has(&quotas[n - 1].group, self_of(r));
	r->needed = r->watched ? quota_needs(r, &quotas[n - 1]) : 0;
	r->missing = missing;
}

const char *
replicas_forget(struct replicas *r, struct slice name)
{
	if (!r->watched)
		return "is no member: this master has no group of replicas";
	if (slice_equal(name, self_of(r)))
		return "is the master";
	if (!roster_has(&r->members, name) && !roster_has(&r->joining, name))
		return "is no member of the group";
	if (roster_has(&r->attached, name))
		return "follows the master, and counts again as soon as it is gone";
	roster_add(&r->forgotten, name);
	return NULL;
}
