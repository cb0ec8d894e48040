/*
 * nest: SESSION JOIN with the secret in the environment, and CHECK.
 */
#include "client/nest.h"

#include "daemon/base/clock.h"
#include "proto/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
nest_check(struct wire *w, const struct taking *t, const char *secret, const char *token, struct grant *g)
{
	const struct answer *answer;
	int64_t sent_ms = clock_ms();

	wire_greet(w, t->a, t->label);
	wire_ask(w, "SESSION", "JOIN", secret);
	wire_ask(w, "CHECK", t->o->name, "TOKEN", token);
	for (int i = 0; i < 2; i++) {
		answer = wire_answer(w);
		if (answer == NULL || answer->type == ANSWER_ERROR) {
			return false;
		}
	}
	answer = wire_answer(w);
	if (answer == NULL || answer->type != ANSWER_INT) {
		return false;
	}
	g->granted_ms = sent_ms;
	g->expire_ms = sent_ms + answer->n;
	return true;
}

/* Whether what is held around us covers what is wanted. */
static bool
nest_covers(const struct options *o, const char *kind)
{
	return kind == NULL || strcmp(kind, nest_kind(o)) == 0 ||
	       (strcmp(kind, "exclusive") == 0 && o->shared);
}

const char *
nest_kind(const struct options *o)
{
	if (o->slots > 0) {
		return "permits";
	}
	return o->shared ? "shared" : "exclusive";
}

bool
nest_join(struct wire *w, const struct taking *t, struct grant *g)
{
	const char *name = getenv("HOLDFAST_NAME");
	const char *secret = getenv("HOLDFAST_SESSION");
	const char *token = getenv("HOLDFAST_TOKEN");

	if (name == NULL || secret == NULL || token == NULL || strcmp(name, t->o->name) != 0 ||
		strlen(secret) > SECRET_BYTES_MAX || !nest_covers(t->o, getenv("HOLDFAST_KIND")) ||
		!number_parse(slice_of(token), 1, OPTION_TOKEN_MAX, &g->token)) {
		return false;
	}
	(void)snprintf(g->secret, sizeof(g->secret), "%s", secret);
	if (wire_open(w, t->a) && nest_check(w, t, secret, token, g)) {
		return true;
	}
	wire_close(w);
	memset(g, 0, sizeof(*g));
	return false;
}
