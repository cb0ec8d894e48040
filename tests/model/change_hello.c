/* change_hello: what servers and daemons of the model `change` say to each other; see change.c. */
#include "tests/model/change.h"

#include <string.h>

/* --- sets -------------------------------------------------------------------------------------------------
 */

bool
change_member(const struct change_rules *r, unsigned set, unsigned m)
{
	return r->members[set] & (1u << m);
}

unsigned
change_size(const struct change_rules *r, unsigned set)
{
	return (unsigned)__builtin_popcount(r->members[set]);
}

static unsigned
majority(const struct change_rules *r, unsigned set)
{
	return change_size(r, set) / 2 + 1;
}

bool
change_kept(const struct change_rules *r, unsigned set, unsigned m)
{
	return change_member(r, set, m) && (set == 1 || change_member(r, r->follows[set], m));
}

bool
change_newcomer(const struct change_rules *r, unsigned set, unsigned m)
{
	return change_member(r, set, m) && !change_kept(r, set, m);
}

/* --- what a daemon counts ---------------------------------------------------------------------------------
 */

uint8_t
change_voted(const struct change_rules *r, const struct change_state *s, unsigned d)
{
	uint8_t set = s->daemon[d].set, ticks = LEASE;
	for (; ticks > 0; ticks--) {
		unsigned count = 0;
		for (unsigned m = 0; m < r->servers; m++)
			count += change_member(r, set, m) && !s->server[m].peer[d].previous &&
				 s->server[m].peer[d].left >= ticks;
		if (count >= majority(r, set))
			break;
	}
	return ticks;
}

bool
change_holds(const struct change_rules *r, const struct change_state *s, unsigned d)
{
	return s->daemon[d].promise > 0 || change_voted(r, s, d) > 0;
}

/* Whether all kept members (of_majority: as many as a majority of the set before) told at least this. */
static bool
told(const struct change_rules *r, const struct change_state *s, unsigned d, unsigned set, unsigned least,
	bool of_majority)
{
	unsigned count = 0, all = 0;
	for (unsigned m = 0; m < r->servers; m++) {
		if (!change_kept(r, set, m))
			continue;
		all++;
		count += (s->server[m].peer[d].told & 3u) >= least;
	}
	return count >= (of_majority ? majority(r, r->follows[set]) : all);
}

void
change_untell(struct change_state *s, unsigned d)
{
	for (unsigned m = 0; m < SERVERS_MAX; m++)
		s->server[m].peer[d].told = 0;
}

static void
words_end(struct change_state *s, unsigned d)
{
	for (unsigned m = 0; m < SERVERS_MAX; m++)
		s->server[m].peer[d].word = s->server[m].peer[d].blank = 0;
}

/* It takes up a later set. */
static void
adopt(const struct change_rules *r, struct change_state *s, unsigned d, unsigned set)
{
	struct daemon *daemon = &s->daemon[d];
	uint8_t promise = change_voted(r, s, d);
	daemon->promise = promise > daemon->promise ? promise : daemon->promise;
	daemon->set = (uint8_t)set;
	daemon->next = 0;
	change_untell(s, d);
	words_end(s, d);
	for (unsigned m = 0; m < r->servers; m++) {
		struct server *server = &s->server[m];
		if (!change_newcomer(r, set, m) || r->votes_stay)
			continue;
		server->peer[d].previous = server->peer[d].left > 0;
		if (r->released && server->owner == d + 1)
			server->owner = 0;
	}
}

/* Of two next sets, the one that is accepted somewhere, else that of the later generation. */
static void
take_up(struct change_state *s, unsigned d, unsigned next, unsigned step)
{
	uint8_t *ours = &s->daemon[d].next;
	bool accepted = false;
	for (unsigned m = 0; m < SERVERS_MAX; m++)
		accepted |= (s->server[m].peer[d].told & 3u) >= ACCEPTED;
	if (next == 0 || next == *ours || (step < ACCEPTED && *ours != 0 && (accepted || next < *ours)))
		return;
	*ours = (uint8_t)next;
	change_untell(s, d);
}

/* --- HELLOs --------------------------------------------------------------------------------------------
 */

/* How the member may be restored: enough others were heard since it was seen blank. */
static bool
words_suffice(
	const struct change_rules *r, const struct change_state *s, unsigned d, unsigned m, uint8_t *next)
{
	unsigned set = s->daemon[d].set, words = 0;
	unsigned need = change_size(r, set) - majority(r, set) + 1 - r->few_words;
	*next = 0;
	for (unsigned other = 0; other < r->servers; other++) {
		unsigned word = s->server[other].peer[d].word;
		if (other == m || !change_member(r, set, other) || word == 0)
			continue;
		words++;
		if (word > 1)
			*next = *next == 0 || *next == word - 1 ? (uint8_t)(word - 1) : DIFFERENT;
	}
	if (r->words_alone)
		*next = 0;
	if (r->no_words || change_size(r, set) == 1)
		return true;
	return s->server[m].peer[d].blank && words >= need && *next != DIFFERENT;
}

struct hello
change_compose(const struct change_rules *r, const struct change_state *s, unsigned d, unsigned m)
{
	const struct daemon *daemon = &s->daemon[d];
	struct hello hello = {.set = daemon->set, .next = daemon->next};
	uint8_t accepted;
	if (hello.next != 0)
		hello.step = told(r, s, d, hello.next, OFFERED, false) ? ACCEPTED : OFFERED;
	if (r->one_step && hello.next != 0)
		hello.step = ACCEPTED;
	for (unsigned other = 0; hello.next != 0 && other < r->servers; other++)
		hello.insists |= (s->server[other].peer[d].told & 3u) >= ACCEPTED;
	hello.restores = change_member(r, hello.set, m) && words_suffice(r, s, d, m, &accepted);
	hello.accepted = hello.restores ? accepted : 0;
	if (change_newcomer(r, hello.set, m)) {
		unsigned least = r->given_once ? 1 : 2;
		hello.enlists = r->given_early || told(r, s, d, hello.set, least, true);
		for (unsigned other = 0; r->minority && other < r->servers; other++)
			hello.enlists |=
				change_kept(r, hello.set, other) && s->server[other].peer[d].told > 0;
		hello.restores &= hello.enlists || s->server[m].set != 0;
	}
	return hello;
}

/* The set that it gives is stored. */
static void
store(const struct change_rules *r, struct server *server, unsigned m, const struct hello *hello)
{
	if (server->set >= hello->set || !change_member(r, hello->set, m))
		return;
	if (change_newcomer(r, hello->set, m) && !hello->enlists && !(server->lost && hello->restores))
		return;
	if (!change_newcomer(r, hello->set, m) && server->set == 0 && !hello->restores)
		return;
	if (change_newcomer(r, hello->set, m))
		server->guard = r->no_guard ? 0 : LEASE;
	if (server->set == 0) {
		server->next = hello->accepted;
		server->step = hello->accepted != 0 ? ACCEPTED : 0;
	}
	server->set = hello->set;
	server->lost = server->lost && server->guard > 0;
	if (server->next <= server->set)
		server->next = server->step = 0;
}

static void
advance(const struct change_rules *r, struct server *server, unsigned m, const struct hello *hello)
{
	bool same = server->next == hello->next;
	if (hello->next == 0 || server->set != hello->set || server->guard > 0 ||
		!change_kept(r, hello->next, m))
		return;
	if (hello->step == OFFERED &&
		(server->next == 0 ||
			(server->step == OFFERED && (hello->insists || server->next < hello->next)))) {
		server->next = hello->next;
		server->step = OFFERED;
	} else if (hello->step == ACCEPTED &&
		   (same || ((r->jumps || r->one_step) && server->step < ACCEPTED) || r->gives_way)) {
		server->next = hello->next;
		server->step = ACCEPTED;
	}
}

static void
answered_same(const struct change_rules *r, struct change_state *s, unsigned d, unsigned m)
{
	const struct server *server = &s->server[m];
	struct daemon *daemon = &s->daemon[d];
	struct peer *peer = &s->server[m].peer[d];
	bool stale = peer->told & STALE;
	unsigned now, before;
	bool seen = false;
	for (unsigned other = 0; other < r->servers; other++)
		seen |= s->server[other].peer[d].blank;
	peer->blank = 0;
	if (seen || r->old_words)
		peer->word = (uint8_t)(1 + (server->step == ACCEPTED ? server->next : 0));
	if (change_size(r, daemon->set) == 1)
		daemon->young = LEASE;
	take_up(s, d, server->next, server->step);
	before = peer->told & 3u;
	if (daemon->next == 0) {
		/* Of the set that it has taken up. */
		now = stale || before == 0 ? 1 : before;
		peer->told = (uint8_t)now;
		if (daemon->set > 1 && !stale && told(r, s, d, daemon->set, 1, true))
			peer->told = 2;
		if (daemon->set == 1)
			peer->told = 0;
	} else {
		now = server->next == daemon->next ? server->step : 0;
		peer->told = (uint8_t)now;
		if (now == ACCEPTED && before >= ACCEPTED && !stale &&
			told(r, s, d, daemon->next, ACCEPTED, false))
			peer->told = CONFIRMED;
	}
	/* What was confirmed with the memory that it lost is not. */
	for (unsigned other = 0; stale && other < r->servers; other++) {
		uint8_t *its = &s->server[other].peer[d].told;
		if (daemon->next == 0 && (*its & 3u) > 1)
			*its = (uint8_t)((*its & 4u) | 1);
		if (daemon->next != 0 && (*its & 3u) > ACCEPTED)
			*its = (uint8_t)((*its & 4u) | ACCEPTED);
	}
}

void
change_answered(const struct change_rules *r, struct change_state *s, unsigned d, unsigned m)
{
	const struct server *server = &s->server[m];
	struct daemon *daemon = &s->daemon[d];
	struct peer *peer = &s->server[m].peer[d];
	if (server->set == daemon->set) {
		answered_same(r, s, d, m);
	} else if (server->set > daemon->set) {
		adopt(r, s, d, server->set);
		peer->told = 1;
	} else if (server->set == 0 && server->lost && change_member(r, daemon->set, m)) {
		if (!peer->blank && !r->old_words)
			words_end(s, d);
		peer->told = 0;
		peer->blank = 1;
	} else {
		peer->told = 0;
	}
	bool once = r->once || r->one_step;
	if (daemon->next != 0 &&
		(told(r, s, d, daemon->next, once ? ACCEPTED : CONFIRMED, false) ||
			(r->some_accept && server->step == ACCEPTED && server->next == daemon->next)))
		adopt(r, s, d, daemon->next);
}

void
change_hello(const struct change_rules *r, struct change_state *s, unsigned m, const struct hello *hello)
{
	store(r, &s->server[m], m, hello);
	advance(r, &s->server[m], m, hello);
}
