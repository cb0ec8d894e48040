/*
 * Tests of daemon/base/log: what a line looks like, and what happens when nobody takes it.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct sink {
	int ends[2]; /* read from 0, log to 1 */
	struct log log;
	char text[65536];
};

static void
sink_init(struct sink *sink, enum log_level level)
{
	ck_assert_int_eq(pipe(sink->ends), 0);
	log_init(&sink->log, sink->ends[1], level, 0);
}

static void
sink_done(struct sink *sink)
{
	close(sink->ends[0]);
	close(sink->ends[1]);
}

/* All that was written so far. */
static const char *
sink_read(struct sink *sink)
{
	struct pollfd poller = {.fd = sink->ends[0], .events = POLLIN};
	size_t n = 0;

	while (poll(&poller, 1, 0) == 1 && n < sizeof sink->text - 1) {
		ssize_t got = read(sink->ends[0], sink->text + n, sizeof sink->text - 1 - n);

		ck_assert_int_gt(got, 0);
		n += (size_t)got;
	}
	sink->text[n] = 0;
	return sink->text;
}

/* The line behind its time: "2026-01-31T12:00:00.123456Z ". */
static const char *
sink_line(struct sink *sink)
{
	const char *text = sink_read(sink);

	ck_assert_uint_gt(strlen(text), 28);
	return text + 28;
}

START_TEST(a_line_is_time_level_event_and_fields)
{
	struct sink sink;
	int year, month, day, hour, minute, second, us;
	char zone;

	sink_init(&sink, LOG_INFO_LEVEL);
	LOG_EVENT(&sink.log, LOG_WARNING_LEVEL, "master.away", log_text("name", "a"),
		log_number("ttl_ms", -5), log_text("absent", NULL), log_bytes("bytes", "xyz", 2));
	ck_assert_str_eq(sink_line(&sink), "warning master.away name=a ttl_ms=-5 bytes=xy\n");
	ck_assert_int_eq(sscanf(sink.text, "%4d-%2d-%2dT%2d:%2d:%2d.%6d%c ", &year, &month, &day, &hour,
				 &minute, &second, &us, &zone),
		8);
	ck_assert_int_eq(zone, 'Z');
	ck_assert_int_ge(year, 2024);
	sink_done(&sink);
}
END_TEST

START_TEST(what_is_below_the_level_is_not_written)
{
	struct sink sink;

	sink_init(&sink, LOG_INFO_LEVEL);
	LOG_EVENT(&sink.log, LOG_DEBUG_LEVEL, "quiet", log_number("n", 1));
	ck_assert_str_eq(sink_read(&sink), "");
	ck_assert_uint_eq(sink.log.dropped, 0);
	sink_done(&sink);
}
END_TEST

START_TEST(a_value_can_never_begin_a_line_or_a_field_of_its_own)
{
	static const struct {
		const char *value, *written;
	} cases[] = {
		{"plain", "plain"},
		{"", "\"\""},
		{"two words", "\"two words\""},
		{"a=b", "\"a=b\""},
		{"say \"x\"", "\"say \\\"x\\\"\""},
		{"back\\slash", "\"back\\\\slash\""},
		{"line\nfeed\rreturn", "\"line\\nfeed\\rreturn\""},
		{"\x1b[31mred\x7f", "\"\\x1b[31mred\\x7f\""},
		{"tab\there", "\"tab\\x09here\""},
		{"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
		{"\xe4\xb8\xad\xf0\x9f\x94\x92", "\"\xe4\xb8\xad\xf0\x9f\x94\x92\""},
		{"latin\xfc", "\"latin\\xfc\""},
		{"cut \xe4\xb8", "\"cut \\xe4\\xb8\""},
		{"overlong \xc0\xaf \xe0\x80\xaf", "\"overlong \\xc0\\xaf \\xe0\\x80\\xaf\""},
		{"surrogate \xed\xa0\x80", "\"surrogate \\xed\\xa0\\x80\""},
		{"control \xc2\x85", "\"control \\xc2\\x85\""},
		{"reversed \xe2\x80\xae", "\"reversed \\xe2\\x80\\xae\""},
	};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sink sink;
		char expected[128];

		sink_init(&sink, LOG_INFO_LEVEL);
		LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_text("v", cases[i].value));
		snprintf(expected, sizeof expected, "info e v=%s\n", cases[i].written);
		ck_assert_str_eq(sink_line(&sink), expected);
		sink_done(&sink);
	}
}
END_TEST

START_TEST(a_nul_in_a_value_is_written_as_an_escape)
{
	struct sink sink;

	sink_init(&sink, LOG_INFO_LEVEL);
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_bytes("v", "a\0b", 3));
	ck_assert_str_eq(sink_line(&sink), "info e v=\"a\\x00b\"\n");
	sink_done(&sink);
}
END_TEST

START_TEST(a_line_too_long_is_cut_and_says_so)
{
	char *value = malloc(3 * LOG_LINE_MAX);
	struct sink sink;
	size_t n, length;

	memset(value, '"', 3 * LOG_LINE_MAX);
	/* Every length around the limit, so that each way to be cut is met; a value more comes behind. */
	for (n = LOG_LINE_MAX / 2 - 60; n < LOG_LINE_MAX / 2 + 10; n++) {
		sink_init(&sink, LOG_INFO_LEVEL);
		LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_bytes("v", value, n),
			log_text("w", "two words"), log_text("x", "two words"));
		sink_read(&sink);
		length = strlen(sink.text);
		ck_assert_uint_le(length, LOG_LINE_MAX);
		ck_assert_int_eq(sink.text[length - 1], '\n');
		ck_assert_ptr_eq(strchr(sink.text, '\n'), sink.text + length - 1);
		if (strcmp(sink.text + length - 5, "rds\"\n") != 0)
			ck_assert_str_eq(sink.text + length - 4, "...\n");
		sink_done(&sink);
	}
	free(value);
}
END_TEST

START_TEST(the_journal_gets_priorities_and_no_time)
{
	struct sink sink;
	struct stat st;
	char stream[64];

	ck_assert_int_eq(pipe(sink.ends), 0);
	ck_assert_int_eq(fstat(sink.ends[1], &st), 0);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(&sink.log, sink.ends[1], LOG_DEBUG_LEVEL, 0);
	LOG_EVENT(&sink.log, LOG_ERROR_LEVEL, "one", log_number("n", 1));
	LOG_EVENT(&sink.log, LOG_WARNING_LEVEL, "two", log_number("n", 2));
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "three", log_number("n", 3));
	LOG_EVENT(&sink.log, LOG_DEBUG_LEVEL, "four", log_number("n", 4));
	ck_assert_str_eq(sink_read(&sink), "<3>one n=1\n<4>two n=2\n<6>three n=3\n<7>four n=4\n");
	sink_done(&sink);
}
END_TEST

START_TEST(another_stream_than_the_journal_gets_the_time)
{
	struct sink sink;

	setenv("JOURNAL_STREAM", "1:2", 1);
	sink_init(&sink, LOG_INFO_LEVEL);
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_number("n", 1));
	ck_assert_str_eq(sink_line(&sink), "info e n=1\n");
	sink_done(&sink);
}
END_TEST

START_TEST(a_reader_that_stops_costs_lines_and_no_time)
{
	struct sink sink;
	int64_t start_ms = clock_ms();
	char *second;
	int i;

	sink_init(&sink, LOG_INFO_LEVEL);
	for (i = 0; i < 10000; i++)
		LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_number("n", i));
	ck_assert_int_lt(clock_ms() - start_ms, 5000);
	ck_assert_uint_gt(sink.log.dropped, 0);
	ck_assert_uint_eq(sink.log.dropped + sink.log.written, 10000);
	sink_read(&sink);
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "after", log_number("n", 1));
	ck_assert_ptr_nonnull(strstr(sink_read(&sink), "warning log.dropped lines="));
	second = strchr(sink.text, '\n') + 1;
	ck_assert_ptr_nonnull(strstr(second, "info after n=1\n"));
	ck_assert_uint_eq(sink.log.dropped_unreported, 0);
	sink_done(&sink);
}
END_TEST

START_TEST(a_reader_that_went_away_does_not_kill)
{
	struct sink sink;

	signal(SIGPIPE, SIG_DFL);
	sink_init(&sink, LOG_INFO_LEVEL);
	close(sink.ends[0]);
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_number("n", 1));
	ck_assert_uint_eq(sink.log.dropped, 1);
	close(sink.ends[1]);
	LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "closed", log_number("n", 1));
	ck_assert_uint_eq(sink.log.dropped, 2);
}
END_TEST

START_TEST(a_socket_that_nobody_reads_or_has_closed_does_not_kill)
{
	struct log log;
	int ends[2], i;

	signal(SIGPIPE, SIG_DFL);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	log_init(&log, ends[1], LOG_INFO_LEVEL, 0);
	ck_assert(log.socket);
	for (i = 0; i < 100000 && log.dropped == 0; i++)
		LOG_EVENT(&log, LOG_INFO_LEVEL, "e", log_number("n", i));
	ck_assert_uint_gt(log.dropped, 0);
	close(ends[0]);
	LOG_EVENT(&log, LOG_INFO_LEVEL, "e", log_number("n", i));
	ck_assert_uint_gt(log.dropped, 1);
	close(ends[1]);
}
END_TEST

START_TEST(a_full_disk_costs_lines_and_nothing_else)
{
	struct log log;
	int fd = open("/dev/full", O_WRONLY);

	ck_assert_int_ge(fd, 0);
	log_init(&log, fd, LOG_INFO_LEVEL, 0);
	LOG_EVENT(&log, LOG_INFO_LEVEL, "e", log_number("n", 1));
	LOG_EVENT(&log, LOG_INFO_LEVEL, "e", log_number("n", 2));
	ck_assert_uint_eq(log.dropped, 2);
	ck_assert_uint_eq(log.dropped_unreported, 2);
	close(fd);
}
END_TEST

START_TEST(too_many_lines_a_second_are_dropped_but_errors_pass)
{
	struct sink sink;
	int i;

	sink_init(&sink, LOG_INFO_LEVEL);
	sink.log.per_second = 10;
	for (i = 0; i < 40; i++)
		LOG_EVENT(&sink.log, LOG_INFO_LEVEL, "e", log_number("n", i));
	/* A second may end in between, never three. */
	ck_assert_uint_ge(sink.log.dropped, 10);
	ck_assert_uint_le(sink.log.dropped, 30);
	LOG_EVENT(&sink.log, LOG_ERROR_LEVEL, "grave", log_number("n", 1));
	ck_assert_ptr_nonnull(strstr(sink_read(&sink), "error grave n=1\n"));
	ck_assert_ptr_nonnull(strstr(sink.text, "log.dropped lines="));
	sink_done(&sink);
}
END_TEST

START_TEST(what_others_cause_is_thinned_out_and_counted)
{
	struct log_gate gate = {0}, other = {0};
	struct sink sink;
	int passed = 0;

	sink_init(&sink, LOG_INFO_LEVEL);
	for (int i = 0; i < 4 * LOG_GATE_LINES; i++)
		passed += log_gate(&sink.log, &gate, LOG_INFO_LEVEL, "e");
	/* A second may end in between, never three. */
	ck_assert_int_ge(passed, LOG_GATE_LINES);
	ck_assert_int_le(passed, 3 * LOG_GATE_LINES);
	ck_assert(log_gate(&sink.log, &other, LOG_INFO_LEVEL, "f"));
	ck_assert(!log_gate(&sink.log, &other, LOG_DEBUG_LEVEL, "f"));
	gate.window_ms -= 1000;
	ck_assert(log_gate(&sink.log, &gate, LOG_INFO_LEVEL, "e"));
	ck_assert_ptr_nonnull(strstr(sink_read(&sink), " info log.thinned event=e lines="));
	ck_assert_int_eq(gate.left_out, 0);
	ck_assert_int_eq(log_gate_tell(&sink.log, &gate, LOG_INFO_LEVEL, "e", clock_ms()), INT64_MAX);
	for (gate.left_out = 0; gate.left_out < 7;)
		(void)!log_gate(&sink.log, &gate, LOG_INFO_LEVEL, "e");
	ck_assert_int_eq(log_gate_tell(&sink.log, &gate, LOG_INFO_LEVEL, "e", gate.window_ms + 999),
		gate.window_ms + 1000);
	ck_assert_ptr_null(strstr(sink_read(&sink), "event=e lines=7"));
	ck_assert_int_eq(
		log_gate_tell(&sink.log, &gate, LOG_INFO_LEVEL, "e", gate.window_ms + 1000), INT64_MAX);
	ck_assert_ptr_nonnull(strstr(sink_read(&sink), " info log.thinned event=e lines=7"));
	sink.log.level = LOG_DEBUG_LEVEL;
	for (int i = 0; i < 4 * LOG_GATE_LINES; i++)
		ck_assert(log_gate(&sink.log, &gate, LOG_INFO_LEVEL, "e"));
	sink_done(&sink);
}
END_TEST

START_TEST(nowhere_is_a_place_to_log_to)
{
	struct log log;

	log_init(&log, -1, LOG_INFO_LEVEL, 0);
	LOG_EVENT(&log, LOG_INFO_LEVEL, "e", log_number("n", 1));
	ck_assert_uint_eq(log.dropped, 1);
}
END_TEST

START_TEST(levels_have_names)
{
	enum log_level level;
	int i;

	for (i = 0; i < LOG_LEVEL_COUNT; i++) {
		ck_assert(log_level_parse(log_level_name((enum log_level)i), &level));
		ck_assert_int_eq((int)level, i);
	}
	ck_assert(!log_level_parse("loud", &level));
	ck_assert_int_eq(PIPE_BUF, LOG_LINE_MAX);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("log", NULL, NULL, a_line_is_time_level_event_and_fields,
		what_is_below_the_level_is_not_written, a_value_can_never_begin_a_line_or_a_field_of_its_own,
		a_nul_in_a_value_is_written_as_an_escape, a_line_too_long_is_cut_and_says_so,
		the_journal_gets_priorities_and_no_time, another_stream_than_the_journal_gets_the_time,
		a_reader_that_stops_costs_lines_and_no_time, a_reader_that_went_away_does_not_kill,
		a_socket_that_nobody_reads_or_has_closed_does_not_kill,
		a_full_disk_costs_lines_and_nothing_else, too_many_lines_a_second_are_dropped_but_errors_pass,
		what_others_cause_is_thinned_out_and_counted, nowhere_is_a_place_to_log_to,
		levels_have_names);
}
