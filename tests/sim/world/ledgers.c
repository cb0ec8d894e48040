/* ledgers: see ledgers.h. */
#include "tests/sim/world/ledgers.h"

#include "tests/sim/world/world.h"

#define LEDGER_BYTES_MAX ((size_t)1 << 26)

static struct slice
bytes_of(const struct buffer *b)
{
	return (struct slice){buffer_bytes(b), buffer_length(b)};
}

static void
take(struct host *h, const struct buffer *entries)
{
	if (!replay_take(&h->ledgers.said, bytes_of(entries)))
		world_fail(h->world, "ledger: d%u writes what nobody can read", h->index);
}

static void
check_truth(struct host *h, const char *whose)
{
	struct replay is = {.n = 0};
	const char *differs;
	replay_snapshot(&is, h->core);
	differs = replay_differs(&h->ledgers.said, &is);
	if (differs != NULL)
		world_fail(h->world, "ledger: the %s of d%u: %s", whose, h->index, differs);
	replay_done(&is);
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
	replay_done(&l->said);
	take(h, &l->next);
	check_truth(h, "compacted ledger");
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
	buffer_init(&l->bytes, LEDGER_BYTES_MAX);
	core_ledger_begin(h->core, &l->bytes);
	(void)core_ledger_scan(h->core, 0, SIZE_MAX, &l->bytes);
	l->before = buffer_length(&l->bytes);
	take(h, &l->bytes);
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
		take(h, &l->step);
		buffer_consume(&l->step, n);
	}
	check_truth(h, "ledger");
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
	core_pass_ledger(h->core, &l->step);
	l->before = buffer_length(&l->bytes);
	buffer_put(&l->bytes, buffer_bytes(&l->step), buffer_length(&l->step));
	take(h, &l->step);
	buffer_consume(&l->step, buffer_length(&l->step));
	check_truth(h, "ledger that was passed on");
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
	replay_done(&l->said);
	l->compacts = false;
}
