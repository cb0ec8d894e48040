/*
 * replay: see the header. It reads the bytes by the description in ledger.h, and shares no code with the
 * core.
 */
#include "tests/support/replay.h"

#include "daemon/core/core.h"
#include "proto/buffer.h"
#include "proto/record.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 6 /* of a record: its number and its length */

static const char first_line[] = "holdfast state 1\n";

struct replay_entry {
	unsigned type;
	size_t key_n; /* bytes after the head that say what it is about */
	size_t n;     /* bytes of the record */
	char *record;
};

static uint32_t
number_at(const char *p, size_t bytes)
{
	uint32_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n |= (uint32_t)(unsigned char)p[i] << (8 * i);
	return n;
}

/* The key of a record of this type: numbers, then texts. */
static size_t
key_length(unsigned type, const char *body, size_t n)
{
	bool alone = type == RECORD_LEDGER || type == RECORD_LEDGER_TERMS || type == RECORD_LEDGER_SET;
	size_t at = alone ? 0 : type == RECORD_LEDGER_HOLD ? 16 : 8;

	for (int texts = type == RECORD_LOSS ? 2 : 0; texts > 0 && at + 4 <= n; texts--)
		at += 4 + number_at(body + at, 4);
	return at <= n ? at : SIZE_MAX;
}

static bool
is_entry(unsigned type)
{
	return (type >= RECORD_LEDGER && type <= RECORD_HOLD_GONE) || type == RECORD_LEDGER_TERMS ||
	       type == RECORD_LEDGER_SET;
}

/* The entry that a record says is gone; 0: it says no such thing. */
static unsigned
gone_of(unsigned type)
{
	switch (type) {
	case RECORD_SESSION_GONE:
		return RECORD_LEDGER_SESSION;
	case RECORD_LOSS_GONE:
		return RECORD_LOSS;
	case RECORD_LEASE_GONE:
		return RECORD_LEDGER_LEASE;
	case RECORD_HOLD_GONE:
		return RECORD_LEDGER_HOLD;
	default:
		return 0;
	}
}

static int
order(const struct replay_entry *e, unsigned type, const char *key, size_t key_n)
{
	size_t least = e->key_n < key_n ? e->key_n : key_n;
	int bytes;

	if (e->type != type)
		return e->type < type ? -1 : 1;
	bytes = memcmp(e->record + HEAD, key, least);
	return bytes != 0 ? bytes : (e->key_n > key_n) - (e->key_n < key_n);
}

/* Where it is, or belongs. */
static size_t
place(const struct replay *replay, unsigned type, const char *key, size_t key_n)
{
	size_t low = 0, high = replay->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(&replay->list[middle], type, key, key_n) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
drop(struct replay *replay, size_t at)
{
	free(replay->list[at].record);
	memmove(&replay->list[at], &replay->list[at + 1], (replay->n - at - 1) * sizeof(replay->list[0]));
	replay->n--;
}

/* Makes room for one more, here. */
static void
open_place(struct replay *replay, size_t at)
{
	if (replay->n == replay->room) {
		replay->room = replay->room > 0 ? 2 * replay->room : 16;
		replay->list = realloc(replay->list, replay->room * sizeof(replay->list[0]));
		if (replay->list == NULL)
			abort();
	}
	memmove(&replay->list[at + 1], &replay->list[at], (replay->n - at) * sizeof(replay->list[0]));
	replay->list[at].record = NULL;
	replay->n++;
}

/* unsorted: it is a new one, and its place is behind all others, until they are sorted. */
static void
put(struct replay *replay, unsigned type, size_t key_n, const char *record, size_t n, bool unsorted)
{
	size_t at = unsorted ? replay->n : place(replay, type, record + HEAD, key_n);
	struct replay_entry *e;

	if (at == replay->n || order(&replay->list[at], type, record + HEAD, key_n) != 0)
		open_place(replay, at);
	e = &replay->list[at];
	free(e->record);
	*e = (struct replay_entry){.type = type, .key_n = key_n, .n = n, .record = malloc(n)};
	if (e->record == NULL)
		abort();
	memcpy(e->record, record, n);
}

/* It is gone, and what belongs to it: whose key begins with its own. */
static void
take_gone(struct replay *replay, unsigned type, const char *key, size_t key_n)
{
	unsigned child = type == RECORD_LEDGER_SESSION ? RECORD_LOSS
			 : type == RECORD_LEDGER_LEASE ? RECORD_LEDGER_HOLD
						       : 0;
	size_t at = place(replay, type, key, key_n);

	if (at < replay->n && order(&replay->list[at], type, key, key_n) == 0)
		drop(replay, at);
	if (child == 0)
		return;
	at = place(replay, child, key, key_n);
	while (at < replay->n && replay->list[at].type == child &&
		memcmp(replay->list[at].record + HEAD, key, key_n) == 0)
		drop(replay, at);
}

void
replay_done(struct replay *replay)
{
	for (size_t i = 0; i < replay->n; i++)
		free(replay->list[i].record);
	free(replay->list);
	*replay = (struct replay){.n = 0};
}

static bool
take(struct replay *replay, struct slice entries, bool unsorted)
{
	const char *p = entries.p, *end;

	if (entries.p == NULL || entries.n == 0)
		return true;
	end = p + entries.n;
	if (entries.n >= sizeof(first_line) - 1 && memcmp(p, first_line, sizeof(first_line) - 1) == 0)
		p += sizeof(first_line) - 1;
	while (p < end) {
		size_t n = (size_t)(end - p);
		unsigned type, gone;
		size_t length, key_n;

		if (n < HEAD || n - HEAD < number_at(p + 2, 4))
			return false;
		type = number_at(p, 2);
		length = number_at(p + 2, 4);
		gone = gone_of(type);
		key_n = key_length(gone != 0 ? gone : type, p + HEAD, length);
		if (!is_entry(type) || key_n == SIZE_MAX)
			return false;
		if (gone != 0 && unsorted)
			return false;
		if (gone != 0)
			take_gone(replay, gone, p + HEAD, key_n);
		else
			put(replay, type, key_n, p, HEAD + length, unsorted);
		p += HEAD + length;
	}
	return true;
}

bool
replay_take(struct replay *replay, struct slice entries)
{
	return take(replay, entries, false);
}

void
replay_drop(struct replay *replay, unsigned type)
{
	for (size_t i = replay->n; i > 0; i--)
		if (replay->list[i - 1].type == type)
			drop(replay, i - 1);
}

struct slice
replay_bytes(const struct replay *replay)
{
	size_t n = sizeof(first_line) - 1;
	char *bytes, *at;

	for (size_t i = 0; i < replay->n; i++)
		n += replay->list[i].n;
	bytes = malloc(n);
	if (bytes == NULL)
		abort();
	memcpy(bytes, first_line, sizeof(first_line) - 1);
	at = bytes + sizeof(first_line) - 1;
	for (size_t i = 0; i < replay->n; i++) {
		memcpy(at, replay->list[i].record, replay->list[i].n);
		at += replay->list[i].n;
	}
	return (struct slice){bytes, n};
}

static int
in_order(const void *a, const void *b)
{
	const struct replay_entry *e = b;

	return order(a, e->type, e->record + HEAD, e->key_n);
}

/* A core says of each thing once what it is. */
static void
sort(struct replay *replay)
{
	qsort(replay->list, replay->n, sizeof(replay->list[0]), in_order);
	for (size_t i = 1; i < replay->n; i++)
		if (in_order(&replay->list[i - 1], &replay->list[i]) == 0)
			abort();
}

void
replay_snapshot(struct replay *replay, struct core *core)
{
	uint64_t cursor = 0;
	struct buffer out;

	replay_done(replay);
	buffer_init(&out, SIZE_MAX / 2);
	core_ledger_begin(core, &out);
	do
		cursor = core_ledger_scan(core, cursor, 100, &out);
	while (cursor != 0);
	if (out.failed || !take(replay, (struct slice){buffer_bytes(&out), buffer_length(&out)}, true))
		abort();
	sort(replay);
	buffer_done(&out);
}

static void
describe(char *text, size_t room, const char *what, const struct replay_entry *e)
{
	size_t n = (size_t)snprintf(text, room, "%s entry of type %u:", what, e->type);

	for (size_t i = 0; i < e->n && n + 3 < room; i++) {
		char c = e->record[i];

		n += c > ' ' && c <= '~' ? (size_t)snprintf(text + n, room - n, " %c", c)
					 : (size_t)snprintf(text + n, room - n, " %02x", (unsigned char)c);
	}
}

const char *
replay_differs(const struct replay *kept, const struct replay *whole)
{
	static char text[2048];

	for (size_t i = 0, k = 0; i < kept->n || k < whole->n; i++, k++) {
		const struct replay_entry *a = i < kept->n ? &kept->list[i] : NULL;
		const struct replay_entry *b = k < whole->n ? &whole->list[k] : NULL;
		int which = a == NULL ? 1 : b == NULL ? -1 : order(a, b->type, b->record + HEAD, b->key_n);

		if (which == 0 && a->n == b->n && memcmp(a->record, b->record, a->n) == 0)
			continue;
		if (which < 0) {
			describe(text, sizeof(text), "the core has no longer the", a);
		} else if (b != NULL) {
			describe(text, sizeof(text) / 2,
				which > 0 ? "not written: the" : "not written anew: the", b);
			if (which == 0)
				describe(text + strlen(text), sizeof(text) / 2, "; the last one is the", a);
		}
		return text;
	}
	return NULL;
}
