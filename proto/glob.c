/*
 * glob: two matchers.
 *
 * glob_match() compares the plain beginning byte by byte. Then it backtracks to one point only: if a
 * character does not match, the latest '*' takes one more. An earlier '*' never needs another attempt, since
 * the latest one can take the same characters. So the cost is pattern times name, while the usual recursion
 * is exponential in the number of stars.
 *
 * glob_takes() follows all paths through the pattern at once, with one bit each: bit i says that the
 * characters read so far match the elements before element i. A character moves a bit past its element if the
 * element takes it, and also keeps the bit if there is a '*'. The elements that take a character are a row of
 * bits. It is the same for all characters of a class: these between two edges, where an element begins or
 * ends to take characters.
 *
 * glob_new() notes the edges of each element, sorts them, and writes the rows in one sweep over them: a row
 * is the one before it, but for the elements with an edge between the two. So a pattern costs about as much
 * as its rows have bytes: clients may send a long one with each LOCKS.
 */
#include "proto/glob.h"

#include "proto/escape.h"
#include "proto/name.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each range of characters takes a byte of the pattern at least, and has two edges. A class begins at each
 * edge and with the first character of all. */
#define EDGES_MAX (2 * GLOB_BYTES_MAX)
#define WORDS_MAX (GLOB_BYTES_MAX / 64 + 1)

struct glob {
	size_t elements;
	size_t words; /* of a row: a bit for each element, and one for the end */
	size_t class_count;
	uint16_t ascii[128];       /* the classes of ASCII characters, for speed */
	uint64_t stars[WORDS_MAX]; /* a '*' before the element, or before the end */
	uint32_t *classes;         /* their first characters, ascending; behind the rows */
	uint64_t rows[];           /* for each class: the elements that take it */
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

struct range {
	uint32_t low;
	uint32_t high; /* below low: no character */
};

/* One element other than '*', while it is read: a set of ranges, or all characters but these. */
struct element {
	bool inverted;
	bool set;   /* it ends with a ']' */
	bool begun; /* a range of it was read */
};

/* Reads the beginning of an element. Without brackets it has one range; a '?' excludes none. */
static struct element
take_element(struct slice pattern, size_t *at)
{
	struct element element = {.set = pattern.p[*at] == '['};

	if (pattern.p[*at] == '?') {
		(*at)++;
		return (struct element){.inverted = true, .begun = true};
	}
	if (!element.set)
		return element;
	(*at)++;
	element.inverted = *at < pattern.n && (pattern.p[*at] == '!' || pattern.p[*at] == '^');
	*at += element.inverted;
	return element;
}

enum taken {
	TAKEN_RANGE,
	TAKEN_ALL, /* the element has no more */
	MALFORMED,
};

/* Reads the next range of an element. */
static enum taken
take_range(struct slice pattern, size_t *at, struct element *element, struct range *range)
{
	bool begun = element->begun;

	element->begun = true;
	if (!element->set && begun)
		return TAKEN_ALL;
	if (element->set && begun && *at < pattern.n && pattern.p[*at] == ']') {
		(*at)++;
		return TAKEN_ALL;
	}
	if (!take_literal(pattern, at, &range->low))
		return MALFORMED;
	range->high = range->low;
	if (element->set && *at + 1 < pattern.n && pattern.p[*at] == '-' && pattern.p[*at + 1] != ']') {
		(*at)++;
		if (!take_literal(pattern, at, &range->high))
			return MALFORMED;
	}
	return TAKEN_RANGE;
}

/* Reads one element other than '*'; *hit says whether it takes c. False: malformed. */
static bool
element_takes(struct slice pattern, size_t *at, uint32_t c, bool *hit)
{
	struct element element = take_element(pattern, at);
	enum taken taken;
	struct range range;

	*hit = element.inverted;
	while ((taken = take_range(pattern, at, &element, &range)) == TAKEN_RANGE) {
		if (range.low <= c && c <= range.high)
			*hit = !element.inverted;
	}
	return taken == TAKEN_ALL;
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
		else if (!element_takes(pattern, &at, 0, &hit))
			return set ? "a '[' without its ']'" : "a '\\' with nothing behind it";
	}
	return NULL;
}

/* Whether this byte of a pattern, outside a set, is a character that takes itself. */
static bool
is_plain(char byte)
{
	return (unsigned char)byte < 0x80 && byte != '*' && byte != '?' && byte != '[' && byte != '\\';
}

bool
glob_match(struct slice pattern, struct slice name)
{
	size_t at = 0;
	size_t seen = 0;
	size_t star = SIZE_MAX; /* directly after the latest '*'; SIZE_MAX: none yet */
	size_t taken = 0;       /* how far into the name the latest '*' reaches */

	/* Most patterns that do not match differ here already. So does one that is malformed further behind,
	 * and it matches nothing anyway. */
	while (at < pattern.n && seen < name.n && is_plain(pattern.p[at])) {
		if (pattern.p[at++] != name.p[seen++])
			return false;
	}
	if (at == pattern.n)
		return seen == name.n;
	if (pattern.p[at] == '*' && at + 1 == pattern.n)
		return true;
	if (glob_check((struct slice){pattern.p + at, pattern.n - at}) != NULL)
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

			if (element_takes(pattern, &at, c, &hit) && hit) {
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

/* Where an element begins or ends to take characters, or the other way round if it is inverted. */
struct edge {
	uint32_t at;
	uint16_t element;
	bool begins;
};

/* A pattern while it is compiled. */
struct reading {
	size_t elements;
	size_t edge_count;
	struct edge edges[EDGES_MAX];
	struct edge sorted[EDGES_MAX];   /* room for the sort */
	uint16_t ranges[GLOB_BYTES_MAX]; /* for each element: how many the sweep is in */
	uint64_t inverted[WORDS_MAX];
	uint64_t stars[WORDS_MAX];
};

static void
read_element(struct reading *r, struct slice pattern, size_t *at)
{
	struct element element = take_element(pattern, at);
	uint16_t i = (uint16_t)r->elements++;
	struct range range;

	if (element.inverted)
		r->inverted[i / 64] |= UINT64_C(1) << i % 64;
	while (take_range(pattern, at, &element, &range) == TAKEN_RANGE) {
		if (range.low > range.high)
			continue;
		r->edges[r->edge_count++] = (struct edge){range.low, i, true};
		r->edges[r->edge_count++] = (struct edge){range.high + 1, i, false};
	}
}

/* The pattern is well-formed. */
static void
read_pattern(struct reading *r, struct slice pattern)
{
	size_t at = 0;

	while (at < pattern.n) {
		if (pattern.p[at] == '*') {
			r->stars[r->elements / 64] |= UINT64_C(1) << r->elements % 64;
			at++;
		} else {
			read_element(r, pattern, &at);
		}
	}
}

/* Characters have 21 bits. Each pass sorts by seven of them and keeps the order of the passes before. */
#define DIGIT_BITS   7
#define DIGIT_VALUES (1U << DIGIT_BITS)

static unsigned
digit_of(const struct edge *edge, unsigned digit)
{
	return edge->at >> digit * DIGIT_BITS & (DIGIT_VALUES - 1);
}

static void
sort_edges(struct reading *r)
{
	for (unsigned digit = 0; digit < 3; digit++) {
		size_t ends[DIGIT_VALUES + 1] = {0};

		for (size_t i = 0; i < r->edge_count; i++)
			ends[digit_of(&r->edges[i], digit) + 1]++;
		for (size_t i = 0; i < DIGIT_VALUES; i++)
			ends[i + 1] += ends[i];
		for (size_t i = 0; i < r->edge_count; i++)
			r->sorted[ends[digit_of(&r->edges[i], digit)]++] = r->edges[i];
		memcpy(r->edges, r->sorted, r->edge_count * sizeof(r->edges[0]));
	}
}

static size_t
count_classes(const struct reading *r)
{
	size_t count = 1;
	uint32_t last = 0;

	for (size_t i = 0; i < r->edge_count; i++) {
		count += r->edges[i].at != last;
		last = r->edges[i].at;
	}
	return count;
}

/* Moves the sweep past an edge. Ranges of a set may overlap: the element changes with the first and with the
 * last one. */
static void
pass_edge(struct reading *r, const struct edge *edge, uint64_t *row)
{
	uint16_t before = r->ranges[edge->element];

	r->ranges[edge->element] = (uint16_t)(edge->begins ? before + 1 : before - 1);
	if (before == 0 || r->ranges[edge->element] == 0)
		row[edge->element / 64] ^= UINT64_C(1) << edge->element % 64;
}

static void
write_rows(struct glob *glob, struct reading *r)
{
	uint64_t *row = glob->rows;
	size_t class = 0;

	glob->classes[0] = 0;
	memcpy(row, r->inverted, glob->words * sizeof(*row));
	for (size_t i = 0; i < r->edge_count; i++) {
		if (r->edges[i].at != glob->classes[class]) {
			glob->classes[++class] = r->edges[i].at;
			memcpy(row + glob->words, row, glob->words * sizeof(*row));
			row += glob->words;
		}
		pass_edge(r, &r->edges[i], row);
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

static void
find_ascii(struct glob *glob)
{
	size_t class = 0;

	for (uint32_t c = 0; c < 128; c++) {
		if (class + 1 < glob->class_count && glob->classes[class + 1] == c)
			class += 1;
		glob->ascii[c] = (uint16_t) class;
	}
}

struct glob *
glob_new(struct slice pattern)
{
	struct reading reading = {.elements = 0};
	size_t words;
	size_t classes;
	struct glob *glob;

	if (pattern.n > GLOB_BYTES_MAX || glob_check(pattern) != NULL)
		return NULL;
	read_pattern(&reading, pattern);
	sort_edges(&reading);
	words = reading.elements / 64 + 1;
	classes = count_classes(&reading);
	glob = malloc(sizeof(*glob) + classes * (words * sizeof(glob->rows[0]) + sizeof(glob->classes[0])));
	if (glob == NULL)
		return NULL;
	glob->elements = reading.elements;
	glob->words = words;
	glob->class_count = classes;
	memcpy(glob->stars, reading.stars, sizeof(glob->stars));
	glob->classes = (uint32_t *)(glob->rows + classes * words);
	write_rows(glob, &reading);
	find_ascii(glob);
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
			&glob->rows[(c < 128 ? glob->ascii[c] : find_class(glob, c)) * glob->words];
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
