/*
 * json_output: converts answers to JSON with jansson, and prints it.
 */
#include "client/json_output.h"

#include "client/message.h"
#include "client/status.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* DEL can only occur inside of strings, and is printed as \u007f. */
bool
json_output_write(const char *text)
{
	size_t n = strlen(text);

	while (n > 0) {
		size_t plain = 0, step;
		uint32_t c;

		while (plain < n && (step = escape_printable(text + plain, n - plain)) > 0) {
			plain += step;
		}
		if (fwrite(text, 1, plain, stdout) != plain) {
			return false;
		}
		text += plain;
		n -= plain;
		if (n > 0) {
			step = utf8_next(text, n, &c);
			if (step == 0 || printf("\\u%04x", (unsigned)c) < 0) {
				return false;
			}
			text += step;
			n -= step;
		}
	}
	return true;
}

int
json_output_print_json(json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	bool printed = text != NULL && json_output_write(text) && putchar('\n') != EOF && fflush(stdout) == 0;

	free(text);
	json_decref(value);
	if (!printed) {
		message("cannot print JSON: no memory, or standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

int
json_output_print(const char *format, ...)
{
	json_t *value;
	va_list list;

	va_start(list, format);
	value = json_vpack_ex(NULL, 0, format, list);
	va_end(list);
	return json_output_print_json(value);
}

json_t *
json_output_text(struct slice text)
{
	json_t *value = json_stringn(text.p == NULL ? "" : text.p, text.n);
	char *escaped;
	size_t n;

	if (value != NULL) {
		return value;
	}
	/* The text is not UTF-8, and JSON allows only UTF-8. */
	escaped = malloc(text.n * ESCAPE_BYTE_MAX + 1);
	if (escaped == NULL) {
		return NULL;
	}
	n = escape_text(escaped, text.n * ESCAPE_BYTE_MAX + 1, text, ESCAPE_PLAIN);
	value = json_stringn(escaped, n);
	free(escaped);
	return value;
}

/* The time ms ago, in UTC, to the millisecond. */
static json_t *
json_output_since(int64_t ms)
{
	int64_t at_ms = clock_wall_us() / 1000 - ms;
	time_t s = (time_t)(at_ms / 1000);
	char date[32], text[64];
	struct tm tm;

	if (at_ms < 0 || gmtime_r(&s, &tm) == NULL ||
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		return json_null();
	}
	(void)snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(at_ms % 1000));
	return json_string(text);
}

/* If this value is an age, adds the time when it began. -1: out of memory. */
static int
map_add_since(json_t *object, const struct answer *map, const struct answer *value, const char *key)
{
	bool held = strcmp(key, "held_ms") == 0;

	if (value->type != ANSWER_INT || (!held && strcmp(key, "age_ms") != 0)) {
		return 0;
	}
	return json_object_set_new(object, "since",
		held && answer_get_int(map, "token", 0) == 0 ? json_null() : json_output_since(value->n));
}

static json_t *
json_output_map(const struct answer *answer)
{
	json_t *object = json_object();

	for (size_t i = 0; object != NULL && i + 1 < answer->count; i += 2) {
		char key[128];

		(void)escape_text(key, sizeof(key), answer->items[i].text, ESCAPE_PLAIN);
		if (json_object_set_new(object, key, json_output_of(&answer->items[i + 1])) != 0 ||
			map_add_since(object, answer, &answer->items[i + 1], key) != 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

static json_t *
json_output_array(const struct answer *answer)
{
	json_t *array = json_array();

	for (size_t i = 0; array != NULL && i < answer->count; i++) {
		if (json_array_append_new(array, json_output_of(&answer->items[i])) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

json_t *
json_output_of(const struct answer *answer)
{
	switch (answer->type) {
	case ANSWER_NULL:
		return json_null();
	case ANSWER_INT:
		return json_integer(answer->n);
	case ANSWER_FLAG:
		return json_boolean(answer->n != 0);
	case ANSWER_STATUS:
	case ANSWER_TEXT:
	case ANSWER_ERROR:
		return json_output_text(answer->text);
	case ANSWER_MAP:
		return json_output_map(answer);
	case ANSWER_ARRAY:
	case ANSWER_PUSH:
		return json_output_array(answer);
	}
	return NULL;
}
