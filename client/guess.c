/*
 * guess: the distance of two words in insertions, deletions, replacements and swaps of neighbours.
 */
#include "client/guess.h"

#include <string.h>

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[GUESS_BYTES_MAX + 1][GUESS_BYTES_MAX + 1];

	for (size_t i = 0; i <= n; i++) {
		rows[i][0] = i;
	}
	for (size_t j = 0; j <= m; j++) {
		rows[0][j] = j;
	}
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			size_t d = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d = least(d, least(rows[i - 1][j], rows[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				d = least(d, rows[i - 2][j - 2] + 1);
			}
			rows[i][j] = d;
		}
	}
	return rows[n][m];
}

/* Words of flock(1) and of other programs for our words. */
static const char *
synonym(struct slice text)
{
	static const struct {
		const char *theirs, *ours;
	} list[] = {{"wait", "timeout"}, {"nb", "nonblock"}, {"nowait", "nonblock"}, {"no-wait", "nonblock"},
		{"ttl", "lease"}, {"reason", "why"}, {"acquire", "lock"}, {"release", "unlock"},
		{"list", "ls"}, {"inspect", "show"}, {"monitor", "watch"}, {"exec", "run"},
		{"status", "health"}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (slice_equal(text, slice_of(list[i].theirs))) {
			return list[i].ours;
		}
	}
	return NULL;
}

struct guess
guess_begin(struct slice text)
{
	/* A third of the letters may be wrong; with more errors it is another word. */
	return (struct guess){text, NULL, text.n < 6 ? 2 : text.n / 3 + 1, synonym(text)};
}

void
guess_try(struct guess *g, const char *word)
{
	size_t n = strlen(word), d;

	if (n > GUESS_BYTES_MAX || g->text.n > GUESS_BYTES_MAX || g->text.n == 0) {
		return;
	}
	d = g->meant != NULL && strcmp(word, g->meant) == 0 ? 0 : distance(g->text.p, g->text.n, word, n);
	/* A word with every letter wrong is not a misspelling, but a truncated word is. */
	if (d < g->distance || (g->best == NULL && g->text.n >= 3 && n > g->text.n &&
				       memcmp(word, g->text.p, g->text.n) == 0)) {
		g->best = word;
		g->distance = d;
	}
}
