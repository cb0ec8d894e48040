/*
 * check_answer: what the client makes of a daemon's bytes, and of bytes no daemon would send.
 */
#include "proto/answer.h"

#include "tests/support/suite.h"
#include "tests/support/transcript.h"

#include <stdlib.h>
#include <string.h>

static const struct answer_limits limits = {1000, 50};

static void
gives(const char *bytes, const char *expected)
{
	for (unsigned pace = 0; pace < 20; pace++) {
		char *got = transcript_answers(bytes, strlen(bytes), &limits, pace);

		ck_assert_msg(strcmp(got, expected) == 0, "pace %u of %s\ngave\n%s\nnot\n%s", pace, bytes,
			got, expected);
		free(got);
	}
}

START_TEST(single_values_are_read_in_both_versions)
{
	gives("+OK\r\n-ERR x\r\n:42\r\n:-1\r\n$2\r\nhi\r\n$0\r\n\r\n$-1\r\n*-1\r\n_\r\n#t\r\n#f\r\n",
		"+\"OK\"\n-\"ERR x\"\n:42\n:-1\n\"hi\"\n\"\"\nnull\nnull\nnull\ntrue\nfalse\nleft 0\n");
	gives(",1.5\r\n(12345678901234567890\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n",
		"\"1.5\"\n\"12345678901234567890\"\n\"abc\"\n-\"ERR x\"\nleft 0\n");
}
END_TEST

START_TEST(aggregates_nest)
{
	gives("*0\r\n*2\r\n:1\r\n*1\r\n+x\r\n%1\r\n$1\r\nk\r\n~2\r\n:1\r\n:2\r\n",
		"[]\n[:1 [+\"x\"]]\n{\"k\" [:1 :2]}\nleft 0\n");
	gives("*2\r\n*0\r\n%0\r\n", "[[] {}]\nleft 0\n");
	gives(">3\r\n$5\r\ngrant\r\n$2\r\nj1\r\n:7\r\n+OK\r\n", ">\"grant\" \"j1\" :7<\n+\"OK\"\nleft 0\n");
}
END_TEST

START_TEST(a_part_of_an_answer_is_none)
{
	gives("*2\r\n:1\r\n", "left 8\n");
	gives("$5\r\nhello\r", "left 10\n");
	gives("+OK\r", "left 4\n");
	gives(":1\r\n+O", ":1\nleft 2\n");
}
END_TEST

START_TEST(what_is_not_resp_is_refused)
{
	static const char *const fault = "fault: what the server sent is not RESP\n";

	gives("HTTP/1.1 200 OK\r\n", fault);
	gives("+OK\n", fault);
	gives(":1x\r\n", fault);
	gives(":\r\n", fault);
	gives("$x\r\n", fault);
	gives("$-2\r\n", fault);
	gives("$2\r\nabc\r\n", fault);
	gives("*-2\r\n", fault);
	gives("_x\r\n", fault);
	gives("#x\r\n", fault);
	gives("=3\r\ntxt\r\n", fault);
	gives("=-1\r\n", fault);
	gives("*1\r\n>1\r\n:1\r\n", fault);
	gives("|1\r\n+a\r\n+b\r\n", fault);
	gives("$?\r\n", fault);
	gives("*99999999999\r\n", fault);
}
END_TEST

START_TEST(limits_hold_before_memory_is_taken)
{
	char big[1200] = "$1100\r\n";

	gives("*49\r\n", "left 5\n");
	gives("*50\r\n", "fault: the server's answer is too large\n");
	gives("*2\r\n*40\r\n", "left 9\n");
	gives("*20\r\n*30\r\n", "left 10\n");
	gives("%25\r\n", "fault: the server's answer is too large\n");
	gives("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
	      "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
		"[[[[[[[[[[[[:1]]]]]]]]]]]]\nleft 0\n");
	gives("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
	      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
		"fault: the server's answer is nested too deeply\n");
	memset(big + 7, 'x', 1100);
	gives(big, "fault: the server's answer is too large\n");
	memset(big, 'x', 1100);
	big[0] = '+';
	gives(big, "fault: the server's answer is too large\n");
}
END_TEST

static const struct answer *
read_one(struct answer_parser *parser, const char *bytes)
{
	const struct answer *answer;
	const char *fault;
	ssize_t got = answer_parse(parser, bytes, strlen(bytes), &limits, &answer, &fault);

	ck_assert_int_eq(got, (ssize_t)strlen(bytes));
	return answer;
}

START_TEST(a_map_is_asked_by_key_in_both_versions)
{
	static const char *const maps[] = {"%3\r\n$1\r\na\r\n:4\r\n+b\r\n$1\r\nx\r\n$1\r\nc\r\n_\r\n",
		"*6\r\n$1\r\na\r\n:4\r\n+b\r\n$1\r\nx\r\n$1\r\nc\r\n$-1\r\n"};
	struct answer_parser parser = {0};

	for (size_t i = 0; i < 2; i++) {
		const struct answer *map = read_one(&parser, maps[i]);

		ck_assert_int_eq(answer_get_int(map, "a", -1), 4);
		ck_assert_int_eq(answer_get_int(map, "b", -1), -1);
		ck_assert_int_eq(answer_get_int(map, "d", -1), -1);
		ck_assert(slice_equal(answer_get_text(map, "b"), SLICE("x")));
		ck_assert_uint_eq(answer_get_text(map, "a").n, 0);
		ck_assert_int_eq(answer_get(map, "c")->type, ANSWER_NULL);
		ck_assert_ptr_null(answer_get(map, "x"));
		ck_assert_ptr_null(answer_get(answer_get(map, "a"), "x"));
	}
	answer_done(&parser);
}
END_TEST

START_TEST(a_line_of_info_is_found_by_its_key)
{
	const struct slice info = SLICE("# Locks\r\ngrants_ever:9\r\ngrants:3\r\nnamespace:\r\nlast:x:y");

	ck_assert(slice_equal(answer_info(info, "grants"), SLICE("3")));
	ck_assert(slice_equal(answer_info(info, "last"), SLICE("x:y")));
	ck_assert_uint_eq(answer_info(info, "namespace").n, 0);
	ck_assert_uint_eq(answer_info(info, "ever").n, 0);
	ck_assert_uint_eq(answer_info(SLICE(""), "grants").n, 0);
}
END_TEST

START_TEST(an_error_is_known_by_its_code)
{
	struct answer_parser parser = {0};
	struct slice rest;

	ck_assert_int_eq(answer_code(read_one(&parser, "-NOTHELD not held\r\n"), &rest), CODE_NOTHELD);
	ck_assert(slice_equal(rest, SLICE("not held")));
	ck_assert_int_eq(answer_code(read_one(&parser, "-LOST\r\n"), &rest), CODE_LOST);
	ck_assert_uint_eq(rest.n, 0);
	ck_assert_int_eq(answer_code(read_one(&parser, "-WAT not ours\r\n"), &rest), CODE_COUNT);
	ck_assert(slice_equal(rest, SLICE("WAT not ours")));
	ck_assert_int_eq(answer_code(read_one(&parser, "+LOST x\r\n"), &rest), CODE_COUNT);
	answer_done(&parser);
}
END_TEST

START_TEST(a_push_is_known_by_its_name_and_size)
{
	struct answer_parser parser = {0};
	const struct answer *push = read_one(&parser, ">3\r\n$5\r\ngrant\r\n$2\r\nj1\r\n:7\r\n");

	ck_assert(answer_is_push(push, "grant", 3));
	ck_assert(!answer_is_push(push, "grant", 4));
	ck_assert(!answer_is_push(push, "lost", 1));
	ck_assert(!answer_is_push(read_one(&parser, "*1\r\n+grant\r\n"), "grant", 1));
	ck_assert(!answer_is_push(read_one(&parser, ">0\r\n"), "grant", 0));
	answer_done(&parser);
}
END_TEST

START_TEST(an_answer_that_trickles_in_costs_no_more)
{
	static char bytes[1000001];
	const struct answer_limits wide = {ANSWER_BYTES_MAX, ANSWER_ELEMENTS_MAX};
	size_t early = 0;
	struct answer_parser parser = {0};
	const struct answer *answer;
	const char *fault;

	memset(bytes, '+', sizeof(bytes));
	for (size_t n = 1; n < sizeof(bytes); n++)
		early += answer_parse(&parser, bytes, n, &wide, &answer, &fault) != 0;
	answer_done(&parser);
	memcpy(bytes, "*200000\r\n", 9);
	for (size_t i = 0; i < 200000; i++)
		memcpy(bytes + 9 + i * 4, ":1\r\n", 4);
	for (size_t n = 1; n < 800009; n++)
		early += answer_parse(&parser, bytes, n, &wide, &answer, &fault) != 0;
	ck_assert_int_eq(answer_parse(&parser, bytes, 800009, &wide, &answer, &fault), 800009);
	ck_assert_uint_eq(answer->count, 200000);
	answer_done(&parser);
	ck_assert_uint_eq(early, 0);
}
END_TEST

START_TEST(a_time_and_a_token_have_their_range)
{
	const struct answer text = {.type = ANSWER_TEXT, .n = 5};

	ck_assert(!answer_is_ms(&text) && !answer_is_token(&text));
	for (int64_t n = -2; n < 3; n++) {
		const struct answer answer = {.type = ANSWER_INT, .n = n};

		ck_assert_int_eq(answer_is_ms(&answer), n >= 0);
		ck_assert_int_eq(answer_is_token(&answer), n >= 1);
	}
	ck_assert(answer_is_ms(&(struct answer){.type = ANSWER_INT, .n = INT64_C(31536000000)}));
	ck_assert(!answer_is_ms(&(struct answer){.type = ANSWER_INT, .n = INT64_C(31536000001)}));
	ck_assert(answer_is_token(&(struct answer){.type = ANSWER_INT, .n = INT64_C(1) << 53}));
	ck_assert(!answer_is_token(&(struct answer){.type = ANSWER_INT, .n = (INT64_C(1) << 53) + 1}));
	ck_assert(!answer_is_ms(&(struct answer){.type = ANSWER_INT, .n = INT64_MAX}));
	ck_assert(!answer_is_ms(&(struct answer){.type = ANSWER_INT, .n = INT64_MIN}));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("answer", NULL, NULL, single_values_are_read_in_both_versions, aggregates_nest,
		a_part_of_an_answer_is_none, what_is_not_resp_is_refused, limits_hold_before_memory_is_taken,
		a_map_is_asked_by_key_in_both_versions, a_line_of_info_is_found_by_its_key,
		an_error_is_known_by_its_code, a_push_is_known_by_its_name_and_size,
		an_answer_that_trickles_in_costs_no_more, a_time_and_a_token_have_their_range);
}
