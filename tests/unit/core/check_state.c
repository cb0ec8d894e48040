/*
 * check_state: a daemon is handed over in the middle of a story: its core is saved at rest, loaded, and goes
 * on. Each client gets what it would have got. The state that was saved, cut or changed anywhere, is refused
 * or is one that a core can have; it never ends the process.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/base/change_list.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE (sizeof("holdfast state 1\n") - 1)
#define HEAD       6  /* of a record: its number and its length */
#define LESS_MOST  25 /* bytes: the last fields of a record */

static struct story w;
static char why[RECORD_WHY_MAX];

static void
begin(void)
{
	story_ready(&w);
}

static void
end(void)
{
	story_done(&w);
}

/* ---- the hand-over ---- */

static void
save(struct core *core, struct buffer *out)
{
	struct record r;

	buffer_init(out, SIZE_MAX / 2);
	record_save(&r, out);
	core_save(core, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
	ck_assert_msg(!r.failed, "%s", r.why);
	ck_assert_ptr_nonnull(buffer_bytes(out));
}

/* NULL: it was refused, and `why` says why. */
static struct core *
load(const char *bytes, size_t n)
{
	struct record r;
	struct core *core = NULL;

	if (record_load(&r, (struct slice){bytes, n}))
		core = core_load(&w.settings, w.now, &r);
	if (core != NULL && r.type != RECORD_END) {
		record_fail(&r, "the core's part ends with a record that is none of the others");
		core_free(core);
		core = NULL;
	}
	memcpy(why, r.why, sizeof(why));
	return core;
}

/* Loads bytes that may be damaged. What is taken all the same is a core that goes on. */
static bool
try(const char *bytes, size_t n)
{
	struct actions actions;
	struct core *core = load(bytes, n);

	if (core == NULL) {
		ck_assert_str_ne(why, "");
		return false;
	}
	actions_init(&actions);
	core_step(core, w.now, &(struct event){.type = EVENT_TIMER}, &actions);
	core_check(core, w.now.ms);
	actions_done(&actions);
	core_free(core);
	return true;
}

/* The next process may come up late: by then what was due soon after the state was saved is overdue. */
#define LATE_MS 3600000

static void
ck_late(const struct buffer *state)
{
	int64_t now_ms = w.now.ms;

	w.now.ms += LATE_MS;
	ck_assert_msg(try(buffer_bytes(state), buffer_length(state)), "%s", why);
	w.now.ms = now_ms;
}

/* A small state is damaged at each byte, a larger one at so many: with sanitizers each load takes a while. */
#define DAMAGES 500

static size_t
stride(const struct buffer *state)
{
	return buffer_length(state) / DAMAGES + 1;
}

static void
ck_cut(const struct buffer *state)
{
	for (size_t n = 0; n < buffer_length(state); n += stride(state)) {
		char *bytes = malloc(n + 1);

		ck_assert_ptr_nonnull(bytes);
		memcpy(bytes, buffer_bytes(state), n);
		ck_assert(!try(bytes, n));
		free(bytes);
	}
}

static void
ck_changed(const struct buffer *state)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff};
	size_t n = buffer_length(state);
	char *bytes = malloc(n);

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, buffer_bytes(state), n);
	for (size_t i = n % stride(state); i < n; i += stride(state)) {
		for (size_t f = 0; f < sizeof(flips); f++) {
			bytes[i] = (char)(bytes[i] ^ (char)flips[f]);
			(void)try(bytes, n);
			bytes[i] = buffer_bytes(state)[i];
		}
	}
	free(bytes);
}

static uint32_t
length_at(const char *record)
{
	const unsigned char *p = (const unsigned char *)record + 2;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void
put_record(struct buffer *out, unsigned type, const char *body, size_t n, size_t more)
{
	static const char more_bytes[64] = "fields of another version";
	size_t whole = n + more;
	unsigned char head[HEAD] = {(unsigned char)type, (unsigned char)(type >> 8), (unsigned char)whole,
		(unsigned char)(whole >> 8), (unsigned char)(whole >> 16)};

	buffer_put(out, head, sizeof(head));
	buffer_put(out, body, n);
	buffer_put(out, more_bytes, more);
}

/* The same as a newer version might have saved it: each record has more fields, and an optional one that
 * this version does not know is after it. Or as an older one: this record ends `less` bytes sooner. */
static void
other_version(const struct buffer *state, struct buffer *out, size_t record, size_t less)
{
	const char *p = buffer_bytes(state) + FIRST_LINE, *end = buffer_bytes(state) + buffer_length(state);

	buffer_init(out, SIZE_MAX / 2);
	buffer_put(out, buffer_bytes(state), FIRST_LINE);
	for (size_t i = 0; p < end; i++, p += HEAD + length_at(p)) {
		unsigned type = (unsigned char)p[0] | (unsigned)(unsigned char)p[1] << 8;

		put_record(out, type, p + HEAD, length_at(p) - (i == record ? less : 0), less == 0 ? 24 : 0);
		if (less == 0 && type != RECORD_END)
			put_record(out, RECORD_OPTIONAL + 500, "", 0, 40);
	}
}

static void
ck_newer(const struct buffer *state)
{
	struct buffer newer, again;
	struct core *core;

	other_version(state, &newer, 0, 0);
	core = load(buffer_bytes(&newer), buffer_length(&newer));
	ck_assert_msg(core != NULL, "%s", why);
	save(core, &again);
	ck_assert_ptr_nonnull(buffer_bytes(&again));
	if (w.settings.lease_max_ms == w.core->quorum->binding.ruled_lease_ms)
		ck_assert(slice_equal((struct slice){buffer_bytes(state), buffer_length(state)},
			(struct slice){buffer_bytes(&again), buffer_length(&again)}));
	core_free(core);
	buffer_done(&newer);
	buffer_done(&again);
}

/* Cut between two fields, it is loaded, as long as what is missing means something. */
static void
ck_older(const struct buffer *state)
{
	const char *p = buffer_bytes(state) + FIRST_LINE, *end = buffer_bytes(state) + buffer_length(state);
	size_t loaded = 0;

	for (size_t i = 0; p < end; i++, p += HEAD + length_at(p)) {
		for (size_t less = 1; less <= length_at(p) && less <= LESS_MOST; less++) {
			struct buffer older;

			other_version(state, &older, i, less);
			loaded += try(buffer_bytes(&older), buffer_length(&older));
			buffer_done(&older);
		}
	}
	ck_assert_uint_gt(loaded, 0);
}

/* For the corpus of tests/fuzz/fuzz_state.c: `make corpus`. Each state has a name of its own. */
static void
keep(const struct buffer *state, const char *name)
{
	const char *folder = getenv("HOLDFAST_CORPUS");
	char path[512];
	FILE *to;

	if (name == NULL || folder == NULL)
		return;
	ck_assert_uint_lt((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name), sizeof(path));
	to = fopen(path, "wx");
	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(fwrite(buffer_bytes(state), 1, buffer_length(state), to), buffer_length(state));
	ck_assert_int_eq(fclose(to), 0);
}

/* As an adapter: of a link that never was up none tells that it is down. */
static void
links_go_down(void)
{
	for (w.at = 0; w.at < w.settings.masters; w.at++) {
		if (!w.core->masters[w.at].links[0].up)
			continue;
		if (w.core->masters[w.at].links[0].hello_under_way)
			vote(&w, (struct vote){.op = CALL_HELLO, .outcome = OUTCOME_UNKNOWN});
		link_down(&w, "handed over");
	}
	w.at = 0;
	after(&w, 0);
}

/* The next process takes over, and has reached no master yet. thorough: the state is damaged in all ways as
 * well. The corpus has it under this name; NULL: it lacks it. */
static void
taken_over(bool thorough, const char *name)
{
	struct buffer first, second;
	struct core *core;

	links_go_down();
	for (int i = 0; i < 3 && !core_rests(w.core); i++)
		after(&w, 1);
	ck_assert_msg(core_rests(w.core), "a call of the story has no answer");
	save(w.core, &first);
	core = load(buffer_bytes(&first), buffer_length(&first));
	ck_assert_msg(core != NULL, "%s", why);
	core_check(core, w.now.ms);
	save(core, &second);
	if (w.settings.lease_max_ms == w.core->quorum->binding.ruled_lease_ms)
		ck_assert(slice_equal((struct slice){buffer_bytes(&first), buffer_length(&first)},
			(struct slice){buffer_bytes(&second), buffer_length(&second)}));
	keep(&first, name);
	ck_late(&first);
	if (thorough) {
		ck_cut(&first);
		ck_changed(&first);
		ck_newer(&first);
		ck_older(&first);
	}
	buffer_done(&first);
	buffer_done(&second);
	story_goes_on(&w, core);
}

/* Returns what the next process does when the masters are back; admitted: these say that leases may be had
 * there. */
static const char *
handed_over_to(bool admitted, const char *name)
{
	taken_over(true, name);
	for (w.at = 0; w.at < w.settings.masters; w.at++) {
		link_up(&w);
		hello(&w, admitted, MEMORY + w.at);
	}
	w.at = 0;
	return w.trace;
}

static const char *
handed_over_as(const char *name)
{
	return handed_over_to(true, name);
}

static const char *
handed_over(void)
{
	return handed_over_as(NULL);
}

/* ---- names ---- */

static const char *
lock_async(conn_id conn, const char *name, const char *id)
{
	return run(&w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name), .id = slice_of(id)});
}

START_TEST(a_daemon_without_clients_goes_on)
{
	for (conn_id c = 1; c <= 4; c++)
		close_as(&w, c, END_CLEAN);
	ck_assert_str_eq(handed_over_as("empty"), "");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_OPEN, .conn = 5, .peer = &(struct peer){.uid = 0}}),
		"");
	ck_assert_str_eq(lock(&w, 5, "a"), "acquire a#1");
}
END_TEST

START_TEST(a_hold_is_held_on_with_its_token)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_as(&w, 1, "b", "tag");
	granted(&w, "b", 2, 700);
	lock_as(&w, 1, "b", "tag");
	ck_assert_str_eq(handed_over(), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -HELD");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_UNLOCK, .name = SLICE("b"), .owner = SLICE("tag")}),
		"c1 :1");
}
END_TEST

START_TEST(waits_keep_their_order_and_get_the_next_tokens)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	lock_async(3, "a", "x");
	lock_async(3, "b", "y");
	granted(&w, "b", 2, 900);
	lock(&w, 4, "a");
	ck_assert_str_eq(handed_over_as("waits"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 push grant x");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c4 :503");
	ck_assert_str_eq(unlock(&w, 3, "b"), "c3 :0 | release b#2");
}
END_TEST

START_TEST(a_session_in_the_ledger_that_is_not_durable_stays_there)
{
	w.settings.ledger_many = 2;
	story_anew(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "b");
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1);
	taken_over(false, NULL);
	ck_assert(conn_find(w.core, 1)->session->written && !conn_find(w.core, 1)->session->durable);
	link_up(&w);
	hello(&w, true, MEMORY);
	/* In the middle of a story: the ledger says what the core says. */
	unlock(&w, 1, "b");
	ck_assert_uint_eq(w.core->counts.grants, 0);
}
END_TEST

START_TEST(a_session_that_gives_up_its_holds_goes_on_with_that)
{
	w.settings.end_holds = 1;
	story_anew(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "b");
	granted(&w, "b", 2, 600);
	lock(&w, 1, "c");
	granted(&w, "c", 3, 700);
	lock(&w, 2, "a");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "release c#3");
	answer(&w, CALL_RELEASE, OUTCOME_YES, "c", 3);
	handed_over();
	after(&w, 1);
	after(&w, 1);
	ck_assert_uint_eq(w.core->counts.grants, 1);
	ck_assert_str_eq(check(&w, 2, "a"), "c2 :975");
}
END_TEST

START_TEST(a_wait_ends_when_it_would_have_ended)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 120});
	run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .retries = 3});
	after(&w, 20);
	ck_assert_str_eq(handed_over(), "");
	ck_assert_str_eq(after(&w, 99), "");
	ck_assert_str_eq(after(&w, 1), "c2 null");
}
END_TEST

START_TEST(a_long_hold_and_a_slow_wait_are_noted_once_in_either_process)
{
	lock(&w, 1, "watched");
	granted(&w, "watched", 1, 500);
	/* It looks again and again: it would be noted each time. */
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("watched"), .retries = 9});
	after(&w, 200);
	ck_assert_ptr_nonnull(noted(&w, NOTE_SLOW_WAIT));
	ck_assert_str_eq(handed_over(), "");
	after(&w, 100);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LONG_HOLD));
	ck_assert_ptr_null(noted(&w, NOTE_SLOW_WAIT));
	lock(&w, 3, "watched");
	ck_assert_str_eq(handed_over(), "");
	for (int i = 0; i < 199; i++) {
		after(&w, 1);
		ck_assert(!noted(&w, NOTE_SLOW_WAIT) && !noted(&w, NOTE_LONG_HOLD));
	}
	after(&w, 1);
	ck_assert_ptr_nonnull(noted(&w, NOTE_SLOW_WAIT));
	ck_assert_uint_eq(noted(&w, NOTE_SLOW_WAIT)->session, 3);
	for (int i = 0; i < 100; i++) {
		after(&w, 1);
		ck_assert(!noted(&w, NOTE_SLOW_WAIT) && !noted(&w, NOTE_LONG_HOLD));
	}
}
END_TEST

START_TEST(a_wait_that_ends_meanwhile_is_not_told_of_missing_masters)
{
	link_down(&w, "handed over");
	core_unread(w.core, w.now.ms + 1000);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 50});
	run(&w, 3,
		(struct command){.verb = VERB_MLOCK,
			.names = (struct slice[]){SLICE("b")},
			.name_count = 1,
			.wait_ms = 50});
	run(&w, 4, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("l"), .wait_ms = 50});
	ck_assert_str_eq(after(&w, 60), "");
	ck_assert_str_eq(handed_over(), "look l#1 | acquire b#2 | acquire a#3");
	core_unread(w.core, w.now.ms);
	ck_assert_str_eq(after(&w, 190), "");
	ck_assert_str_eq(after(&w, 20), "c2 -NOMASTER | c3 -NOMASTER | c4 -NOMASTER");
}
END_TEST

START_TEST(a_wait_for_another_daemon_asks_again)
{
	lock(&w, 1, "a");
	busy(&w, "a", 1);
	ck_assert_str_eq(handed_over_as("asking"), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c1 :500");
}
END_TEST

START_TEST(readers_read_on_and_a_writer_waits_for_them)
{
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 2, "a");
	ck_assert_str_eq(lock(&w, 3, "a"), "enter a#1 shared");
	answer(&w, CALL_ENTER, OUTCOME_UNKNOWN, "a", 1);
	lock_shared(&w, 4, "a");
	ck_assert_str_eq(handed_over_as("readers"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 shared | acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 1600), "c3 :1600");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c4 :1601");
}
END_TEST

static const struct command two_of_three = {
	.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 3, .permits = 2};

static void
take_two_of_three(void)
{
	run(&w, 1, two_of_three);
	vote(&w, (struct vote){.op = CALL_ACQUIRE,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .token_first = 100,
			 .token_last = 199,
			 .slots = SLICE("0,1")});
}

START_TEST(permits_stay_taken)
{
	take_two_of_three();
	run(&w, 2, two_of_three);
	answer(&w, CALL_ACQUIRE, OUTCOME_BUSY, "a", 2);
	handed_over_as("permits");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("a")}), "c3 -WRONGKIND");
}
END_TEST

START_TEST(unused_permits_are_kept_for_their_time)
{
	story_done(&w);
	story_retaining(&w, 1, 50);
	take_two_of_three();
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(handed_over_as("permits-kept"), "");
	ck_assert_str_eq(after(&w, 49), "");
	ck_assert_str_eq(after(&w, 1), "release a#1 2 of 3: 0,1");
}
END_TEST

START_TEST(what_ends_by_its_terms_ends_then)
{
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .lease_ms = 200});
	granted(&w, "a", 1, 500);
	lock(&w, 2, "capped");
	granted(&w, "capped", 2, 700);
	run(&w, 2, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_PUSH});
	after(&w, 50);
	handed_over();
	ck_assert_str_eq(after(&w, 149), "");
	ck_assert_str_eq(after(&w, 1), "release a#1");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(after(&w, 100), "c2 push lost capped | release capped#2");
}
END_TEST

START_TEST(an_abandoned_hold_is_withheld_to_its_deadline)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_ABANDONED);
	handed_over_as("withheld");
	ck_assert_str_eq(after(&w, 900), "renew a#1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(after(&w, 87), "");
	ck_assert_str_eq(after(&w, 2), "c2 :501");
}
END_TEST

START_TEST(a_lease_that_ended_meanwhile_is_lost)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	link_down(&w, "away");
	after(&w, 100);
	handed_over();
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :878");
	answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_TIMER}), "");
}
END_TEST

START_TEST(a_release_without_an_answer_is_sent_again)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	answer(&w, CALL_RELEASE, OUTCOME_UNKNOWN, "a", 1);
	ck_assert_str_eq(handed_over_as("release"), "release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
}
END_TEST

START_TEST(an_unused_lease_is_kept_for_its_time)
{
	story_done(&w);
	story_retaining(&w, 3, 300);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 500);
	w.at = 0;
	unlock(&w, 1, "a");
	handed_over_as("retained");
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(after(&w, 299), "");
	ck_assert_str_eq(after(&w, 1), "release a#1@1 | release a#1@2 | release a#1@3");
}
END_TEST

/* ---- sessions ---- */

static void
ask_secret(conn_id conn, struct command command, char secret[64])
{
	run(&w, conn, command);
	(void)snprintf(secret, 64, "%.48s", story_text(&w));
}

START_TEST(a_detached_session_is_resumed_with_what_it_holds_and_waits_for)
{
	char secret[64];

	ask_secret(1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 4000}, secret);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_async(1, "b", "x");
	granted(&w, "b", 2, 700);
	lock(&w, 2, "c");
	granted(&w, "c", 3, 900);
	lock(&w, 1, "c");
	close_as(&w, 1, END_ABANDONED);
	unlock(&w, 2, "c");
	handed_over_as("grace");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret)}),
		"c3 :3");
	ck_assert_str_eq(lock(&w, 3, "c"), "c3 :901");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 :977");
}
END_TEST

/* What each of its requests waits for, over a connection of its own, with the place of one that is lost. */
/* A core that is loaded marks all that it gets. */
START_TEST(many_marks_of_a_core_that_was_loaded_are_forgotten)
{
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(change_list_add(&w.core->sessions->changed, conn_find(w.core, 1)->session));
	ck_assert(!changes_at_rest(w.core));
	changes_forget(w.core);
	ck_assert(changes_at_rest(w.core));
	handed_over();
}
END_TEST

START_TEST(the_session_of_an_id_goes_on_in_each_of_its_requests)
{
	const struct slice id = SLICE("6f1c0d8e5b7a4e9f"), other = SLICE("0a9b8c7d6e5f4a3b");
	const struct peer peer = {.pid = 105, .uid = 0};
	struct slice names[] = {SLICE("a"), SLICE("d")};
	struct command c = {.verb = VERB_LOCK, .name = SLICE("a"), .as = id};

	/* The session that is older has been silent for shorter. */
	run(&w, 2, (struct command){.verb = VERB_SESSION_ID, .as = other});
	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	/* Places are kept for as long. */
	run(&w, 1, (struct command){.verb = VERB_SESSION_TTL, .ttl_ms = 200, .as = id});
	lock(&w, 2, "b");
	granted(&w, "b", 2, 700);
	c.name = SLICE("b");
	run(&w, 3, c);
	c.owner = SLICE("tag");
	run(&w, 1, c);
	close_as(&w, 1, END_GONE);
	run(&w, 4,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = 2,
			.wait_ms = COMMAND_WAIT_RULE,
			.owner = SLICE("m"),
			.as = id});
	step(&w, &(struct event){.type = EVENT_OPEN, .conn = 5, .peer = &peer});
	run(&w, 5, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .as = other});
	handed_over_as("id");
	c.verb = VERB_CHECK;
	c.name = SLICE("a");
	c.owner = (struct slice){NULL, 0};
	ck_assert_str_eq(run(&w, 2, c), "c2 :977");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c3 :701");
	c.verb = VERB_UNLOCK;
	c.name = SLICE("b");
	c.token = 701;
	ck_assert_str_eq(run(&w, 3, c), "c3 :0");
	/* The orphaned waiter has it now, unannounced; its time goes on. */
	handed_over_as("id untold");
	ck_assert_str_eq(after(&w, 199), "");
	ck_assert_str_eq(after(&w, 1), "release b#2");
}
END_TEST

static const char *
lock_of_id(conn_id conn, const char *name)
{
	return run(&w, conn,
		(struct command){.verb = VERB_LOCK,
			.name = slice_of(name),
			.wait_ms = COMMAND_WAIT_RULE,
			.as = SLICE("6f1c0d8e5b7a4e9f")});
}

/* Over TCP the end of a connection looks like this until an answer is written. */
static const char *
finish(conn_id conn)
{
	return step(&w, &(struct event){.type = EVENT_FINISH, .conn = conn});
}

START_TEST(the_place_of_an_id_whose_client_is_cut_off_is_kept)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_of_id(2, "a");
	lock(&w, 3, "a");
	ck_assert_str_eq(finish(2), "c2 null");
	close_as(&w, 2, END_ABANDONED);
	after(&w, 200);
	ck_assert_str_eq(handed_over_as("cut off"), "");
	ck_assert_str_eq(lock_of_id(4, "a"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c4 :501");
}
END_TEST

/* No master answers while the daemon comes to rest. */
START_TEST(the_place_of_an_id_is_kept_if_its_client_is_cut_off_while_masters_are_asked)
{
	ck_assert_str_eq(lock_of_id(2, "a"), "acquire a#1");
	lock(&w, 3, "a");
	ck_assert_str_eq(finish(2), "");
	ck_assert_str_eq(link_down(&w, "handed over"), "");
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_UNKNOWN, "a", 1), "c2 -NOMASTER");
	ck_assert_str_eq(handed_over(), "acquire a#2 | release a#1");
	close_as(&w, 2, END_ABANDONED);
	ck_assert_str_eq(lock_of_id(4, "a"), "");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c4 :500");
}
END_TEST

START_TEST(a_grace_ends_when_it_would_have_ended)
{
	char secret[64];

	ask_secret(1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 400}, secret);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "a");
	close_as(&w, 1, END_ABANDONED);
	after(&w, 300);
	handed_over();
	after(&w, 100);
	after(&w, 51);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret)}),
		"c3 -ERR");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1");
}
END_TEST

START_TEST(a_grace_that_ends_meanwhile_ends_soon_afterwards)
{
	char secret[64];

	ask_secret(1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 40}, secret);
	close_as(&w, 1, END_ABANDONED);
	core_unread(w.core, w.now.ms + 30000);
	after(&w, 50);
	handed_over();
	core_unread(w.core, w.now.ms);
	for (int i = 0; i < 30; i++)
		after(&w, 1);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret)}),
		"c3 -ERR");
}
END_TEST

START_TEST(a_silent_session_is_closed_when_it_would_have_been)
{
	run(&w, 1, (struct command){.verb = VERB_SESSION_HEARTBEAT, .heartbeat_ms = 200});
	after(&w, 150);
	handed_over();
	ck_assert(core_wants_heartbeat(w.core, 1));
	after(&w, 50);
	ck_assert_str_eq(after(&w, 26), "c1 close");
}
END_TEST

START_TEST(a_session_ends_with_the_process_that_it_is_bound_to)
{
	const struct process process = {4711, 1, 9};

	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	handed_over_as("bound");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_BIND, .conn = 3, .process = process}), "c3 :1");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_CLOSE, .conn = 3, .end = END_GONE}), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "c2 :501");
}
END_TEST

START_TEST(a_session_whose_process_cannot_be_seen_goes_on_as_such)
{
	const struct process process = {4711, 1, 9};

	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	step(&w, &(struct event){.type = EVENT_UNSEEN, .process = process});
	handed_over_as("unseen");
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "");
	ck_assert_ptr_null(strstr(after(&w, 900), "c2 :501"));
}
END_TEST

START_TEST(an_anchor_keeps_the_session_of_a_process_that_has_ended)
{
	const struct process process = {4711, 1, 0};
	char secret[64];

	ask_secret(1, (struct command){.verb = VERB_SESSION_SECRET}, secret);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)});
	run(&w, 3, (struct command){.verb = VERB_SESSION_ANCHOR});
	handed_over();
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "");
	handed_over();
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	ck_assert_str_eq(close_as(&w, 3, END_GONE), "c2 :501");
}
END_TEST

START_TEST(a_loss_is_told_once)
{
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	lock_as(&w, 1, "a", "tag");
	granted(&w, "a", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	handed_over_as("loss");
	ck_assert_str_eq(lock_as(&w, 1, "a", "tag"), "c1 -LOST");
	ck_assert_str_eq(lock_as(&w, 1, "a", "tag"), "");
}
END_TEST

START_TEST(a_connection_that_takes_no_pushes_is_closed)
{
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_async(2, "a", "x");
	step(&w, &(struct event){.type = EVENT_NO_PUSH, .conn = 2, .no_push = true});
	handed_over();
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 close | release a#1");
}
END_TEST

/* ---- MLOCK ---- */

static const char *
mlock(conn_id conn, struct slice *names, size_t n)
{
	return run(&w, conn,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = n,
			.wait_ms = COMMAND_WAIT_RULE,
			.owner = SLICE("tag"),
			.lease_ms = 500});
}

START_TEST(an_mlock_goes_on_with_what_it_holds_and_waits_for)
{
	struct slice names[] = {SLICE("c"), SLICE("a"), SLICE("b")};

	lock(&w, 1, "b");
	granted(&w, "b", 1, 500);
	mlock(2, names, 3);
	granted(&w, "a", 2, 700);
	after(&w, 20);
	handed_over_as("mlock");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 1}), "");
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | acquire c#3 once");
	ck_assert_str_eq(granted(&w, "c", 3, 900), "c2 [:900 :700 :501]");
}
END_TEST

/* Between two looks at it nothing passes but time: the next process knows since when they have been. */
START_TEST(the_longest_wait_and_the_longest_hold_go_on)
{
	struct slice names[] = {SLICE("c"), SLICE("a")};
	struct longest_view longest;

	core_view_longest(w.core, w.now.ms, &longest);
	ck_assert(longest.wait_ms == 0 && longest.hold_ms == 0);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	after(&w, 30);
	mlock(2, names, 2);
	after(&w, 40);
	lock(&w, 3, "a");
	lock(&w, 4, "b");
	granted(&w, "b", 2, 700);
	after(&w, 10);
	core_view_longest(w.core, w.now.ms, &longest);
	ck_assert_int_eq(longest.hold_ms, 80);
	ck_assert_int_eq(longest.wait_ms, 50);
	handed_over();
	core_view_longest(w.core, w.now.ms + 100, &longest);
	ck_assert_int_ge(longest.hold_ms, 180);
	ck_assert_int_le(longest.hold_ms, 185);
	ck_assert_int_eq(longest.hold_ms - longest.wait_ms, 30);
	/* The MLOCK has it in its turn, and waits for the other name as the same request. */
	unlock(&w, 1, "a");
	core_view_longest(w.core, w.now.ms + 100, &longest);
	ck_assert_int_ge(longest.wait_ms, 150);
	granted(&w, "c", 3, 900);
	core_view_longest(w.core, w.now.ms + 100, &longest);
	ck_assert_int_ge(longest.wait_ms, 110);
	ck_assert_int_lt(longest.wait_ms, 150);
	/* An abandoned hold has ended for its holder. */
	close_as(&w, 4, END_ABANDONED);
	close_as(&w, 2, END_ABANDONED);
	core_view_longest(w.core, w.now.ms, &longest);
	ck_assert_int_eq(longest.hold_ms, 0);
}
END_TEST

START_TEST(an_mlock_ends_with_its_connection)
{
	struct slice names[] = {SLICE("a"), SLICE("b")};

	lock(&w, 1, "b");
	granted(&w, "b", 1, 500);
	mlock(2, names, 2);
	granted(&w, "a", 2, 700);
	handed_over();
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "release a#2");
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | release b#1");
}
END_TEST

/* ---- CLAIM ---- */

static void
claim_and_wait(void)
{
	const struct slice names[] = {SLICE("a"), SLICE("d")};
	struct command c = {.verb = VERB_LOCK, .name = SLICE("a"), .claim_ms = 100};

	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	c.name = SLICE("b");
	run(&w, 1, c);
	granted(&w, "b", 2, 700);
	check(&w, 1, "b");
	run(&w, 2, c);
	c = (struct command){.verb = VERB_MLOCK,
		.names = names,
		.name_count = 2,
		.wait_ms = COMMAND_WAIT_RULE,
		.claim_ms = 100};
	ck_assert_str_eq(run(&w, 3, c), "");
	after(&w, 20);
}

START_TEST(a_claim_is_due_when_it_was)
{
	claim_and_wait();
	handed_over_as("claim");
	ck_assert_str_eq(after(&w, 79), "");
	ck_assert_str_eq(after(&w, 1), "acquire d#3 once");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(check(&w, 1, "b"), "c1 :878");
	ck_assert_str_eq(granted(&w, "d", 3, 900), "c3 [:501 :900]");
	/* What waited is offered on its own terms. */
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | c2 :701");
	ck_assert_str_eq(after(&w, 99), "");
	after(&w, 1);
	ck_assert_str_eq(check(&w, 2, "b"), "c2 -LOST");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 -LOST");
	ck_assert_str_eq(check(&w, 3, "d"), "c3 -LOST");
}
END_TEST

/* ---- latches ---- */

static const char *
latch(conn_id conn, enum verb verb, const char *name, int64_t steps)
{
	return run(&w, conn,
		(struct command){.verb = verb,
			.name = slice_of(name),
			.steps = steps,
			.wait_ms = COMMAND_WAIT_RULE,
			.owner = SLICE("tag")});
}

static const char *
has(const char *name, uint64_t attempt, uint64_t id, int64_t left)
{
	return vote(&w, (struct vote){.op = CALL_LATCH,
				.name = slice_of(name),
				.attempt = attempt,
				.latch = {.id = id, .set = 2, .left = left, .ttl_ms = 60000}});
}

START_TEST(who_awaits_a_latch_is_told_when_it_opens)
{
	uint64_t id;

	latch(1, VERB_LATCH_SET, "a", 2);
	id = last_call(&w)->latch;
	has("a", 1, id, 2);
	latch(2, VERB_LATCH_AWAIT, "a", 0);
	has("a", 2, id, 2);
	latch(3, VERB_LATCH_AWAIT, "none", 0);
	answer(&w, CALL_LATCH, OUTCOME_NO, "none", 3);
	latch(4, VERB_LATCH_SET, "b", 2);
	has("b", 4, last_call(&w)->latch, 1);
	ck_assert_str_eq(handed_over_as("latches"), "look a#5 | look none#6");
	ck_assert_str_eq(has("a", 5, id, 0), "c2 :0");
	ck_assert_str_eq(answer(&w, CALL_LATCH, OUTCOME_NO, "none", 6), "");
	ck_assert_str_eq(latch(1, VERB_LATCH_DOWN, "b", 0), "down b#7");
}
END_TEST

START_TEST(a_latch_that_may_have_been_counted_is_counted_for_the_same_one)
{
	uint64_t id;

	latch(1, VERB_LATCH_SET, "a", 2);
	id = last_call(&w)->latch;
	has("a", 1, id, 2);
	ck_assert_str_eq(latch(2, VERB_LATCH_DOWN, "a", 0), "down a#2");
	step(&w, &(struct event){.type = EVENT_FINISH, .conn = 1});
	answer(&w, CALL_LATCH, OUTCOME_UNKNOWN, "a", 2);
	ck_assert_str_eq(handed_over_as("unsure"), "down a#3");
	ck_assert_uint_eq(last_call(&w)->latch, id);
	ck_assert_str_eq(has("a", 3, id, 1), "c2 :1");
}
END_TEST

START_TEST(latches_count_on_for_their_users)
{
	w.settings.per_user.latches = 2;
	story_anew(&w);
	latch(1, VERB_LATCH_SET, "a", 150);
	has("a", 1, last_call(&w)->latch, 2);
	handed_over();
	ck_assert_str_eq(latch(1, VERB_LATCH_SET, "b", 1), "c1 -LIMIT");
}
END_TEST

/* ---- masters ---- */

START_TEST(a_guard_ends_when_it_would_have_ended)
{
	int64_t begun_ms;

	story_done(&w);
	story_init(&w);
	step(&w, &(struct event){.type = EVENT_LINK_UP});
	hello(&w, false, MEMORY);
	begun_ms = w.now.ms;
	after(&w, GUARD_MS / 8);
	handed_over_to(false, NULL);
	ck_assert_str_eq(lock_once(&w, 1, "a"), "c1 -GUARD");
	while (w.now.ms < begun_ms + GUARD_MS - 100)
		ck_assert_ptr_null(strstr(after(&w, 50), "admit"));
	ck_assert_ptr_nonnull(strstr(after(&w, 100), "admit"));
}
END_TEST

START_TEST(three_masters_are_found_as_they_were)
{
	story_done(&w);
	story_among(&w, 3);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	handed_over_as("three");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1@1 | release a#1@2 | release a#1@3");
}
END_TEST

/* The third of three masters has not answered, and may still give the lease. */
START_TEST(what_may_still_create_a_lease_is_given_back_by_the_next_process)
{
	story_done(&w);
	story_among(&w, 3);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 2; w.at++)
		granted(&w, "a", 1, 500);
	answer(&w, CALL_ACQUIRE, OUTCOME_UNKNOWN, "a", 1);
	w.at = 0;
	handed_over_as("may create");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1@1 | release a#1@2 | release a#1@3");
}
END_TEST

/* Three masters, and connection 1 holds a at the first and the third. */
static void
begin_held_at_two(void)
{
	story_done(&w);
	story_among(&w, 3);
	lock(&w, 1, "a");
	w.at = 1;
	answer(&w, CALL_ACQUIRE, OUTCOME_ERROR, "a", 1);
	for (w.at = 0; w.at < 3; w.at += 2)
		granted(&w, "a", 1, 500);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
}

static void
shows_jump(unsigned master, int64_t jump_ms)
{
	w.jump_ms = jump_ms;
	w.at = master;
	hello(&w, true, MEMORY + master);
}

static void
let_calls_end(void)
{
	while (!core_rests(w.core))
		answer(&w, CALL_LEAVE, OUTCOME_NO, "b", 9);
}

START_TEST(a_jump_that_one_master_has_shown_counts_on)
{
	begin_held_at_two();
	shows_jump(0, LEASE_MS / 2);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	/* The HELLOs of the others were read before. */
	shows_jump(1, 0);
	shows_jump(2, 0);
	let_calls_end();
	handed_over();
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	shows_jump(1, LEASE_MS / 2);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :482");
}
END_TEST

START_TEST(time_that_the_host_stood_still_is_not_taken_off_once_more)
{
	begin_held_at_two();
	shows_jump(0, LEASE_MS / 4);
	shows_jump(1, LEASE_MS / 4);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :729");
	/* The third shows it to the next process. */
	let_calls_end();
	handed_over_as("jumped");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :729");
}
END_TEST

/* The masters' clocks jump between the last HELLO of one process and the first of the next. */
START_TEST(a_jump_during_a_hand_over_is_seen_by_the_next_process)
{
	begin_held_at_two();
	let_calls_end();
	w.jump_ms = LEASE_MS / 2;
	handed_over();
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :482");
}
END_TEST

/* ---- what is refused ---- */

static const char *
refused_by(const struct core_settings *settings, int64_t later_ms)
{
	struct core_settings before = w.settings;
	struct buffer state;

	link_down(&w, "handed over");
	save(w.core, &state);
	w.settings = *settings;
	w.now.ms += later_ms;
	ck_assert_ptr_null(load(buffer_bytes(&state), buffer_length(&state)));
	w.settings = before;
	buffer_done(&state);
	return why;
}

START_TEST(a_name_with_another_key_refuses_the_state_and_is_told)
{
	const struct rule rules[] = {{.match = "a*", .key = "x%", .lease_ms = LEASE_MS, .wait_ms = -1},
		{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1}};
	struct core_settings settings = w.settings;

	lock(&w, 1, "abc");
	granted(&w, "abc", 1, 500);
	settings.rules = rules;
	settings.rule_count = 2;
	ck_assert_str_eq(refused_by(&settings, 0),
		"abc has another key or interop by the configuration than it was locked by");
}
END_TEST

START_TEST(a_name_with_another_interop_refuses_the_state_and_is_told)
{
	const struct rule rules[] = {{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1}};
	struct core_settings settings = w.settings;

	lock(&w, 1, "redisson-1");
	granted(&w, "redisson-1", 1, 500);
	settings.rules = rules;
	settings.rule_count = 1;
	ck_assert_str_eq(refused_by(&settings, 0),
		"redisson-1 has another key or interop by the configuration than it was locked by");
}
END_TEST

START_TEST(a_state_of_another_namespace_is_refused)
{
	struct core_settings settings = w.settings;

	settings.namespace_ = "other";
	ck_assert_str_eq(refused_by(&settings, 0), "its namespace is hf, and the configuration has other");
}
END_TEST

START_TEST(a_state_from_the_future_is_refused)
{
	ck_assert_str_eq(refused_by(&w.settings, -1),
		"it was saved at a time that this host has not reached since it booted");
}
END_TEST

START_TEST(a_change_of_the_masters_that_no_connection_asked_for_is_refused)
{
	w.core->masterset->request.open = true;
	ck_assert_str_eq(refused_by(&w.settings, 0), "its set of masters cannot be read");
}
END_TEST

/* The terms of a part begin when its client is told. */
START_TEST(a_part_of_an_mlock_that_has_an_end_is_refused)
{
	struct slice names[] = {SLICE("a"), SLICE("b")};
	struct grant *g;

	lock(&w, 1, "b");
	granted(&w, "b", 1, 500);
	mlock(2, names, 2);
	granted(&w, "a", 2, 700);
	g = resource_next_grant(names_find(&w.core->leases->names, names[0]), NULL);
	ck_assert_ptr_nonnull(part_of(g));
	g->terms->ends_ms = w.now.ms + 500;
	timer_arm(&w.core->timers, &g->terms->timer, g->terms->ends_ms);
	ck_assert_str_eq(refused_by(&w.settings, 0), "a part of an MLOCK has no such waiter or hold");
}
END_TEST

/* No link has reached it yet, and none could be made. */
static void
never_reached(void)
{
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_REGISTERING);
}

static void
refused_a_link(void)
{
	link_down(&w, "connection refused");
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_AWAY);
}

static void
hello_without_an_answer(void)
{
	link_up(&w);
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_REGISTERING);
}

static void
is_a_replica(void)
{
	link_up(&w);
	vote(&w, (struct vote){.op = CALL_HELLO, .outcome = OUTCOME_YES, .hello = HELLO_REPLICA});
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_REFUSED);
}

static void
is_guarded(void)
{
	link_up(&w);
	hello(&w, false, MEMORY + w.at);
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_GUARDED);
}

static void
is_admitted(void)
{
	link_up(&w);
	hello(&w, true, MEMORY + w.at);
	ck_assert_int_eq(w.core->masters[w.at].state, MASTER_ADMITTED);
}

static void
was_lost(void)
{
	is_admitted();
	link_down(&w, "connection reset");
}

/* Also one of each: a majority is missing, there, or not known yet. */
START_TEST(a_daemon_is_handed_over_whatever_state_its_masters_are_in)
{
	static void (*const states[])(void) = {never_reached, refused_a_link, hello_without_an_answer,
		is_a_replica, is_guarded, is_admitted, was_lost};
	const size_t n = sizeof(states) / sizeof(states[0]);

	for (size_t i = 0; i < n * n; i++) {
		story_done(&w);
		story_apart(&w, 3);
		for (w.at = 0; w.at < 3; w.at++)
			states[w.at == 0 ? i % n : i / n]();
		w.at = 0;
		/* Twice in a row: the next process need not have reached them either. */
		taken_over(i < n, NULL);
		taken_over(i < n, NULL);
		for (w.at = 0; w.at < 3; w.at++)
			is_admitted();
		w.at = 0;
		ck_assert_ptr_nonnull(strstr(lock(&w, 1, "a"), "acquire a"));
	}
}
END_TEST

/* As after core_set_rules(): guards wait for the longer leases, and they are used when all daemons do. */
START_TEST(the_next_process_may_have_longer_leases_and_shorter_ones)
{
	const struct rule longer[] = {{.match = "*", .lease_ms = 3 * LEASE_MS, .wait_ms = -1}};
	struct core_settings before = w.settings;
	struct terms_view terms;

	w.settings.rules = longer;
	w.settings.rule_count = 1;
	w.settings.lease_max_ms = 3 * LEASE_MS;
	handed_over();
	core_view_terms(w.core, &terms);
	ck_assert_int_eq(terms.wanted_lease_ms, 3 * LEASE_MS);
	ck_assert_int_eq(terms.guarded_lease_ms, 3 * LEASE_MS);
	w.settings = before;
	handed_over();
	core_view_terms(w.core, &terms);
	ck_assert_int_eq(terms.guarded_lease_ms, 3 * LEASE_MS);
	/* What was told under the longer ones is relied on until it is over. */
	ck_assert_int_eq(terms.wanted_lease_ms, 3 * LEASE_MS);
	link_down(&w, "cut off");
	after(&w, 3 * LEASE_MS + drift_ms(3 * LEASE_MS) + MARGIN_MS);
	handed_over();
	core_view_terms(w.core, &terms);
	ck_assert_int_eq(terms.wanted_lease_ms, LEASE_MS);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("state", begin, end, a_daemon_without_clients_goes_on,
		a_hold_is_held_on_with_its_token, waits_keep_their_order_and_get_the_next_tokens,
		a_session_in_the_ledger_that_is_not_durable_stays_there,
		a_session_that_gives_up_its_holds_goes_on_with_that, a_wait_ends_when_it_would_have_ended,
		a_long_hold_and_a_slow_wait_are_noted_once_in_either_process,
		a_wait_that_ends_meanwhile_is_not_told_of_missing_masters,
		a_wait_for_another_daemon_asks_again, readers_read_on_and_a_writer_waits_for_them,
		permits_stay_taken, unused_permits_are_kept_for_their_time, what_ends_by_its_terms_ends_then,
		an_abandoned_hold_is_withheld_to_its_deadline, a_lease_that_ended_meanwhile_is_lost,
		a_release_without_an_answer_is_sent_again, an_unused_lease_is_kept_for_its_time,
		a_detached_session_is_resumed_with_what_it_holds_and_waits_for,
		many_marks_of_a_core_that_was_loaded_are_forgotten,
		the_session_of_an_id_goes_on_in_each_of_its_requests,
		the_place_of_an_id_whose_client_is_cut_off_is_kept,
		the_place_of_an_id_is_kept_if_its_client_is_cut_off_while_masters_are_asked,
		a_grace_ends_when_it_would_have_ended, a_grace_that_ends_meanwhile_ends_soon_afterwards,
		a_silent_session_is_closed_when_it_would_have_been,
		a_session_ends_with_the_process_that_it_is_bound_to,
		an_anchor_keeps_the_session_of_a_process_that_has_ended,
		a_session_whose_process_cannot_be_seen_goes_on_as_such, a_loss_is_told_once,
		a_connection_that_takes_no_pushes_is_closed,
		an_mlock_goes_on_with_what_it_holds_and_waits_for,
		the_longest_wait_and_the_longest_hold_go_on, an_mlock_ends_with_its_connection,
		a_claim_is_due_when_it_was, who_awaits_a_latch_is_told_when_it_opens,
		a_latch_that_may_have_been_counted_is_counted_for_the_same_one,
		latches_count_on_for_their_users, a_guard_ends_when_it_would_have_ended,
		three_masters_are_found_as_they_were,
		what_may_still_create_a_lease_is_given_back_by_the_next_process,
		a_jump_that_one_master_has_shown_counts_on,
		a_jump_during_a_hand_over_is_seen_by_the_next_process,
		time_that_the_host_stood_still_is_not_taken_off_once_more,
		a_name_with_another_key_refuses_the_state_and_is_told,
		a_name_with_another_interop_refuses_the_state_and_is_told,
		a_state_of_another_namespace_is_refused, a_state_from_the_future_is_refused,
		a_change_of_the_masters_that_no_connection_asked_for_is_refused,
		a_part_of_an_mlock_that_has_an_end_is_refused,
		a_daemon_is_handed_over_whatever_state_its_masters_are_in,
		the_next_process_may_have_longer_leases_and_shorter_ones);
}
