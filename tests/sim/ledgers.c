/* ledgers: see ledgers.h. */
#include "tests/sim/ledgers.h"

#include "proto/record.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEDGER_BYTES_MAX ((size_t)1 << 26)
#define NUMBER           8 /* bytes */
#define LENGTH           4
#define RECORD_HEAD      6 /* its type and its length */
#define FIRST_LINE       "holdfast state "

/* ---- what a ledger comes to ---- */

static uint64_t
number_at(const char *p, size_t bytes)
{
	uint64_t n = 0;
	assert(p != NULL);
	while (bytes-- > 0)
		n = n << 8 | (unsigned char)p[bytes];
	return n;
}

static void
sum_clear(struct ledger_sum *sum)
{
	for (size_t i = 0; i < sum->n; i++)
		free(sum->of[i].bytes);
	sum->n = 0;
}

static void
sum_done(struct ledger_sum *sum)
{
	sum_clear(sum);
	free(sum->of);
	*sum = (struct ledger_sum){.of = NULL};
}

static struct ledger_entry *
sum_find(const struct ledger_sum *sum, unsigned type, const char *key, size_t key_n)
{
	assert(key != NULL);
	for (size_t i = 0; i < sum->n; i++) {
		struct ledger_entry *e = &sum->of[i];
		if (e->type == type && e->key_n == key_n && memcmp(e->bytes, key, key_n) == 0)
			return e;
	}
	return NULL;
}

static void
sum_remove(struct ledger_sum *sum, struct ledger_entry *e)
{
	if (e == NULL)
		return;
	assert(sum->of != NULL && sum->n > 0);
	free(e->bytes);
	*e = sum->of[--sum->n];
}

/* The losses of a session that is gone, and the holds on a lease. */
static void
sum_remove_of(struct ledger_sum *sum, unsigned type, const char *of)
{
	for (size_t i = sum->n; i > 0; i--)
		if (sum->of[i - 1].type == type && memcmp(sum->of[i - 1].bytes, of, NUMBER) == 0)
			sum_remove(sum, &sum->of[i - 1]);
}

static void
sum_put(struct ledger_sum *sum, unsigned type, struct slice body, size_t key_n)
{
	struct ledger_entry *e = sum_find(sum, type, body.p, key_n);
	if (e == NULL) {
		if (sum->n == sum->room) {
			sum->room = sum->room == 0 ? 16 : 2 * sum->room;
			sum->of = realloc(sum->of, sum->room * sizeof(*sum->of));
			assert(sum->of != NULL);
		}
		e = &sum->of[sum->n++];
		*e = (struct ledger_entry){.type = type, .key_n = key_n};
	}
	free(e->bytes);
	e->bytes = malloc(body.n + 1);
	e->n = body.n;
	assert(e->bytes != NULL && body.p != NULL);
	memcpy(e->bytes, body.p, body.n);
}

/* The fields that say what a record is about: a session or an attempt, and after it a token, or a name and a
 * tag with their lengths. 0: they are not there. */
static size_t
key_length(unsigned type, struct slice body)
{
	size_t n = NUMBER;
	if (type == RECORD_LEDGER)
		return body.n > 0;
	if (type == RECORD_LEDGER_HOLD || type == RECORD_HOLD_GONE)
		n += NUMBER;
	for (int i = 0;
		(type == RECORD_LEDGER_LOSS || type == RECORD_LOSS_GONE) && i < 2 && n + LENGTH <= body.n;
		i++)
		n += LENGTH + number_at(body.p + n, LENGTH);
	return n <= body.n ? n : 0;
}

static bool
sum_take(struct ledger_sum *sum, unsigned type, struct slice body)
{
	size_t key_n = key_length(type, body);
	if (key_n == 0)
		return false;
	switch (type) {
	case RECORD_LEDGER:
	case RECORD_LEDGER_SESSION:
	case RECORD_LEDGER_LOSS:
	case RECORD_LEDGER_LEASE:
	case RECORD_LEDGER_HOLD:
		sum_put(sum, type, body, key_n);
		return true;
	case RECORD_SESSION_GONE:
		sum_remove(sum, sum_find(sum, RECORD_LEDGER_SESSION, body.p, key_n));
		sum_remove_of(sum, RECORD_LEDGER_LOSS, body.p);
		return true;
	case RECORD_LOSS_GONE:
		sum_remove(sum, sum_find(sum, RECORD_LEDGER_LOSS, body.p, key_n));
		return true;
	case RECORD_LEASE_GONE:
		sum_remove(sum, sum_find(sum, RECORD_LEDGER_LEASE, body.p, key_n));
		sum_remove_of(sum, RECORD_LEDGER_HOLD, body.p);
		return true;
	case RECORD_HOLD_GONE:
		sum_remove(sum, sum_find(sum, RECORD_LEDGER_HOLD, body.p, key_n));
		return true;
	default:
		return false;
	}
}

/* Reads on. False: these are no whole entries. */
static bool
sum_read(struct ledger_sum *sum, struct slice in)
{
	assert(in.p != NULL || in.n == 0);
	if (in.n >= sizeof(FIRST_LINE) && memcmp(in.p, FIRST_LINE, sizeof(FIRST_LINE) - 1) == 0) {
		const char *end = memchr(in.p, '\n', in.n);
		in = (struct slice){end + 1, in.n - (size_t)(end + 1 - in.p)};
	}
	while (in.n >= RECORD_HEAD) {
		struct slice body = {in.p + RECORD_HEAD, number_at(in.p + 2, LENGTH)};
		if (body.n > in.n - RECORD_HEAD || !sum_take(sum, (unsigned)number_at(in.p, 2), body))
			return false;
		in = (struct slice){body.p + body.n, in.n - RECORD_HEAD - body.n};
	}
	return in.n == 0;
}

/* ---- whether it is true ---- */

static struct slice
bytes_of(const struct buffer *b)
{
	return (struct slice){buffer_bytes(b), buffer_length(b)};
}

static const char *
thing(const struct ledger_entry *e)
{
	return e->type == RECORD_LEDGER_SESSION ? "session"
	       : e->type == RECORD_LEDGER_LOSS  ? "the loss of session"
	       : e->type == RECORD_LEDGER_LEASE ? "attempt"
	       : e->type == RECORD_LEDGER_HOLD  ? "the hold of attempt"
						: "the record";
}

static uint64_t
number_of(const struct ledger_entry *e)
{
	return e->n >= NUMBER ? number_at(e->bytes, NUMBER) : 0;
}

static void
compare(struct host *h, const char *whose, const struct ledger_sum *said, const struct ledger_sum *is)
{
	for (size_t i = 0; i < is->n; i++) {
		const struct ledger_entry *e = &is->of[i], *s = sum_find(said, e->type, e->bytes, e->key_n);
		if (s == NULL)
			world_fail(h->world, "ledger: the %s of d%u says nothing of %s %" PRIu64, whose,
				h->index, thing(e), number_of(e));
		else if (s->n != e->n || memcmp(s->bytes, e->bytes, e->n) != 0)
			world_fail(h->world, "ledger: the %s of d%u does not say what is true of %s %" PRIu64,
				whose, h->index, thing(e), number_of(e));
	}
	for (size_t i = 0; i < said->n; i++) {
		const struct ledger_entry *e = &said->of[i];
		if (sum_find(is, e->type, e->bytes, e->key_n) == NULL)
			world_fail(h->world,
				"ledger: the %s of d%u still speaks of %s %" PRIu64
				", which is not to be kept",
				whose, h->index, thing(e), number_of(e));
	}
}

static void
write_all(const struct host *h, struct buffer *out)
{
	uint64_t cursor = 0;
	buffer_init(out, LEDGER_BYTES_MAX);
	core_ledger_begin(h->core, out);
	do
		cursor = core_ledger_scan(h->core, cursor, SIZE_MAX, out);
	while (cursor != 0);
	assert(!out->failed);
}

static void
check_truth(struct host *h, const char *whose, const struct ledger_sum *said)
{
	struct ledger_sum is = {.of = NULL};
	struct buffer all;
	write_all(h, &all);
	if (!sum_read(&is, bytes_of(&all)))
		world_fail(h->world, "ledger: d%u writes what nobody can read", h->index);
	compare(h, whose, said, &is);
	buffer_done(&all);
	sum_done(&is);
}

/* ---- compaction ---- */

static void
next_begin(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	buffer_init(&l->next, LEDGER_BYTES_MAX);
	core_ledger_begin(h->core, &l->next);
	l->compacts = true;
	l->cursor = 0;
}

static void
next_done(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	sum_clear(&l->sum);
	if (!sum_read(&l->sum, bytes_of(&l->next)))
		world_fail(h->world, "ledger: d%u writes what nobody can read", h->index);
	check_truth(h, "compacted ledger", &l->sum);
	buffer_done(&l->bytes);
	l->bytes = l->next;
	l->next = (struct buffer){.data = NULL};
	l->before = buffer_length(&l->bytes);
	l->compacts = false;
}

/* Between two steps, or not yet. */
static void
compact(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	if (!l->compacts && rng_percent(&l->rng, 3))
		next_begin(h);
	while (l->compacts && rng_percent(&l->rng, 60)) {
		l->cursor = core_ledger_scan(h->core, l->cursor, (size_t)rng_range(&l->rng, 1, 2), &l->next);
		if (l->cursor == 0)
			next_done(h);
	}
}

/* ---- the life of a ledger ---- */

static void
start(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	ledgers_drop(h);
	buffer_init(&l->step, LEDGER_BYTES_MAX);
	core_keep_ledger(h->core, &l->step);
	write_all(h, &l->bytes);
	l->before = buffer_length(&l->bytes);
	if (!sum_read(&l->sum, bytes_of(&l->bytes)))
		world_fail(h->world, "ledger: d%u writes what nobody can read", h->index);
}

void
ledgers_begin(struct host *h)
{
	if (!h->world->plan.ledgers) {
		ledgers_drop(h);
		return;
	}
	h->ledgers.rng.state = h->world->plan.seed * UINT64_C(0xd6e8feb86659fd93) + h->life * 64 + h->index;
	start(h);
}

bool
ledgers_stepped(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	size_t n = buffer_length(&l->step);
	if (!h->world->plan.ledgers)
		return false;
	if (n > 0) {
		l->before = buffer_length(&l->bytes);
		buffer_put(&l->bytes, buffer_bytes(&l->step), n);
		if (l->compacts)
			buffer_put(&l->next, buffer_bytes(&l->step), n);
		if (!sum_read(&l->sum, bytes_of(&l->step)))
			world_fail(h->world, "ledger: d%u writes what nobody can read", h->index);
		buffer_consume(&l->step, n);
	}
	check_truth(h, "ledger", &l->sum);
	if (h->recovery.dies == DIES_NOT)
		compact(h);
	return n > 0;
}

void
ledgers_cut(struct host *h)
{
	buffer_rewind(&h->ledgers.bytes, h->ledgers.before);
}

void
ledgers_passed(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	if (!h->world->plan.ledgers)
		return;
	if (rng_percent(&l->rng, 40)) {
		start(h);
		return;
	}
	/* What was being compacted ended with the process. */
	if (l->compacts)
		buffer_done(&l->next);
	l->compacts = false;
	core_keep_ledger(h->core, &l->step);
	check_truth(h, "ledger that was passed on", &l->sum);
}

struct slice
ledgers_left(const struct host *h)
{
	return bytes_of(&h->ledgers.bytes);
}

void
ledgers_drop(struct host *h)
{
	struct ledgers *l = &h->ledgers;
	buffer_done(&l->step);
	buffer_done(&l->bytes);
	buffer_done(&l->next);
	sum_done(&l->sum);
	l->compacts = false;
}
