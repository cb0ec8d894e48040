/*
 * json: texts, answers and events as JSON. The daemon's pages and the client call it; it does no I/O.
 */
#include "proto/json.h"

#include "proto/answer.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put(struct buffer *out, const char *text)
{
	buffer_put(out, text, strlen(text));
}

static bool
is_utf8(struct slice text)
{
	uint32_t c;
	size_t step;
	for (size_t i = 0; i < text.n; i += step) {
		step = utf8_next(text.p + i, text.n - i, &c);
		if (step == 0) {
			return false;
		}
	}
	return true;
}

/* text is UTF-8. What is not printable is written as \uHHHH; all of that is below U+10000. */
static void
put_characters(struct buffer *out, struct slice text)
{
	size_t i = 0;
	while (i < text.n) {
		size_t plain = i, step;
		while (plain < text.n && text.p[plain] != '"' && text.p[plain] != '\\' &&
			(step = escape_printable(text.p + plain, text.n - plain)) > 0) {
			plain += step;
		}
		buffer_put(out, text.p + i, plain - i);
		i = plain;
		if (i < text.n) {
			char escape[16];
			uint32_t c = 0;
			i += utf8_next(text.p + i, text.n - i, &c);
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
			put(out, escape);
		}
	}
}

void
json_put_text(struct buffer *out, struct slice text)
{
	char *escaped = NULL;
	if (!is_utf8(text)) {
		size_t room = text.n * ESCAPE_BYTE_MAX + 1;
		escaped = malloc(room);
		out->failed = out->failed || !escaped;
		text = escaped ? (struct slice){escaped, escape_text(escaped, room, text, ESCAPE_PLAIN)}
			       : (struct slice){NULL, 0};
	}
	put(out, "\"");
	put_characters(out, text);
	put(out, "\"");
	free(escaped);
}

void
json_put_number(struct buffer *out, int64_t n)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, n);
	put(out, text);
}

void
json_put_key(struct buffer *out, const char *key, bool first)
{
	put(out, first ? "\"" : ",\"");
	put(out, key);
	put(out, "\":");
}

/* The date of a day, counted from 1970-01-01: eras of 400 years that begin with a March.
 * gmtime_r() reads the environment. */
static void
date_print(char *out, size_t room, int64_t day)
{
	int64_t from = day + 719468, era = from / 146097, of_era = from % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100), march = (5 * of_year + 2) / 153;
	int64_t month = march < 10 ? march + 3 : march - 9;
	snprintf(out, room, "%04" PRId64 "-%02" PRId64 "-%02" PRId64, 400 * era + year + (month <= 2), month,
		of_year - (153 * march + 2) / 5 + 1);
}

void
json_put_time(struct buffer *out, int64_t at_ms)
{
	int64_t s = at_ms / 1000;
	char date[64], text[96];
	if (at_ms < 0) {
		put(out, "null");
		return;
	}
	date_print(date, sizeof date, s / 86400);
	snprintf(text, sizeof text, "\"%sT%02d:%02d:%02d.%03dZ\"", date, (int)(s / 3600 % 24),
		(int)(s / 60 % 60), (int)(s % 60), (int)(at_ms % 1000));
	put(out, text);
}

static void
put_map(struct buffer *out, const struct answer *map, int64_t wall_us)
{
	put(out, "{");
	for (size_t i = 0; i + 1 < map->count; i += 2) {
		struct slice key = map->items[i].text;
		const struct answer *value = &map->items[i + 1];
		bool held = slice_equal(key, SLICE("held_ms"));
		put(out, i > 0 ? "," : "");
		json_put_text(out, key);
		put(out, ":");
		json_put_answer(out, value, wall_us);
		if (!held && !slice_equal(key, SLICE("age_ms"))) {
			continue;
		}
		put(out, ",\"since\":");
		if (held && answer_get_int(map, "token", 0) == 0) {
			put(out, "null");
		} else {
			json_put_time(out, wall_us / 1000 - value->n);
		}
	}
	put(out, "}");
}

void
json_put_answer(struct buffer *out, const struct answer *answer, int64_t wall_us)
{
	switch (answer->type) {
	case ANSWER_NULL:
		put(out, "null");
		break;
	case ANSWER_INT:
		json_put_number(out, answer->n);
		break;
	case ANSWER_FLAG:
		put(out, answer->n != 0 ? "true" : "false");
		break;
	case ANSWER_STATUS:
	case ANSWER_TEXT:
	case ANSWER_ERROR:
		json_put_text(out, answer->text);
		break;
	case ANSWER_MAP:
		put_map(out, answer, wall_us);
		break;
	case ANSWER_ARRAY:
	case ANSWER_PUSH:
		put(out, "[");
		for (size_t i = 0; i < answer->count; i++) {
			put(out, i > 0 ? "," : "");
			json_put_answer(out, &answer->items[i], wall_us);
		}
		put(out, "]");
		break;
	}
}

/* The fields of events that are numbers. The value does not tell, because a name may look like a number. */
static bool
is_number(struct slice key)
{
	return slice_equal(key, SLICE("session")) || slice_equal(key, SLICE("token")) ||
	       (key.n > 3 && memcmp(key.p + key.n - 3, "_ms", 3) == 0);
}

void
json_put_line(struct buffer *out, struct slice line)
{
	char scratch[JSON_LINE_MAX];
	struct slice key, value;
	bool first = true;
	int64_t n;
	line.n = line.n < sizeof scratch ? line.n : sizeof scratch;
	put(out, "{");
	while (fields_next(&line, scratch, &key, &value)) {
		bool event = value.p == NULL;
		put(out, first ? "" : ",");
		json_put_text(out, event ? SLICE("event") : key);
		put(out, ":");
		if (!event && is_number(key) && number_parse(value, INT64_MIN, INT64_MAX, &n)) {
			json_put_number(out, n);
		} else {
			json_put_text(out, event ? key : value);
		}
		first = false;
	}
	put(out, "}");
}
