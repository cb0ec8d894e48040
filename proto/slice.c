/*
 * slice: parses and prints int64_t in decimal, for each length, count or value on the wire.
 */
#include "proto/slice.h"

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
