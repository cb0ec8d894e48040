/*
 * nest: a run inside a run of the same name: it joins the session of the outer run instead of taking the
 * lock; see nest.h.
 */
#include "client/job/nest.h"

#include "client/lock.h"
#include "client/options.h"
#include "daemon/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of HOLDFAST_KIND for the command. */
static const char *
nest_kind(const struct options *o)
{
	if (o->slots > 0) {
		return "permits";
	}
	return o->shared ? "shared" : "exclusive";
}

/* Whether the hold of the outer run covers the wanted one. */
static bool
nest_covers(const struct options *o, const char *kind)
{
	return kind == NULL || strcmp(kind, nest_kind(o)) == 0 ||
	       (strcmp(kind, "exclusive") == 0 && o->shared);
}

/* Appends a word after a space; numbers and names have no spaces. */
static void
words_add(char *text, size_t room, const char *word)
{
	size_t n = strlen(text);

	(void)snprintf(text + n, room - n, "%s%s", n > 0 ? " " : "", word);
}

void
nest_export(const struct options *o, const struct address *a, const struct grant *g)
{
	char names[(OPTION_ALSO_MAX + 1) * (NAME_BYTES_MAX + 1)] = "";
	char tokens[(OPTION_ALSO_MAX + 1) * NUMBER_TEXT_MAX] = "";
	char token[NUMBER_TEXT_MAX];

	for (size_t i = 0; i <= o->also.count; i++) {
		words_add(names, sizeof(names), i == 0 ? o->name : o->also.names[i - 1]);
		words_add(tokens, sizeof(tokens),
			number_text(token, i == 0 ? g->token : g->also_tokens[i - 1]));
	}
	(void)setenv("HOLDFAST_NAME", o->name, 1);
	(void)setenv("HOLDFAST_NAMES", names, 1);
	(void)setenv("HOLDFAST_TOKEN", number_text(token, g->token), 1);
	(void)setenv("HOLDFAST_TOKENS", tokens, 1);
	(void)setenv("HOLDFAST_KIND", nest_kind(o), 1);
	(void)setenv("HOLDFAST_SESSION", g->secret, 1);
	/* $HOLDFAST_URL may have a password, so it is kept as it is; --socket has none. */
	if (o->socket != NULL || getenv("HOLDFAST_URL") == NULL) {
		(void)setenv("HOLDFAST_URL", a->text, 1);
	}
}

/* The i-th word, and its length; NULL: none. */
static const char *
word_at(const char *text, size_t i, size_t *n)
{
	for (; text != NULL; i--) {
		*n = strcspn(text, " ");
		if (i == 0) {
			return *n > 0 ? text : NULL;
		}
		text = text[*n] == ' ' ? text + *n + 1 : NULL;
	}
	return NULL;
}

/* Whether an outer run has this name, and its token for the name. */
static bool
around_us(const char *name, char token[NUMBER_TEXT_MAX])
{
	const char *names = getenv("HOLDFAST_NAMES"), *tokens = getenv("HOLDFAST_TOKENS");
	const char *word;
	size_t n;

	for (size_t i = 0; (word = word_at(names, i, &n)) != NULL; i++) {
		if (strlen(name) != n || memcmp(word, name, n) != 0) {
			continue;
		}
		word = word_at(tokens, i, &n);
		if (word == NULL || n >= NUMBER_TEXT_MAX) {
			return false;
		}
		memcpy(token, word, n);
		token[n] = '\0';
		return true;
	}
	return false;
}

bool
nest_overlaps(const struct options *o)
{
	char token[NUMBER_TEXT_MAX];
	bool found = o->also.count > 0 && around_us(o->name, token);

	for (size_t i = 0; i < o->also.count; i++) {
		found = found || around_us(o->also.names[i], token);
	}
	return found;
}

bool
nest_join(struct wire *w, const struct taking *t, struct grant *g)
{
	const char *secret = getenv("HOLDFAST_SESSION");
	const struct answer *answer;
	char token[NUMBER_TEXT_MAX];

	if (secret == NULL || strlen(secret) > SECRET_BYTES_MAX || !around_us(t->o->name, token) ||
		!nest_covers(t->o, getenv("HOLDFAST_KIND")) ||
		!number_parse(slice_of(token), 1, OPTION_TOKEN_MAX, &g->token)) {
		return false;
	}
	(void)snprintf(g->secret, sizeof(g->secret), "%s", secret);
	g->granted_ms = clock_ms();
	answer = take_join(w, t, secret, 4, (const char *const[]){"CHECK", t->o->name, "TOKEN", token});
	if (answer != NULL && answer_is_ms(answer)) {
		g->expire_ms = g->granted_ms + answer->n;
		return true;
	}
	wire_close(w);
	memset(g, 0, sizeof(*g));
	return false;
}
