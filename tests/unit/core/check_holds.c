/*
 * Many holds of one session, told apart by name and tag; stories as in check_core.c.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/core.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/view.h"
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
	g = names_find(&w.core->leases->names, SLICE("a"))->lease.grants;
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
	const struct note *note = noted(w, type);

	return note == NULL ? -2 : note->span_ms;
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

static void
ck_slow(const struct story *w, session_id session, int64_t waited_ms, const char *why)
{
	const struct note *note = noted(w, NOTE_SLOW_WAIT);

	ck_assert_ptr_nonnull(note);
	ck_assert_uint_eq(note->session, session);
	ck_assert_int_eq(note->ms, waited_ms);
	ck_assert_str_eq(note->text, why);
}

/* The rule has slow-wait: 200ms and long-hold: 300ms. */
START_TEST(a_long_hold_and_a_slow_wait_are_noted_once_while_they_go_on)
{
	struct story w;
	const struct note *note;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .why = SLICE("release 42")});
	granted(&w, "watched", 1, 500);
	after(&w, 50);
	lock(&w, 2, "watched");
	after(&w, 199);
	ck_assert_ptr_null(noted(&w, NOTE_SLOW_WAIT));
	after(&w, 1);
	ck_slow(&w, 2, 200, "held by session 1 for 250 ms: release 42");
	after(&w, 49);
	ck_assert_ptr_null(noted(&w, NOTE_LONG_HOLD));
	after(&w, 1);
	note = noted(&w, NOTE_LONG_HOLD);
	ck_assert_ptr_nonnull(note);
	ck_assert_uint_eq(note->session, 1);
	ck_assert_int_eq(note->ms, 300);
	ck_assert(slice_equal(note->why, SLICE("release 42")));
	ck_assert_str_eq(note->text, "1 wait here");
	for (int i = 0; i < 30; i++) {
		after(&w, 1);
		ck_assert(!noted(&w, NOTE_SLOW_WAIT) && !noted(&w, NOTE_LONG_HOLD));
	}
	ck_assert_str_eq(unlock(&w, 1, "watched"), "c1 :0 | c2 :501");
	after(&w, 300);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LONG_HOLD));
	ck_assert_str_eq(noted(&w, NOTE_LONG_HOLD)->text, "0 wait here");
	story_done(&w);
}
END_TEST

START_TEST(a_slow_wait_says_what_it_waits_for)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "watched/a");
	busy(&w, "watched/a", 1);
	after(&w, 200);
	ck_slow(&w, 1, 200, "held through another daemon: 0123456789abcdef0123456789abcdef:9");
	link_down(&w, "connection refused");
	lock(&w, 2, "watched/b");
	after(&w, 200);
	ck_assert_ptr_nonnull(noted(&w, NOTE_SLOW_WAIT));
	ck_assert(strncmp(noted(&w, NOTE_SLOW_WAIT)->text, "NOMASTER: ", 10) == 0);
	story_done(&w);
}
END_TEST

static const char *
blocked_by(const struct story *w, struct slice name)
{
	static char text[REPLY_TEXT_MAX];

	return core_view_reason(w->core, w->now.ms, name, text, sizeof(text)) ? text : "nothing";
}

START_TEST(each_reason_for_a_wait_is_told_in_words)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(blocked_by(&w, SLICE("a")), "nothing");
	lock_shared(&w, 1, "a");
	ck_assert_str_eq(blocked_by(&w, SLICE("a")),
		"NOMASTER: the master has not said yet who has it: wait longer, or try again");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(blocked_by(&w, SLICE("a")), "nothing");
	lock(&w, 2, "a");
	lock_shared(&w, 3, "a");
	ck_assert_str_eq(blocked_by(&w, SLICE("a")), "held by session 1 for 0 ms");
	close_as(&w, 2, END_CLEAN);
	ck_assert_str_eq(blocked_by(&w, SLICE("a")), "nothing");
	/* Readers here hold it, and a waiter of another daemon came before the next one. */
	wanted(&w, "a");
	after(&w, 1);
	lock_shared(&w, 4, "a");
	ck_assert_str_eq(blocked_by(&w, SLICE("a")),
		"this daemon has had its turn: a waiter of another daemon is next");
	lock(&w, 1, "b");
	busy(&w, "b", 2);
	ck_assert_str_eq(blocked_by(&w, SLICE("b")),
		"held through another daemon: 0123456789abcdef0123456789abcdef:9");
	link_down(&w, "connection refused");
	ck_assert_int_eq(strncmp(blocked_by(&w, SLICE("b")), "NOMASTER: ", 10), 0);
	story_done(&w);
}
END_TEST

/* The end of a WAIT and of a LEASE come when they would have come without the thresholds. */
START_TEST(thresholds_move_no_end)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .lease_ms = 310});
	granted(&w, "watched", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .wait_ms = 210});
	run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .wait_ms = 190});
	ck_assert_str_eq(after(&w, 190), "c3 null");
	ck_assert_str_eq(after(&w, 10), "");
	ck_slow(&w, 2, 200, "held by session 1 for 200 ms");
	ck_assert_str_eq(after(&w, 10), "c2 null");
	ck_assert_ptr_null(noted(&w, NOTE_SLOW_WAIT));
	after(&w, 90);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LONG_HOLD));
	after(&w, 10);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LOST));
	ck_assert_str_eq(noted(&w, NOTE_LOST)->text, "lease");
	/* The holder says when the LEASE ends from now on: that moves nothing else. */
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("watched/b"), .lease_ms = 100});
	granted(&w, "watched/b", 2, 900);
	run(&w, 1, (struct command){.verb = VERB_EXTEND, .name = SLICE("watched/b"), .extend_ms = 500});
	after(&w, 300);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LONG_HOLD));
	story_done(&w);
}
END_TEST

/* A reload takes the threshold away for which the timer of a wait is armed: only the end of its WAIT ends it.
 */
START_TEST(a_reload_of_the_thresholds_ends_no_wait)
{
	static const struct rule plain[] = {{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1}};
	struct story w;

	story_ready(&w);
	lock(&w, 1, "watched");
	granted(&w, "watched", 1, 500);
	lock(&w, 2, "watched");
	run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .wait_ms = 300});
	after(&w, 100);
	ck_assert(core_set_rules(w.core, plain, 1));
	for (int i = 0; i < 19; i++) {
		ck_assert_str_eq(after(&w, 10), "");
		ck_assert_ptr_null(noted(&w, NOTE_SLOW_WAIT));
	}
	ck_assert_str_eq(after(&w, 10), "c3 null");
	ck_assert_str_eq(unlock(&w, 1, "watched"), "c1 :0 | c2 :501");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("holds", NULL, NULL, each_of_many_is_found_by_its_name_and_tag,
		whatever_comes_and_goes_the_others_are_found, a_session_with_many_ends_as_any_other,
		a_hold_is_entered_so_many_times_and_not_more,
		each_hold_says_once_how_long_it_was_waited_for_and_held,
		a_long_hold_and_a_slow_wait_are_noted_once_while_they_go_on,
		a_slow_wait_says_what_it_waits_for, each_reason_for_a_wait_is_told_in_words,
		thresholds_move_no_end, a_reload_of_the_thresholds_ends_no_wait);
}
