/*
 * pages: reads a list from the daemon, page after page (PROTOCOL.md 6.2).
 *
 *     pages_begin(&pages, &wire, 1, (const char *const[]){"LOCKS"});
 *     while ((page = pages_next(&pages)) != NULL)
 *         ...
 *     pages.whole: that was all of it
 */
#ifndef CLIENT_PAGES_H
#define CLIENT_PAGES_H

#include "client/wire.h"

#define PAGES_WORDS_MAX 3

struct pages {
	struct wire *w;
	const char *words[PAGES_WORDS_MAX + 2]; /* the request, and CURSOR */
	size_t n;
	char cursor[NUMBER_TEXT_MAX]; /* of the next page */
	int64_t until_ms;             /* CLOCK_BOOTTIME, for all of it; 0: as long as the daemon answers */
	bool begun;                   /* at least one page has arrived */
	bool whole;                   /* the last page has arrived */
	const struct answer *answer;  /* to the last request; NULL: none, and w->why says why */
};

/* words: the request, kept by reference. The connection has greeted. Sends nothing yet. */
void pages_begin(struct pages *pages, struct wire *w, size_t n, const char *const *words);

/* The elements of the next page of LOCKS or SESSIONS, or the whole map of INSPECT; valid until the next call.
 * NULL: the list is over, or the request failed. */
const struct answer *pages_next(struct pages *pages);

#endif
