/*
 * pages: requests each page with the cursor from the previous page.
 */
#include "client/pages.h"

#include <assert.h>
#include <string.h>

void
pages_begin(struct pages *pages, struct wire *w, size_t n, const char *const *words)
{
	assert(n <= PAGES_WORDS_MAX);
	*pages = (struct pages){.w = w, .n = n, .cursor = "0"};
	memcpy(pages->words, words, n * sizeof(*words));
}

static const struct answer *
pages_ask(struct pages *pages)
{
	size_t n = pages->n;

	pages->words[n++] = "CURSOR";
	pages->words[n++] = pages->cursor;
	wire_ask_words(pages->w, n, pages->words);
	if (pages->until_ms == 0) {
		return wire_answer(pages->w);
	}
	(void)wire_flush(pages->w);
	return wire_wait(pages->w, pages->until_ms);
}

/* The page in an answer, and the cursor of the next page. NULL: not a page. */
static const struct answer *
page_of(const struct answer *answer, struct slice *cursor)
{
	if (answer == NULL) {
		return NULL;
	}
	if (answer->type == ANSWER_MAP) {
		*cursor = answer_get_text(answer, "cursor");
		return answer;
	}
	if (answer->type != ANSWER_ARRAY || answer->count != 2 || answer->items[0].type != ANSWER_TEXT ||
		answer->items[1].type != ANSWER_ARRAY) {
		return NULL;
	}
	*cursor = answer->items[0].text;
	return &answer->items[1];
}

const struct answer *
pages_next(struct pages *pages)
{
	const struct answer *page;
	struct slice cursor;

	if (pages->whole) {
		return NULL;
	}
	pages->answer = pages_ask(pages);
	page = page_of(pages->answer, &cursor);
	if (page == NULL || cursor.n == 0 || cursor.n >= sizeof(pages->cursor)) {
		return NULL;
	}
	memcpy(pages->cursor, cursor.p, cursor.n);
	pages->cursor[cursor.n] = '\0';
	pages->begun = true;
	pages->whole = slice_equal(cursor, SLICE("0"));
	return page;
}
