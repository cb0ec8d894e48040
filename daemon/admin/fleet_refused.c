/*
 * fleet_refused: the daemons that the masters refused lately, for FLEET alone. Called by fleet_lookup.c and
 * fleet_write.c. They are no peers: they share no lock with this daemon, are asked nothing, and no request
 * waits for them. What a record says was written by that daemon, so it is parsed as the words of any
 * stranger.
 */
#include "daemon/admin/fleet_refused.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/redis/call.h"

#include <assert.h>
#include <string.h>

static struct fleet_refusal *
refusal_of(struct fleet_refusals *refusals, struct slice id)
{
	for (size_t i = 0; i < refusals->n; i++) {
		if (slice_equal(slice_of(refusals->list[i].who.id), id)) {
			return &refusals->list[i];
		}
	}
	return NULL;
}

const struct fleet_refusal *
refusals_find(const struct fleet_refusals *refusals, const char *id, int64_t now_ms)
{
	for (size_t i = 0; i < refusals->n; i++) {
		const struct fleet_refusal *one = &refusals->list[i];
		if (strcmp(one->who.id, id) == 0 && one->who.expires_ms > now_ms) {
			return one;
		}
	}
	return NULL;
}

static struct fleet_refusal *
refusal_add(struct fleet_refusals *refusals, struct slice id)
{
	if (refusals->n == FLEET_REFUSED_MAX) {
		return NULL;
	}
	struct fleet_refusal *one = &refusals->list[refusals->n++];
	*one = (struct fleet_refusal){0};
	slice_text(one->who.id, sizeof one->who.id, id);
	return one;
}

static void
refusals_forget(struct fleet_refusals *refusals, int64_t now_ms)
{
	size_t n = 0;
	for (size_t i = 0; i < refusals->n; i++) {
		if (refusals->list[i].who.listed != 0 && refusals->list[i].who.expires_ms > now_ms) {
			refusals->list[n++] = refusals->list[i];
		}
	}
	refusals->n = n;
}

void
refusals_take(
	struct fleet_refusals *refusals, unsigned master, const struct lookup_answer *answer, int64_t now_ms)
{
	struct slice text = answer->refused, line;
	const unsigned bit = 1U << master;
	assert(master < CORE_SLOTS_MAX);
	for (size_t i = 0; i < refusals->n; i++) {
		refusals->list[i].who.listed &= ~bit;
	}
	refusals_forget(refusals, now_ms); /* so that there is room */
	while (text_next_line(&text, &line)) {
		struct slice id = slice_word(&line);
		int64_t left_ms = (line_next_number(&line) - answer->time_us) / 1000;
		if (!is_daemon_id(id) || left_ms <= 0) {
			continue;
		}
		struct fleet_refusal *one = refusal_of(refusals, id);
		one = one ? one : refusal_add(refusals, id);
		if (!one) {
			continue;
		}
		one->who.listed |= bit;
		one->who.expires_ms = now_ms + (left_ms < FLEET_REFUSED_MS ? left_ms : FLEET_REFUSED_MS);
		peer_describe_public(&one->who, &line);
		peer_seen(&one->who, line_next_number(&line), answer->time_us / 1000, now_ms);
		slice_text(one->why, sizeof one->why, line);
	}
}
