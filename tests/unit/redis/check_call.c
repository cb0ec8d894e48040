/*
 * Tests of daemon/call: the core's calls as Redis commands, and Redis' replies as votes. What the scripts do
 * with the commands is in check_script.
 */
#include "daemon/redis/call.h"

#include "daemon/redis/vote.h"
#include "tests/sim/world/answer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAEMON "0123456789abcdef0123456789abcdef"
#define PREVIOUS                                                                                             \
	"f"                                                                                                  \
	"123456789abcdef0123456789abcdef:3 " DAEMON ":2"

static const struct call_settings settings = {
	.namespace_ = "hf", .daemon_id = DAEMON, .margin_ms = 1000, .layout = "l1", .about = "app-07 0.1.0"};

/* The arguments behind EVALSHA and the SHA1, joined by blanks. */
static char *
encoded_by(const struct call_settings *by, const struct call *calls, size_t n)
{
	static char text[4096];
	struct call_command command;
	size_t at = 0;
	call_command_init(&command);
	ck_assert(call_encode(&command, by, calls, n));
	ck_assert_int_eq((int)command.argvlen[0], 7);
	ck_assert_mem_eq(command.argv[0], "EVALSHA", 7);
	ck_assert_mem_eq(command.argv[1], scripts[script_of(&calls[0])].sha1, 40);
	for (int i = 2; i < command.argc; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i > 2 ? " " : "",
			(int)command.argvlen[i], command.argv[i]);
	call_command_done(&command);
	return text;
}

static char *
encoded(const struct call *calls, size_t n)
{
	return encoded_by(&settings, calls, n);
}

static struct vote
decoded(const struct call *call, redisReply *reply)
{
	struct vote vote;
	call_decode(reply, call, 1, &vote);
	/* Texts point into the reply; tests that look at them keep it. */
	if (reply != NULL)
		freeReplyObject(reply);
	return vote;
}

/* An array of texts; NULL ends them. */
static redisReply *
texts(const char *first, ...)
{
	const char *all[24];
	size_t n = 0;
	va_list list;
	va_start(list, first);
	for (const char *text = first; text != NULL; text = va_arg(list, const char *)) {
		ck_assert_uint_lt(n, sizeof(all) / sizeof(*all));
		all[n++] = text;
	}
	va_end(list);
	redisReply *reply = answer_array(n);
	for (size_t i = 0; i < n; i++)
		answer_set(reply, i, answer_text(slice_of(all[i])));
	return reply;
}

/* {'ok', time, answer} */
static redisReply *
ok(redisReply *answer)
{
	redisReply *reply = answer_array(3);
	answer_set(reply, 0, answer_text(SLICE("ok")));
	answer_set(reply, 1, answer_text(SLICE("1760000000000000")));
	answer_set(reply, 2, answer);
	return reply;
}

static struct call
call_of(enum call_op op)
{
	return (struct call){
		.op = op, .attempt = 7, .incarnation = 0xab, .mark = 42, .name = SLICE("deploy")};
}

/* Redis keeps a value of up to 44 bytes in one piece with its object, and works less for it. */
START_TEST(an_owner_is_short_for_2_to_33_attempts)
{
	const uint64_t attempts[] = {
		0, 7, 31, 32, UINT64_C(1) << ATTEMPT_RANDOM_BITS, (UINT64_C(1) << 55) - 1, UINT64_MAX};
	char owner[CALL_OWNER_SIZE];

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		size_t n = call_owner(DAEMON, attempts[i], owner);
		ck_assert_uint_eq(n, strlen(owner));
		ck_assert(n <= 44 || attempts[i] == UINT64_MAX);
		ck_assert(memcmp(owner, DAEMON ":", 33) == 0);
		ck_assert_uint_eq(strtoull(owner + 33, NULL, 32), attempts[i]);
	}
}
END_TEST

START_TEST(acquires_of_two_names_share_a_command)
{
	struct call calls[2] = {call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE)};
	calls[0].ttl_ms = 11000;
	calls[0].deadline_us = 1760000000000000;
	calls[0].token = 5;
	calls[0].block = 10;
	calls[0].queue_ms = 3000;
	calls[1].name = SLICE("b");
	calls[1].attempt = 8;
	calls[1].deadline_us = 1750000000000000;
	calls[1].mark = 43;
	/* Each keys and arguments of its own, both the earlier deadline, the higher proposal and mark. */
	ck_assert_str_eq(encoded(calls, 2),
		"5 hf:node hf:{deploy} hf:{b} hf:{deploy}:q hf:{b}:q "
		"00000000000000ab00000000 0000000000000043 1750000000000000 5 " DAEMON ":7 " DAEMON
		":8 11000 10 3000 1 0 0 0");
}
END_TEST

START_TEST(fenced_names_bring_their_counters_and_proposals)
{
	struct call calls[2] = {call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE)};
	calls[0].fenced = calls[1].fenced = true;
	calls[0].token = 5;
	calls[1].name = SLICE("b");
	calls[1].token = 6;
	ck_assert_str_eq(encoded(calls, 2),
		"7 hf:node hf:{deploy} hf:{b} hf:{deploy}:q hf:{b}:q hf:{deploy}:f hf:{b}:f "
		"00000000000000ab00000000 0000000000000042 0  " DAEMON ":7 " DAEMON ":7 0 0 0 5");
	/* The proposals are terms: those of the first name, their number, those of the second. */
	calls[0].block = calls[1].block = 10;
	ck_assert_str_eq(encoded(calls, 2),
		"7 hf:node hf:{deploy} hf:{b} hf:{deploy}:q hf:{b}:q hf:{deploy}:f hf:{b}:f "
		"00000000000000ab00000000 0000000000000042 0  " DAEMON ":7 " DAEMON ":7 0 10 0 5 1 0 10 0 6");
	calls[0].block = 0;
	calls[0].op = CALL_RENEW;
	ck_assert_str_eq(encoded(calls, 1),
		"4 hf:node hf:{deploy} hf:{deploy}:q hf:{deploy}:f 00000000000000ab00000000 0000000000000042 "
		" " DAEMON ":7 0 0 5");
	calls[0].op = CALL_RELEASE;
	ck_assert_str_eq(encoded(calls, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 " DAEMON ":7");
}
END_TEST

static struct call
permits_of(enum call_op op, const char *slots)
{
	struct call call = call_of(op);
	call.kind = KIND_PERMITS;
	call.limit = 10;
	call.permits = 2;
	call.hint = 24;
	call.slots = slice_of(slots);
	return call;
}

START_TEST(shares_have_scripts_of_their_own_and_say_their_form)
{
	struct call calls[2] = {call_of(CALL_ACQUIRE), permits_of(CALL_ACQUIRE, "")};
	calls[0].kind = KIND_SHARED;
	calls[0].token = 5;
	calls[1].name = SLICE("b");
	calls[1].token = 6;
	ck_assert_int_eq(script_of(&calls[0]), SCRIPT_GROUP_ACQUIRE);
	ck_assert_str_eq(encoded(calls, 2),
		"5 hf:node hf:{deploy} hf:{b} hf:{deploy}:q hf:{b}:q "
		"00000000000000ab00000000 0000000000000042 " DAEMON " hf:inbox: 0 6 " DAEMON ":7 " DAEMON
		":7 shared permits 10 2 4  0 0 0");
	calls[0].fenced = calls[1].fenced = true;
	ck_assert_str_eq(encoded(calls, 2),
		"7 hf:node hf:{deploy} hf:{b} hf:{deploy}:q hf:{b}:q hf:{deploy}:f hf:{b}:f "
		"00000000000000ab00000000 0000000000000042 " DAEMON " hf:inbox: 0  " DAEMON ":7 " DAEMON
		":7 shared permits 10 2 4  0 0 0 5");
	struct call call = permits_of(CALL_RENEW, "3,7");
	call.token = 6;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 "
		"0000000000000042 hf:inbox: 6 " DAEMON ":7 permits 10 2 4 3,7 0 0");
	call.fenced = true;
	ck_assert_str_eq(encoded(&call, 1),
		"4 hf:node hf:{deploy} hf:{deploy}:q hf:{deploy}:f 00000000000000ab00000000 0000000000000042 "
		"hf:inbox:  " DAEMON ":7 permits 10 2 4 3,7 0 0 6");
	call = permits_of(CALL_RECLAIM, "3,7");
	call.newest = 5;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:reclaimed hf:{deploy} 00000000000000ab00000000 0000000000000042 " DAEMON
		":7 permits 10 2 4 3,7 0 0 0 5 ");
	call.op = CALL_ADOPT;
	call.previous = SLICE(PREVIOUS);
	call.deadline_us = 9;
	call.token = 6;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 hf:inbox: "
		"6 " DAEMON ":7 permits 10 2 4 3,7 " PREVIOUS " 9 0 0");
	call.fenced = true;
	ck_assert_str_eq(encoded(&call, 1),
		"4 hf:node hf:{deploy} hf:{deploy}:q hf:{deploy}:f 00000000000000ab00000000 "
		"0000000000000042 hf:inbox:  " DAEMON ":7 permits 10 2 4 3,7 " PREVIOUS " 9 0 0 6");
	call = permits_of(CALL_RELEASE, "");
	ck_assert_str_eq(encoded(&call, 1), "3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 "
					    "0000000000000042 hf:inbox: " DAEMON ":7 permits 10 2 4 ");
	call.queue_ms = 3000;
	ck_assert_str_eq(encoded(&call, 1), "3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 "
					    "0000000000000042 hf:inbox: " DAEMON ":7 permits 10 2 4  3000");
	/* A place in the queue is left in one way, whatever was waited for. */
	call = permits_of(CALL_LEAVE, "");
	ck_assert_int_eq(script_of(&call), SCRIPT_LEAVE);
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 " DAEMON
		" hf:inbox: " DAEMON ":7");
}
END_TEST

START_TEST(a_hello_carries_the_limits_of_this_daemon)
{
	struct call call = {.op = CALL_HELLO,
		.incarnation = UINT64_MAX,
		.token = 9,
		.doubted = 0xbb,
		.id = 0xcc,
		.masterset = SLICE("set"),
		.places = SLICE("places"),
		.agreement = AGREEMENT_ACCEPTED,
		.next = {.set = SLICE("next"), .places = SLICE("nowhere"), .step = NEXT_OFFERED, .tag = 10}};
	call.mark = INT64_C(1) << 52;
	call.nonces = SLICE("n2 n1 ");
	call.wanted_lease_ms = 10000;
	call.guarded_lease_ms = 20000;
	ck_assert_str_eq(encoded(&call, 1),
		"2 hf:node hf:reclaimed ffffffffffffffff00000000 4503599627370496 " DAEMON
		" 9 10000 1000 l1 17666 0 00000000000000bb n2 n1  00000000000000cc set places 2 next nowhere "
		"1 0000000a 1 app-07 0.1.0 20000");
}
END_TEST

START_TEST(every_operation_has_its_keys)
{
	struct call call = call_of(CALL_RENEW);
	call.ttl_ms = 1;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 0 " DAEMON
		":7 1 0");
	call.op = CALL_RECLAIM;
	call.newest = 5;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:reclaimed hf:{deploy} 00000000000000ab00000000 0000000000000042 " DAEMON
		":7 1 0 0 5 ");
	call.previous = SLICE(PREVIOUS);
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:reclaimed hf:{deploy} 00000000000000ab00000000 0000000000000042 " DAEMON
		":7 1 0 0 5 " PREVIOUS);
	call.op = CALL_ADOPT;
	call.deadline_us = 9;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 0 " DAEMON
		":7 " PREVIOUS " 9 1 0");
	call.fenced = true;
	ck_assert_str_eq(encoded(&call, 1),
		"4 hf:node hf:{deploy} hf:{deploy}:q hf:{deploy}:f 00000000000000ab00000000 "
		"0000000000000042  " DAEMON ":7 " PREVIOUS " 9 1 0 0");
	call.fenced = false;
	call.interop = INTEROP_REDISSON;
	ck_assert_str_eq(encoded(&call, 1),
		"2 hf:node deploy 00000000000000ab00000000 0000000000000042 0 " DAEMON ":7 1 0 " PREVIOUS
		" 9");
	call = call_of(CALL_RELEASE);
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 " DAEMON ":7");
	call.queue_ms = 3000;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 " DAEMON ":7 3000");
	call.queue_ms = 0;
	call.deadline_us = 9; /* the answer has to tell the time */
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 " DAEMON ":7 0");
	call.deadline_us = 0;
	call.queue_ms = 3000;
	call.op = CALL_LEAVE;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 " DAEMON
		" hf:inbox: " DAEMON ":7");
	call.op = CALL_ENTER;
	call.kind = KIND_SHARED;
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node hf:{deploy} hf:{deploy}:q 00000000000000ab00000000 0000000000000042 " DAEMON
		" hf:inbox: 3000 " DAEMON ":7");
	call = (struct call){.op = CALL_ADMIT, .incarnation = 1, .set = 7, .token = 12};
	call.guarded_lease_ms = 20000;
	ck_assert_str_eq(encoded(&call, 1),
		"2 hf:node hf:reclaimed 000000000000000100000007 0000000000000000 12 20000");
}
END_TEST

START_TEST(a_latch_has_a_key_of_its_own_and_each_its_arguments)
{
	struct call calls[2] = {call_of(CALL_LATCH), call_of(CALL_LATCH)};
	calls[0].latch_op = LATCH_OP_SET;
	calls[0].latch = 0xef;
	calls[0].steps = 3;
	calls[0].ttl_ms = 60000;
	calls[0].deadline_us = 1760000000000000;
	calls[1].name = SLICE("50%");
	calls[1].key = "lock:%";
	calls[1].latch_op = LATCH_OP_DOWN;
	calls[1].session = 9;
	calls[1].tag = SLICE("t 1");
	calls[1].queue_ms = 5;
	ck_assert_str_eq(encoded(calls, 2),
		"3 hf:node hf:{deploy}:l hf:{50%25}:l 00000000000000ab00000000 0000000000000042 " DAEMON
		" hf:inbox: set down "
		"00000000000000ef 0000000000000000 1760000000000000 0 3 0 60000 0 0 5 0 9:t 1");
}
END_TEST

START_TEST(a_template_makes_the_lease_key_and_only_that)
{
	struct call call = call_of(CALL_RENEW);
	call.key = "lock:%:x";
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node lock:deploy:x hf:{deploy}:q 00000000000000ab00000000 0000000000000042 0 " DAEMON
		":7 0 0");
}
END_TEST

START_TEST(a_name_cannot_leave_its_braces)
{
	struct call call = call_of(CALL_RENEW);
	call.name = SLICE("}a%{b}");
	ck_assert_str_eq(encoded(&call, 1), "3 hf:node hf:{%7Da%25{b%7D} hf:{%7Da%25{b%7D}:q "
					    "00000000000000ab00000000 0000000000000042 0 " DAEMON ":7 0 0");
	call.key = "%";
	ck_assert_str_eq(encoded(&call, 1),
		"3 hf:node }a%{b} hf:{%7Da%25{b%7D}:q 00000000000000ab00000000 0000000000000042 0 " DAEMON
		":7 0 0");
}
END_TEST

START_TEST(names_are_bytes)
{
	struct call call = call_of(CALL_LEAVE);
	struct call_command command;
	call.name = (struct slice){"a\0b\r\n", 5};
	call_command_init(&command);
	ck_assert(call_encode(&command, &settings, &call, 1));
	ck_assert_int_eq((int)command.argvlen[4], 10);
	ck_assert_mem_eq(command.argv[4], "hf:{a\0b\r\n}", 10);
	ck_assert_int_eq((int)command.argvlen[5], 12);
	ck_assert_mem_eq(command.argv[5], "hf:{a\0b\r\n}:q", 12);
	call_command_done(&command);
}
END_TEST

START_TEST(the_most_and_longest_calls_fit)
{
	static char name[512];
	struct call calls[CALL_GROUP_MAX];
	struct call_command command;
	memset(name, '}', sizeof(name));
	for (size_t i = 0; i < CALL_GROUP_MAX; i++)
		calls[i] = (struct call){.op = CALL_ACQUIRE,
			.attempt = UINT64_MAX,
			.name = {name, sizeof(name)},
			.ttl_ms = INT64_MIN,
			.deadline_us = INT64_MIN,
			.token = INT64_MIN,
			.block = INT64_MIN,
			.fenced = true,
			.queue_ms = INT64_MIN};
	call_command_init(&command);
	for (int i = 0; i < 3; i++)
		ck_assert(call_encode(&command, &settings, calls, CALL_GROUP_MAX));
	ck_assert_int_eq(command.argc, 3 + 1 + 3 * CALL_GROUP_MAX + 3 + CALL_GROUP_MAX + 4);
	for (size_t i = 0; i < CALL_GROUP_MAX; i++)
		calls[i].ttl_ms += (int64_t)i;
	ck_assert(call_encode(&command, &settings, calls, CALL_GROUP_MAX));
	ck_assert_int_eq(command.argc, 3 + 1 + 3 * CALL_GROUP_MAX + 3 + 6 * CALL_GROUP_MAX - 1);
	for (size_t i = 0; i < CALL_GROUP_MAX; i++)
		calls[i].op = CALL_RECLAIM;
	ck_assert(call_encode(&command, &settings, calls, CALL_GROUP_MAX));
	ck_assert_int_eq(command.argc, 3 + 2 + CALL_GROUP_MAX + 1 + 6 * CALL_GROUP_MAX);
	for (size_t i = 0; i < CALL_GROUP_MAX; i++) {
		calls[i].op = CALL_ADOPT;
		calls[i].kind = KIND_SHARED;
		calls[i].previous = SLICE(PREVIOUS);
	}
	ck_assert(call_encode(&command, &settings, calls, CALL_GROUP_MAX));
	ck_assert_int_eq(command.argc, 3 + 1 + 3 * CALL_GROUP_MAX + 3 + 8 * CALL_GROUP_MAX - 1);
	static char slots[50000];
	memset(slots, ',', sizeof(slots));
	for (size_t i = 0; i < CALL_GROUP_MAX; i++) {
		calls[i].op = CALL_ACQUIRE;
		calls[i].kind = KIND_PERMITS;
		calls[i].limit = calls[i].permits = calls[i].hint = INT64_MAX;
		calls[i].slots = (struct slice){slots, sizeof(slots)};
	}
	ck_assert(call_encode(&command, &settings, calls, CALL_GROUP_MAX));
	ck_assert_int_eq(command.argc, 3 + 1 + 3 * CALL_GROUP_MAX + 5 + 7 * CALL_GROUP_MAX - 1);
	call_command_done(&command);
}
END_TEST

START_TEST(only_calls_of_one_kind_and_link_and_memory_share_a_command)
{
	struct call a = call_of(CALL_RENEW), b = a;
	ck_assert(call_groups(&a, &b));
	b.link = 1;
	ck_assert(!call_groups(&a, &b));
	b = a;
	b.incarnation++;
	ck_assert(!call_groups(&a, &b));
	b = a;
	b.fenced = true;
	ck_assert(!call_groups(&a, &b));
	b = a;
	b.op = CALL_RELEASE;
	ck_assert(!call_groups(&a, &b));
	b = a;
	b.kind = KIND_SHARED;
	ck_assert(!call_groups(&a, &b));
	a.kind = KIND_PERMITS;
	ck_assert(call_groups(&a, &b));
	a.op = b.op = CALL_LEAVE;
	a.kind = KIND_EXCLUSIVE;
	ck_assert(call_groups(&a, &b));
	a.op = CALL_RELEASE;
	b = a;
	ck_assert(call_groups(&a, &b));
	a.queue_ms = 3000;
	ck_assert(!call_groups(&a, &b));
	a.queue_ms = 0;
	a.deadline_us = 9;
	ck_assert(!call_groups(&a, &b));
	b.deadline_us = 8;
	ck_assert(call_groups(&a, &b));
	a.op = b.op = CALL_HELLO;
	ck_assert(!call_groups(&a, &b));
}
END_TEST

START_TEST(a_grant_brings_its_tokens_and_the_length_of_the_queue)
{
	struct call call = call_of(CALL_ACQUIRE);
	struct vote v = decoded(&call, ok(texts("yes", "11", "20", "3", NULL)));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.op, CALL_ACQUIRE);
	ck_assert_uint_eq(v.attempt, 7);
	ck_assert(slice_equal(v.name, call.name));
	ck_assert_int_eq(v.time_us, 1760000000000000);
	ck_assert_int_eq(v.token_first, 11);
	ck_assert_int_eq(v.token_last, 20);
	ck_assert_int_eq(v.position, 3);
}
END_TEST

START_TEST(a_number_is_a_yes_and_says_what_is_not_a_matter_of_course)
{
	static const struct {
		enum call_op op;
		int64_t n;
		enum outcome outcome;
		int64_t first, last, position;
	} rows[] = {
		{CALL_ACQUIRE, 11, OUTCOME_YES, 11, 20, 0},
		{CALL_ACQUIRE, 0, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_ACQUIRE, -1, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_ACQUIRE, INT64_C(1) << 53, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_ACQUIRE, INT64_MAX, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_RENEW, 0, OUTCOME_YES, 0, 0, 0},
		{CALL_RENEW, 3, OUTCOME_YES, 0, 0, 3},
		{CALL_RENEW, -3, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_ADOPT, 0, OUTCOME_YES, 0, 0, 0},
		{CALL_ADOPT, 3, OUTCOME_YES, 0, 0, 3},
		{CALL_RECLAIM, 1, OUTCOME_YES, 0, 0, 0},
		{CALL_RECLAIM, 2, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_RELEASE, 1, OUTCOME_YES, 0, 0, 0},
		{CALL_RELEASE, 0, OUTCOME_UNKNOWN, 0, 0, 0},
		{CALL_LEAVE, 1, OUTCOME_YES, 0, 0, 0},
		{CALL_ENTER, 1, OUTCOME_YES, 0, 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call call = call_of(rows[i].op);
		call.block = 10;
		struct vote v = decoded(&call, ok(answer_int(rows[i].n)));
		ck_assert_msg(v.outcome == rows[i].outcome, "row %zu: outcome %d", i, v.outcome);
		ck_assert_int_eq(v.token_first, rows[i].first);
		ck_assert_int_eq(v.token_last, rows[i].last);
		ck_assert_int_eq(v.position, rows[i].position);
	}
	/* Who asked for no tokens got none. */
	struct call call = call_of(CALL_ACQUIRE);
	ck_assert_int_eq(decoded(&call, ok(answer_int(11))).outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(one_answer_may_be_for_all_names)
{
	struct call calls[3] = {call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE)};
	struct vote votes[3];
	redisReply *reply = answer_array(3);
	answer_set(reply, 0, answer_text(SLICE("all")));
	answer_set(reply, 1, answer_int(5));
	answer_set(reply, 2, answer_int(100));
	calls[0].block = 10;
	calls[1].block = 1;
	calls[2].block = 5;
	call_decode(reply, calls, 3, votes);
	for (int i = 0; i < 3; i++) {
		static const int64_t first[] = {100, 110, 111}, last[] = {109, 110, 115};
		ck_assert_int_eq(votes[i].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[i].time_us, 5);
		ck_assert_int_eq(votes[i].token_first, first[i]);
		ck_assert_int_eq(votes[i].token_last, last[i]);
	}
	/* Tokens end at 2^53, for each name. */
	reply->element[2]->integer = (INT64_C(1) << 53) - 10;
	call_decode(reply, calls, 3, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(votes[2].outcome, OUTCOME_UNKNOWN);
	reply->element[2]->integer = 0;
	call_decode(reply, calls, 3, votes);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(votes[i].outcome, OUTCOME_UNKNOWN);
		calls[i].op = CALL_RELEASE;
	}
	call_decode(reply, calls, 3, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
	freeReplyObject(reply);
}
END_TEST

START_TEST(one_answer_may_give_the_same_token_to_each_fenced_name)
{
	struct call calls[2] = {call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE)};
	struct vote votes[2];
	redisReply *reply = answer_array(3);
	answer_set(reply, 0, answer_text(SLICE("all")));
	answer_set(reply, 1, answer_int(5));
	answer_set(reply, 2, answer_int(100));
	calls[0].fenced = calls[1].fenced = true;
	calls[0].block = 10;
	calls[1].block = 1;
	call_decode(reply, calls, 2, votes);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(votes[i].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[i].time_us, 5);
		ck_assert_int_eq(votes[i].token_first, 100);
		ck_assert_int_eq(votes[i].token_last, 100 + calls[i].block - 1);
	}
	freeReplyObject(reply);
	/* No script counts on from one name to the next where each has a counter. */
	reply = answer_text(SLICE("1760000000 5 99"));
	call_decode(reply, calls, 2, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
	freeReplyObject(reply);
}
END_TEST

START_TEST(a_text_may_be_the_answer_for_all_names)
{
	static const struct {
		const char *text;
		int64_t first; /* of the second call; 0: no script says this */
		int64_t time_us;
	} rows[] = {
		{"1760000000 5 99", 110, 1760000000000005},
		{"0 0 0", 11, 0},
		{"9007199254 740992 99", 110, INT64_C(1) << 53},
		{"9007199254 740993 99", 0, 0},
		{"9007199254740992 0 99", 0, 0},
		{"1 1000000 99", 0, 0},
		{"1 5 9007199254740980", 9007199254740991, 1000005},
		{"1 5 9007199254740981", 0, 0}, /* beyond 2^53 */
		{"1 5 9007199254740993", 0, 0},
		{"1 5", 0, 0},
		{"1 5 ", 0, 0},
		{"1  5", 0, 0},
		{" 1 5 9", 0, 0},
		{"1 5 9 9", 0, 0},
		{"1 5 -9", 0, 0},
		{"1 5 9x", 0, 0},
		{"", 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call calls[2] = {call_of(CALL_ACQUIRE), call_of(CALL_ACQUIRE)};
		struct vote votes[2];
		redisReply *reply = answer_text(slice_of(rows[i].text));
		calls[0].block = 10;
		calls[1].block = 1;
		call_decode(reply, calls, 2, votes);
		ck_assert_msg(votes[1].outcome == (rows[i].first > 0 ? OUTCOME_YES : OUTCOME_UNKNOWN),
			"%s: %d", rows[i].text, votes[1].outcome);
		ck_assert_int_eq(votes[1].token_first, rows[i].first);
		ck_assert_int_eq(votes[1].token_last, rows[i].first);
		ck_assert_int_eq(votes[1].time_us, rows[i].time_us);
		/* Nor does any other script. */
		calls[1].op = CALL_RENEW;
		call_decode(reply, &calls[1], 1, votes);
		ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
		calls[1].op = CALL_ACQUIRE;
		calls[1].kind = KIND_SHARED;
		call_decode(reply, &calls[1], 1, votes);
		ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
		freeReplyObject(reply);
	}
}
END_TEST

START_TEST(a_release_of_all_names_tells_the_time_only_where_it_has_to)
{
	struct call calls[2] = {call_of(CALL_RELEASE), call_of(CALL_RELEASE)};
	struct vote votes[2];
	redisReply one = {.type = REDIS_REPLY_INTEGER, .integer = 1};

	call_decode(&one, calls, 2, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].time_us, 0);
	one.integer = 0;
	call_decode(&one, calls, 1, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
	one.integer = 1;
	calls[0].deadline_us = 9;
	call_decode(&one, calls, 1, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
	calls[0] = call_of(CALL_LEAVE);
	call_decode(&one, calls, 1, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(what_is_done_for_all_names_needs_no_number)
{
	static const struct {
		enum call_op op;
		enum outcome outcome;
	} rows[] = {
		{CALL_RELEASE, OUTCOME_YES},
		{CALL_RENEW, OUTCOME_YES},
		{CALL_ACQUIRE, OUTCOME_UNKNOWN},
		{CALL_RECLAIM, OUTCOME_UNKNOWN},
		{CALL_ADOPT, OUTCOME_UNKNOWN},
		{CALL_LEAVE, OUTCOME_UNKNOWN},
		{CALL_HELLO, OUTCOME_UNKNOWN},
		{CALL_ADMIT, OUTCOME_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call calls[2] = {call_of(rows[i].op), call_of(rows[i].op)};
		struct vote votes[2];
		redisReply *reply = texts("all", "5", NULL);
		calls[0].block = calls[1].block = rows[i].op == CALL_ACQUIRE ? 10 : 0;
		call_decode(reply, calls, 2, votes);
		ck_assert_msg(votes[0].outcome == rows[i].outcome, "op %d", rows[i].op);
		ck_assert_msg(votes[1].outcome == rows[i].outcome, "op %d", rows[i].op);
		ck_assert_int_eq(votes[1].position, 0);
		ck_assert_int_eq(votes[1].token_first, 0);
		freeReplyObject(reply);
	}
}
END_TEST

/* Of a call that wants 2 of 10. */
static enum outcome
outcome_of(enum call_op op, const char *named, redisReply *answer)
{
	struct call call = permits_of(op, named);
	call.block = 10;
	return decoded(&call, ok(answer)).outcome;
}

START_TEST(permits_are_said_by_their_numbers)
{
	static const char *const bad[] = {"", "3", "7,3", "3,3", "3,10", "3,7,8", "3,7,", ",3,7", "3, 7",
		"03,7", "3,-7", "3;7", "3,7x", "3,99999999999999999999", "a"};
	struct call call = permits_of(CALL_ACQUIRE, "");
	struct vote v;
	redisReply *reply = ok(texts("yes", "11", "20", "3", "3,7", NULL));
	call_decode(reply, &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.token_last, 20);
	ck_assert(slice_equal(v.slots, SLICE("3,7")));
	freeReplyObject(reply);
	reply = ok(texts("busy", "x:1", "2", "300", "0,9", NULL));
	call_decode(reply, &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert(slice_equal(v.slots, SLICE("0,9")));
	freeReplyObject(reply);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(outcome_of(CALL_ACQUIRE, "", texts("yes", "11", "20", "3", bad[i], NULL)) ==
				      OUTCOME_UNKNOWN,
			"%s", bad[i]);
		ck_assert_msg(outcome_of(CALL_ACQUIRE, "", texts("busy", "", "0", "3", bad[i], NULL)) ==
				      (i == 0 ? OUTCOME_BUSY : OUTCOME_UNKNOWN),
			"%s", bad[i]);
	}
	ck_assert_int_eq(outcome_of(CALL_ACQUIRE, "", texts("yes", "11", "20", "3", NULL)), OUTCOME_UNKNOWN);
	ck_assert_int_eq(outcome_of(CALL_ACQUIRE, "", texts("busy", "", "0", "3", NULL)), OUTCOME_BUSY);
	ck_assert_int_eq(outcome_of(CALL_ACQUIRE, "", answer_int(11)), OUTCOME_UNKNOWN);
	/* Who names some gets these. */
	ck_assert_int_eq(
		outcome_of(CALL_ACQUIRE, "3,7", texts("yes", "11", "20", "3", "3,7", NULL)), OUTCOME_YES);
	ck_assert_int_eq(
		outcome_of(CALL_ACQUIRE, "3,8", texts("yes", "11", "20", "3", "3,7", NULL)), OUTCOME_UNKNOWN);
	ck_assert_int_eq(
		outcome_of(CALL_ACQUIRE, "3,8", texts("busy", "", "0", "3", "3,7", NULL)), OUTCOME_BUSY);
}
END_TEST

START_TEST(another_limit_is_told)
{
	struct call call = permits_of(CALL_ACQUIRE, "");
	struct vote v = decoded(&call, ok(texts("limit", "3", NULL)));
	ck_assert_int_eq(v.outcome, OUTCOME_LIMIT);
	ck_assert_int_eq(v.limit, 3);
	v = decoded(&call, ok(texts("limit", "10", NULL)));
	ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(v.limit, 0);
	ck_assert_int_eq(decoded(&call, ok(texts("limit", "0", NULL))).outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(decoded(&call, ok(texts("limit", NULL))).outcome, OUTCOME_UNKNOWN);
	call.op = CALL_RENEW;
	ck_assert_int_eq(decoded(&call, ok(texts("limit", "3", NULL))).outcome, OUTCOME_UNKNOWN);
	call = call_of(CALL_ACQUIRE);
	call.kind = KIND_SHARED;
	ck_assert_int_eq(decoded(&call, ok(texts("limit", "3", NULL))).outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(a_reader_needs_no_numbers)
{
	struct call call = call_of(CALL_ACQUIRE);
	call.kind = KIND_SHARED;
	call.block = 10;
	struct vote v = decoded(&call, ok(answer_int(11)));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.token_last, 20);
	v = decoded(&call, ok(texts("yes", "11", "20", "3", "", NULL)));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_uint_eq(v.slots.n, 0);
	ck_assert_int_eq(decoded(&call, ok(texts("busy", "", "1", "3", "", NULL))).outcome, OUTCOME_BUSY);
	/* Of what the group scripts do not say for all names at once. */
	ck_assert_int_eq(decoded(&call, texts("all", "5", "11", NULL)).outcome, OUTCOME_UNKNOWN);
	call.op = CALL_RELEASE;
	ck_assert_int_eq(decoded(&call, texts("all", "5", NULL)).outcome, OUTCOME_UNKNOWN);
	call.op = CALL_RENEW;
	ck_assert_int_eq(decoded(&call, texts("all", "5", NULL)).outcome, OUTCOME_YES);
}
END_TEST

START_TEST(busy_says_who_and_where_and_when)
{
	struct call call = call_of(CALL_ACQUIRE);
	struct vote v;
	redisReply *reply = ok(texts("busy", "x:1", "2", "300", NULL));
	call_decode(reply, &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert(slice_equal(v.holder, SLICE("x:1")));
	ck_assert_int_eq(v.position, 2);
	ck_assert_int_eq(v.change_ms, 300);
	ck_assert_int_eq(v.highest, 0);
	freeReplyObject(reply);
}
END_TEST

START_TEST(with_the_time_there_may_be_the_highest_token)
{
	static const char *const bad[] = {"", " 7", "1760000000000000 x", "1760000000000000 7 8"};
	struct call call = call_of(CALL_ACQUIRE);
	redisReply *whole = answer_array(3);
	struct vote v;
	answer_set(whole, 0, answer_text(SLICE("ok")));
	answer_set(whole, 1, answer_text(SLICE("1760000000000000 7")));
	answer_set(whole, 2, texts("busy", "x:1", "2", "300", NULL));
	call_decode(whole, &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert_int_eq(v.time_us, 1760000000000000);
	ck_assert_int_eq(v.highest, 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		freeReplyObject(whole->element[1]);
		whole->element[1] = NULL;
		answer_set(whole, 1, answer_text(slice_of(bad[i])));
		call_decode(whole, &call, 1, &v);
		ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	}
	freeReplyObject(whole);
}
END_TEST

START_TEST(a_latch_is_told_as_it_is_or_not_at_all)
{
	static const struct {
		const char *word, *id, *set, *left, *ttl;
		enum outcome outcome;
	} rows[] = {
		{"yes", "00000000000000ef", "3", "2", "500", OUTCOME_YES},
		{"yes", "00000000000000ef", "3", "0", "0", OUTCOME_YES},
		{"yes", "00000000000000ef", "3", "4", "500", OUTCOME_UNKNOWN},
		{"yes", "00000000000000ef", "0", "0", "500", OUTCOME_UNKNOWN},
		{"yes", "00000000000000ef", "3", "-1", "500", OUTCOME_UNKNOWN},
		{"yes", "0000000000000000", "3", "2", "500", OUTCOME_UNKNOWN},
		{"yes", "ef", "3", "2", "500", OUTCOME_UNKNOWN},
		{"yes", "00000000000000ef", "3", "2", NULL, OUTCOME_UNKNOWN},
		{"no", "00000000000000ef", "500", NULL, NULL, OUTCOME_NO},
		{"no", NULL, NULL, NULL, NULL, OUTCOME_NO},
		{"no", "00000000000000ef", NULL, NULL, NULL, OUTCOME_UNKNOWN},
		{"no", "0000000000000000", "500", NULL, NULL, OUTCOME_UNKNOWN},
		{"late", NULL, NULL, NULL, NULL, OUTCOME_LATE},
		{"busy", "", "1", "1", NULL, OUTCOME_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call call = call_of(CALL_LATCH);
		struct vote v = decoded(&call,
			ok(texts(rows[i].word, rows[i].id, rows[i].set, rows[i].left, rows[i].ttl, NULL)));
		bool told = v.outcome == OUTCOME_YES || v.outcome == OUTCOME_NO;
		ck_assert_msg(v.outcome == rows[i].outcome, "row %zu: outcome %d", i, v.outcome);
		ck_assert_uint_eq(v.latch.id, told && rows[i].id != NULL ? 0xef : 0);
		ck_assert_int_eq(v.latch.set, v.outcome == OUTCOME_YES ? 3 : 0);
		ck_assert_int_eq(v.latch.left, v.outcome == OUTCOME_YES ? rows[i].left[0] - '0' : 0);
	}
	struct call call = call_of(CALL_LATCH);
	ck_assert_int_eq(decoded(&call, ok(answer_int(1))).outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(words_become_outcomes)
{
	static const struct {
		enum call_op op;
		const char *word;
		enum outcome outcome;
	} rows[] = {
		{CALL_ACQUIRE, "late", OUTCOME_LATE},
		{CALL_ACQUIRE, "wrongkind", OUTCOME_WRONGKIND},
		{CALL_ACQUIRE, "no", OUTCOME_UNKNOWN},
		{CALL_ACQUIRE, "yes", OUTCOME_UNKNOWN},
		{CALL_RENEW, "no", OUTCOME_NO},
		{CALL_RENEW, "late", OUTCOME_UNKNOWN},
		{CALL_RECLAIM, "yes", OUTCOME_UNKNOWN},
		{CALL_RECLAIM, "no", OUTCOME_NO},
		{CALL_RECLAIM, "late", OUTCOME_LATE},
		{CALL_ADOPT, "no", OUTCOME_NO},
		{CALL_ADOPT, "late", OUTCOME_LATE},
		{CALL_ADOPT, "yes", OUTCOME_UNKNOWN},
		{CALL_ADOPT, "busy", OUTCOME_UNKNOWN},
		{CALL_RELEASE, "no", OUTCOME_NO},
		{CALL_RELEASE, "busy", OUTCOME_UNKNOWN},
		{CALL_LEAVE, "no", OUTCOME_NO},
		{CALL_LEAVE, "error", OUTCOME_ERROR},
		{CALL_LEAVE, "", OUTCOME_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call call = call_of(rows[i].op);
		struct vote v = decoded(&call, ok(texts(rows[i].word, NULL)));
		ck_assert_msg(v.outcome == rows[i].outcome, "%s of op %d", rows[i].word, rows[i].op);
	}
}
END_TEST

START_TEST(each_name_has_its_own_answer)
{
	struct call calls[2] = {call_of(CALL_RELEASE), call_of(CALL_RELEASE)};
	struct vote votes[2];
	redisReply *reply = answer_array(4);
	answer_set(reply, 0, answer_text(SLICE("ok")));
	answer_set(reply, 1, answer_text(SLICE("5")));
	answer_set(reply, 2, texts("no", NULL));
	answer_set(reply, 3, texts("error", "READONLY x", NULL));
	calls[1].attempt = 8;
	call_decode(reply, calls, 2, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_NO);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_DEMOTED);
	ck_assert(slice_equal(votes[1].text, SLICE("READONLY x")));
	ck_assert_uint_eq(votes[1].attempt, 8);
	freeReplyObject(reply->element[2]);
	reply->element[2] = NULL;
	answer_set(reply, 2, texts("forgotten", NULL));
	call_decode(reply, calls, 2, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_DEMOTED);
	freeReplyObject(reply);
}
END_TEST

START_TEST(a_master_that_forgot_says_so_for_all)
{
	struct call calls[2] = {call_of(CALL_RENEW), call_of(CALL_RENEW)};
	struct vote votes[2];
	redisReply *reply = texts("forgotten", "5", NULL);
	call_decode(reply, calls, 2, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(votes[1].time_us, 5);
	freeReplyObject(reply);
}
END_TEST

START_TEST(a_hello_is_taken_apart)
{
	struct call call = {.op = CALL_HELLO};
	struct vote v = decoded(&call,
		texts("ok", "5", "good", "00000000000000ff", "1", "77", "abc", "00000000000000ee", "1 x", "p",
			"2", "2 x", "q", "1", "0badcafe", "20000", "30000", "OOM no", "2", "who", NULL));
	ck_assert_int_eq(v.longest_ms, 20000);
	ck_assert_int_eq(v.guarded_lease_ms, 30000);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	ck_assert(v.admitted);
	ck_assert_uint_eq(v.incarnation, 255);
	ck_assert_int_eq(v.highest, 77);
	ck_assert_uint_eq(v.run.n, 3);
	ck_assert_uint_eq(v.id, 0xee);
	ck_assert_uint_eq(v.masterset.n, 3);
	ck_assert_uint_eq(v.places.n, 1);
	ck_assert_int_eq(v.agreement, AGREEMENT_ACCEPTED);
	ck_assert_uint_eq(v.next.set.n, 3);
	ck_assert_uint_eq(v.next.places.n, 1);
	ck_assert_int_eq(v.next.step, NEXT_OFFERED);
	ck_assert_uint_eq(v.unacknowledged.n, 8);
	ck_assert_uint_eq(v.lacks.n, 6);
	ck_assert_int_eq(v.refused_count, 2);
	ck_assert_uint_eq(v.refused.n, 3);
	v = decoded(&call, texts("ok", "5", "replica", "", "0", "0", "", "", "", "", "0", "", "", "0", "",
				   "0", "0", "", "0", "", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.hello, HELLO_REPLICA);
	v = decoded(&call, texts("ok", "5", "good", "00000000000000fg", "1", "77", "", "00000000000000ee", "",
				   "", "0", "", "", "0", "", "1", "1", "", "0", "", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	/* Without the terms of leases nothing is believed. */
	v = decoded(&call,
		texts("ok", "5", "good", "00000000000000ff", "1", "77", "abc", "00000000000000ee", "1 x", "p",
			"2", "2 x", "q", "1", "0badcafe", "20000", "x", "", "0", "", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	/* Nor one that counts what cannot be counted. */
	v = decoded(&call,
		texts("ok", "5", "good", "00000000000000ff", "1", "77", "abc", "00000000000000ee", "1 x", "p",
			"2", "2 x", "q", "1", "0badcafe", "20000", "1", "", "-1", "", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	v = decoded(&call, texts("forgotten", "5", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_UNKNOWN);
	v = decoded(&call, answer_error("CLUSTERDOWN Hash slot not served"));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.hello, HELLO_CLUSTER);
}
END_TEST

START_TEST(a_hello_tells_the_set_of_masters_or_nothing_is_believed)
{
	struct call call = {.op = CALL_HELLO};
	static const struct {
		const char *hello, *id, *set, *agreement;
		const char *next, *step;
		enum outcome outcome;
	} rows[] = {
		{"good", "00000000000000ee", "", "0", "", "0", OUTCOME_YES},
		{"good", "00000000000000ee", "1 x", "3", "2 x", "2", OUTCOME_YES},
		{"good", "00000000000000ee", "1 x", "3", "2 x", "0", OUTCOME_UNKNOWN},
		{"good", "00000000000000ee", "1 x", "3", "", "1", OUTCOME_UNKNOWN},
		{"good", "00000000000000ee", "1 x", "3", "2 x", "3",
			OUTCOME_UNKNOWN}, /* it has left: no answer */
		{"good", "00000000000000ee", "1 x", "3", "2 x", "x", OUTCOME_UNKNOWN},
		{"good", "0000000000000000", "", "0", "", "0", OUTCOME_UNKNOWN}, /* no id */
		{"good", "", "", "0", "", "0", OUTCOME_UNKNOWN},
		{"good", "00000000000000ee", "", "3", "", "0",
			OUTCOME_UNKNOWN}, /* nothing cannot be agreed on */
		{"good", "00000000000000ee", "1 x", "0", "", "0", OUTCOME_UNKNOWN},
		{"good", "00000000000000ee", "1 x", "4", "", "0", OUTCOME_UNKNOWN},
		{"otherset", "00000000000000ee", "2 y", "3", "", "0", OUTCOME_YES},
		{"otherset", "00000000000000ee", "", "0", "", "0", OUTCOME_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vote v =
			decoded(&call, texts("ok", "5", rows[i].hello, "00000000000000ff", "1", "77", "abc",
					       rows[i].id, rows[i].set, "q", rows[i].agreement, rows[i].next,
					       "r", rows[i].step, "", "1", "1", "", "0", "", NULL));
		ck_assert_msg(v.outcome == rows[i].outcome, "row %zu", i);
	}
}
END_TEST

START_TEST(an_admission_answers_the_floor)
{
	struct call call = {.op = CALL_ADMIT};
	struct vote v = decoded(&call, texts("ok", "5", "1760000000000000", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.highest, 1760000000000000);
	v = decoded(&call, texts("error", "5", "ERR no", NULL));
	ck_assert_int_eq(v.outcome, OUTCOME_ERROR);
}
END_TEST

START_TEST(an_error_of_the_whole_command_is_unknown_unless_it_says_that_nothing_ran)
{
	static const struct {
		const char *text;
		enum outcome outcome;
	} rows[] = {
		{"READONLY You can't write against a read only replica.", OUTCOME_DEMOTED},
		{"LOADING Redis is loading the dataset in memory", OUTCOME_DEMOTED},
		{"MASTERDOWN Link with MASTER is down", OUTCOME_DEMOTED},
		{"BUSY Redis is busy running a script", OUTCOME_ERROR},
		{"NOPERM this user has no permissions", OUTCOME_ERROR},
		{"NOAUTH Authentication required.", OUTCOME_ERROR},
		{"OOM command not allowed", OUTCOME_ERROR},
		{"MISCONF Redis is configured to save RDB snapshots", OUTCOME_ERROR},
		{"ERR Error running script", OUTCOME_UNKNOWN},
		{"READONLYX", OUTCOME_UNKNOWN},
		{"", OUTCOME_UNKNOWN},
	};
	struct call call = call_of(CALL_ACQUIRE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vote v = decoded(&call, answer_error(rows[i].text));
		ck_assert_msg(v.outcome == rows[i].outcome, "%s", rows[i].text);
	}
}
END_TEST

START_TEST(a_forgotten_script_is_told_apart)
{
	redisReply *reply = answer_error("NOSCRIPT No matching script. Please use EVAL.");
	ck_assert(call_noscript(reply));
	freeReplyObject(reply);
	reply = texts("NOSCRIPT", NULL);
	ck_assert(!call_noscript(reply));
	freeReplyObject(reply);
	ck_assert(!call_noscript(NULL));
}
END_TEST

START_TEST(a_node_without_the_slot_is_told_apart)
{
	static const char *const moved[] = {"MOVED 8121 10.0.0.1:6379", "ASK 8121 10.0.0.1:6379",
		"TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down"};
	static const char *const other[] = {
		"MOVEDX 8121 h:1", "CROSSSLOT Keys in request", "ERR MOVED 1 h:1"};
	for (size_t i = 0; i < 4; i++) {
		redisReply *reply = answer_error(moved[i]);
		ck_assert_msg(call_moved(reply), "%s", moved[i]);
		freeReplyObject(reply);
	}
	for (size_t i = 0; i < 3; i++) {
		redisReply *reply = answer_error(other[i]);
		ck_assert_msg(!call_moved(reply), "%s", other[i]);
		freeReplyObject(reply);
	}
	redisReply *text = texts("MOVED 8121 10.0.0.1:6379", NULL);
	ck_assert(!call_moved(text));
	freeReplyObject(text);
	ck_assert(!call_moved(NULL));
}
END_TEST

START_TEST(a_reply_no_script_gives_is_an_unknown_outcome)
{
	struct call call = call_of(CALL_ACQUIRE);
	redisReply *bad[] = {
		NULL,
		answer_nil(),
		answer_int(1),
		answer_status("OK"),
		answer_text(SLICE("ok")),
		answer_array(0),
		answer_array(3),
		texts("ok", NULL),
		texts("ok", "5", NULL),
		texts("ok", "5", "yes", NULL),
		texts("ok", "5", "yes", "yes", NULL),
		texts("forgotten", NULL),
		texts("forgotten", "-5", NULL),
		texts("forgotten", "5", "5", NULL),
		texts("error", "5", "ERR", NULL),
		ok(answer_nil()),
		ok(answer_error("ERR")),
		ok(texts("yes", "0", "0", "0", NULL)),
		ok(texts("yes", "5", "4", "0", NULL)),
		ok(texts("yes", "1", "2", NULL)),
		ok(texts("yes", "1", "2", "-1", NULL)),
		ok(texts("yes", "1", "9007199254740993", "0", NULL)),
		ok(texts("yes", "1", "99999999999999999999", "0", NULL)),
		ok(texts("yes", "+1", "2", "0", NULL)),
		ok(texts("yes", "", "2", "0", NULL)),
		ok(texts("busy", "x", "1", NULL)),
		ok(texts("busy", "x", "1", "1e3", NULL)),
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vote v = decoded(&call, bad[i]);
		ck_assert_msg(v.outcome == OUTCOME_UNKNOWN, "reply %zu: outcome %d", i, v.outcome);
		ck_assert_int_eq(v.token_first, 0);
		ck_assert_uint_eq(v.attempt, 7);
	}
}
END_TEST

START_TEST(a_call_that_got_no_answer_has_a_vote_too)
{
	struct call call = call_of(CALL_RELEASE);
	struct vote v;
	call.link = 3;
	call_fail(&call, OUTCOME_UNSENT, "no link", &v);
	ck_assert_int_eq(v.outcome, OUTCOME_UNSENT);
	ck_assert_uint_eq(v.link, 3);
	ck_assert_uint_eq(v.attempt, 7);
	ck_assert(slice_equal(v.name, call.name));
	ck_assert(slice_equal(v.text, SLICE("no link")));
	ck_assert_int_eq(v.time_us, 0);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("call", NULL, NULL, an_owner_is_short_for_2_to_33_attempts,
		acquires_of_two_names_share_a_command, fenced_names_bring_their_counters_and_proposals,
		shares_have_scripts_of_their_own_and_say_their_form, permits_are_said_by_their_numbers,
		another_limit_is_told, a_reader_needs_no_numbers,
		a_number_is_a_yes_and_says_what_is_not_a_matter_of_course,
		one_answer_may_give_the_same_token_to_each_fenced_name, one_answer_may_be_for_all_names,
		a_text_may_be_the_answer_for_all_names,
		a_release_of_all_names_tells_the_time_only_where_it_has_to,
		what_is_done_for_all_names_needs_no_number, a_hello_carries_the_limits_of_this_daemon,
		every_operation_has_its_keys, a_latch_has_a_key_of_its_own_and_each_its_arguments,
		a_template_makes_the_lease_key_and_only_that, a_name_cannot_leave_its_braces, names_are_bytes,
		the_most_and_longest_calls_fit, only_calls_of_one_kind_and_link_and_memory_share_a_command,
		a_grant_brings_its_tokens_and_the_length_of_the_queue, busy_says_who_and_where_and_when,
		with_the_time_there_may_be_the_highest_token, a_latch_is_told_as_it_is_or_not_at_all,
		words_become_outcomes, each_name_has_its_own_answer, a_master_that_forgot_says_so_for_all,
		a_hello_is_taken_apart, a_hello_tells_the_set_of_masters_or_nothing_is_believed,
		an_admission_answers_the_floor,
		an_error_of_the_whole_command_is_unknown_unless_it_says_that_nothing_ran,
		a_forgotten_script_is_told_apart, a_node_without_the_slot_is_told_apart,
		a_reply_no_script_gives_is_an_unknown_outcome, a_call_that_got_no_answer_has_a_vote_too);
}
