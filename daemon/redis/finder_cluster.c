/*
 * finder_cluster: what a finder asks the nodes of a Redis Cluster; see finder_inner.h.
 *
 *     CLUSTER NODES ──▶ the id of the slot's owner, its epoch, its replicas, how its clients reach it
 *     EXISTS key    ──▶ a number: this node is the owner; MOVED slot host:port: how a client reaches the
 * owner
 *
 * Every Redis and Valkey with a cluster has both. CLUSTER SLOTS and CLUSTER SHARDS have no epoch, by which
 * nodes that disagree are told apart, and no number of replicas that counts those that are down.
 */
#include "daemon/redis/finder_cluster.h"

#include "daemon/redis/finder_inner.h"
#include "proto/slice.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define SLOTS        16384
#define SLOTLESS_MAX 64 /* masters without slots; further ones are ignored */
#define ROW_FIELDS   8

enum { ASK_NODES, ASK_KEY };

/* CRC16 of XMODEM, as the specification of Redis Cluster has it. */
static unsigned
crc16(struct slice text)
{
	unsigned crc = 0;

	for (size_t i = 0; i < text.n; i++) {
		crc ^= (unsigned)(unsigned char)text.p[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
	}
	return crc;
}

unsigned
slot_of(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open ? strchr(open, '}') : NULL;
	struct slice tag = slice_of(key);

	if (close && close > open + 1)
		tag = (struct slice){open + 1, (size_t)(close - open - 1)};
	return crc16(tag) % SLOTS;
}

/* ---- the table of nodes ---- */

/* "id ip:port@bus,hostname flags master ping pong epoch state slot slot ..." */
struct row {
	struct slice id, address, flags, master, epoch, slots;
};

/* Cuts off what is in front of the first separator, which is gone then; without one, all. */
static struct slice
text_cut(struct slice *text, char separator)
{
	const char *at = text->n > 0 ? memchr(text->p, separator, text->n) : NULL;
	struct slice first = *text;

	if (at)
		first.n = (size_t)(at - text->p);
	text->p += first.n + (at != NULL);
	text->n -= first.n + (at != NULL);
	return first;
}

/* The next row of the table. False: there is none, or it is none. */
static bool
row_next(struct slice *table, struct row *row)
{
	struct slice line = text_cut(table, '\n'), fields[ROW_FIELDS];

	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	for (size_t i = 0; i < ROW_FIELDS; i++) {
		fields[i] = text_cut(&line, ' ');
		if (fields[i].n == 0)
			return false;
	}
	*row = (struct row){.id = fields[0],
		.address = fields[1],
		.flags = fields[2],
		.master = fields[3],
		.epoch = fields[6],
		.slots = line};
	return row->id.n < FINDER_NODE_MAX;
}

static bool
row_has(const struct row *row, struct slice flag)
{
	struct slice flags = row->flags;

	while (flags.n > 0)
		if (slice_equal(text_cut(&flags, ','), flag))
			return true;
	return false;
}

/* "17", "0-5460"; a slot that is on its way is "[17->-id]" behind all of them. */
static bool
range_read(struct slice text, int64_t *first, int64_t *last)
{
	struct slice low = text_cut(&text, '-');

	if (!number_parse(low, 0, SLOTS - 1, first))
		return false;
	*last = *first;
	return text.n == 0 || number_parse(text, *first, SLOTS - 1, last);
}

static bool
row_owns(const struct row *row, unsigned slot)
{
	struct slice slots = row->slots;
	int64_t first, last;

	while (slots.n > 0)
		if (range_read(text_cut(&slots, ' '), &first, &last) && first <= slot && slot <= last)
			return true;
	return false;
}

/* The row of this id, or, without an id, of the slot's owner. */
static bool
table_find(struct slice table, struct slice id, unsigned slot, struct row *row)
{
	while (row_next(&table, row))
		if (id.n > 0 ? slice_equal(row->id, id) : row_owns(row, slot))
			return true;
	return false;
}

/* Masters without slots, and the one that was believed before. */
struct slotless {
	size_t n;
	struct slice ids[SLOTLESS_MAX];
};

static bool
slotless_have(const struct slotless *slotless, struct slice id)
{
	for (size_t i = 0; i < slotless->n; i++)
		if (slice_equal(slotless->ids[i], id))
			return true;
	return false;
}

static void
table_slotless(struct slice table, const struct opinion *before, struct slotless *out)
{
	struct row row;

	out->n = 0;
	if (before)
		out->ids[out->n++] = slice_of(before->node);
	while (out->n < SLOTLESS_MAX && row_next(&table, &row))
		if (row.slots.n == 0 && row_has(&row, SLICE("master")) && !slotless_have(out, row.id))
			out->ids[out->n++] = row.id;
}

/*
 * The replicas of the owner, and those that may be with the master before on the other side of a partition,
 * and go on acknowledging there, whatever the table says of that master. If a group is stored, these are
 * members of it already; otherwise they count as replicas that are away.
 */
static void
table_replicas(struct slice table, const struct inquiry *inquiry, struct slice owner, struct opinion *out)
{
	struct slotless slotless;
	struct row row;

	table_slotless(table, inquiry->believed, &slotless);
	while (row_next(&table, &row)) {
		struct slice address = row.address;

		if (!row_has(&row, SLICE("slave")))
			continue;
		if (slice_equal(row.master, owner)) {
			address = text_cut(&address, '@');
			roster_append(&out->named, row.id);
			roster_append(&out->addresses, address.n > 0 ? address : SLICE("?"));
		} else if (slotless_have(&slotless, row.master)) {
			roster_add(&out->previous, row.id);
		}
	}
	out->replicas = (unsigned)out->named.n;
}

/* Which node says all that. */
static void
table_asked(struct slice table, struct opinion *out)
{
	struct row row;

	while (row_next(&table, &row)) {
		if (!row_has(&row, SLICE("myself")))
			continue;
		snprintf(out->asked, sizeof out->asked, "%.*s", SLICE_ARG(row.id));
		if (row_has(&row, SLICE("slave")))
			snprintf(out->leader, sizeof out->leader, "%.*s", SLICE_ARG(row.master));
	}
}

static bool
alias_add(struct opinion *out, struct slice host, uint16_t port)
{
	struct whereabouts *alias = &out->alias[out->aliases];

	alias->port = port;
	if (!host_copy(alias->host, host.p, host.n))
		return false;
	out->aliases++;
	return true;
}

/* "ip:port@bus,hostname": the name if there is one, else the address. Both are stored: which of them clients
 * are sent to is a setting of each node, so two nodes that mean the same server may name either. A node that
 * no other node has met yet does not know its own address: the address is where it was asked. */
static bool
address_read(struct slice text, const struct finder_address *asked, struct opinion *out)
{
	struct slice address = text_cut(&text, ','), name = text_cut(&text, ',');
	struct slice host = text_cut(&address, '@'), digits;
	const char *colon = host.n > 0 ? memrchr(host.p, ':', host.n) : NULL;
	int64_t port;

	if (!colon)
		return false;
	digits = (struct slice){colon + 1, (size_t)(host.p + host.n - colon - 1)};
	host.n = (size_t)(colon - host.p);
	if (!number_parse(digits, 1, UINT16_MAX, &port))
		return false;
	if (host.n == 0)
		host = slice_of(asked->host);
	if (!alias_add(out, host, (uint16_t)port) || (name.n > 0 && !alias_add(out, name, (uint16_t)port)))
		return false;
	out->at = out->alias[out->aliases - 1];
	return true;
}

/* Why the slot is not where it was: as the table shows the owner before. */
static void
cause_tell(struct slice table, const struct inquiry *inquiry, struct opinion *out)
{
	const struct opinion *before = inquiry->believed;
	struct row row;
	const char *cause;

	if (!before || strcmp(before->node, out->node) == 0)
		return;
	if (!table_find(table, slice_of(before->node), 0, &row))
		cause = "failover: the node before has left the cluster";
	else if (row_has(&row, SLICE("slave")))
		cause = "failover: the node before is a replica now";
	else if (row_has(&row, SLICE("fail")))
		cause = "failover: the node before has failed";
	else if (row.slots.n == 0)
		cause = "the node before has lost all its slots"; /* most often a failover that has just begun
								   */
	else
		cause = "the slot was moved from another node";
	snprintf(out->cause, sizeof out->cause, "%s", cause);
}

static bool
nodes_read(const struct inquiry *inquiry, const struct redisReply *reply, struct opinion *out, char *why)
{
	struct slice table;
	struct row row;

	if (reply->type != REDIS_REPLY_STRING)
		return answer_refuse(reply, finder_cluster.role, why);
	table = (struct slice){reply->str, reply->len};
	if (!row_next(&(struct slice){table.p, table.n}, &row))
		return answer_refuse(reply, finder_cluster.role, why);
	if (!table_find(table, SLICE(""), inquiry->slot, &row)) {
		snprintf(why, FINDER_WHY_MAX, "knows no owner of slot %u", inquiry->slot);
		return false;
	}
	if (!row_has(&row, SLICE("master")) || !number_parse(row.epoch, 0, INT64_MAX, &out->epoch) ||
		!address_read(row.address, inquiry->address, out))
		return answer_refuse(reply, finder_cluster.role, why);
	snprintf(out->node, sizeof out->node, "%.*s", SLICE_ARG(row.id));
	if (strspn(out->node, "0123456789abcdef") != row.id.n)
		return answer_refuse(reply, finder_cluster.role, why);
	out->myself = row_has(&row, SLICE("myself"));
	table_replicas(table, inquiry, row.id, out);
	table_asked(table, out);
	cause_tell(table, inquiry, out);
	return true;
}

/* ---- the key ---- */

/* "MOVED slot host:port". Without a host it is the one that was asked, with another port. */
static bool
moved_read(struct slice text, const struct inquiry *inquiry, struct opinion *out)
{
	struct slice word = text_cut(&text, ' '), slot = text_cut(&text, ' ');
	const char *colon = text.n > 0 ? memrchr(text.p, ':', text.n) : NULL;
	struct slice host, digits;
	int64_t number, port;

	if (!slice_equal(word, SLICE("MOVED")) || !colon ||
		!number_parse(slot, inquiry->slot, inquiry->slot, &number))
		return false;
	host = (struct slice){text.p, (size_t)(colon - text.p)};
	digits = (struct slice){colon + 1, text.n - host.n - 1};
	if (!number_parse(digits, 1, UINT16_MAX, &port))
		return false;
	if (host.n == 0 || slice_equal(host, SLICE("?")))
		host = slice_of(inquiry->address->host);
	out->at.port = (uint16_t)port;
	return host_copy(out->at.host, host.p, host.n);
}

/* The owner answers with a number, or with ASK while the slot is on its way to another node. It is where it
 * was asked, too: where nodes do not know how clients reach them, others send clients to that host. */
static bool
key_read(const struct inquiry *inquiry, const struct redisReply *reply, struct opinion *out, char *why)
{
	bool error = reply->type == REDIS_REPLY_ERROR;
	bool mine = reply->type == REDIS_REPLY_INTEGER || (error && strncmp(reply->str, "ASK ", 4) == 0);
	bool moved = error && moved_read((struct slice){reply->str, reply->len}, inquiry, out);

	if (!mine && !moved)
		return answer_refuse(reply, finder_cluster.role, why);
	if (mine != out->myself) {
		snprintf(why, FINDER_WHY_MAX, "has just changed its mind about slot %u", inquiry->slot);
		return false;
	}
	return !mine || alias_add(out, slice_of(inquiry->address->host), inquiry->address->port);
}

static int
cluster_ask(const struct inquiry *inquiry, size_t question, const char *words[FINDER_WORDS_MAX])
{
	words[0] = question == ASK_NODES ? "CLUSTER" : "EXISTS";
	words[1] = question == ASK_NODES ? "NODES" : inquiry->key;
	return 2;
}

static bool
cluster_read(const struct inquiry *inquiry, size_t question, const struct redisReply *reply,
	struct opinion *out, char *why)
{
	return question == ASK_NODES ? nodes_read(inquiry, reply, out, why)
				     : key_read(inquiry, reply, out, why);
}

const struct finder_source finder_cluster = {
	.role = "node",
	.channel = NULL,
	.questions = 2,
	.ask = cluster_ask,
	.read = cluster_read,
};
