/*
 * fuzz_vote: whatever a master may send, broken or hostile: call_decode() makes one vote for each call,
 * points nowhere but into the reply and the calls, and never says yes with tokens that cannot be.
 *
 * Input: which operation, how many calls, then a reply as a tree: a byte for the type, then its content.
 */
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/members.h"
#include "daemon/redis/call.h"
#include "daemon/redis/vote.h"
#include "tests/sim/world/answer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX    6
#define ELEMENTS_MAX 80

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t
byte(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

#define TWO "2 00000000000000fe:sentinel 00000000000000ff:url"

/* Words that scripts say, so that the fuzzer gets past the first comparison. */
static struct slice
word(struct input *in)
{
	static const char *const words[] = {"ok", "all", "yes", "no", "busy", "late", "forgotten",
		"wrongkind", "limit", "error", "good", "mismatch", "replica", "0", "1", "1760000000000000",
		"9007199254740992", "9007199254740993", "00000000000000ff", "READONLY x", "NOSCRIPT x", "-1",
		"3,7", "7,3", "3", "1760000000 5 11", "", "otherset", "1 00000000000000ff:url", TWO,
		"here there"};
	uint8_t which = byte(in);
	if (which < sizeof(words) / sizeof(words[0]))
		return slice_of(words[which]);
	size_t n = which % 32 < in->n ? which % 32 : in->n;
	struct slice text = {(const char *)in->p, n};
	in->p += n;
	in->n -= n;
	return text;
}

static redisReply *
tree(struct input *in, int depth)
{
	char text[64] = {0};
	struct slice s;
	switch (byte(in) % 8) {
	case 0:
		return NULL;
	case 1:
		return answer_nil();
	case 2:
		return answer_int((int8_t)byte(in));
	case 3:
	case 4:
		return answer_text(word(in));
	case 5:
		s = word(in);
		memcpy(text, s.p, s.n < sizeof(text) ? s.n : sizeof(text) - 1);
		return byte(in) % 2 == 0 ? answer_error(text) : answer_status(text);
	default: {
		size_t n = depth < DEPTH_MAX ? byte(in) % ELEMENTS_MAX : 0;
		redisReply *reply = answer_array(n);
		for (size_t i = 0; i < n && in->n > 0; i++)
			reply->element[i] = tree(in, depth + 1);
		return reply;
	}
	}
}

/* freeReplyObject() of old hiredis does not take NULL elements everywhere. */
static void
tree_free(redisReply *reply)
{
	if (reply == NULL)
		return;
	for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
		tree_free(reply->element[i]);
	if (reply->type == REDIS_REPLY_ARRAY)
		free(reply->element);
	else
		free(reply->str);
	free(reply);
}

/* Reads every byte, so that a sanitizer sees whether it may be read. */
static void
check_text(struct slice s)
{
	char *copy = malloc(s.n + 1);
	assert(copy != NULL);
	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	free(copy);
}

/* "3,7": as many as were wanted, rising and below the limit. */
static void
check_slots(struct slice slots, const struct call *call)
{
	long last = -1;
	int64_t count = 0;
	char *text = malloc(slots.n + 1), *rest = NULL;
	assert(text != NULL && slots.n > 0);
	memcpy(text, slots.p, slots.n);
	text[slots.n] = '\0';
	for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		long slot = strtol(word, NULL, 10);
		assert(slot > last && slot < call->limit);
		last = slot;
		count++;
	}
	assert(count == call->permits);
	free(text);
}

/* The set of masters: there is none, or it is agreed on so far; and whatever it says can be read. */
static void
check_masterset(const struct vote *v)
{
	struct members members;
	assert(v->hello < HELLO_COUNT);
	assert((v->masterset.n > 0) == (v->agreement > AGREEMENT_NONE) && v->agreement <= AGREEMENT_AGREED);
	assert(v->op == CALL_HELLO || v->id == 0);
	assert(v->outcome != OUTCOME_YES || v->op != CALL_HELLO || v->id != 0 ||
		(v->hello != HELLO_GOOD && v->hello != HELLO_OTHERSET));
	check_text(v->masterset);
	check_text(v->places);
	if (!members_read(v->masterset, v->places, &members))
		return;
	assert(members.n > 0 && members.n <= MEMBERS_MAX && members.generation >= 0);
	for (unsigned i = 0; i < members.n; i++) {
		assert(members.ids[i] != 0 && members.ways[i].n > 0);
		assert(members_find(&members, members.ids[i]) >= 0);
		check_text(members.ways[i]);
		check_text(members.places[i]);
	}
}

static void
check_lease(const struct vote *v, const struct call *call)
{
	assert(v->outcome == OUTCOME_BUSY || v->holder.n == 0);
	assert(v->position >= 0 && v->change_ms >= 0);
	assert(v->outcome == OUTCOME_LIMIT ? v->limit > 0 && v->limit != call->limit : v->limit == 0);
	assert(v->slots.n == 0 || call->kind == KIND_PERMITS);
	if (call->kind == KIND_PERMITS && v->op == CALL_ACQUIRE && v->outcome == OUTCOME_YES)
		check_slots(v->slots, call);
	check_text(v->holder);
	check_text(v->slots);
}

static void
check_latch(const struct vote *v)
{
	assert(v->latch.left >= 0 && v->latch.left <= v->latch.set && v->latch.ttl_ms >= 0);
	assert(v->outcome != OUTCOME_YES || (v->latch.id != 0 && v->latch.set > 0));
}

static void
check_vote(const struct vote *v, const struct call *call)
{
	assert(v->op == call->op && v->attempt == call->attempt && v->link == call->link);
	assert(slice_equal(v->name, call->name));
	assert(v->outcome <= OUTCOME_UNKNOWN);
	assert(v->token_first >= 0 && v->token_first <= v->token_last && v->token_last <= INT64_C(1) << 53);
	assert(v->outcome != OUTCOME_YES || v->op != CALL_ACQUIRE || v->token_first > 0);
	assert(v->outcome == OUTCOME_YES || v->token_first == 0);
	assert(v->outcome != OUTCOME_BUSY || v->op == CALL_ACQUIRE);
	assert(v->time_us >= 0 && v->highest >= 0);
	check_text(v->text);
	if (call_about_lease(v->op))
		check_lease(v, call);
	else if (v->op == CALL_LATCH)
		check_latch(v);
	else if (v->outcome == OUTCOME_YES)
		check_masterset(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct call calls[CALL_GROUP_MAX];
	struct vote votes[CALL_GROUP_MAX];
	enum call_op op = (enum call_op)(byte(&in) % CALL_OP_COUNT);
	uint8_t form = byte(&in);
	bool single = op == CALL_HELLO || op == CALL_ADMIT;
	size_t n = single ? 1 : 1 + byte(&in) % CALL_GROUP_MAX;
	for (size_t i = 0; i < n; i++) {
		calls[i] = (struct call){.op = op,
			.attempt = i + 1,
			.link = 1,
			.name = SLICE("name"),
			.deadline_us = form % 2};
		if (!call_about_lease(op))
			continue;
		calls[i].kind = (enum kind)(form % KIND_COUNT);
		calls[i].block = 10;
		calls[i].limit = 1 + form % 50;
		calls[i].permits = 1 + form % 3;
		calls[i].slots = form % 7 == 0 ? SLICE("3,7") : SLICE("");
	}
	redisReply *reply = tree(&in, 0);
	(void)call_noscript(reply);
	call_decode(reply, calls, n, votes);
	for (size_t i = 0; i < n; i++)
		check_vote(&votes[i], &calls[i]);
	tree_free(reply);
	return 0;
}
