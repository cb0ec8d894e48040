/*
 * vote: decodes Redis' replies as the core's votes; the second half of daemon/redis/call.h.
 *
 * The pool and the simulator use it. It must never trust a reply: the master may be broken or hostile, or
 * another program may listen at its port.
 */
#include "daemon/redis/vote.h"

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX (INT64_C(1) << 53)

static bool
reply_starts(const redisReply *reply, const char *word)
{
	size_t n = strlen(word);
	return reply->str != NULL && reply->len >= n && memcmp(reply->str, word, n) == 0 &&
	       (reply->len == n || reply->str[n] == ' ');
}

bool
call_noscript(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ERROR && reply_starts(reply, "NOSCRIPT");
}

bool
call_moved(const redisReply *reply)
{
	static const char *const words[] = {"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (reply != NULL && reply->type == REDIS_REPLY_ERROR && reply_starts(reply, words[i]))
			return true;
	return false;
}

void
call_fail(const struct call *call, enum outcome outcome, const char *why, struct vote *vote)
{
	memset(vote, 0, sizeof(*vote));
	vote->op = call->op;
	vote->outcome = outcome;
	vote->master = call->master;
	vote->link = call->link;
	vote->attempt = call->attempt;
	vote->name = call->name;
	vote->hash = call->hash;
	if (why != NULL)
		vote->text = slice_of(why);
}

/* The i-th element if it is a string; else an absent slice. */
static struct slice
element_text(const redisReply *reply, size_t i)
{
	if (i >= reply->elements || reply->element == NULL || reply->element[i] == NULL)
		return (struct slice){NULL, 0};
	const redisReply *e = reply->element[i];
	if (e->type != REDIS_REPLY_STRING || e->str == NULL)
		return (struct slice){NULL, 0};
	return (struct slice){e->str, (size_t)e->len};
}

static bool
element_is(const redisReply *reply, size_t i, const char *word)
{
	return slice_equal(element_text(reply, i), slice_of(word));
}

/* An integer in 0 .. 2^53. */
static bool
reply_number(const redisReply *reply, int64_t *n)
{
	if (reply == NULL || reply->type != REDIS_REPLY_INTEGER || reply->integer < 0 ||
		reply->integer > NUMBER_MAX)
		return false;
	*n = reply->integer;
	return true;
}

/* Only digits, a number in 0 .. 2^53. */
static bool
text_number(struct slice s, int64_t *n)
{
	if (s.n == 0 || s.n > 16)
		return false;
	int64_t sum = 0;
	for (size_t k = 0; k < s.n; k++) {
		if (s.p[k] < '0' || s.p[k] > '9')
			return false;
		sum = sum * 10 + (s.p[k] - '0');
	}
	if (sum > NUMBER_MAX)
		return false;
	*n = sum;
	return true;
}

/* The i-th element as a number in 0 .. 2^53: an integer, or a string of digits only. */
static bool
element_number(const redisReply *reply, size_t i, int64_t *n)
{
	if (i < reply->elements && reply->element != NULL && reply_number(reply->element[i], n))
		return true;
	return text_number(element_text(reply, i), n);
}

static bool
element_incarnation(const redisReply *reply, size_t i, uint64_t *n)
{
	struct slice s = element_text(reply, i);
	if (s.n != 16)
		return false;
	uint64_t sum = 0;
	for (size_t k = 0; k < s.n; k++) {
		const char *digits = "0123456789abcdef";
		const char *digit = s.p[k] != '\0' ? strchr(digits, s.p[k]) : NULL;
		if (digit == NULL)
			return false;
		sum = sum << 4 | (uint64_t)(digit - digits);
	}
	*n = sum;
	return true;
}

static bool
text_starts(struct slice text, const char *word)
{
	size_t n = strlen(word);
	return text.n >= n && memcmp(text.p, word, n) == 0 && (text.n == n || text.p[n] == ' ');
}

/* Errors after which the master must not be used until it answers HELLO again. */
static bool
error_demotes(struct slice text)
{
	static const char *const words[] = {"READONLY", "LOADING", "MASTERDOWN"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_starts(text, words[i]))
			return true;
	return false;
}

/* Errors which say that the whole command did not run; any other error may come after half of it. */
static bool
error_refuses(struct slice text)
{
	static const char *const words[] = {"NOSCRIPT", "BUSY", "NOAUTH", "NOPERM", "OOM", "MISCONF",
		"NOREPLICAS", "MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT", "TRYAGAIN", "WRONGTYPE",
		"WRONGPASS", "UNBLOCKED"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_starts(text, words[i]))
			return true;
	return false;
}

static bool
error_clustered(struct slice text)
{
	return text_starts(text, "MOVED") || text_starts(text, "ASK") || text_starts(text, "CLUSTERDOWN") ||
	       text_starts(text, "CROSSSLOT");
}

static void
decode_error(const redisReply *reply, const struct call *call, struct vote *vote)
{
	struct slice text = {reply->str, reply->str != NULL ? (size_t)reply->len : 0};
	if (call->op == CALL_HELLO && error_clustered(text)) {
		vote->outcome = OUTCOME_YES;
		vote->hello = HELLO_CLUSTER;
		return;
	}
	if (error_demotes(text))
		vote->outcome = OUTCOME_DEMOTED;
	else if (error_refuses(text) || call->op == CALL_HELLO)
		vote->outcome = OUTCOME_ERROR;
	vote->spoken = vote->outcome == OUTCOME_UNKNOWN;
	vote->text = text;
}

/* The set of masters that it stores: its own id, the set, the places, and how far the set has come. */
static bool
decode_masterset(const redisReply *reply, struct vote *vote)
{
	int64_t agreement;
	if (!element_incarnation(reply, 7, &vote->id) || vote->id == 0 ||
		!element_number(reply, 10, &agreement) || agreement > AGREEMENT_AGREED)
		return false;
	vote->masterset = element_text(reply, 8);
	vote->places = element_text(reply, 9);
	vote->agreement = (enum agreement)agreement;
	return (vote->masterset.n > 0) == (agreement > 0);
}

/* The next set that it stores, and the daemons that have not acknowledged the next set of this HELLO. */
static bool
decode_next(const redisReply *reply, struct vote *vote)
{
	int64_t step;
	if (!element_number(reply, 13, &step) || step > NEXT_ACCEPTED)
		return false;
	vote->next = (struct next_set){.set = element_text(reply, 11),
		.places = element_text(reply, 12),
		.step = (enum next_step)step};
	vote->unacknowledged = element_text(reply, 14);
	vote->lacks = element_text(reply, 17);
	vote->refused = element_text(reply, 19);
	return element_number(reply, 18, &vote->refused_count) && (vote->next.set.n > 0) == (step > 0);
}

static bool
decode_hello(const redisReply *reply, struct vote *vote)
{
	static const struct {
		const char *word;
		enum hello_result hello;
	} words[] = {
		{"good", HELLO_GOOD},
		{"replica", HELLO_REPLICA},
		{"clock", HELLO_CLOCK},
		{"cluster", HELLO_CLUSTER},
		{"evicting", HELLO_EVICTING},
		{"mismatch", HELLO_MISMATCH},
		{"otherset", HELLO_OTHERSET},
		{"cloned", HELLO_CLONED},
		{"left", HELLO_LEFT},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!element_is(reply, 2, words[i].word))
			continue;
		vote->hello = words[i].hello;
		if (vote->hello == HELLO_GOOD)
			vote->run = element_text(reply, 6);
		else
			vote->text = element_text(reply, 6);
		/* Two servers without a run id could not be told apart. */
		if (vote->hello == HELLO_GOOD && vote->run.n == 0)
			return false;
		vote->admitted = element_is(reply, 4, "1");
		if (!element_number(reply, 5, &vote->highest))
			return false;
		if (!element_number(reply, 15, &vote->longest_ms) ||
			!element_number(reply, 16, &vote->guarded_lease_ms))
			return false;
		if (vote->hello == HELLO_OTHERSET)
			return decode_masterset(reply, vote) && vote->masterset.n > 0;
		return vote->hello != HELLO_GOOD ||
		       (element_incarnation(reply, 3, &vote->incarnation) && decode_masterset(reply, vote) &&
			       decode_next(reply, vote));
	}
	return false;
}

/* The answer to HELLO or ADMIT, after {'ok', time}. */
static bool
decode_whole(const redisReply *reply, struct vote *vote)
{
	bool good = vote->op == CALL_HELLO ? reply->elements == 20 && decode_hello(reply, vote)
					   : reply->elements == 3 && element_number(reply, 2, &vote->highest);
	if (good)
		vote->outcome = OUTCOME_YES;
	return good;
}

/* A bare number is a yes; its meaning depends on the operation. */
static bool
decode_number(int64_t n, const struct call *call, struct vote *vote)
{
	int64_t block = call->block;
	switch (vote->op) {
	case CALL_ACQUIRE:
		if (n < 1 || block < 1 || n > NUMBER_MAX - block || call->kind == KIND_PERMITS)
			return false;
		vote->token_first = n;
		vote->token_last = n + block - 1;
		break;
	case CALL_RENEW:
	case CALL_ADOPT:
		vote->position = n;
		break;
	case CALL_LATCH:
		return false;
	default:
		if (n != 1)
			return false;
	}
	vote->outcome = OUTCOME_YES;
	return true;
}

/* Reads a number below limit, without leading zeros, at *i, and moves *i behind it. */
static bool
slot_read(struct slice slots, size_t *i, int64_t limit, int64_t *slot)
{
	size_t from = *i;
	for (*slot = 0; *i < slots.n && slots.p[*i] >= '0' && slots.p[*i] <= '9' && *slot < limit; ++*i)
		*slot = *slot * 10 + (slots.p[*i] - '0');
	return *i > from && *slot < limit && (slots.p[from] != '0' || *i == from + 1);
}

/* "3,7": as many permits as the call wants, in rising order. */
static bool
slots_fit(struct slice slots, const struct call *call)
{
	int64_t count = 0, last = -1, slot;
	for (size_t i = 0; slot_read(slots, &i, call->limit, &slot) && slot > last; i++) {
		last = slot;
		count++;
		if (i == slots.n)
			return count == call->permits;
		if (slots.p[i] != ',')
			return false;
	}
	return false;
}

static bool
decode_slots(const redisReply *answer, const struct call *call, struct vote *vote)
{
	if (call->kind != KIND_PERMITS || vote->op != CALL_ACQUIRE)
		return true;
	vote->slots = element_text(answer, 4);
	return slots_fit(vote->slots, call) && (call->slots.n == 0 || slice_equal(vote->slots, call->slots));
}

static bool
decode_yes(const redisReply *answer, const struct call *call, struct vote *vote)
{
	int64_t first, last;
	if (vote->op != CALL_ACQUIRE && vote->op != CALL_RENEW && vote->op != CALL_ADOPT)
		return false;
	if (!element_number(answer, 1, &first) || !element_number(answer, 2, &last) || first > last)
		return false;
	if (first == 0 && (last != 0 || vote->op == CALL_ACQUIRE))
		return false;
	if (!element_number(answer, 3, &vote->position) || !decode_slots(answer, call, vote))
		return false;
	vote->token_first = first;
	vote->token_last = last;
	vote->outcome = OUTCOME_YES;
	return true;
}

/* {'yes', id, set, left, ttl} */
static bool
decode_latch(const redisReply *answer, struct vote *vote)
{
	struct latch_state latch;
	if (!element_incarnation(answer, 1, &latch.id) || !element_number(answer, 2, &latch.set) ||
		!element_number(answer, 3, &latch.left) || !element_number(answer, 4, &latch.ttl_ms))
		return false;
	if (latch.id == 0 || latch.set < 1 || latch.left > latch.set)
		return false;
	vote->latch = latch;
	vote->outcome = OUTCOME_YES;
	return true;
}

/* {'no'} or {'no', id, ttl} */
static bool
decode_no_latch(const redisReply *answer, struct vote *vote)
{
	struct latch_state latch = {0};
	bool known = answer->elements > 1;
	if (known && (!element_incarnation(answer, 1, &latch.id) || latch.id == 0 ||
			     !element_number(answer, 2, &latch.ttl_ms)))
		return false;
	vote->latch = latch;
	vote->outcome = OUTCOME_NO;
	return true;
}

static bool
decode_busy(const redisReply *answer, const struct call *call, struct vote *vote)
{
	int64_t position, change_ms;
	if (!element_number(answer, 2, &position) || !element_number(answer, 3, &change_ms))
		return false;
	if (call->kind == KIND_PERMITS) {
		vote->slots = element_text(answer, 4);
		if (vote->slots.n > 0 && !slots_fit(vote->slots, call))
			return false;
	}
	vote->holder = element_text(answer, 1);
	vote->position = position;
	vote->change_ms = change_ms;
	vote->outcome = OUTCOME_BUSY;
	return true;
}

/* {'limit', n} */
static bool
decode_limit(const redisReply *answer, const struct call *call, struct vote *vote)
{
	if (!element_number(answer, 1, &vote->limit) || vote->limit < 1 || vote->limit == call->limit)
		return false;
	vote->outcome = OUTCOME_LIMIT;
	return true;
}

/* The answer for one name. */
static bool
decode_name(const redisReply *answer, const struct call *call, struct vote *vote)
{
	bool timed = vote->op == CALL_ACQUIRE || vote->op == CALL_RECLAIM || vote->op == CALL_ADOPT ||
		     vote->op == CALL_LATCH;
	int64_t n;
	if (reply_number(answer, &n))
		return decode_number(n, call, vote);
	if (answer == NULL || answer->type != REDIS_REPLY_ARRAY)
		return false;
	if (element_is(answer, 0, "yes"))
		return vote->op == CALL_LATCH ? decode_latch(answer, vote) : decode_yes(answer, call, vote);
	if (element_is(answer, 0, "busy") && vote->op == CALL_ACQUIRE)
		return decode_busy(answer, call, vote);
	if (element_is(answer, 0, "limit") && vote->op == CALL_ACQUIRE && call->kind == KIND_PERMITS)
		return decode_limit(answer, call, vote);
	if (element_is(answer, 0, "no") && vote->op == CALL_LATCH)
		return decode_no_latch(answer, vote);
	if (element_is(answer, 0, "no") && vote->op != CALL_ACQUIRE) {
		vote->outcome = OUTCOME_NO;
	} else if (element_is(answer, 0, "late") && timed) {
		vote->outcome = OUTCOME_LATE;
	} else if (element_is(answer, 0, "forgotten")) {
		vote->outcome = OUTCOME_FORGOTTEN;
	} else if (element_is(answer, 0, "wrongkind")) {
		vote->outcome = OUTCOME_WRONGKIND;
	} else if (element_is(answer, 0, "error")) {
		vote->text = element_text(answer, 1);
		vote->outcome = error_demotes(vote->text) ? OUTCOME_DEMOTED : OUTCOME_ERROR;
	} else {
		return false;
	}
	return true;
}

static bool
op_is_whole(enum call_op op)
{
	return op == CALL_HELLO || op == CALL_ADMIT;
}

/* The tokens of one of several names; first: the token of the first name; skipped: the tokens of the names
 * before this one. */
static bool
decode_row(int64_t first, int64_t skipped, const struct call *call, struct vote *vote)
{
	return first >= 1 && first <= NUMBER_MAX - skipped && decode_number(first + skipped, call, vote);
}

/* Cuts the digits up to a blank or the end off the text. */
static bool
number_cut(struct slice *text, int64_t *n)
{
	return text_number(slice_word(text), n);
}

/* What a reply tells once for all its calls. */
struct head {
	int64_t time_us;
	int64_t highest; /* token; 0: not given */
	int64_t first;   /* of a text reply: the first token */
};

/* '<s> <us> <token before the first>': all leases are acquired. */
static bool
decode_text(const redisReply *reply, const struct call *call, struct head *head)
{
	int64_t s, us, token;
	if (reply->str == NULL || script_of(call) != SCRIPT_ACQUIRE || call->fenced)
		return false;
	struct slice text = {reply->str, (size_t)reply->len};
	if (!number_cut(&text, &s) || !number_cut(&text, &us) || !number_cut(&text, &token) || text.n > 0)
		return false;
	if (us >= 1000000 || s > (NUMBER_MAX - us) / 1000000 || token >= NUMBER_MAX)
		return false;
	*head = (struct head){.time_us = s * 1000000 + us, .first = token + 1};
	return true;
}

/* The time at which an array was made; after a blank the same text may have the highest token. */
static bool
decode_time(const redisReply *reply, struct head *head)
{
	struct slice text = element_text(reply, 1);
	if (text.n == 0)
		return element_number(reply, 1, &head->time_us);
	return number_cut(&text, &head->time_us) && (text.n == 0 || text_number(text, &head->highest));
}

static bool
decode_head(const redisReply *reply, const struct call *call, struct head *head)
{
	*head = (struct head){0};
	return reply->type == REDIS_REPLY_STRING
		       ? decode_text(reply, call, head)
		       : reply->type == REDIS_REPLY_ARRAY && decode_time(reply, head);
}

/* {'all', time} or, to ACQUIRE, {'all', time, first token}: of all, or of each where each has a counter. */
static bool
decode_all(const redisReply *reply, int64_t skipped, const struct call *call, struct vote *vote)
{
	int64_t first;
	switch (script_of(call)) {
	case SCRIPT_ACQUIRE:
		return reply->elements == 3 && element_number(reply, 2, &first) &&
		       decode_row(first, call->fenced ? 0 : skipped, call, vote);
	case SCRIPT_RENEW:
	case SCRIPT_GROUP_RENEW:
		return reply->elements == 2 && decode_number(0, call, vote);
	case SCRIPT_RELEASE:
		return reply->elements == 2 && decode_number(1, call, vote);
	default:
		return false;
	}
}

/* 1: all is released, and no call asked for the time. */
static bool
decode_short(const redisReply *reply, const struct call *call, struct vote *vote)
{
	return reply->type == REDIS_REPLY_INTEGER && script_of(call) == SCRIPT_RELEASE &&
	       call->deadline_us == 0 && decode_number(reply->integer, call, vote);
}

/* Decodes the vote of one call. False: its script cannot have given this reply. */
static bool
decode_one(const redisReply *reply, const struct call *calls, size_t i, size_t n, int64_t skipped,
	struct vote *vote)
{
	if (element_is(reply, 0, "forgotten") && reply->elements == 2 && vote->op != CALL_HELLO) {
		vote->outcome = OUTCOME_FORGOTTEN;
		return true;
	}
	if (element_is(reply, 0, "error") && reply->elements == 3 && op_is_whole(vote->op)) {
		vote->text = element_text(reply, 2);
		vote->outcome = error_demotes(vote->text) ? OUTCOME_DEMOTED : OUTCOME_ERROR;
		return true;
	}
	if (element_is(reply, 0, "all"))
		return decode_all(reply, skipped, &calls[i], vote);
	if (!element_is(reply, 0, "ok"))
		return false;
	if (op_is_whole(vote->op))
		return decode_whole(reply, vote);
	return reply->elements == n + 2 && decode_name(reply->element[i + 2], &calls[i], vote);
}

void
call_decode(const redisReply *reply, const struct call *calls, size_t n, struct vote *votes)
{
	bool answered = reply != NULL && reply->type != REDIS_REPLY_ERROR;
	struct head head = {0};
	bool whole = answered && decode_head(reply, &calls[0], &head);
	int64_t skipped = 0; /* the blocks of tokens before this one, if every name got its block */
	for (size_t i = 0; i < n; i++) {
		struct vote *vote = &votes[i];
		call_fail(&calls[i], OUTCOME_UNKNOWN, NULL, vote);
		if (!answered) {
			if (reply != NULL)
				decode_error(reply, &calls[i], vote);
			continue;
		}
		vote->highest = head.highest;
		bool good = head.first > 0 ? decode_row(head.first, skipped, &calls[i], vote)
					   : decode_short(reply, &calls[i], vote) ||
						     (whole && decode_one(reply, calls, i, n, skipped, vote));
		if (!good) {
			call_fail(&calls[i], OUTCOME_UNKNOWN,
				"the answer is none that our scripts give: what is there is no Redis or "
				"Valkey, "
				"or something between changes what is sent",
				vote);
			vote->spoken = true;
		}
		vote->time_us = good || head.first == 0 ? head.time_us : 0;
		skipped += call_about_lease(calls[i].op) && calls[i].block > 0 ? calls[i].block : 0;
	}
}
