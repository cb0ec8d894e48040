/* nonces: see nonces.h. */
#include "daemon/core/masters/nonces.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "proto/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void
nonces_draw(struct core *core, struct master *m)
{
	char text[MASTER_NONCE_SIZE + 1];

	assert(m->nonce_answered <= m->nonces_drawn);
	if (m->nonces_drawn > 0 && core->now.ms < m->nonce_until_ms)
		return;
	if (m->nonces_drawn >= m->nonce_answered + MASTER_NONCES - 1)
		return;
	m->nonces_drawn++;
	m->nonce_until_ms = core->now.ms + MASTER_NONCE_MS;
	(void)snprintf(text, sizeof(text), "%016" PRIx64 " ", core_random(core));
	memmove(m->nonces + MASTER_NONCE_SIZE, m->nonces, sizeof(m->nonces) - MASTER_NONCE_SIZE);
	memcpy(m->nonces, text, MASTER_NONCE_SIZE);
}

static struct slice
nonces_slice(const char *nonces, uint64_t n)
{
	return (struct slice){nonces, (n < MASTER_NONCES ? (size_t)n : MASTER_NONCES) * MASTER_NONCE_SIZE};
}

struct slice
nonces_of(const struct master *m)
{
	return nonces_slice(m->nonces, m->nonces_drawn);
}

static bool
stands(const char *place, const char *way, const struct master *m)
{
	return strcmp(place, m->place) == 0 && strcmp(way, m->way) == 0;
}

/* Where this server is remembered; else the entry of the server that left longest ago, which makes room. */
static size_t
retired_find(const struct core *core, const struct master *m)
{
	size_t i = 0;

	assert(m->place[0] != '\0');
	while (i + 1 < RETIRED_MAX &&
		!stands(core->quorum->retired[i].place, core->quorum->retired[i].way, m))
		i++;
	return i;
}

/* The server stores one of these nonces (hello.lua) and remembers the mark; if it comes back, it is
 * recognised by them. A server is remembered once, however often it leaves: two that come and go do not push
 * out a third. One that is pushed out all the same comes back as a newcomer and begins a new memory
 * (hello.lua), whose guard covers what the mark would have shown (G4). */
void
nonces_part(struct core *core, const struct master *m)
{
	struct retired_server *first = &core->quorum->retired[0];

	if (m->nonces_drawn == 0)
		return;
	memmove(first + 1, first, retired_find(core, m) * sizeof(*first));
	memcpy(first->place, m->place, sizeof(m->place));
	memcpy(first->way, m->way, sizeof(m->way));
	memcpy(first->nonces, m->nonces, sizeof(m->nonces));
	first->nonces_drawn = m->nonces_drawn;
	first->nonce_answered = m->nonce_answered;
	first->mark = m->mark;
}

/* How many of these nonces the server may have stored: those since the last answered one, and that. */
static size_t
nonces_open(uint64_t drawn, uint64_t answered)
{
	uint64_t n = drawn - answered + (answered > 0);

	return n < MASTER_NONCES ? (size_t)n : MASTER_NONCES;
}

static bool
nonces_have(struct slice nonces, const char *nonce)
{
	for (size_t at = 0; at < nonces.n; at += MASTER_NONCE_SIZE) {
		if (memcmp(nonces.p + at, nonce, MASTER_NONCE_SIZE) == 0)
			return true;
	}
	return false;
}

/* Of so many open nonces there is room for fewer. The server stores one of the latest, whose answer did not
 * come; or the last one that it answered with GOOD, or one soon after it, if all HELLOs since were
 * refused. */
static void
nonces_thin(char *nonces, size_t open, size_t room)
{
	size_t latest = room / 2, oldest = room - latest;

	if (open > room)
		memmove(nonces + latest * MASTER_NONCE_SIZE, nonces + (open - oldest) * MASTER_NONCE_SIZE,
			oldest * MASTER_NONCE_SIZE);
}

/* How many of two lists, of which so many are open, are retained of the first one: the open ones, if there is
 * room for all of both; else half of the room, and what the other does not need. */
static size_t
nonces_share(size_t first, size_t first_open, size_t second, size_t second_open)
{
	size_t share = first < MASTER_NONCES / 2    ? first
		       : second < MASTER_NONCES / 2 ? MASTER_NONCES - second
						    : MASTER_NONCES / 2;

	if (first_open + second_open > MASTER_NONCES)
		return share;
	if (share < first_open)
		return first_open;
	return share > MASTER_NONCES - second_open ? MASTER_NONCES - second_open : share;
}

/* The server in the slot may store a nonce of another list of this daemon, too. The slot's own come first.
 * True: a nonce was new, and all fit; so a HELLO that is repeated after each `cloned` is not repeated for
 * ever. */
static bool
nonces_meet(struct master *m, struct slice sent, uint64_t drawn, uint64_t answered, int64_t mark)
{
	char added[MASTER_NONCES * MASTER_NONCE_SIZE];
	size_t had = nonces_of(m).n / MASTER_NONCE_SIZE, n = 0, open = 0, last;
	size_t mine = nonces_open(m->nonces_drawn, m->nonce_answered);
	bool fits;

	assert(answered <= drawn && sent.n <= sizeof(added));
	if (mark > m->mark)
		m->mark = mark;
	for (size_t i = 0; i < sent.n / MASTER_NONCE_SIZE; i++) {
		const char *nonce = sent.p + i * MASTER_NONCE_SIZE;

		if (nonces_have(nonces_of(m), nonce))
			continue;
		memcpy(added + n++ * MASTER_NONCE_SIZE, nonce, MASTER_NONCE_SIZE);
		open += i < nonces_open(drawn, answered);
	}
	if (n == 0)
		return false;
	fits = had + n <= MASTER_NONCES;
	if (!fits) {
		had = nonces_share(had, mine, n, open);
		n = MASTER_NONCES - had;
		nonces_thin(m->nonces, mine, had);
		nonces_thin(added, open, n);
		mine = mine < had ? mine : had;
		open = open < n ? open : n;
	}
	last = open > 0 ? had + open : mine;
	memcpy(m->nonces + had * MASTER_NONCE_SIZE, added, n * MASTER_NONCE_SIZE);
	/* An answer to a HELLO before is about one list only. */
	for (unsigned i = 0; i < CORE_LINKS_MAX; i++)
		m->links[i].hello_nonce = 0;
	m->nonces_drawn += n;
	m->nonce_answered = last > 0 ? m->nonces_drawn + 1 - last : m->nonces_drawn;
	return fits;
}

static bool
nonces_meet_slot(struct master *m, const struct master *other)
{
	return nonces_meet(m, nonces_of(other), other->nonces_drawn, other->nonce_answered, 0);
}

void
nonces_recognise(const struct core *core, struct master *m)
{
	const struct retired_server *p = &core->quorum->retired[retired_find(core, m)];

	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		const struct master *o = &core->masters[i];

		if (o != m && o->nonces_drawn > 0 && stands(o->place, o->way, m)) {
			(void)nonces_meet_slot(m, o);
			m->mark = o->mark > m->mark ? o->mark : m->mark;
		}
	}
	if (stands(p->place, p->way, m))
		(void)nonces_meet(m, nonces_slice(p->nonces, p->nonces_drawn), p->nonces_drawn,
			p->nonce_answered, p->mark);
}

bool
nonces_recall(const struct core *core, struct master *m)
{
	bool recalled = false;

	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		const struct master *o = &core->masters[i];
		bool may = o->run[0] == '\0' ? i >= core->settings.masters : strcmp(o->run, m->run) == 0;

		if (o != m && may)
			recalled |= nonces_meet_slot(m, o);
	}
	/* HELLOs through slots that were closed, if they had no answer: this server may have run one. */
	for (unsigned i = 0; i < RETIRED_MAX; i++) {
		const struct retired_server *p = &core->quorum->retired[i];
		size_t open = nonces_open(p->nonces_drawn, p->nonce_answered);

		recalled |=
			nonces_meet(m, nonces_slice(p->nonces, open), p->nonces_drawn, p->nonce_answered, 0);
	}
	return recalled;
}
