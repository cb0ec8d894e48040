/* master_answers: see master_answers.h. */
#include "tests/sim/judge/master_answers.h"

#include "daemon/redis/vote.h"
#include "tests/sim/fault/evict.h"
#include "tests/sim/judge/guard.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whose a member of a group is, as long as it lives: '<owner> <deadline>'. */
static bool
member_owner(struct server *s, struct slice key, struct slice member, struct slice *owner)
{
	struct slice value;
	int64_t wall_us = server_wall_us(s);
	if (!store_exists(master_store(s->master), wall_us, key) ||
		!store_field(master_store(s->master), key, member, &value))
		return false;
	const char *blank = memchr(value.p, ' ', value.n);
	if (blank == NULL || strtoll(blank, NULL, 10) <= wall_us)
		return false;
	*owner = (struct slice){value.p, (size_t)(blank - value.p)};
	return true;
}

/* Whose all these members are; of permits those that slots names. */
static bool
members_owner(struct server *s, const char *daemon_id, const struct call *call, struct slice slots,
	struct slice *owner)
{
	struct slice key = server_lease_key(s->world, checker_name_of(call->name)), first = {NULL, 0};
	if (call->kind == KIND_SHARED)
		return member_owner(s, key, slice_of(daemon_id), owner);
	for (size_t i = 0; i < slots.n;) {
		const char *p = slots.p + i, *comma = memchr(p, ',', slots.n - i);
		size_t n = comma != NULL ? (size_t)(comma - p) : slots.n - i;
		if (!member_owner(s, key, (struct slice){p, n}, owner))
			return false;
		if (i > 0 && !slice_equal(first, *owner))
			return false;
		first = *owner;
		i += n + 1;
	}
	return slots.n > 0;
}

bool
master_answers_lease_there(struct server *s, const char *daemon_id, const struct call *call)
{
	struct slice owner, previous = call->op == CALL_ADOPT ? call->previous : (struct slice){NULL, 0};
	bool there = server_owner(s, checker_name_of(call->name), &owner) ||
		     (call->kind != KIND_EXCLUSIVE && members_owner(s, daemon_id, call, call->slots, &owner));
	for (size_t at = 0; !there && at + CALL_DAEMON_ID_SIZE < previous.n; at++) {
		char id[CALL_DAEMON_ID_SIZE] = "";
		memcpy(id, previous.p + at, sizeof(id) - 1);
		there = (at == 0 || previous.p[at - 1] == ' ') &&
			members_owner(s, id, call, call->slots, &owner);
	}
	return there;
}

/* Who is told that a lease is his has it. */
static void
check_owner(struct server *s, const char *daemon_id, const struct call *call, const struct vote *vote)
{
	struct slice owner = {NULL, 0};
	char mine[CALL_OWNER_SIZE];
	bool there;
	if (call->op != CALL_ACQUIRE && call->op != CALL_RENEW && call->op != CALL_RECLAIM &&
		call->op != CALL_ADOPT)
		return;
	/* Who has lost a slot to somebody who wrote there, and does not know yet, may reclaim it in the same
	 * call as who has it by now. */
	if (call->op == CALL_RECLAIM && call->kind == KIND_PERMITS &&
		!promised(s->world, PROMISE_OWNER, checker_name_of(call->name)))
		return;
	call_owner(daemon_id, call->attempt, mine);
	if (call->kind == KIND_EXCLUSIVE)
		there = server_owner(s, checker_name_of(call->name), &owner);
	else
		there = members_owner(
			s, daemon_id, call, vote->slots.n > 0 ? vote->slots : call->slots, &owner);
	if (!there || !slice_equal(owner, slice_of(mine)))
		world_fail(s->world, "owner only: %s of %.*s says yes to %s, but it is %.*s's",
			scripts[script_of(call)].name, (int)call->name.n, call->name.p, mine, (int)owner.n,
			owner.n > 0 ? owner.p : "");
}

/* What a master has taken back is gone, all of it. */
static void
check_released(struct server *s, const char *daemon_id, const struct call *call, const struct vote *vote)
{
	char mine[CALL_OWNER_SIZE];
	if (vote->op != CALL_RELEASE || vote->outcome != OUTCOME_YES)
		return;
	unsigned name = checker_name_of(call->name);
	size_t n = call_owner(daemon_id, call->attempt, mine);
	struct store *store = master_store(s->master);
	struct slice key = server_lease_key(s->world, name), owner, field, value;
	bool there = server_owner(s, name, &owner) && slice_equal(owner, slice_of(mine));
	for (size_t i = 0; !there && store_pair(store, server_wall_us(s), key, i, &field, &value); i++)
		there = value.n > n && value.p[n] == ' ' && memcmp(value.p, mine, n) == 0;
	if (there)
		world_fail(s->world, "owner only: %s of %.*s says yes to %s, and some of it is left",
			scripts[script_of(call)].name, (int)call->name.n, call->name.p, mine);
}

/* Tokens are reserved strictly above all that this memory of the master has given out. */
static void
check_block(struct server *s, const struct vote *vote)
{
	unsigned name = 0;
	while (!slice_equal(vote->name, slice_of(checker_name(name))))
		name++;
	if (vote->token_first <= s->token[name])
		world_fail(s->world, "tokens: %s of %.*s reserves %" PRId64 " after %" PRId64,
			scripts[vote->op].name, (int)vote->name.n, vote->name.p, vote->token_first,
			s->token[name]);
	s->token[name] = vote->token_last;
}

/* No script refuses a call of ours as malformed, or says what none says; no lease of ours is there for long.
 */
static void
check_words(struct server *s, const struct vote *vote)
{
	struct slice text = vote->text;
	bool refused = vote->outcome == OUTCOME_ERROR && text.n > 4 && memcmp(text.p, "ERR ", 4) == 0;
	if (refused || vote->outcome == OUTCOME_UNKNOWN)
		world_fail(s->world, "script: %s of %.*s answers %.*s", scripts[vote->op].name,
			(int)vote->name.n, vote->name.n > 0 ? vote->name.p : "", (int)text.n,
			text.n > 0 ? text.p : "");
	if (vote->outcome == OUTCOME_BUSY && vote->holder.n > 32 &&
		vote->change_ms > s->world->plan.lease_ms + s->world->plan.margin_ms)
		world_fail(s->world, "free in time: %.*s is busy for %" PRId64 " ms", (int)vote->name.n,
			vote->name.p, vote->change_ms);
}

#define WINDOW_MS 300 /* as CLAIM_US in lua/queue.inc */

/* A free lock is kept for the head of the queue no longer than that, also if the clock was set back since. */
static void
check_window(struct server *s, const struct call *call, const struct vote *vote)
{
	if (call->op == CALL_ACQUIRE && call->kind == KIND_EXCLUSIVE && vote->outcome == OUTCOME_BUSY &&
		vote->holder.n == 0 && vote->change_ms > WINDOW_MS)
		world_fail(s->world,
			"free in time: %.*s is free, and is kept for the head for %" PRId64 " ms",
			(int)vote->name.n, vote->name.p, vote->change_ms);
}

/* Nothing is done for a call that was meant for another memory, and nothing is taken by one that comes late.
 */
static void
check_meant(struct server *s, const struct call *call, const struct vote *vote)
{
	struct slice incarnation = {NULL, 0};
	char meant[32];
	bool takes = call->op == CALL_ACQUIRE || call->op == CALL_RECLAIM || call->op == CALL_ADOPT;
	bool done = vote->outcome == OUTCOME_YES || vote->outcome == OUTCOME_BUSY ||
		    vote->outcome == OUTCOME_NO || vote->outcome == OUTCOME_WRONGKIND;
	if (call->op == CALL_HELLO || !done)
		return;
	snprintf(meant, sizeof(meant), "%016" PRIx64 "%08" PRIx32, call->incarnation, call->set);
	if (!store_field(master_store(s->master), SLICE("hf:node"), SLICE("incarnation"), &incarnation) ||
		!slice_equal(incarnation, slice_of(meant)))
		world_fail(s->world, "incarnation: %s of %.*s is done, but it was meant for %s, not %.*s",
			scripts[script_of(call)].name, (int)call->name.n,
			call->name.n > 0 ? call->name.p : "", meant, (int)incarnation.n,
			incarnation.n > 0 ? incarnation.p : "");
	if (takes && vote->outcome == OUTCOME_YES && server_wall_us(s) > call->deadline_us)
		world_fail(s->world, "late: %s of %.*s takes it %" PRId64 " us after its deadline",
			scripts[script_of(call)].name, (int)call->name.n, call->name.p,
			server_wall_us(s) - call->deadline_us);
}

void
master_answers_check(
	struct server *s, const char *daemon_id, const struct call *calls, size_t n, const redisReply *reply)
{
	struct vote votes[CALL_GROUP_MAX];
	if (call_noscript(reply))
		return;
	call_decode(reply, calls, n, votes);
	for (size_t i = 0; i < n; i++) {
		check_words(s, &votes[i]);
		check_window(s, &calls[i], &votes[i]);
		check_meant(s, &calls[i], &votes[i]);
		if (votes[i].outcome == OUTCOME_YES) {
			check_owner(s, daemon_id, &calls[i], &votes[i]);
			guard_taken(s, &calls[i]);
		}
		check_released(s, daemon_id, &calls[i], &votes[i]);
		evict_hello(s, &votes[i]);
		if (votes[i].token_first > 0)
			check_block(s, &votes[i]);
	}
}
