/* clock_error: see clock_error.h. */
#include "tests/sim/fault/clock_error.h"

#include <stdbool.h>

static int64_t
piece_ahead_us(const struct clock_error_piece *p, int64_t at_us)
{
	int64_t until_us = at_us < p->until_us ? at_us : p->until_us;
	return p->ahead_us + (until_us > p->from_us ? (until_us - p->from_us) * p->percent / 100 : 0);
}

/* The n-th newest, while there are so many. */
static const struct clock_error_piece *
piece(const struct clock_error *d, unsigned n)
{
	return &d->pieces[(d->newest + DRIFT_PIECES - n) % DRIFT_PIECES];
}

int64_t
clock_error_since_us(const struct clock_error *d)
{
	return piece(d, DRIFT_PIECES - 1)->from_us;
}

int64_t
clock_error_ahead_us(const struct clock_error *d, int64_t at_us)
{
	unsigned n = 0;
	while (n + 1 < DRIFT_PIECES && piece(d, n)->from_us > at_us)
		n++;
	return piece_ahead_us(piece(d, n), at_us);
}

static struct clock_error_piece *
next_piece(struct clock_error *d, int64_t now_us)
{
	struct clock_error_piece at = d->pieces[d->newest];
	at.ahead_us = piece_ahead_us(&at, now_us);
	at.from_us = now_us;
	d->newest = (d->newest + 1) % DRIFT_PIECES;
	d->pieces[d->newest] = at;
	return &d->pieces[d->newest];
}

void
clock_error_step(struct clock_error *d, int64_t now_us, int64_t step_us)
{
	next_piece(d, now_us)->ahead_us += step_us;
}

void
clock_error_fast(struct clock_error *d, int64_t now_us, int64_t for_us, int64_t percent)
{
	struct clock_error_piece *p = next_piece(d, now_us);
	p->until_us = now_us + for_us;
	p->percent = percent;
}

int64_t
clock_error_least_us(const struct clock_error *d, int64_t since_us, int64_t now_us)
{
	int64_t least_us = clock_error_ahead_us(d, since_us);
	for (unsigned n = 0; n < DRIFT_PIECES && piece(d, n)->from_us > since_us; n++)
		if (piece(d, n)->from_us <= now_us && piece(d, n)->ahead_us < least_us)
			least_us = piece(d, n)->ahead_us;
	return least_us;
}

static int64_t
gained_us(const struct clock_error *d, int64_t since_us, int64_t now_us, bool any)
{
	int64_t ahead_us = clock_error_ahead_us(d, since_us), least_us = ahead_us, most_us = ahead_us,
		gained_us = 0;
	for (unsigned n = DRIFT_PIECES; n-- > 0;) {
		const struct clock_error_piece *p = piece(d, n);
		int64_t end_us = n > 0 ? piece(d, n - 1)->from_us : now_us;
		if (end_us < since_us)
			continue;
		if (p->from_us >= since_us && p->ahead_us < least_us)
			least_us = p->ahead_us;
		ahead_us = piece_ahead_us(p, end_us);
		most_us = any && most_us > ahead_us ? most_us : ahead_us;
		gained_us = most_us - least_us > gained_us ? most_us - least_us : gained_us;
	}
	return gained_us;
}

int64_t
clock_error_gained_us(const struct clock_error *d, int64_t since_us, int64_t now_us)
{
	return gained_us(d, since_us, now_us, false);
}

int64_t
clock_error_apart_us(const struct clock_error *d, int64_t since_us, int64_t now_us)
{
	return gained_us(d, since_us, now_us, true);
}
