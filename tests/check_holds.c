/*
 * Many holds of one session, told apart by name and tag; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/core_inner.h"
#include "daemon/core/grant.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define TAGS 200

static const char *const names[] = {"a", "b"};

/* What a session should hold, and the next number of a sequence without a pattern. */
struct model {
	struct story story;
	bool held[2][TAGS];
	uint32_t seed;
};

static uint32_t
model_draw(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525U + 1013904223U;
	return (m->seed >> 8) % below;
}

static const char *
model_run(struct model *m, conn_id conn, enum verb verb, int name, int tag)
{
	char owner[16];
	struct command command = {.verb = verb, .name = slice_of(names[name]), .kind = KIND_SHARED};

	(void)snprintf(owner, sizeof(owner), "t%d", tag);
	command.owner = slice_of(owner);
	return run(&m->story, conn, command);
}

/* Both names are read by another session, so that the leases are there. */
static void
model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	story_init(&m->story);
	m->story.settings.grants_per_session = 2 * TAGS;
	story_anew(&m->story);
	for (int name = 0; name < 2; name++) {
		lock_shared(&m->story, 2, names[name]);
		granted(&m->story, names[name], (uint64_t)name + 1, 1000 * (name + 1));
	}
}

static void
model_lock(struct model *m, int name, int tag)
{
	const char *answer = model_run(m, 1, VERB_LOCK, name, tag);

	ck_assert_msg(strncmp(answer, "c1 :", 4) == 0, "%s", answer);
	m->held[name][tag] = true;
}

static void
model_unlock(struct model *m, int name, int tag)
{
	ck_assert_str_eq(
		model_run(m, 1, VERB_UNLOCK, name, tag), m->held[name][tag] ? "c1 :0" : "c1 -NOTHELD");
	m->held[name][tag] = false;
}

/* Each is found where it should be, and nowhere else. */
static void
model_check(struct model *m)
{
	for (int name = 0; name < 2; name++) {
		for (int tag = 0; tag < TAGS; tag++) {
			const char *answer = model_run(m, 1, VERB_CHECK, name, tag);

			ck_assert_msg((strcmp(answer, "c1 null") != 0) == m->held[name][tag], "%s t%d: %s",
				names[name], tag, answer);
		}
	}
	ck_assert_str_eq(check(&m->story, 1, "a"), "c1 null");
	ck_assert_str_ne(check(&m->story, 2, "a"), "c2 null");
}

START_TEST(each_of_many_is_found_by_its_name_and_tag)
{
	struct model m;

	model_init(&m);
	for (int tag = 0; tag < TAGS; tag += 2) {
		model_lock(&m, 0, tag);
		model_lock(&m, 1, tag + 1);
	}
	model_check(&m);
	story_done(&m.story);
}
END_TEST

START_TEST(whatever_comes_and_goes_the_others_are_found)
{
	struct model m;

	model_init(&m);
	for (int i = 0; i < 1500; i++) {
		int name = (int)model_draw(&m, 2), tag = (int)model_draw(&m, TAGS);

		if (m.held[name][tag] || model_draw(&m, 8) == 0)
			model_unlock(&m, name, tag);
		else
			model_lock(&m, name, tag);
	}
	model_check(&m);
	/* Down to none, and up again. */
	for (int tag = 0; tag < TAGS; tag++) {
		model_unlock(&m, 0, tag);
		model_unlock(&m, 1, tag);
	}
	model_check(&m);
	for (int tag = 0; tag < 3 * HOLDS_FEW; tag++)
		model_lock(&m, 1, tag);
	model_check(&m);
	story_done(&m.story);
}
END_TEST

START_TEST(a_session_with_many_ends_as_any_other)
{
	struct model m;

	model_init(&m);
	for (int tag = 0; tag < TAGS; tag++)
		model_lock(&m, 0, tag);
	ck_assert_str_eq(model_run(&m, 1, VERB_CHECK, 0, TAGS), "c1 null");
	close_as(&m.story, 1, END_CLEAN);
	ck_assert_str_eq(unlock(&m.story, 2, "a"), "c2 :0 | release a#1 shared");
	story_done(&m.story);
}
END_TEST

START_TEST(a_hold_is_entered_so_many_times_and_not_more)
{
	struct story w;
	struct grant *g;

	story_ready(&w);
	lock_as(&w, 1, "a", "t1");
	granted(&w, "a", 1, 500);
	g = names_find(&w.core->names, SLICE("a"))->lease.grants;
	g->count = UINT32_MAX - 1;
	ck_assert_str_eq(lock_as(&w, 1, "a", "t1"), "c1 :500");
	ck_assert_str_eq(lock_as(&w, 1, "a", "t1"), "c1 -LIMIT");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_UNLOCK, .name = SLICE("a"), .owner = SLICE("t1")}),
		"c1 :4294967294");
	story_done(&w);
}
END_TEST

/* What the last step noted of this type; -2: no such note. */
static int64_t
noted_span(const struct story *w, enum note_type type)
{
	for (size_t i = 0; i < w->actions.n; i++)
		if (w->actions.list[i].type == ACTION_NOTE && w->actions.list[i].u.note.type == type)
			return w->actions.list[i].u.note.span_ms;
	return -2;
}

START_TEST(each_hold_says_once_how_long_it_was_waited_for_and_held)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_int_eq(noted_span(&w, NOTE_GRANTED), 0);
	lock(&w, 2, "a");
	after(&w, 40);
	unlock(&w, 1, "a");
	ck_assert_int_eq(noted_span(&w, NOTE_RELEASED), 40);
	ck_assert_int_eq(noted_span(&w, NOTE_GRANTED), 40);
	after(&w, 30);
	/* A hold that is broken is withheld from then on: the later note tells. */
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 501});
	ck_assert_int_eq(noted_span(&w, NOTE_LOST), -1);
	ck_assert_int_eq(noted_span(&w, NOTE_WITHHELD), 30);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("holds", NULL, NULL, each_of_many_is_found_by_its_name_and_tag,
		whatever_comes_and_goes_the_others_are_found, a_session_with_many_ends_as_any_other,
		a_hold_is_entered_so_many_times_and_not_more,
		each_hold_says_once_how_long_it_was_waited_for_and_held);
}
