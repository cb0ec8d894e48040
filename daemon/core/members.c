/*
 * members: see members.h. Text in, text out: it knows no master and no state.
 */
#include "daemon/core/members.h"

#include "daemon/core/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
members_place(char out[MASTERSET_PLACE_MAX], const char *where)
{
	size_t n = 0;

	for (const char *p = where; *p != '\0' && n + 4 < MASTERSET_PLACE_MAX; p++) {
		if (*p > ' ' && *p != '%' && *p != 0x7f)
			out[n++] = *p;
		else
			n += (size_t)snprintf(
				out + n, MASTERSET_PLACE_MAX - n, "%%%02X", (unsigned)(unsigned char)*p);
	}
	out[n] = '\0';
}

/* The text up to the next blank, cut off together with the blank. */
static struct slice
word_cut(struct slice *text)
{
	const char *blank;
	struct slice word = *text;

	if (text->n == 0)
		return word;
	blank = memchr(text->p, ' ', text->n);
	if (blank != NULL)
		word.n = (size_t)(blank - text->p);
	text->p += word.n + (blank != NULL);
	text->n -= word.n + (blank != NULL);
	return word;
}

static bool
generation_read(struct slice word, int64_t *generation)
{
	*generation = 0;
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] < '0' || word.p[i] > '9')
			return false;
		*generation = *generation * 10 + (word.p[i] - '0');
		if (*generation > MEMBERS_GENERATION_MAX)
			return false;
	}
	return word.n > 0;
}

/* <id>:<way> or <id>+<way> */
static bool
member_read(struct slice word, uint64_t *id, bool *came, struct slice *way)
{
	if (word.n < 18 || (word.p[16] != ':' && word.p[16] != '+'))
		return false;
	*came = word.p[16] == '+';
	*id = 0;
	for (size_t i = 0; i < 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = word.p[i] != '\0' ? strchr(digits, word.p[i]) : NULL;

		if (digit == NULL)
			return false;
		*id = *id << 4 | (uint64_t)(digit - digits);
	}
	for (size_t i = 17; i < word.n; i++) {
		if (word.p[i] < '!' || word.p[i] > '~')
			return false;
	}
	*way = (struct slice){word.p + 17, word.n - 17};
	return *id != 0;
}

/* The places up to the bar, or all of them; behind the bar those of servers that have left. */
static void
places_read(struct slice text, struct members *members)
{
	struct slice word = word_cut(&text);

	for (unsigned i = 0; i < members->n && word.n > 0 && !slice_equal(word, slice_of("|")); i++) {
		members->places[i] = word;
		word = word_cut(&text);
	}
	if (!slice_equal(word, slice_of("|")))
		return;
	while (text.n > 0 && members->left_n < MEMBERS_LEFT_MAX)
		members->left[members->left_n++] = word_cut(&text);
}

bool
members_read(struct slice set, struct slice places, struct members *members)
{
	*members = (struct members){0};
	if (set.n >= MASTERSET_TEXT_MAX || !generation_read(word_cut(&set), &members->generation))
		return false;
	while (set.n > 0 && members->n < MEMBERS_MAX) {
		uint64_t id;
		unsigned i = members->n;

		if (!member_read(word_cut(&set), &id, &members->came[i], &members->ways[i]) ||
			members_find(members, id) >= 0)
			return false;
		members->ids[i] = id;
		members->came_n += members->came[i];
		members->n++;
	}
	places_read(places, members);
	return set.n == 0 && members->n > 0;
}

int
members_find(const struct members *members, uint64_t id)
{
	for (unsigned i = 0; i < members->n; i++) {
		if (members->ids[i] == id)
			return (int)i;
	}
	return -1;
}

int
members_at(const struct members *members, struct slice place)
{
	for (unsigned i = 0; i < members->n; i++) {
		if (slice_equal(members->places[i], place))
			return (int)i;
	}
	return -1;
}

bool
members_left(const struct members *members, struct slice place)
{
	for (unsigned i = 0; i < members->left_n; i++) {
		if (slice_equal(members->left[i], place))
			return true;
	}
	return false;
}

/* The index of the lowest id from i on. */
static unsigned
members_least(const struct members *members, unsigned i)
{
	unsigned least = i;

	for (unsigned k = i + 1; k < members->n; k++) {
		if (members->ids[k] < members->ids[least])
			least = k;
	}
	return least;
}

static void
members_sort(struct members *members)
{
	for (unsigned i = 0; i < members->n; i++) {
		unsigned k = members_least(members, i);
		uint64_t id = members->ids[i];
		bool came = members->came[i];
		struct slice way = members->ways[i], place = members->places[i];

		members->ids[i] = members->ids[k];
		members->came[i] = members->came[k];
		members->ways[i] = members->ways[k];
		members->places[i] = members->places[k];
		members->ids[k] = id;
		members->came[k] = came;
		members->ways[k] = way;
		members->places[k] = place;
	}
}

void
members_write(struct members *members, char *set, char *places)
{
	size_t n = (size_t)snprintf(set, MASTERSET_TEXT_MAX, "%" PRId64, members->generation), placed = 0;

	assert(members->n > 0 && members->n <= CORE_MASTERS_MAX);
	members_sort(members);
	for (unsigned i = 0; i < members->n; i++) {
		const struct slice *way = &members->ways[i], *place = &members->places[i];

		n += (size_t)snprintf(set + n, MASTERSET_TEXT_MAX - n, " %016" PRIx64 "%c%.*s",
			members->ids[i], members->came[i] ? '+' : ':', (int)way->n, way->p);
		placed += (size_t)snprintf(places + placed, MASTERSET_PLACES_MAX - placed, "%s%.*s",
			i > 0 ? " " : "", (int)place->n, place->p);
		assert(n < MASTERSET_TEXT_MAX && placed < MASTERSET_PLACES_MAX);
	}
	for (unsigned i = 0; i < members->left_n; i++) {
		const struct slice *place = &members->left[i];

		if (placed + place->n + 4 > MASTERSET_PLACES_MAX)
			return;
		placed += (size_t)snprintf(places + placed, MASTERSET_PLACES_MAX - placed, "%s %.*s",
			i == 0 ? " |" : "", (int)place->n, place->p);
	}
}

int
members_shown(const char *places)
{
	const char *bar = strstr(places, " | ");

	return (int)(bar != NULL ? (size_t)(bar - places) : strlen(places));
}
