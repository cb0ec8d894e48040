/* withheld: see withheld.h. */
#include "tests/sim/judge/withheld.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define SLACK_US 5000 /* whole ms, of two clocks */

static bool
is_at(const struct hold *h, const struct host *host)
{
	return h->host == host && h->host_life == host->life;
}

/* Of a session that was left with a goodbye, or has no grace, its process keeps all: nothing is frozen. */
static bool
is_kept_alone(const struct world *w, const struct hold *h)
{
	const struct session_terms *p = session_terms_tagged(w, h->tag);
	return p != NULL && p->host == h->host && p->host_life == h->host_life && p->detached && !p->graced;
}

/* Of a hold that began in the step that cuts it off nobody has asked yet how long it is sure. */
static int64_t
longest_ms(const struct hold *h, const struct host *host)
{
	struct resource_view view;
	int64_t now_ms = host_ms(host), lease_ms;
	if (h->longest_ms != 0 || h->since_us < h->host->world->now_us ||
		!core_view_resource(host->core, now_ms, slice_of(checker_name(h->name)), &view) ||
		strcmp(view.lease, "held") != 0)
		return h->longest_ms;
	lease_ms = now_ms + view.lease_ms;
	return lease_ms < h->ends_ms ? lease_ms : h->ends_ms;
}

/* Until what could have been told is over: as of the last step, or of the moment when it was cut off (5.8),
 * and then for the crash-delay (4.5, 4.9). */
static void
check_longest(struct world *w, const struct hold *h, const struct host *host, int64_t ttl_ms)
{
	int64_t longest_us = host_true_us(host, longest_ms(h, host));
	int64_t good_us = longest_us > held_good_us(h) ? longest_us : held_good_us(h);
	/* By its own clock. */
	int64_t delay_us =
		host_true_us(host, host_rule(host, h->name)->crash_delay_ms) - host_true_us(host, 0);
	int64_t most_us = good_us - w->now_us + delay_us;
	bool longer = ttl_ms * 1000 > most_us + (most_us > 0 ? most_us / 100 : 0) + SLACK_US;
	if (!h->unannounced && !is_kept_alone(w, h) && promised(w, PROMISE_WITHHELD, h->name) && longer)
		world_fail(w,
			"withheld: d%u withholds %s with token %" PRId64 " for %" PRId64
			" ms, and nobody can rely on it for more than %" PRId64 " us",
			host->index, checker_name(h->name), h->token, ttl_ms, most_us);
}

void
withheld_note(struct host *host, const struct note *n)
{
	struct world *w = host->world;
	int64_t until_us = w->now_us + n->ms * 1010 + SLACK_US;
	unsigned name;
	if (n->type != NOTE_WITHHELD)
		return;
	/* Also if its session ends it later without naming it: then only its daemon knows. */
	name = checker_name_of(n->name);
	if (name < PLAN_NAMES_MAX && until_us > host->withheld_until_us[name])
		host->withheld_until_us[name] = until_us;
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		if (!is_at(h, host) || h->token != n->token || h->name != checker_name_of(n->name))
			continue;
		check_longest(w, h, host, n->ms);
		h->withhold_us = w->now_us + n->ms * 995 - SLACK_US;
	}
}

void
withheld_ended(const struct hold *h)
{
	int64_t *until_us = &h->host->withheld_until_us[h->name];
	*until_us = held_good_us(h) > *until_us ? held_good_us(h) : *until_us;
}

void
withheld_valid(struct hold *h, int64_t valid_us, int64_t valid_ms)
{
	bool recovered = h->since_us < h->host->recovery.at_us;
	h->valid_us = valid_us;
	if (valid_ms > h->longest_ms || !recovered)
		h->longest_ms = valid_ms;
}

struct sought {
	int64_t token;
	bool found;
};

static bool
seek(void *arg, const struct hold_view *view)
{
	struct sought *s = arg;
	s->found |= view->token == s->token && (view->withheld || view->ends);
	return !s->found;
}

void
withheld_left(struct world *w, struct host *host, session_id session)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		struct sought s = {.token = h->token};
		int64_t left_us = h->valid_us - w->now_us + host_rule(host, h->name)->crash_delay_ms * 1000;
		if (!is_at(h, host) || h->session != session || h->lost || h->unannounced ||
			!promised(w, PROMISE_WITHHELD, h->name) || h->valid_us <= w->now_us ||
			h->ended_us <= w->now_us || w->lost_here[host->index] || host->draining ||
			left_us - left_us / 100 < SLACK_US)
			continue;
		core_each_hold(host->core, host_ms(host), slice_of(checker_name(h->name)), seek, &s);
		if (!s.found)
			world_fail(w,
				"withheld: d%u passes on %s with token %" PRId64
				", which its session left behind, and may not for %" PRId64 " us",
				host->index, checker_name(h->name), h->token, left_us);
	}
}

bool
withheld_ends(const struct world *w, const struct host *host, unsigned name)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (is_at(h, host) && h->name == name && h->withhold_us > w->now_us - 2 * SLACK_US)
			return true;
	return false;
}
