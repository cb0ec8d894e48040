/*
 * json: see contents.h.
 */
#include "daemon/http/contents.h"

#include "proto/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void
put_since(struct buffer *out, int64_t ms, int64_t wall_us)
{
	int64_t at_ms = wall_us / 1000 - ms;
	time_t s = (time_t)(at_ms / 1000);
	char date[32], text[64];
	struct tm tm;
	if (at_ms < 0 || !gmtime_r(&s, &tm) || strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		put(out, "null");
		return;
	}
	snprintf(text, sizeof text, "\"%s.%03dZ\"", date, (int)(at_ms % 1000));
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
			put_since(out, value->n, wall_us);
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
