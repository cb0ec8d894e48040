/*
 * Leases that are kept for a while after their last use; stories as in check_core.c.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/base/ration.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define RETAIN_MS 100
#define MANY      1000

static bool
is_leased(struct story *w)
{
	struct resource_view view;

	return core_view_resource(w->core, w->now.ms, SLICE("a"), &view) && strcmp(view.lease, "held") == 0;
}

/* Connection 1 has had it. */
static void
story_used(struct story *w, unsigned masters, int64_t retain_ms)
{
	story_retaining(w, masters, retain_ms);
	lock(w, 1, "a");
	for (w->at = 0; w->at < masters; w->at++)
		granted(w, "a", 1, 500);
	w->at = 0;
	ck_assert_str_eq(unlock(w, 1, "a"), "c1 :0");
	ck_assert(is_leased(w));
}

START_TEST(who_locks_it_again_has_it_at_once_with_the_next_token)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	for (int i = 1; i <= 3; i++) {
		after(&w, RETAIN_MS - 10);
		ck_assert_str_eq(lock(&w, 2, "a"), i == 1 ? "c2 :501" : i == 2 ? "c2 :502" : "c2 :503");
		ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	}
	story_done(&w);
}
END_TEST

START_TEST(what_nobody_wants_again_is_given_back_when_its_time_is_over)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	ck_assert_str_eq(after(&w, RETAIN_MS - 1), "");
	ck_assert(is_leased(&w));
	ck_assert_str_eq(after(&w, 2), "release a#1");
	ck_assert(!is_leased(&w));
	story_done(&w);
}
END_TEST

START_TEST(it_is_renewed_while_it_is_kept)
{
	struct story w;

	story_used(&w, 1, 3 * LEASE_MS);
	ck_assert_str_eq(after(&w, LEASE_MS / 3 + 1), "renew a#1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(another_daemon_that_wants_it_gets_it_at_once)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	ck_assert_str_eq(wanted(&w, "a"), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(what_is_wanted_while_it_is_used_is_not_kept)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(what_was_never_used_is_not_kept)
{
	struct story w;

	story_retaining(&w, 1, RETAIN_MS);
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#1");
	close_as(&w, 1, END_CLEAN);
	granted(&w, "a", 1, 500);
	ck_assert(!is_leased(&w));
	story_done(&w);
}
END_TEST

START_TEST(a_lease_that_is_nearly_over_is_mended_before_it_is_granted)
{
	struct story w;

	story_used(&w, 1, 3 * LEASE_MS);
	after(&w, LEASE_MS / 3 + 1);
	after(&w, LEASE_MS / 3);
	/* The renewal is not answered: nobody is told of what is left. */
	ck_assert_ptr_null(strstr(lock(&w, 2, "a"), "c2"));
	ck_assert_ptr_nonnull(strstr(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "c2 :501"));
	story_done(&w);
}
END_TEST

/* A reader waits for the master that is away; a writer that tries once is told just that. */
START_TEST(of_a_lease_that_is_nearly_over_nobody_is_told_that_another_has_it)
{
	struct story w;

	story_retaining(&w, 1, 3 * LEASE_MS);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	unlock(&w, 1, "a");
	after(&w, LEASE_MS / 3 + 1);
	after(&w, LEASE_MS / 3);
	ck_assert_ptr_null(strstr(lock_shared(&w, 2, "a"), "c2"));
	link_down(&w, "reset");
	ck_assert(is_leased(&w));
	ck_assert_str_eq(lock_once(&w, 3, "a"), "c3 -NOMASTER");
	story_done(&w);
}
END_TEST

START_TEST(a_lease_that_ran_out_unused_is_granted_to_nobody)
{
	struct story w;

	story_used(&w, 1, 3 * LEASE_MS);
	after(&w, LEASE_MS / 3 + 1);
	after(&w, LEASE_MS);
	ck_assert(!is_leased(&w));
	ck_assert_ptr_null(strstr(lock(&w, 2, "a"), "c2 :"));
	story_done(&w);
}
END_TEST

START_TEST(when_the_master_has_forgotten_it_is_not_reclaimed)
{
	struct story w;

	story_used(&w, 1, 3 * LEASE_MS);
	ck_assert_ptr_null(strstr(hello(&w, false, MEMORY + 1), "reclaim"));
	ck_assert(!is_leased(&w));
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_shuts_down_gives_it_back)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	ck_assert_ptr_nonnull(strstr(step(&w, &(struct event){.type = EVENT_DRAIN}), "release a#1"));
	story_done(&w);
}
END_TEST

START_TEST(among_three_masters_it_is_kept_and_given_back_alike)
{
	struct story w;

	story_used(&w, 3, RETAIN_MS);
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(wanted(&w, "a"), "release a#1@1 | release a#1@2 | release a#1@3");
	story_done(&w);
}
END_TEST

START_TEST(readers_find_a_lease_that_a_writer_left)
{
	struct story w;

	story_used(&w, 1, RETAIN_MS);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "c3 :502");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
	ck_assert(is_leased(&w));
	story_done(&w);
}
END_TEST

/* Of names that are locked once so many are enough to know that nobody comes back to them. */
#define FEW 64

/* A client locks and unlocks it; what that leads to. attempt: the next one of the story. */
static const char *
used_once(struct story *w, const char *name, unsigned *attempt)
{
	lock(w, 1, name);
	granted(w, name, (*attempt)++, 500);
	return unlock(w, 1, name);
}

/* So many others are locked in between. */
static void
others(struct story *w, unsigned n, unsigned *attempt)
{
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "other%u", *attempt);
		lock(w, 4, name);
		granted(w, name, (*attempt)++, 500);
		ck_assert_str_eq(unlock(w, 4, name), "c4 :0");
	}
}

#define MANY_SINCE 12

/* Nobody comes back to the names that begin with this. */
static void
used_in_vain(struct story *w, const char *prefix, unsigned *attempt)
{
	char name[32];

	for (unsigned i = 0; i < FEW; i++) {
		(void)snprintf(name, sizeof(name), "%s%u", prefix, i);
		ck_assert_str_eq(used_once(w, name, attempt), "c1 :0");
	}
	after(w, RETAIN_MS + 1);
}

START_TEST(names_that_nobody_comes_back_to_are_given_back_at_once_while_many_others_are_locked)
{
	struct story w;
	unsigned attempt = 1;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	lock(&w, 1, "a");
	granted(&w, "a", attempt++, 500);
	lock(&w, 2, "b");
	granted(&w, "b", attempt++, 500);
	others(&w, MANY_SINCE - 1, &attempt);
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#65");
	story_done(&w);
}
END_TEST

START_TEST(of_a_few_clients_they_are_given_back_a_moment_later_and_together)
{
	struct story w;
	unsigned attempt = 1;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	after(&w, 4 - w.now.ms % 4);
	ck_assert_str_eq(used_once(&w, "a", &attempt), "c1 :0");
	ck_assert_str_eq(after(&w, 3), "");
	used_once(&w, "b", &attempt);
	ck_assert_str_eq(after(&w, 1), "release a#65 | release b#66");
	story_done(&w);
}
END_TEST

START_TEST(one_of_many_is_kept_to_see_whether_a_client_comes_back)
{
	struct story w;
	unsigned attempt = 1;
	char name[16];
	int kept = 0;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	for (unsigned i = 0; i < 10 * FEW; i++) {
		(void)snprintf(name, sizeof(name), "m%u", i);
		used_once(&w, name, &attempt);
		kept += strstr(after(&w, 4), "release") == NULL;
	}
	ck_assert_int_ge(kept, 10);
	ck_assert_int_le(kept, 11);
	story_done(&w);
}
END_TEST

START_TEST(what_is_kept_to_see_is_given_back_with_what_is_put_off)
{
	struct story w;
	unsigned attempt = 1;
	char name[16];
	int64_t until_ms;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	after(&w, 5 - w.now.ms % 4);
	do {
		(void)snprintf(name, sizeof(name), "m%u", attempt);
		used_once(&w, name, &attempt);
		ck_assert_uint_le(attempt, 3 * FEW);
	} while (strstr(after(&w, 4), "release") != NULL);
	until_ms = w.now.ms - 4 + RETAIN_MS;
	ck_assert_str_eq(after(&w, until_ms - w.now.ms), "");
	ck_assert_int_ne(until_ms % 4, 0);
	ck_assert_ptr_nonnull(strstr(after(&w, 4 - until_ms % 4), "release"));
	story_done(&w);
}
END_TEST

/* Which of these was kept is unknown, but each is locked and unlocked again; whether a name would be kept
 * now. */
START_TEST(when_clients_come_back_names_are_kept_again)
{
	struct story w;
	unsigned attempt = 1;
	char name[16];
	int back = 0;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	for (unsigned i = 0; back < 3; i++) {
		(void)snprintf(name, sizeof(name), "m%u", i);
		used_once(&w, name, &attempt);
		if (strstr(after(&w, 4), "release") == NULL) {
			ck_assert_str_eq(lock(&w, 2, name), "c2 :501");
			unlock(&w, 2, name);
			back++;
		}
		ck_assert_uint_le(i, 4 * FEW);
	}
	used_once(&w, "a", &attempt);
	ck_assert_str_eq(after(&w, 4), "");
	ck_assert(is_leased(&w));
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_a_client_came_back_to_is_kept_whatever_becomes_of_others)
{
	struct story w;
	unsigned attempt = 1;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	used_once(&w, "a", &attempt);
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 :501");
	others(&w, MANY_SINCE, &attempt);
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_ptr_null(strstr(after(&w, RETAIN_MS - 1), "release a"));
	ck_assert_ptr_nonnull(strstr(after(&w, 2), "release a"));
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_was_handed_on_is_kept_whatever_becomes_of_others)
{
	struct story w;
	unsigned attempt = 1;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "n", &attempt);
	lock(&w, 1, "a");
	granted(&w, "a", attempt++, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	others(&w, MANY_SINCE, &attempt);
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	story_done(&w);
}
END_TEST

START_TEST(names_of_another_rule_are_another_matter)
{
	struct story w;
	unsigned attempt = 1;

	story_retaining(&w, 1, RETAIN_MS);
	used_in_vain(&w, "fragile", &attempt);
	lock(&w, 1, "a");
	granted(&w, "a", attempt++, 500);
	others(&w, MANY_SINCE, &attempt);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(what_another_daemon_wanted_says_nothing_about_clients_here)
{
	struct story w;
	unsigned attempt = 1;
	char name[16];

	story_retaining(&w, 1, RETAIN_MS);
	for (unsigned i = 0; i < FEW; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		used_once(&w, name, &attempt);
		ck_assert_ptr_nonnull(strstr(wanted(&w, name), "release"));
	}
	lock(&w, 1, "a");
	granted(&w, "a", attempt++, 500);
	others(&w, MANY_SINCE, &attempt);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	story_done(&w);
}
END_TEST

/* Some time passes; how many calls of this kind leave then. */
static size_t
calls_after(struct story *w, int64_t ms, enum call_op op)
{
	size_t n = 0;

	w->now.ms += ms;
	w->actions.n = 0;
	story_step(w, &(struct event){.type = EVENT_TIMER});
	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == ACTION_CALL && w->actions.list[i].u.call.op == op;
	return n;
}

/* So many names are locked in the same millisecond. */
static void
story_locked_many(struct story *w, unsigned many)
{
	char name[16];

	story_retaining(w, 1, RETAIN_MS);
	w->settings.grants_per_session = many;
	story_anew(w);
	for (unsigned i = 0; i < many; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		lock(w, 1, name);
		granted(w, name, 1 + i, 500);
	}
}

/* The same, and they are unlocked in that millisecond. */
static void
story_used_many(struct story *w)
{
	char name[16];

	story_locked_many(w, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		ck_assert_str_eq(unlock(w, 1, name), "c1 :0");
	}
}

START_TEST(leases_that_fall_out_of_use_together_are_given_back_one_after_the_other)
{
	struct story w;
	size_t n = 0;

	story_used_many(&w);
	ck_assert_uint_eq(calls_after(&w, RETAIN_MS - 1, CALL_RELEASE), 0);
	for (int ms = 0; ms < 20; ms++) {
		size_t now = calls_after(&w, 1, CALL_RELEASE);

		ck_assert_uint_le(now, MANY / 3);
		n += now;
	}
	ck_assert_uint_eq(n, MANY);
	story_done(&w);
}
END_TEST

/* A call about a name of 320 bytes is eleven times the work of one about a short name. */
#define LONG_NAMES      80
#define LONG_NAMES_MOST 24 /* in a millisecond */

static void
story_used_long(struct story *w)
{
	char name[321];

	story_retaining(w, 1, RETAIN_MS);
	w->settings.grants_per_session = LONG_NAMES;
	w->settings.name_bytes = sizeof(name);
	story_anew(w);
	for (unsigned i = 0; i < LONG_NAMES; i++) {
		(void)snprintf(name, sizeof(name), "%0320u", i);
		lock(w, 1, name);
		granted(w, name, 1 + i, 500);
	}
	for (unsigned i = 0; i < LONG_NAMES; i++) {
		(void)snprintf(name, sizeof(name), "%0320u", i);
		ck_assert_str_eq(unlock(w, 1, name), "c1 :0");
	}
}

START_TEST(leases_of_long_names_are_given_back_fewer_at_once)
{
	struct story w;
	size_t n = 0;

	story_used_long(&w);
	ck_assert_uint_eq(calls_after(&w, RETAIN_MS - 1, CALL_RELEASE), 0);
	for (int ms = 0; ms < 20; ms++) {
		size_t now = calls_after(&w, 1, CALL_RELEASE);

		ck_assert_uint_le(now, LONG_NAMES_MOST);
		n += now;
	}
	ck_assert_uint_eq(n, LONG_NAMES);
	story_done(&w);
}
END_TEST

START_TEST(also_by_a_daemon_that_stood_still)
{
	struct story w;
	size_t n = 0;

	story_used_long(&w);
	for (int i = 0; i < 20; i++) {
		size_t now = calls_after(&w, 2 * RETAIN_MS, CALL_RELEASE);

		ck_assert_uint_le(now, LONG_NAMES_MOST);
		n += now;
	}
	ck_assert_uint_eq(n, LONG_NAMES);
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_stood_still_gives_back_no_more_of_them_at_once)
{
	struct story w;
	size_t n = 0;

	story_used_many(&w);
	for (int i = 0; i < 20; i++) {
		size_t now = calls_after(&w, 2 * RETAIN_MS, CALL_RELEASE);

		ck_assert_uint_le(now, MANY / 3);
		n += now;
	}
	ck_assert_uint_eq(n, MANY);
	story_done(&w);
}
END_TEST

/* The notes of holds that have ended, which come in this order. */
struct ends {
	unsigned next;
	unsigned count;
};

static void
take_end(void *arg, const struct note *note)
{
	struct ends *ends = arg;
	char name[16];

	if (note->type != NOTE_RELEASED)
		return;
	(void)snprintf(name, sizeof(name), "n%u", --ends->next);
	ck_assert(slice_equal(note->name, slice_of(name)));
	ends->count++;
}

START_TEST(the_notes_of_many_holds_that_end_are_told_while_the_step_goes_on)
{
	struct story w;
	struct ends ends = {.next = MANY};
	unsigned during;

	story_locked_many(&w, MANY);
	w.core->settings.end_holds = MANY;
	w.actions.tell = take_end;
	w.actions.arg = &ends;
	w.actions.n = 0;
	story_step(&w, &(struct event){.type = EVENT_CLOSE, .conn = 1, .end = END_CLEAN});
	during = ends.count;
	ck_assert_uint_ge(during, MANY - 256);
	ck_assert_uint_le(w.actions.room, 1024);
	for (size_t i = 0; i < w.actions.n; i++)
		if (w.actions.list[i].type == ACTION_NOTE)
			take_end(&ends, &w.actions.list[i].u.note);
	ck_assert_uint_eq(ends.count, MANY);
	story_done(&w);
}
END_TEST

START_TEST(what_is_no_note_stays_however_full_the_list_is)
{
	struct story w;
	struct ends ends = {.next = MANY};
	size_t releases = 0;

	story_locked_many(&w, MANY);
	w.core->settings.retain_ms = 0;
	w.core->settings.end_holds = MANY;
	w.actions.tell = take_end;
	w.actions.arg = &ends;
	w.actions.n = 0;
	story_step(&w, &(struct event){.type = EVENT_CLOSE, .conn = 1, .end = END_CLEAN});
	for (size_t i = 0; i < w.actions.n; i++)
		releases +=
			w.actions.list[i].type == ACTION_CALL && w.actions.list[i].u.call.op == CALL_RELEASE;
	ck_assert_uint_eq(releases, MANY);
	story_done(&w);
}
END_TEST

START_TEST(names_that_nobody_comes_back_to_are_given_back_one_after_the_other_as_well)
{
	struct story w;
	unsigned attempt = 1;
	size_t n = 0, at_once = 0;
	char name[16];

	story_retaining(&w, 1, RETAIN_MS);
	w.settings.grants_per_session = MANY;
	story_anew(&w);
	used_in_vain(&w, "n", &attempt);
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "m%u", i);
		lock(&w, 1, name);
		granted(&w, name, attempt++, 500);
	}
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "m%u", i);
		at_once += strstr(unlock(&w, 1, name), "release") != NULL;
	}
	ck_assert_uint_ge(at_once, MANY / 6);
	ck_assert_uint_le(at_once, MANY / 3);
	for (int ms = 0; ms < 20; ms++) {
		size_t now = calls_after(&w, 1, CALL_RELEASE);

		ck_assert_uint_le(now, MANY / 3);
		n += now;
	}
	/* But for those that are on trial. */
	ck_assert_uint_ge(at_once + n, MANY - MANY / 50);
	story_done(&w);
}
END_TEST

START_TEST(leases_that_are_due_together_are_renewed_one_after_the_other)
{
	struct story w;
	size_t n = 0, first = 0;

	story_locked_many(&w, MANY);
	for (int ms = 1; n < MANY; ms++) {
		size_t now = calls_after(&w, 1, CALL_RENEW);

		ck_assert_uint_le(now, MANY / 2);
		n += now;
		if (n > 0 && first == 0)
			first = (size_t)ms;
		ck_assert_uint_le((size_t)ms, LEASE_MS / 2);
		/* Each is deferred once. */
		ck_assert(first == 0 || (size_t)ms < first + MANY / 500);
	}
	story_done(&w);
}
END_TEST

/* Its steps are 2 ms apart, twice as far as the turns that leases get. */
START_TEST(renewals_that_a_slow_daemon_cannot_begin_in_their_turn_are_put_off_a_few_times)
{
	const unsigned many = 4 * MANY;
	struct story w;
	size_t n = 0;
	uint32_t armed;

	story_locked_many(&w, many);
	armed = w.core->timers.serial;
	for (int steps = 0; n < many; steps++) {
		size_t now = calls_after(&w, 2, CALL_RENEW);

		ck_assert_uint_le(now, MANY / 2);
		n += now;
		ck_assert_int_le(steps, LEASE_MS / 4);
	}
	/* Once for the renewal that begins, once for the first turn, and as often again for the turns after
	 * it: a half has a second one, a quarter a third one. */
	ck_assert_uint_le(w.core->timers.serial - armed, 3 * many);
	story_done(&w);
}
END_TEST

START_TEST(renewals_for_which_the_line_is_too_long_begin_at_once)
{
	struct story w;
	size_t n = 0;

	story_locked_many(&w, MANY);
	w.core->leases->turns = (struct ration){w.now.ms + LEASE_MS, 1};
	for (int ms = 0; n == 0; ms++) {
		ck_assert_int_le(ms, LEASE_MS / 2);
		n = calls_after(&w, 1, CALL_RENEW);
	}
	ck_assert_uint_eq(n, MANY);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("retain", NULL, NULL, who_locks_it_again_has_it_at_once_with_the_next_token,
		what_nobody_wants_again_is_given_back_when_its_time_is_over, it_is_renewed_while_it_is_kept,
		another_daemon_that_wants_it_gets_it_at_once, what_is_wanted_while_it_is_used_is_not_kept,
		what_was_never_used_is_not_kept, a_lease_that_is_nearly_over_is_mended_before_it_is_granted,
		of_a_lease_that_is_nearly_over_nobody_is_told_that_another_has_it,
		a_lease_that_ran_out_unused_is_granted_to_nobody,
		when_the_master_has_forgotten_it_is_not_reclaimed, a_daemon_that_shuts_down_gives_it_back,
		among_three_masters_it_is_kept_and_given_back_alike, readers_find_a_lease_that_a_writer_left,
		names_that_nobody_comes_back_to_are_given_back_at_once_while_many_others_are_locked,
		of_a_few_clients_they_are_given_back_a_moment_later_and_together,
		one_of_many_is_kept_to_see_whether_a_client_comes_back,
		what_is_kept_to_see_is_given_back_with_what_is_put_off,
		when_clients_come_back_names_are_kept_again,
		a_name_that_a_client_came_back_to_is_kept_whatever_becomes_of_others,
		a_name_that_was_handed_on_is_kept_whatever_becomes_of_others,
		names_of_another_rule_are_another_matter,
		what_another_daemon_wanted_says_nothing_about_clients_here,
		the_notes_of_many_holds_that_end_are_told_while_the_step_goes_on,
		what_is_no_note_stays_however_full_the_list_is,
		names_that_nobody_comes_back_to_are_given_back_one_after_the_other_as_well,
		leases_that_fall_out_of_use_together_are_given_back_one_after_the_other,
		leases_of_long_names_are_given_back_fewer_at_once, also_by_a_daemon_that_stood_still,
		a_daemon_that_stood_still_gives_back_no_more_of_them_at_once,
		leases_that_are_due_together_are_renewed_one_after_the_other,
		renewals_that_a_slow_daemon_cannot_begin_in_their_turn_are_put_off_a_few_times,
		renewals_for_which_the_line_is_too_long_begin_at_once);
}
