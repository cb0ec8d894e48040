/*
 * check_composer: the exact bytes of answers and pushes (proto/BYTES.md).
 */
#include "proto/reply.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct buffer out;

static void
begin(void)
{
	buffer_init(&out, 1 << 20);
}

static void
end(void)
{
	buffer_done(&out);
}

/* What was written since the last look. */
static void
wrote(const char *expected)
{
	const char *bytes = buffer_bytes(&out);

	ck_assert_ptr_nonnull(bytes);
	ck_assert(!out.failed);
	ck_assert_msg(slice_equal((struct slice){bytes, buffer_length(&out)}, slice_of(expected)),
		"%.*s is not %s", (int)buffer_length(&out), bytes, expected);
	buffer_consume(&out, buffer_length(&out));
}

static void
both(const struct reply *reply, const char *resp2, const char *resp3)
{
	reply_write(&out, 2, reply);
	wrote(resp2);
	reply_write(&out, 3, reply);
	wrote(resp3);
}

START_TEST(each_reply_of_the_core_is_one_line)
{
	struct reply text = {.type = REPLY_TEXT, .text = "00ff"};
	static const int64_t tokens[] = {7, 1760000000000001};
	struct reply error;

	reply_error(&error, CODE_NOTHELD, "not held: %s", "a");
	both(&(struct reply){.type = REPLY_INT, .n = 1760000000000001}, ":1760000000000001\r\n",
		":1760000000000001\r\n");
	both(&(struct reply){.type = REPLY_INT, .n = INT64_MIN}, ":-9223372036854775808\r\n",
		":-9223372036854775808\r\n");
	both(&(struct reply){.type = REPLY_NULL}, "$-1\r\n", "_\r\n");
	both(&(struct reply){.type = REPLY_OK}, "+OK\r\n", "+OK\r\n");
	both(&(struct reply){.type = REPLY_QUEUED}, "+QUEUED\r\n", "+QUEUED\r\n");
	both(&text, "$4\r\n00ff\r\n", "$4\r\n00ff\r\n");
	both(&(struct reply){.type = REPLY_VALIDITY, .n = 7, .ms = 8999}, "*2\r\n:7\r\n:8999\r\n",
		"*2\r\n:7\r\n:8999\r\n");
	both(&(struct reply){.type = REPLY_TOKENS, .tokens = tokens, .count = 2},
		"*2\r\n:7\r\n:1760000000000001\r\n", "*2\r\n:7\r\n:1760000000000001\r\n");
	both(&(struct reply){.type = REPLY_TOKENS, .tokens = tokens, .count = 1}, "*1\r\n:7\r\n",
		"*1\r\n:7\r\n");
	both(&error, "-NOTHELD not held: a\r\n", "-NOTHELD not held: a\r\n");
}
END_TEST

START_TEST(nothing_a_stranger_wrote_ends_a_line)
{
	struct reply error;

	reply_error(&error, CODE_ERR, "bad name '%s'", "a\r\n+OK\r\n\x1b[2J\x7f\xff");
	both(&error, "-ERR bad name 'a\\r\\n+OK\\r\\n\\x1b[2J\\x7f\\xff'\r\n",
		"-ERR bad name 'a\\r\\n+OK\\r\\n\\x1b[2J\\x7f\\xff'\r\n");
	reply_write_error(&out, CODE_ERR, SLICE("a\nb"));
	wrote("-ERR a\\nb\r\n");
	reply_write_error(&out, CODE_ERR, SLICE(""));
	wrote("-ERR\r\n");
	reply_write_simple(&out, "a\nb");
	wrote("+a\\nb\r\n");
	event_write(&out, 2, SLICE("lock.granted name=\"a\\nb\""));
	wrote("+lock.granted name=\"a\\nb\"\r\n");
}
END_TEST

START_TEST(bulk_strings_carry_any_bytes)
{
	reply_write_bulk(&out, SLICE("a\r\nb"));
	wrote("$4\r\na\r\nb\r\n");
	reply_write_bulk(&out, (struct slice){NULL, 0});
	wrote("$0\r\n\r\n");
}
END_TEST

START_TEST(maps_sets_and_flags_follow_the_version)
{
	reply_write_map(&out, 2, 2);
	reply_write_map(&out, 3, 2);
	wrote("*4\r\n%2\r\n");
	reply_write_set(&out, 2, 2);
	reply_write_set(&out, 3, 2);
	wrote("*2\r\n~2\r\n");
	reply_write_flag(&out, 2, true);
	reply_write_flag(&out, 2, false);
	reply_write_flag(&out, 3, true);
	reply_write_flag(&out, 3, false);
	wrote(":1\r\n:0\r\n#t\r\n#f\r\n");
	reply_write_array(&out, 0);
	wrote("*0\r\n");
	reply_write_pair_int(&out, "k", 4);
	reply_write_pair_text(&out, "k", "v");
	reply_write_pair_bulk(&out, "k", SLICE("w"));
	wrote("$1\r\nk\r\n:4\r\n$1\r\nk\r\n$1\r\nv\r\n$1\r\nk\r\n$1\r\nw\r\n");
	reply_write_pair_null(&out, 2, "k");
	reply_write_pair_null(&out, 3, "k");
	wrote("$1\r\nk\r\n$-1\r\n$1\r\nk\r\n_\r\n");
}
END_TEST

START_TEST(pushes_are_resp3_pushes)
{
	push_write_grant(&out, SLICE("j1"), 7, -1);
	wrote(">3\r\n$5\r\ngrant\r\n$2\r\nj1\r\n:7\r\n");
	push_write_grant(&out, SLICE("j1"), 7, 0);
	wrote(">4\r\n$5\r\ngrant\r\n$2\r\nj1\r\n:7\r\n:0\r\n");
	push_write_failed(&out, SLICE("j1"), CODE_COUNT, NULL);
	wrote(">4\r\n$6\r\nfailed\r\n$2\r\nj1\r\n_\r\n$0\r\n\r\n");
	push_write_failed(&out, SLICE("j1"), CODE_GUARD, "wait");
	wrote(">4\r\n$6\r\nfailed\r\n$2\r\nj1\r\n$5\r\nGUARD\r\n$4\r\nwait\r\n");
	push_write_lost(&out, SLICE("a"), SLICE(""), 7, "expired");
	wrote(">5\r\n$4\r\nlost\r\n$1\r\na\r\n$0\r\n\r\n:7\r\n$7\r\nexpired\r\n");
	event_write(&out, 3, SLICE("x y=1"));
	wrote(">2\r\n$5\r\nevent\r\n$5\r\nx y=1\r\n");
}
END_TEST

START_TEST(an_error_longer_than_its_room_is_cut)
{
	char text[1000];
	struct reply error;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	reply_error(&error, CODE_ERR, "%s", text);
	ck_assert_uint_eq(strlen(error.text), REPLY_TEXT_MAX - 1);
	memset(text, '\n', sizeof(text) - 1);
	reply_error(&error, CODE_ERR, "%s", text);
	ck_assert_uint_eq(strlen(error.text), (REPLY_TEXT_MAX - 1) / 2 * 2);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("composer", begin, end, each_reply_of_the_core_is_one_line,
		nothing_a_stranger_wrote_ends_a_line, bulk_strings_carry_any_bytes,
		maps_sets_and_flags_follow_the_version, pushes_are_resp3_pushes,
		an_error_longer_than_its_room_is_cut);
}
