/*
 * glob: two matchers.
 *
 * glob_match() backtracks to one point only: if a character does not match, the latest '*' takes one more. An
 * earlier '*' never needs another attempt, since the latest one can take the same characters. So the cost is
 * pattern times name, while the usual recursion is exponential in the number of stars.
 *
 * glob_takes() follows all paths through the pattern at once, with one bit each: bit i says that the
 * characters read so far match the elements before element i. A character moves a bit past its element if the
 * element takes it, and also keeps the bit if there is a '*'. The elements that take a character are a row of
 * bits. It is the same for all characters between two that occur in the pattern: these are a class.
 */
#include "proto/name.h"

#include "proto/escape.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A class begins with each character of the pattern, with the character after each, and with the first one of
 * all. */
#define CLASSES_MAX (2 * GLOB_BYTES_MAX + 1)
#define WORDS_MAX   (GLOB_BYTES_MAX / 64 + 1)

struct glob {
	size_t elements;
	size_t words; /* of a row: a bit for each element, and one for the end */
	size_t class_count;
	uint32_t classes[CLASSES_MAX]; /* their first characters, ascending */
	uint16_t ascii[128];           /* the classes of ASCII characters, for speed */
	uint64_t stars[WORDS_MAX];     /* a '*' before the element, or before the end */
	uint64_t rows[];               /* for each class: the elements that take it */
};

/* One character, or one byte if it is not UTF-8 (as a value that is not a code point). */
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

/* One literal character, inside a set or outside, with a backslash undone. False: the pattern ends too
 * early. */
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

/* Reads one element other than '*'; *hit says whether it matches c. False: malformed. */
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
	size_t star = SIZE_MAX; /* directly after the latest '*'; SIZE_MAX: none yet */
	size_t taken = 0;       /* how far into the name the latest '*' reaches */

	if (glob_check(pattern) != NULL)
		return false;
	while (seen < name.n || at < pattern.n) {
		if (at < pattern.n && pattern.p[at] == '*') {
			star = ++at;
			taken = seen;
			if (at == pattern.n)
				return true; /* the '*' takes the rest */
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

static int
compare_characters(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a;
	uint32_t other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static void
read_classes(struct glob *glob, struct slice pattern)
{
	size_t found = 0;
	size_t at = 0;

	glob->classes[found++] = 0;
	while (at < pattern.n) {
		uint32_t c = take(pattern, &at);

		glob->classes[found++] = c;
		glob->classes[found++] = c + 1;
	}
	qsort(glob->classes, found, sizeof(glob->classes[0]), compare_characters);
	for (size_t i = 0; i < found; i++) {
		if (i == 0 || glob->classes[i] != glob->classes[i - 1])
			glob->classes[glob->class_count++] = glob->classes[i];
	}
}

static size_t
find_class(const struct glob *glob, uint32_t c)
{
	size_t low = 0;
	size_t high = glob->class_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (glob->classes[middle] <= c)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Finds the elements that take the class. Also records stars and counts elements. */
static void
read_row(struct glob *glob, struct slice pattern, size_t class)
{
	uint64_t *row = &glob->rows[class * WORDS_MAX];
	size_t element = 0;
	size_t at = 0;
	bool hit;

	while (at < pattern.n) {
		if (pattern.p[at] == '*') {
			glob->stars[element / 64] |= UINT64_C(1) << element % 64;
			at++;
			continue;
		}
		if (take_element(pattern, &at, glob->classes[class], &hit) && hit)
			row[element / 64] |= UINT64_C(1) << element % 64;
		element++;
	}
	glob->elements = element;
}

struct glob *
glob_new(struct slice pattern)
{
	struct glob classes = {.class_count = 0};
	struct glob *glob;

	if (pattern.n > GLOB_BYTES_MAX || glob_check(pattern) != NULL)
		return NULL;
	read_classes(&classes, pattern);
	glob = calloc(1, sizeof(*glob) + classes.class_count * WORDS_MAX * sizeof(glob->rows[0]));
	if (glob == NULL)
		return NULL;
	*glob = classes;
	for (size_t i = 0; i < glob->class_count; i++)
		read_row(glob, pattern, i);
	for (uint32_t c = 0; c < 128; c++)
		glob->ascii[c] = (uint16_t)find_class(glob, c);
	glob->words = glob->elements / 64 + 1;
	return glob;
}

void
glob_free(struct glob *glob)
{
	free(glob);
}

size_t
glob_cost(const struct glob *glob)
{
	return glob->words;
}

bool
glob_takes(const struct glob *glob, struct slice name)
{
	uint64_t ways[WORDS_MAX] = {1};
	size_t seen = 0;

	while (seen < name.n) {
		uint32_t c = take(name, &seen);
		const uint64_t *row =
			&glob->rows[(c < 128 ? glob->ascii[c] : find_class(glob, c)) * WORDS_MAX];
		uint64_t carry = 0;
		uint64_t left = 0;

		for (size_t i = 0; i < glob->words; i++) {
			uint64_t past = ways[i] & row[i];

			ways[i] = past << 1 | carry | (ways[i] & glob->stars[i]);
			carry = past >> 63;
			left |= ways[i];
		}
		if (left == 0)
			return false;
	}
	return ways[glob->elements / 64] >> glob->elements % 64 & 1;
}
