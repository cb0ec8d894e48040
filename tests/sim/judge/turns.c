/* turns: see turns.h. */
#include "tests/sim/judge/turns.h"

#include "daemon/redis/vote.h"
#include "tests/sim/judge/master_answers.h"
#include "tests/sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX_US 60000000 /* as lua/queue.inc has it */

/* What a daemon waits for: 'x', 's' or 'p'; 0: its place is over. */
static char
form_of(struct server *s, const char *key, struct slice daemon)
{
	struct slice value;
	int64_t now_us = server_wall_us(s), till_us;
	const char *blank;
	if (!store_field(master_store(s->master), slice_of(key), daemon, &value))
		return 0;
	till_us = strtoll(value.p, NULL, 10);
	blank = memchr(value.p, ' ', value.n);
	if (blank == NULL || till_us <= now_us || till_us > now_us + PLACE_MAX_US)
		return 0;
	return blank[1];
}

/* It was called, and its window is over. */
static bool
is_late(struct server *s, const char *key, struct slice daemon)
{
	struct slice value;
	if (!store_field(master_store(s->master), slice_of(key), SLICE("claim"), &value) ||
		value.n < daemon.n + 2 || memcmp(value.p, daemon.p, daemon.n) != 0)
		return false;
	return strtoll(value.p + daemon.n + 1, NULL, 10) <= server_wall_us(s);
}

/* The first that would be passed. */
static void
look(struct turn *turn, struct server *s, const char *daemon_id, const struct call *call)
{
	char queue[48], places[48];
	struct slice daemon;
	bool head = true;
	snprintf(queue, sizeof(queue), "hf:{%.*s}:q", (int)call->name.n, call->name.p);
	snprintf(places, sizeof(places), "hf:{%.*s}:w", (int)call->name.n, call->name.p);
	for (size_t i = 0;
		store_member(master_store(s->master), server_wall_us(s), slice_of(queue), i, &daemon); i++) {
		char form = form_of(s, places, daemon);
		bool late = head && form != 0 && is_late(s, places, daemon);
		if (slice_equal(daemon, slice_of(daemon_id)))
			return;
		head = head && form == 0;
		if (form == 0 || late || (form == 's' && call->kind == KIND_SHARED))
			continue;
		snprintf(turn->daemon, sizeof(turn->daemon), "%.*s", (int)daemon.n, daemon.p);
		return;
	}
}

void
turns_before(struct turns *turns, struct server *s, const char *daemon_id, const struct call *calls, size_t n)
{
	turns->n = 0;
	if (calls[0].op != CALL_ACQUIRE || calls[0].interop != INTEROP_NONE || n > TURNS_MAX)
		return;
	for (size_t i = 0; i < n; i++) {
		struct turn *turn = &turns->of[turns->n++];
		*turn = (struct turn){.daemon = ""};
		/* What is its own already it gets once more; and elsewhere than at home nobody stands. */
		if (calls[i].key == NULL && calls[i].queue_ms >= 0 &&
			!master_answers_lease_there(s, daemon_id, &calls[i]))
			look(turn, s, daemon_id, &calls[i]);
	}
}

void
turns_check(const struct turns *turns, struct server *s, const struct call *calls, size_t n,
	const redisReply *reply)
{
	struct vote votes[CALL_GROUP_MAX];
	if (turns->n != n || turns->n == 0 || call_noscript(reply))
		return;
	call_decode(reply, calls, n, votes);
	for (size_t i = 0; i < n; i++)
		if (votes[i].outcome == OUTCOME_YES && turns->of[i].daemon[0] != '\0')
			world_fail(s->world, "queue: m%u gives %.*s past %.6s, who waits for longer",
				s->index, (int)calls[i].name.n, calls[i].name.p, turns->of[i].daemon);
}
