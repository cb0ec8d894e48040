/*
 * history: see history.h. Positions in the ring only grow; the byte of a position is at its remainder by the
 * size. A hold lies in one piece: a filler, an entry without a name, takes what is left at the end of the
 * ring.
 */
#include "daemon/admin/history.h"
#include "daemon/admin/shown.h"

#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/request/context.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the ring for each bucket: a hold needs 150 to 300. */
#define BUCKET_BYTES 256
#define END_MAX      16 /* bytes of the word for how a hold ended */

struct entry {
	uint32_t bytes; /* all of it; the first member, also of a filler */
	uint32_t hash;
	uint64_t before; /* position of the hold before it in its bucket, plus one; 0: none */
	int64_t ended_ms;
	int64_t held_ms;
	int64_t token;
	int64_t session;
	int64_t pid;
	int64_t uid;
	uint16_t name_n; /* 0: a filler */
	uint16_t why_n;
	uint8_t kind;
	uint8_t end_n;
	uint8_t client_n;
	uint8_t address_n;
	uint8_t owner_n;
	uint8_t broken_by_n;
	char text[]; /* name, end, client, address, owner, why, broken_by */
};

/* A filler has room for its length. */
#define ENTRY_STEP 8

struct history {
	size_t size; /* of the ring, a multiple of ENTRY_STEP; 0: there is none */
	char *ring;
	uint64_t head;     /* position behind the latest entry */
	uint64_t tail;     /* of the oldest one */
	uint64_t *buckets; /* position of the latest hold, plus one; 0: none */
	size_t bucket_mask;
	int64_t broken; /* token of the hold that BREAK has just ended, which may be withheld next; 0: none */
	char breaker[BREAKER_MAX + 1]; /* the client that breaks; "": none does */
};

/* False: out of memory, and nothing has changed. */
static bool
history_init(struct history *h, size_t bytes)
{
	size_t size = bytes / ENTRY_STEP * ENTRY_STEP, buckets = 1;
	while (buckets < size / BUCKET_BYTES) {
		buckets *= 2;
	}
	char *ring = size > 0 ? malloc(size) : NULL;
	uint64_t *heads = calloc(buckets, sizeof *heads);
	if (!heads || (size > 0 && !ring)) {
		free(ring);
		free(heads);
		return false;
	}
	*h = (struct history){.size = size, .ring = ring, .buckets = heads, .bucket_mask = buckets - 1};
	return true;
}

struct history *
history_new(size_t bytes)
{
	struct history *h = calloc(1, sizeof *h);
	if (h && !history_init(h, bytes)) {
		free(h);
		return NULL;
	}
	return h;
}

static void
history_done(struct history *h)
{
	free(h->ring);
	free(h->buckets);
}

void
history_free(struct history *h)
{
	if (h) {
		history_done(h);
		free(h);
	}
}

static struct entry *
entry_at(const struct history *h, uint64_t position)
{
	return (struct entry *)(void *)(h->ring + position % h->size);
}

/* The next text of the entry, of n bytes. */
static struct slice
text_next(const char **at, size_t n)
{
	struct slice text = {*at, n};
	*at += n;
	return text;
}

static void
entry_read(const struct entry *e, struct past_hold *out)
{
	const char *at = e->text;
	*out = (struct past_hold){
		.kind = kind_word((enum kind)e->kind),
		.ended_ms = e->ended_ms,
		.held_ms = e->held_ms,
		.token = e->token,
		.session = e->session,
		.pid = e->pid,
		.uid = e->uid,
	};
	out->name = text_next(&at, e->name_n);
	out->end = text_next(&at, e->end_n);
	out->client = text_next(&at, e->client_n);
	out->address = text_next(&at, e->address_n);
	out->owner = text_next(&at, e->owner_n);
	out->why = text_next(&at, e->why_n);
	out->broken_by = text_next(&at, e->broken_by_n);
}

/* Takes n bytes at the head, in one piece, from the oldest entries. n fits into the ring. */
static struct entry *
history_room(struct history *h, size_t n)
{
	size_t rest = h->size - h->head % h->size, skipped = rest < n ? rest : 0;
	while (h->tail < h->head && h->head + skipped + n - h->tail > h->size) {
		h->tail += entry_at(h, h->tail)->bytes;
	}
	if (h->tail == h->head) {
		h->head = h->tail += skipped; /* nothing is left: it begins at the start of the ring */
	} else if (skipped > 0) {
		struct entry *filler = entry_at(h, h->head);
		filler->bytes = (uint32_t)skipped;
		h->head += skipped;
		/* With fewer bytes than an entry, only its length is there: it is recognised by that. */
		if (skipped >= sizeof *filler) {
			filler->name_n = 0;
		}
	}
	h->head += n;
	return entry_at(h, h->head - n);
}

static void
text_put(char **at, struct slice text)
{
	if (text.n > 0) {
		memcpy(*at, text.p, text.n);
	}
	*at += text.n;
}

static void
history_put(struct history *h, const struct past_hold *p, enum kind kind)
{
	size_t text =
		p->name.n + p->end.n + p->client.n + p->address.n + p->owner.n + p->why.n + p->broken_by.n;
	size_t n = (sizeof(struct entry) + text + ENTRY_STEP - 1) / ENTRY_STEP * ENTRY_STEP;
	if (n > h->size) {
		return;
	}
	assert(p->name.n > 0 && p->name.n <= NAME_BYTES_MAX && p->why.n <= UINT16_MAX && p->end.n <= END_MAX);
	assert(p->client.n <= UINT8_MAX && p->address.n <= UINT8_MAX && p->owner.n <= UINT8_MAX);
	assert(p->broken_by.n <= BREAKER_MAX);
	uint32_t hash = slice_hash(p->name);
	uint64_t *bucket = &h->buckets[hash & h->bucket_mask];
	struct entry *e = history_room(h, n);
	*e = (struct entry){
		.bytes = (uint32_t)n,
		.hash = hash,
		.before = *bucket,
		.ended_ms = p->ended_ms,
		.held_ms = p->held_ms,
		.token = p->token,
		.session = p->session,
		.pid = p->pid,
		.uid = p->uid,
		.name_n = (uint16_t)p->name.n,
		.why_n = (uint16_t)p->why.n,
		.kind = (uint8_t)kind,
		.end_n = (uint8_t)p->end.n,
		.client_n = (uint8_t)p->client.n,
		.address_n = (uint8_t)p->address.n,
		.owner_n = (uint8_t)p->owner.n,
		.broken_by_n = (uint8_t)p->broken_by.n,
	};
	char *at = e->text;
	text_put(&at, p->name);
	text_put(&at, p->end);
	text_put(&at, p->client);
	text_put(&at, p->address);
	text_put(&at, p->owner);
	text_put(&at, p->why);
	text_put(&at, p->broken_by);
	*bucket = h->head - n + 1;
}

/* The word for how this note ends a hold; n == 0: it does not, or another note says so. */
static struct slice
note_end(struct history *h, const struct note *note)
{
	bool broken = note->token != 0 && note->token == h->broken;
	if (note->type == NOTE_LOST && note->span_ms < 0) {
		h->broken = note->token; /* NOTE_WITHHELD follows */
		return SLICE("");
	}
	switch (note->type) {
	case NOTE_RELEASED:
		return SLICE("released");
	case NOTE_LOST:
		return slice_of(note->text);
	case NOTE_WITHHELD:
		h->broken = 0;
		return broken ? SLICE("broken") : SLICE("withheld");
	default:
		return SLICE("");
	}
}

void
history_breaker(struct history *h, const char *who)
{
	slice_text(h->breaker, sizeof h->breaker, slice_of(who ? who : ""));
}

void
history_note(struct history *h, const struct note *note, int64_t wall_ms)
{
	if (h->size == 0 || note->name.n == 0) {
		return;
	}
	struct slice end = note_end(h, note);
	if (end.n == 0) {
		return;
	}
	const struct peer *peer = note->peer;
	history_put(h,
		&(struct past_hold){
			.name = note->name,
			.end = end,
			.ended_ms = wall_ms - note->late_ms,
			.held_ms = note->span_ms,
			.token = note->token,
			.session = (int64_t)note->session,
			.pid = peer ? peer->pid : 0,
			.uid = peer ? peer->uid : -1,
			.client = slice_of(peer ? peer->name : ""),
			.address = slice_of(peer ? peer->address : ""),
			.owner = note->owner,
			.why = note->why,
			.broken_by = slice_of(slice_equal(end, SLICE("broken")) ? h->breaker : ""),
		},
		note->kind);
}

void
history_each(const struct history *h, struct slice name,
	bool (*each)(void *arg, const struct past_hold *hold), void *arg)
{
	uint32_t hash = slice_hash(name);
	uint64_t next = h->buckets[hash & h->bucket_mask];
	while (next > h->tail) {
		const struct entry *e = entry_at(h, next - 1);
		struct past_hold hold;
		if (e->hash == hash && slice_equal((struct slice){e->text, e->name_n}, name)) {
			entry_read(e, &hold);
			if (!each(arg, &hold)) {
				return;
			}
		}
		next = e->before;
	}
}

static bool
is_filler(const struct entry *e)
{
	return e->bytes < sizeof *e || e->name_n == 0;
}

void
history_resize(struct history *h, size_t bytes)
{
	struct history before = *h;
	if (bytes / ENTRY_STEP * ENTRY_STEP == h->size || !history_init(h, bytes)) {
		return;
	}
	for (uint64_t at = before.tail; at < before.head; at += entry_at(&before, at)->bytes) {
		const struct entry *e = entry_at(&before, at);
		struct past_hold hold;
		if (!is_filler(e)) {
			entry_read(e, &hold);
			history_put(h, &hold, (enum kind)e->kind);
		}
	}
	memcpy(h->breaker, before.breaker, sizeof h->breaker);
	history_done(&before);
}

/* ---- saved and loaded ---- */

static void
hold_fields(struct record *r, struct past_hold *p, enum kind *kind)
{
	record_bytes(r, &p->name, NAME_BYTES_MAX);
	record_bytes(r, &p->end, END_MAX);
	record_bytes(r, &p->client, PEER_NAME_MAX);
	record_bytes(r, &p->address, PEER_ADDRESS_MAX);
	record_bytes(r, &p->owner, OWNER_BYTES_MAX);
	record_bytes(r, &p->why, WHY_BYTES_MAX);
	*kind = (enum kind)record_range(r, *kind, 0, KIND_COUNT - 1);
	record_number(r, &p->ended_ms);
	record_number(r, &p->held_ms);
	record_number(r, &p->token);
	record_number(r, &p->session);
	record_number(r, &p->pid);
	record_number(r, &p->uid);
	record_bytes(r, &p->broken_by, BREAKER_MAX);
}

void
history_save(const struct history *h, struct record *r)
{
	for (uint64_t at = h->tail; at < h->head; at += entry_at(h, at)->bytes) {
		const struct entry *e = entry_at(h, at);
		struct past_hold hold;
		enum kind kind;
		if (is_filler(e)) {
			continue;
		}
		entry_read(e, &hold);
		kind = (enum kind)e->kind;
		record_begin(r, RECORD_HISTORY);
		hold_fields(r, &hold, &kind);
		record_end(r);
	}
}

void
history_load(struct history *h, struct record *r)
{
	struct past_hold hold = {.name = {NULL, 0}};
	enum kind kind = KIND_EXCLUSIVE;
	hold_fields(r, &hold, &kind);
	if (!r->failed && hold.name.n > 0) {
		history_put(h, &hold, kind);
	}
}

/* ---- HISTORY ---- */

static const char no_memory[] = "no memory for this answer: ask for fewer with COUNT";

struct history_page {
	struct buffer text;
	const struct context_facts *where; /* each map says of which daemon it is; NULL: not */
	int protocol;
	size_t count, most;
	size_t bytes; /* limit of the bytes in text */
};

static bool
page_add(void *arg, const struct past_hold *hold)
{
	struct history_page *page = arg;
	struct buffer *b = &page->text;
	reply_write_map(b, page->protocol, shown_keys(SHOWN_PAST_HOLD) + (page->where ? 2 : 0));
	if (page->where) {
		reply_write_pair_text(b, "host", page->where->host);
		reply_write_pair_text(b, "daemon", page->where->daemon_id);
	}
	reply_write_pair_int(b, "ended_at_ms", hold->ended_ms);
	reply_write_pair_int(b, "held_ms", hold->held_ms);
	reply_write_pair_bulk(b, "end", hold->end);
	reply_write_pair_text(b, "kind", hold->kind);
	reply_write_pair_int(b, "token", hold->token);
	reply_write_pair_int(b, "session", hold->session);
	reply_write_pair_bulk(b, "client", hold->client);
	reply_write_pair_int(b, "pid", hold->pid);
	reply_write_pair_int(b, "uid", hold->uid);
	reply_write_pair_bulk(b, "address", hold->address);
	reply_write_pair_bulk(b, "owner", hold->owner);
	reply_write_pair_bulk(b, "why", hold->why);
	reply_write_pair_bulk(b, "broken_by", hold->broken_by);
	page->count++;
	return page->count < page->most && buffer_length(b) < page->bytes && !b->failed;
}

size_t
history_most(const struct command *command)
{
	bool fewer = command->count > 0 && command->count < HISTORY_MOST;
	return fewer ? (size_t)command->count : HISTORY_MOST;
}

/* False: no memory, and nothing was written. */
static bool
page_write(struct history_page *page, const struct context *context, const struct command *command,
	struct buffer *out)
{
	page->most = history_most(command);
	buffer_init(&page->text, page->bytes * 2);
	history_each(context->history, command->name, page_add, page);
	bool whole = !page->text.failed;
	if (whole) {
		reply_write_array(out, page->count);
		buffer_put(out, buffer_bytes(&page->text), buffer_length(&page->text));
	}
	buffer_done(&page->text);
	return whole;
}

void
history_verb(struct context *context, struct connection *c, const struct command *command)
{
	struct history_page page = {
		.protocol = connection_identity(c)->protocol,
		.bytes = connections_limits(context->connections)->output_bytes / 2,
	};
	connections_strained(context->connections);
	if (page_write(&page, context, command, connection_out(c))) {
		connection_written(c);
	} else {
		connection_error(c, CODE_LIMIT, "%s", no_memory);
	}
}

void
history_asked(const struct context *context, const struct command *command, int protocol, size_t bytes,
	struct buffer *out)
{
	struct history_page page = {.where = &context->facts, .protocol = protocol, .bytes = bytes};
	if (!page_write(&page, context, command, out)) {
		reply_write_error(out, CODE_LIMIT, slice_of(no_memory));
	}
}
