/* kinds: see kinds.h. */
#include "tests/sim/kinds.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 50000

static unsigned
form_of(const struct world *w, int64_t limit)
{
	return limit == 0 ? 0 : limit == w->plan.permits ? 1 : 2;
}

void
kinds_touched(struct world *w, unsigned name, int64_t limit)
{
	if (name < PLAN_NAMES_MAX)
		w->kinds.last_us[name][form_of(w, limit)] = w->now_us + 1;
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->told_us > w->now_us || h->valid_us > w->now_us)
			kinds_touched(w, h->name, h->limit);
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		kinds_touched(w, v->name, v->limit);
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		for (unsigned i = 0; i < v->conn->current.count; i++)
			kinds_touched(w, v->conn->current.names[i], 0);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
kinds_watch(struct world *w)
{
	if (w->plan.permits > 0)
		world_after(w, 0, look, w, 0, NULL);
}

/* What is left of a dead daemon, or withheld, ends by then; a clock that steps back lets it live for longer.
 */
static int64_t
most_us(const struct world *w)
{
	return (3 * (w->plan.lease_ms + w->plan.margin_ms) + w->plan.crash_delay_ms + w->plan.retain_ms +
		       5000) *
	       1000;
}

static bool
was_so(const struct world *w, unsigned name, unsigned form)
{
	int64_t last_us = w->kinds.last_us[name][form];
	return last_us != 0 && w->now_us - last_us <= most_us(w);
}

void
kinds_refused(
	struct world *w, const struct conn *c, unsigned name, int64_t limit, enum code code, const char *text)
{
	unsigned form = form_of(w, limit), other = 3 - form;
	bool fair = true;
	if (plan_keyed(&w->plan, name) || w->plan.fault[FAULT_KIND] || w->plan.fault[FAULT_OVERWRITE] ||
		w->plan.fault[FAULT_BACK])
		return;
	if (code == CODE_LIMIT && strncmp(text, "it has LIMIT", 12) == 0)
		fair = form != 0 && was_so(w, name, other) && strtoll(text + 12, NULL, 10) != limit;
	else if (code == CODE_WRONGKIND)
		fair = form == 0 ? was_so(w, name, 1) || was_so(w, name, 2) : was_so(w, name, 0);
	if (!fair)
		world_fail(w, "kind: c%u is refused %s, which nobody has or wants otherwise: -%s %s",
			c->client->index, checker_name(name), code_word(code), text);
}
