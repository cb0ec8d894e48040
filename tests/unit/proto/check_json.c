/*
 * Tests of proto/json: the JSON of texts, answers and events.
 */
#include "proto/answer.h"
#include "proto/json.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <string.h>

/* The JSON of the text, which jansson reads back as `back`. */
static void
text_becomes(struct slice text, const char *json, const char *back)
{
	struct buffer out;
	json_t *read;

	buffer_init(&out, 4096);
	json_put_text(&out, text);
	ck_assert_ptr_nonnull(buffer_bytes(&out));
	buffer_put(&out, "", 1);
	ck_assert_pstr_eq(buffer_bytes(&out), json);
	read = json_loads(buffer_bytes(&out), JSON_DECODE_ANY, NULL);
	ck_assert_str_eq(json_string_value(read), back);
	json_decref(read);
	buffer_done(&out);
}

START_TEST(a_text_is_escaped_where_json_needs_it)
{
	text_becomes(SLICE(""), "\"\"", "");
	text_becomes(SLICE("a b/c"), "\"a b/c\"", "a b/c");
	text_becomes(SLICE("\"\\"), "\"\\u0022\\u005c\"", "\"\\");
	text_becomes(SLICE("\t\n\x7f"), "\"\\u0009\\u000a\\u007f\"", "\t\n\x7f");
	text_becomes(SLICE("\xc3\xa9\xf0\x9f\x94\x92"), "\"\xc3\xa9\xf0\x9f\x94\x92\"",
		"\xc3\xa9\xf0\x9f\x94\x92");
	text_becomes(SLICE("\xc2\x85"), "\"\\u0085\"", "\xc2\x85");
}
END_TEST

START_TEST(bytes_that_are_no_utf8_are_shown_as_such)
{
	text_becomes(SLICE("a\xff\n"), "\"a\\u005cxff\\u005cn\"", "a\\xff\\n");
	text_becomes(SLICE("\xc3"), "\"\\u005cxc3\"", "\\xc3");
}
END_TEST

/* An answer of RESP3 becomes this JSON at 1970-01-02. */
static void
answer_becomes(const char *resp, const char *json)
{
	const struct answer_limits limits = {.bytes = 4096, .elements = 100};
	struct answer_parser parser = {0};
	const struct answer *answer;
	const char *fault;
	struct buffer out;

	ck_assert_int_eq(
		answer_parse(&parser, resp, strlen(resp), &limits, &answer, &fault), (ssize_t)strlen(resp));
	buffer_init(&out, 4096);
	json_put_answer(&out, answer, INT64_C(86400000000));
	ck_assert_ptr_nonnull(buffer_bytes(&out));
	buffer_put(&out, "", 1);
	ck_assert_pstr_eq(buffer_bytes(&out), json);
	buffer_done(&out);
	answer_done(&parser);
}

START_TEST(an_answer_keeps_its_types)
{
	answer_becomes("*4\r\n:-5\r\n_\r\n#t\r\n$1\r\nx\r\n", "[-5,null,true,\"x\"]");
	answer_becomes("%1\r\n$1\r\na\r\n%1\r\n$1\r\nb\r\n*0\r\n", "{\"a\":{\"b\":[]}}");
}
END_TEST

START_TEST(an_age_says_since_when)
{
	answer_becomes("%1\r\n$6\r\nage_ms\r\n:1500\r\n",
		"{\"age_ms\":1500,\"since\":\"1970-01-01T23:59:58.500Z\"}");
	answer_becomes("%2\r\n$5\r\ntoken\r\n:7\r\n$7\r\nheld_ms\r\n:1\r\n",
		"{\"token\":7,\"held_ms\":1,\"since\":\"1970-01-01T23:59:59.999Z\"}");
	answer_becomes("%2\r\n$5\r\ntoken\r\n:0\r\n$7\r\nheld_ms\r\n:0\r\n",
		"{\"token\":0,\"held_ms\":0,\"since\":null}");
}
END_TEST

static void
time_becomes(int64_t at_ms, const char *json)
{
	struct buffer out;

	buffer_init(&out, 4096);
	json_put_time(&out, at_ms);
	buffer_put(&out, "", 1);
	ck_assert_pstr_eq(buffer_bytes(&out), json);
	buffer_done(&out);
}

START_TEST(a_time_is_a_date_and_a_time_of_day_in_utc)
{
	time_becomes(0, "\"1970-01-01T00:00:00.000Z\"");
	time_becomes(INT64_C(951827696789), "\"2000-02-29T12:34:56.789Z\"");
	time_becomes(INT64_C(1456790400000), "\"2016-03-01T00:00:00.000Z\"");
	time_becomes(INT64_C(1456790399999), "\"2016-02-29T23:59:59.999Z\"");
	time_becomes(INT64_C(4102444799999), "\"2099-12-31T23:59:59.999Z\"");
	time_becomes(INT64_C(4107542400000), "\"2100-03-01T00:00:00.000Z\"");
	time_becomes(INT64_C(4107542399999), "\"2100-02-28T23:59:59.999Z\"");
	time_becomes(INT64_MAX, "\"292278994-08-17T07:12:55.807Z\"");
	time_becomes(-1, "null");
}
END_TEST

/* A line of this event becomes this JSON. */
static void
line_becomes(const char *line, const char *json)
{
	struct buffer out;

	buffer_init(&out, 65536);
	json_put_line(&out, slice_of(line));
	buffer_put(&out, "", 1);
	ck_assert_pstr_eq(buffer_bytes(&out), json);
	buffer_done(&out);
}

START_TEST(an_event_has_numbers_where_its_keys_say_so)
{
	line_becomes("lock.granted name=7 session=3 token=12 valid_ms=-1 why=\"a \\\"b\\\"\"",
		"{\"event\":\"lock.granted\",\"name\":\"7\",\"session\":3,\"token\":12,\"valid_ms\":-1,"
		"\"why\":\"a \\u0022b\\u0022\"}");
	line_becomes("x token=many", "{\"event\":\"x\",\"token\":\"many\"}");
	line_becomes("", "{}");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
	char line[JSON_LINE_MAX * 2];
	struct buffer out;

	memset(line, 'x', sizeof(line));
	memcpy(line, "x name=", 7);
	buffer_init(&out, 65536);
	json_put_line(&out, (struct slice){line, sizeof(line)});
	ck_assert_uint_eq(buffer_length(&out), strlen("{\"event\":\"x\",\"name\":\"\"}") + JSON_LINE_MAX - 7);
	ck_assert(!out.failed);
	buffer_done(&out);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("json", NULL, NULL, a_text_is_escaped_where_json_needs_it,
		bytes_that_are_no_utf8_are_shown_as_such, an_answer_keeps_its_types, an_age_says_since_when,
		a_time_is_a_date_and_a_time_of_day_in_utc, an_event_has_numbers_where_its_keys_say_so,
		a_line_that_is_too_long_is_cut);
}
