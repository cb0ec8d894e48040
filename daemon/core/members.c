#include "daemon/core/members.h"

#include <stdio.h>
#include <string.h>

#define GENERATION_MAX INT64_C(1000000000000)

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

/* The text up to the next blank, which is cut off with it. */
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
		if (word.p[i] < '0' || word.p[i] > '9' || *generation > GENERATION_MAX)
			return false;
		*generation = *generation * 10 + (word.p[i] - '0');
	}
	return word.n > 0;
}

/* <id>:<way> */
static bool
member_read(struct slice word, uint64_t *id, struct slice *way)
{
	if (word.n < 18 || word.p[16] != ':')
		return false;
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

bool
members_read(struct slice set, struct slice places, struct members *members)
{
	*members = (struct members){0};
	if (set.n >= MASTERSET_TEXT_MAX || !generation_read(word_cut(&set), &members->generation))
		return false;
	while (set.n > 0 && members->n < MEMBERS_MAX) {
		uint64_t id;

		if (!member_read(word_cut(&set), &id, &members->ways[members->n]) ||
			members_find(members, id) >= 0)
			return false;
		members->ids[members->n] = id;
		members->places[members->n++] = word_cut(&places);
	}
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
