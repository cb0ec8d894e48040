/*
 * slice: parses and prints int64_t in decimal, for each length, count or value on the wire; and divides,
 * decodes and compares short texts. Pure; never allocates.
 */
#include "proto/slice.h"

#include <assert.h>
#include <string.h>

bool
number_parse(struct slice text, int64_t min, int64_t max, int64_t *out)
{
	bool negative = text.n > 0 && text.p[0] == '-';
	size_t first = negative ? 1 : 0;
	int64_t value = 0;

	if (text.n == first || text.n >= NUMBER_TEXT_MAX)
		return false;
	if (text.p[first] == '0' && (negative || text.n > 1))
		return false;
	for (size_t i = first; i < text.n; i++) {
		int digit = text.p[i] - '0';

		if (digit < 0 || digit > 9)
			return false;
		/* Counts downwards, because INT64_MIN has no positive counterpart. */
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit, &value))
			return false;
	}
	if (!negative) {
		if (value == INT64_MIN)
			return false;
		value = -value;
	}
	if (value < min || value > max)
		return false;
	*out = value;
	return true;
}

size_t
number_print(char *out, int64_t n)
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940"
		"4142434445464748495051525354555657585960616263646566676869707172737475767778798081"
		"828384858687888990919293949596979899";
	uint64_t rest = n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n;
	char digits[NUMBER_TEXT_MAX];
	size_t at = sizeof(digits);

	for (; rest >= 10; rest /= 100) {
		at -= 2;
		memcpy(digits + at, pairs + 2 * (rest % 100), 2);
	}
	if (rest > 0 || at == sizeof(digits))
		digits[--at] = (char)('0' + rest);
	if (n < 0)
		digits[--at] = '-';
	memcpy(out, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at;
}

const char *
number_text(char out[NUMBER_TEXT_MAX], int64_t n)
{
	out[number_print(out, n)] = '\0';
	return out;
}

int
number_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

struct slice
slice_word(struct slice *text)
{
	const char *blank = text->n > 0 ? memchr(text->p, ' ', text->n) : NULL;
	struct slice word = {text->p, blank != NULL ? (size_t)(blank - text->p) : text->n};

	if (text->n > 0) {
		text->p += word.n + (blank != NULL);
		text->n -= word.n + (blank != NULL);
	}
	return word;
}

const char *
slice_endpoint(struct slice text, struct slice *host, struct slice *port)
{
	bool brackets = text.n > 0 && text.p[0] == '[';
	const char *end = text.p + text.n;
	const char *stop = text.n == 0 ? NULL : memchr(text.p, brackets ? ']' : ':', text.n);
	const char *colon = stop;

	*host = text;
	*port = (struct slice){NULL, 0};
	if (brackets) {
		if (stop == NULL)
			return "the closing ] of the address is missing";
		host->p++;
		colon = stop + 1 < end ? stop + 1 : NULL;
		if (colon != NULL && *colon != ':')
			return "after ] a :port is allowed, nothing else";
	}
	if (stop != NULL)
		host->n = (size_t)(stop - host->p);
	if (colon != NULL)
		*port = (struct slice){colon + 1, (size_t)(end - colon) - 1};
	return NULL;
}

ptrdiff_t
slice_decode(char *out, size_t room, struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '%') {
			if (text.n - i < 3 || number_hex(text.p[i + 1]) < 0 || number_hex(text.p[i + 2]) < 0)
				return -1;
			c = (char)(number_hex(text.p[i + 1]) << 4 | number_hex(text.p[i + 2]));
			i += 2;
		}
		if (c == '\0' || n + 1 >= room)
			return -1;
		out[n++] = c;
	}
	out[n] = '\0';
	return (ptrdiff_t)n;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t
slice_distance(struct slice a, struct slice b)
{
	size_t rows[WORD_BYTES_MAX + 1][WORD_BYTES_MAX + 1];

	assert(a.n <= WORD_BYTES_MAX && b.n <= WORD_BYTES_MAX);
	for (size_t i = 0; i <= a.n; i++)
		rows[i][0] = i;
	for (size_t j = 0; j <= b.n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		for (size_t j = 1; j <= b.n; j++) {
			size_t d = rows[i - 1][j - 1] + (a.p[i - 1] != b.p[j - 1]);

			d = least(d, least(rows[i - 1][j], rows[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				d = least(d, rows[i - 2][j - 2] + 1);
			rows[i][j] = d;
		}
	}
	return rows[a.n][b.n];
}
