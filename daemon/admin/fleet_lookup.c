/*
 * fleet_lookup: questions to the masters for a request of a client: which daemons exist, and which of them
 * has the name. fleet.c calls it, and the driver with each answer.
 *
 * A master reads its whole registry to say which daemons there are. So that is asked once in FLEET_FRESH_MS,
 * however many requests there are.
 */
#include "daemon/admin/fleet_lookup.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/admin/fleet_refused.h"
#include "daemon/admin/fleet_write.h"
#include "daemon/base/clock.h"
#include "daemon/redis/call.h"
#include "daemon/redis/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the masters are waited for before other daemons are asked. */
#define LOOKUP_MS 60

static int64_t
min_ms(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

static bool
open_awaits_masters(const struct fleet_open *open)
{
	bool awaits = false;
	for (size_t i = 0; i < CORE_SLOTS_MAX; i++) {
		awaits |= open->sights[i].asked;
	}
	return awaits;
}

void
open_lookup(struct fleet *fleet, struct fleet_open *open, int64_t fresh_ms, int64_t now_ms)
{
	const struct context *context = fleet->context;
	bool daemons = now_ms - fleet->peers.asked_ms >= fresh_ms;
	struct call about = {0};
	if (open->command.verb == VERB_INSPECT || is_of_id(&open->command)) {
		about.name = open->command.name;
		core_view_key(context->core, about.name, &about.key, &about.interop);
	}
	open->stage = FLEET_LOOKUP;
	open->until_ms = now_ms + LOOKUP_MS;
	for (unsigned i = 0; i < core_members(context->core); i++) {
		struct master_view view;
		core_view_master(context->core, now_ms, i, &view);
		open->sights[i].asked =
			!view.down && masters_lookup(context->masters, i, open->id, &about, daemons);
	}
	if (daemons && open_awaits_masters(open)) {
		fleet->peers.asked_ms = now_ms;
	}
	if (!open_awaits_masters(open)) {
		open_ask(fleet, open, now_ms);
	}
}

struct fleet_open *
open_find(const struct fleet *fleet, uint64_t id)
{
	struct fleet_open *open;
	TAILQ_FOREACH (open, &fleet->opens, next) {
		if (open->id == id) {
			break;
		}
	}
	return open;
}

/* Copies what the master says of the name. */
static void
sight_take(struct fleet_sight *sight, const struct lookup_answer *answer)
{
	const struct slice from[] = {answer->kind, answer->holders, answer->queue};
	struct slice *const to[] = {&sight->kind, &sight->holders, &sight->queue};
	free(sight->text);
	char *at = sight->text = malloc(answer->kind.n + answer->holders.n + answer->queue.n + 1);
	for (size_t i = 0; at && i < sizeof from / sizeof *from; i++) {
		memcpy(at, from[i].n > 0 ? from[i].p : "", from[i].n);
		*to[i] = (struct slice){at, from[i].n};
		at += from[i].n;
	}
	sight->answered = at && answer->kind.n > 0;
}

/* Whether a daemon that has the name is not known. */
static bool
open_misses(const struct fleet *fleet, const struct fleet_open *open)
{
	for (size_t i = 0; i < CORE_SLOTS_MAX; i++) {
		struct slice lines = open->sights[i].holders, line;
		while (text_next_line(&lines, &line)) {
			struct slice id = line_daemon(line);
			if (id.n > 0 && !peers_find(&fleet->peers, id)) {
				return true;
			}
		}
	}
	return false;
}

void
fleet_lookup_answered(struct fleet *fleet, unsigned master, uint64_t id, const struct lookup_answer *answer)
{
	struct fleet_open *open = open_find(fleet, id);
	int64_t now_ms = clock_ms();
	bool sure = fleet_guard_ms(fleet, master, now_ms) == 0;
	if (answer && answer->listed) {
		peers_take(&fleet->peers, master, answer, sure, now_ms);
		refusals_take(&fleet->refusals, master, answer, now_ms);
	}
	if (!open || open->stage != FLEET_LOOKUP || !open->sights[master].asked) {
		return;
	}
	open->sights[master].asked = false;
	open->answered |= answer != NULL;
	if (!answer) {
		/* It may have been asked which daemons there are. */
		fleet->peers.asked_ms = min_ms(fleet->peers.asked_ms, now_ms - FLEET_FRESH_MS + FLEET_NEW_MS);
	} else {
		sight_take(&open->sights[master], answer);
		open->sights[master].sure = sure;
	}
	if (open_awaits_masters(open)) {
		return;
	}
	if (!open->again && open_misses(fleet, open) && now_ms - fleet->peers.asked_ms >= FLEET_NEW_MS) {
		open->again = true;
		open_lookup(fleet, open, FLEET_NEW_MS, now_ms);
	} else {
		open_ask(fleet, open, now_ms);
	}
}

/* ---- how many there are ---- */

/* For no request: the answers are only stored. */
static void
fleet_refresh(struct fleet *fleet, int64_t now_ms)
{
	const struct context *context = fleet->context;
	const struct call about = {0};
	bool asked = false;
	for (unsigned i = 0; i < core_members(context->core); i++) {
		struct master_view view;
		core_view_master(context->core, now_ms, i, &view);
		asked |= !view.down && masters_lookup(context->masters, i, 0, &about, true);
	}
	if (asked) {
		fleet->peers.asked_ms = now_ms;
	}
}

static void
versions_add(struct fleet_versions *versions, const char *version)
{
	size_t i = 0;
	while (i < versions->n && strcmp(versions->list[i].version, version) != 0) {
		i++;
	}
	if (i == FLEET_VERSIONS_MAX) {
		i--;
		snprintf(versions->list[i].version, sizeof versions->list[i].version, "other");
	} else if (i == versions->n) {
		snprintf(versions->list[i].version, sizeof versions->list[i].version, "%s", version);
		versions->n++;
	}
	versions->list[i].daemons++;
}

void
fleet_see(struct fleet *fleet, int64_t now_ms, struct fleet_versions *out)
{
	*out = (struct fleet_versions){0};
	if (now_ms - fleet->peers.asked_ms >= FLEET_COUNT_MS) {
		fleet_refresh(fleet, now_ms);
	}
	if (now_ms - fleet->peers.refreshed_ms >= FLEET_KNOWN_MS) {
		return;
	}
	/* Registrations that have ended since may have been renewed: the next answer says so. */
	for (size_t i = 0; i < fleet->peers.n; i++) {
		versions_add(out, fleet->peers.list[i].version);
	}
}
