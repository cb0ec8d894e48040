/* set_notice: see set_notice.h. */
#include "tests/sim/judge/set_notice.h"

#include "tests/sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
text_of(struct store *store, struct slice field, char *out, size_t size)
{
	struct slice text;
	bool there = store_field(store, SLICE("hf:node"), field, &text) && text.n < size;
	if (there)
		memcpy(out, text.p, text.n);
	out[there ? text.n : 0] = '\0';
}

/* A registration of a daemon that has acknowledged a next set has its tag behind the nonce. */
static bool
has_acknowledged(struct slice value)
{
	unsigned blanks = 0;
	for (size_t i = 0; i < value.n; i++)
		blanks += value.p[i] == ' ';
	return blanks > 2;
}

/* Those that are registered when the next set comes there. */
static void
note_registered(struct server *s, struct set_notice *heard)
{
	struct slice field, value;
	struct store *store = master_store(s->master);
	int64_t wall_us = server_wall_us(s);
	heard->n = 0;
	for (size_t i = 0; store_pair(store, wall_us, SLICE("hf:node"), i, &field, &value); i++) {
		if (field.n != 34 || field.p[0] != 'd' || value.n >= HEARD_TEXT || has_acknowledged(value) ||
			strtoll(value.p, NULL, 10) <= wall_us || heard->n == HEARD_MOST)
			continue;
		memcpy(heard->of[heard->n].daemon, field.p, field.n);
		heard->of[heard->n].daemon[field.n] = '\0';
		memcpy(heard->of[heard->n].text, value.p, value.n);
		heard->of[heard->n++].text[value.n] = '\0';
	}
}

/* Who is registered there since before the next set came, and has not greeted since, has not heard of it. */
static void
check_heard(struct server *s, const struct set_notice *heard, int64_t wall_us)
{
	char text[HEARD_TEXT];
	for (unsigned i = 0; i < heard->n; i++) {
		text_of(master_store(s->master), slice_of(heard->of[i].daemon), text, sizeof(text));
		if (strcmp(text, heard->of[i].text) == 0 && strtoll(text, NULL, 10) > wall_us + 100000)
			world_fail(s->world,
				"set: m%u takes up the next set, of which the daemon %.8s has not heard, "
				"that is registered there",
				s->index, heard->of[i].daemon + 2);
	}
}

/* A server that has left stores the set without it, and a newcomer had no other before. */
static bool
stays(struct store *store, const char *set)
{
	char id[HEARD_TEXT], member[HEARD_TEXT + 2];
	text_of(store, SLICE("id"), id, sizeof(id));
	snprintf(member, sizeof(member), " %s:", id);
	return strstr(set, member) != NULL;
}

void
set_notice_ran(struct server *s, const struct call *call)
{
	struct world *w = s->world;
	struct set_notice *heard = &w->heard[s->index];
	struct store *store = master_store(s->master);
	char next[HEARD_SET], set[HEARD_SET];
	if (!w->plan.changes || call->op != CALL_HELLO)
		return;
	text_of(store, SLICE("next"), next, sizeof(next));
	text_of(store, SLICE("set"), set, sizeof(set));
	if (heard->next[0] != '\0' && strcmp(set, heard->next) == 0 && stays(store, set))
		check_heard(s, heard, server_wall_us(s));
	if (strcmp(next, heard->next) == 0)
		return;
	memcpy(heard->next, next, sizeof(next));
	note_registered(s, heard);
}
