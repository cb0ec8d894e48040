/*
 * glob: matches with one point of return only: when a character does not fit, the latest '*' takes one more.
 * An earlier '*' never needs another try, since the latest one can take whatever it could. That keeps the
 * cost at pattern times name, where the usual recursion is exponential in the number of stars.
 */
#include "proto/glob.h"

#include "proto/utf8.h"

#include <stddef.h>
#include <stdint.h>

/* One character, or one byte where it is not UTF-8 (which no code point stands for). */
static uint32_t
take(struct slice text, size_t *at)
{
	uint32_t c;
	size_t step = utf8_next(text.p + *at, text.n - *at, &c);

	if (step == 0) {
		c = 0x110000U + (unsigned char)text.p[*at];
		step = 1;
	}
	*at += step;
	return c;
}

/* One character of a set or outside, a backslash undone. False: the pattern ends too early. */
static bool
take_literal(struct slice pattern, size_t *at, uint32_t *c)
{
	if (*at >= pattern.n)
		return false;
	*c = take(pattern, at);
	if (*c != '\\')
		return true;
	if (*at >= pattern.n)
		return false;
	*c = take(pattern, at);
	return true;
}

/* Reads [...] after its bracket; *hit says whether c is in it. False: malformed. */
static bool
take_set(struct slice pattern, size_t *at, uint32_t c, bool *hit)
{
	bool inverted = *at < pattern.n && (pattern.p[*at] == '!' || pattern.p[*at] == '^');
	bool found = false;

	if (inverted)
		(*at)++;
	for (bool first = true;; first = false) {
		uint32_t low;
		uint32_t high;

		if (*at < pattern.n && pattern.p[*at] == ']' && !first)
			break;
		if (!take_literal(pattern, at, &low))
			return false;
		high = low;
		if (*at + 1 < pattern.n && pattern.p[*at] == '-' && pattern.p[*at + 1] != ']') {
			(*at)++;
			if (!take_literal(pattern, at, &high))
				return false;
		}
		found = found || (low <= c && c <= high);
	}
	(*at)++;
	*hit = found != inverted;
	return true;
}

/* Reads one element other than '*'; *hit says whether it stands for c. False: malformed. */
static bool
take_element(struct slice pattern, size_t *at, uint32_t c, bool *hit)
{
	uint32_t literal;

	if (pattern.p[*at] == '?') {
		(*at)++;
		*hit = true;
		return true;
	}
	if (pattern.p[*at] == '[') {
		(*at)++;
		return take_set(pattern, at, c, hit);
	}
	if (!take_literal(pattern, at, &literal))
		return false;
	*hit = literal == c;
	return true;
}

const char *
glob_check(struct slice pattern)
{
	size_t at = 0;
	bool hit;

	while (at < pattern.n) {
		bool set = pattern.p[at] == '[';

		if (pattern.p[at] == '*')
			at++;
		else if (!take_element(pattern, &at, 0, &hit))
			return set ? "a '[' without its ']'" : "a '\\' with nothing behind it";
	}
	return NULL;
}

bool
glob_match(struct slice pattern, struct slice name)
{
	size_t at = 0;
	size_t seen = 0;
	size_t star = SIZE_MAX; /* just behind the latest '*'; SIZE_MAX: none yet */
	size_t taken = 0;       /* how far into the name it has gone */

	if (glob_check(pattern) != NULL)
		return false;
	while (seen < name.n || at < pattern.n) {
		if (at < pattern.n && pattern.p[at] == '*') {
			star = ++at;
			taken = seen;
			continue;
		}
		if (at < pattern.n && seen < name.n) {
			size_t next = seen;
			bool hit = false;
			uint32_t c = take(name, &next);

			if (take_element(pattern, &at, c, &hit) && hit) {
				seen = next;
				continue;
			}
		}
		if (star == SIZE_MAX || taken >= name.n)
			return false;
		(void)take(name, &taken);
		seen = taken;
		at = star;
	}
	return true;
}
