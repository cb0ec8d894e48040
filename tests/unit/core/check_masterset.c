/*
 * Tests of daemon/core/masterset: which set of masters a daemon takes leases under, step by step, with
 * masters played by the test.
 */
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define ID(n) ((uint64_t)STORY_ID + (n))

static struct story w;
static struct call last[CORE_MASTERS_MAX]; /* HELLO of each master */
static const char *const *ways;
static int64_t retain_ms;

#define THREE "master-1 master-2 master-3"

static const char *places = THREE;

/* Of the last step. */
static void
collect(void)
{
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct action *a = &w.actions.list[i];

		if (a->type == ACTION_CALL && a->u.call.op == CALL_HELLO)
			last[a->u.call.master] = a->u.call;
	}
}

/* A story whose masters have not answered HELLO yet. */
static void
begin(unsigned masters)
{
	story_init(&w);
	core_free(w.core);
	memset(last, 0, sizeof(last));
	w.settings.masters = masters;
	w.settings.ways = ways;
	w.settings.retain_ms = retain_ms;
	w.core = core_new(&w.settings, w.now);
	ck_assert_ptr_nonnull(w.core);
	for (conn_id c = 1; c <= 2; c++) {
		struct peer peer = {.pid = 100, .uid = 0};

		step(&w, &(struct event){.type = EVENT_OPEN, .conn = c, .peer = &peer});
	}
	for (w.at = 0; w.at < masters; w.at++) {
		link_up(&w);
		collect();
	}
	w.at = 0;
}

/* The answer of master n; once more where it came before it had heard the latest. */
static const char *
message(unsigned n, struct vote v)
{
	uint64_t before = last[n].attempt;

	w.at = n;
	vote(&w, v);
	collect();
	if (last[n].attempt != before) {
		vote(&w, v);
		collect();
	}
	return w.trace;
}

/* What master n tells: its id, and a set that has come so far there. */
static const char *
tells(unsigned n, const char *set, enum agreement agreement)
{
	struct vote v = {.op = CALL_HELLO,
		.admitted = true,
		.incarnation = MEMORY + n,
		.id = ID(n),
		.masterset = slice_of(set),
		.places = slice_of(places),
		.agreement = agreement};

	w.at = n;
	return message(n, v);
}

/* The same, where what was given does not follow it. */
static const char *
tells_other(unsigned n, const char *set, enum agreement agreement)
{
	struct vote v = {.op = CALL_HELLO,
		.hello = HELLO_OTHERSET,
		.text = slice_of("0badcafe"),
		.id = ID(n),
		.masterset = slice_of(set),
		.places = slice_of(places),
		.agreement = agreement};

	w.at = n;
	return message(n, v);
}

/* The HELLO that left for master n last. */
static struct call
hello_of(unsigned n)
{
	collect();
	after(&w, 2);
	collect();
	ck_assert_msg(last[n].op == CALL_HELLO && last[n].attempt > 0, "master %u is not sent HELLO", n);
	return last[n];
}

static const char *
state(void)
{
	struct masterset_view set;

	core_view_masterset(w.core, &set);
	return set.word;
}

static const char *
set_text(void)
{
	struct masterset_view set;

	core_view_masterset(w.core, &set);
	return set.set;
}

#define S123_REST  " 0000000000001001:url 0000000000001002:url 0000000000001003:url"
#define S123       "1" S123_REST
#define S12X       "1 0000000000001001:url 0000000000001002:url 00000000000000ff:url"
#define S12X_REST  " 0000000000001001:url 0000000000001002:url 00000000000000ff:url"
#define S12X_LATER "2" S12X_REST
#define S12X_OFFER "3" S12X_REST
#define S123_LATER "2" S123_REST

static void
all_tell(const char *set, enum agreement agreement)
{
	for (unsigned n = 0; n < w.settings.masters; n++)
		tells(n, set, agreement);
}

/* Its answer was slow, so that it is sent HELLO once more before it is used. The others are told of its
 * tokens.
 */
START_TEST(a_set_is_agreed_on_above_the_tokens_of_who_answers_slowly)
{
	struct vote slow = {.op = CALL_HELLO,
		.admitted = true,
		.incarnation = MEMORY + 1,
		.highest = 90000,
		.id = ID(1),
		.masterset = SLICE(S123),
		.places = slice_of(places),
		.agreement = AGREEMENT_ACCEPTED};

	begin(3);
	tells(0, "", AGREEMENT_NONE);
	tells(2, "", AGREEMENT_NONE);
	tells_other(1, S12X, AGREEMENT_ACCEPTED);
	ck_assert_str_eq(set_text(), S123);
	tells(0, S123, AGREEMENT_OFFERED);
	tells(2, S123, AGREEMENT_ACCEPTED);
	after(&w, 1000);
	slow.attempt = hello_of(1).attempt;
	after(&w, w.settings.margin_ms + 1);
	w.at = 1;
	ck_assert_str_eq(vote(&w, slow), "hello@2");
	tells(0, S123, AGREEMENT_ACCEPTED);
	ck_assert_str_eq(state(), "agreed");
	ck_assert_int_eq(hello_of(0).agreement, AGREEMENT_AGREED);
	ck_assert_int_ge(hello_of(0).token, 90000);
	story_done(&w);
}
END_TEST

START_TEST(each_step_is_taken_at_all_before_the_next)
{
	struct call hello;

	begin(3);
	tells(0, "", AGREEMENT_NONE);
	tells(1, "", AGREEMENT_NONE);
	ck_assert_str_eq(set_text(), "");
	tells(2, "", AGREEMENT_NONE);
	ck_assert_str_eq(set_text(), S123);
	hello = hello_of(0);
	ck_assert_int_eq(hello.agreement, AGREEMENT_OFFERED);
	ck_assert(slice_equal(hello.masterset, slice_of(S123)));
	tells(0, S123, AGREEMENT_OFFERED);
	tells(1, S123, AGREEMENT_OFFERED);
	ck_assert_int_eq(hello_of(2).agreement, AGREEMENT_OFFERED);
	tells(2, S123, AGREEMENT_OFFERED);
	ck_assert_int_eq(hello_of(1).agreement, AGREEMENT_ACCEPTED);
	tells(0, S123, AGREEMENT_ACCEPTED);
	tells(1, S123, AGREEMENT_ACCEPTED);
	ck_assert_str_eq(state(), "forming");
	ck_assert_str_eq(lock_once(&w, 1, "a"), ""); /* it is about to be agreed on */
	tells(2, S123, AGREEMENT_ACCEPTED);
	ck_assert_str_eq(state(), "agreed");
	hello = hello_of(2);
	ck_assert_int_eq(hello.agreement, AGREEMENT_AGREED);
	ck_assert_uint_ne(hello.set, 0);
	/* Not before a majority of them knows: calls would be forgotten. */
	tells(0, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(after(&w, 1), "");
	ck_assert_ptr_nonnull(strstr(tells(1, S123, AGREEMENT_AGREED), "acquire a"));
	story_done(&w);
}
END_TEST

START_TEST(an_offer_to_all_is_not_enough)
{
	begin(3);
	all_tell("", AGREEMENT_NONE);
	all_tell(S123, AGREEMENT_OFFERED);
	ck_assert_str_eq(state(), "forming");
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	story_done(&w);
}
END_TEST

/* What a master that may have lost its memory remembers may be older than what it forgot. */
START_TEST(a_master_that_is_guarded_accepts_nothing)
{
	struct vote v = {.op = CALL_HELLO,
		.incarnation = MEMORY + 2,
		.id = ID(2),
		.masterset = slice_of(S123),
		.agreement = AGREEMENT_ACCEPTED};

	begin(3);
	all_tell("", AGREEMENT_NONE);
	tells(0, S123, AGREEMENT_ACCEPTED);
	tells(1, S123, AGREEMENT_ACCEPTED);
	w.at = 2;
	vote(&w, v);
	ck_assert_str_eq(state(), "forming");
	tells(2, S123, AGREEMENT_ACCEPTED);
	ck_assert_str_eq(state(), "agreed");
	story_done(&w);
}
END_TEST

START_TEST(what_is_agreed_is_taken_up_by_who_has_its_masters)
{
	begin(3);
	tells(1, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "agreed");
	ck_assert_ptr_nonnull(strstr(lock(&w, 1, "a"), ""));
	ck_assert_ptr_nonnull(strstr(tells(0, S123, AGREEMENT_AGREED), "acquire a"));
	story_done(&w);
}
END_TEST

START_TEST(another_number_or_way_is_another_set)
{
	static const char *const way[] = {"sentinel"};

	begin(1);
	tells(0, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	story_done(&w);
	begin(3);
	tells(0, "1 0000000000001001:url", AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	story_done(&w);
	ways = way;
	begin(1);
	tells(0, "1 0000000000001001:url", AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_eq(lock_once(&w, 1, "a"), "c1 -NOMASTER");
	story_done(&w);
	ways = NULL;
}
END_TEST

/* A refusal about this daemon: there is a majority, and it may not be used. */
START_TEST(another_set_at_one_master_stops_all_new_leases)
{
	struct master_view view;

	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "agreed");
	tells_other(2, "2 0000000000001003:url 00000000000000ff:url 00000000000000fe:url", AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_eq(lock_once(&w, 1, "a"), "c1 -NOMASTER");
	core_view_master(w.core, w.now.ms, 2, &view);
	ck_assert_msg(strstr(view.reason, " (alive there: 0badcafe)") != NULL &&
			      strncmp(view.reason, "belongs to another set of masters: theirs: ", 43) == 0,
		"%s", view.reason);
	story_done(&w);
}
END_TEST

START_TEST(a_stranger_among_ours_stops_them_too)
{
	places = "master-1 master-2 another";
	begin(3);
	w.at = 2;
	link_down(&w, "refused");
	tells(0, S12X, AGREEMENT_AGREED);
	tells(1, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "agreed");
	/* An empty server at no place of the set may be new: it gets no memory that is not its own. */
	w.at = 2;
	link_up(&w);
	collect();
	tells(2, "", AGREEMENT_NONE);
	ck_assert_str_eq(state(), "refused");
	ck_assert_int_lt(hello_of(2).agreement, AGREEMENT_AGREED);
	story_done(&w);
	places = THREE;
}
END_TEST

START_TEST(who_holds_leases_stays_registered_under_their_set)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 1000);
	tells_other(2, "2 0000000000001003:url 00000000000000ff:url 00000000000000fe:url", AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_eq(set_text(), S123);
	ck_assert_ptr_nonnull(strstr(check(&w, 1, "a"), "c1 :"));
	ck_assert_str_eq(lock_once(&w, 2, "b"), "c2 -NOMASTER");
	story_done(&w);
}
END_TEST

#define S3YZ "2 0000000000001003:url 00000000000000ff:url 00000000000000fe:url"
#define S23Z "2 0000000000001002:url 0000000000001003:url 00000000000000fe:url"

/* Three masters have agreed, and connection 1 holds a by its first attempt. */
static void
held(struct command command)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	run(&w, 1, command);
	for (w.at = 0; w.at < 3; w.at++)
		vote(&w, (struct vote){.op = CALL_ACQUIRE,
				 .name = SLICE("a"),
				 .attempt = 1,
				 .token_first = 1000,
				 .token_last = 1999,
				 .slots = command.kind == KIND_PERMITS ? SLICE("0")
								       : (struct slice){NULL, 0}});
	ck_assert_ptr_nonnull(strstr(check(&w, 1, "a"), "c1 :"));
}

/* It passes to nobody here: a wait ends with what differs, and it is given back when its holder is done. */
static void
passes_to_nobody(struct command command)
{
	command.wait_ms = LEASE_MS / 4;
	held(command);
	if (command.kind == KIND_EXCLUSIVE)
		ck_assert_str_eq(run(&w, 2, command), "");
	tells_other(2, S3YZ, AGREEMENT_AGREED);
	if (command.kind != KIND_EXCLUSIVE)
		ck_assert_str_eq(run(&w, 2, command), "");
	ck_assert_ptr_nonnull(strstr(check(&w, 1, "a"), "c1 :"));
	ck_assert_ptr_nonnull(strstr(unlock(&w, 1, "a"), "c1 :0 | release a#1@1"));
	ck_assert_ptr_nonnull(strstr(after(&w, LEASE_MS / 4 + 1), "c2 -NOMASTER"));
	/* Nothing stands on its set any more: it may go. */
	tells_other(2, S23Z, AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), "3" S123_REST);
	story_done(&w);
}

START_TEST(a_refused_daemon_passes_its_leases_on_to_nobody)
{
	passes_to_nobody((struct command){.verb = VERB_LOCK, .name = SLICE("a")});
	passes_to_nobody((struct command){.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_SHARED});
	passes_to_nobody((struct command){
		.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 1, .permits = 1});
}
END_TEST

/* Who tries once what a session here holds would be told null, and try again. */
START_TEST(a_refused_daemon_says_so_of_what_it_holds)
{
	held((struct command){.verb = VERB_LOCK, .name = SLICE("a")});
	ck_assert_str_eq(lock_once(&w, 2, "a"), "c2 null");
	tells_other(2, S3YZ, AGREEMENT_AGREED);
	ck_assert_str_eq(lock_once(&w, 2, "a"), "c2 -NOMASTER");
	story_done(&w);
}
END_TEST

START_TEST(a_refused_daemon_keeps_no_place_for_a_writer)
{
	held((struct command){.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_SHARED});
	ck_assert_ptr_nonnull(strstr(lock(&w, 2, "a"), "enter a#1"));
	ck_assert_ptr_nonnull(strstr(tells_other(2, S3YZ, AGREEMENT_AGREED), "leave a#1"));
	for (int i = 0; i < 2 * LEASE_MS / 3; i++)
		ck_assert_ptr_null(strstr(after(&w, 1), "enter"));
	close_as(&w, 2, END_CLEAN);
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	story_done(&w);
}
END_TEST

START_TEST(a_refused_daemon_gives_back_what_it_retains)
{
	retain_ms = 10 * LEASE_MS;
	held((struct command){.verb = VERB_LOCK, .name = SLICE("a")});
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_ptr_nonnull(
		strstr(tells_other(2, S3YZ, AGREEMENT_AGREED), "release a#1@1 | release a#1@2"));
	story_done(&w);
	held((struct command){.verb = VERB_LOCK, .name = SLICE("a")});
	tells_other(2, S3YZ, AGREEMENT_AGREED);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1@1 | release a#1@2");
	story_done(&w);
	retain_ms = 0;
}
END_TEST

/* What an MLOCK holds while it waits for the rest has been told to nobody. */
START_TEST(a_refused_daemon_gives_back_what_a_bundle_waits_with)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};

	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	lock(&w, 1, "b");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "b", 1, 1000);
	run(&w, 2,
		(struct command){
			.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .names = names, .name_count = 2});
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 2, 1000);
	ck_assert_ptr_nonnull(
		strstr(tells_other(2, S3YZ, AGREEMENT_AGREED), "release a#2@1 | release a#2@2"));
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | release b#1@1 | release b#1@2");
	tells_other(2, S23Z, AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), "3" S123_REST);
	story_done(&w);
}
END_TEST

/* Who was refused is not registered there: the set could lapse under its leases. */
START_TEST(a_set_learnt_by_a_refusal_is_not_used_there_before_a_hello_under_it)
{
	struct vote v = {.op = CALL_HELLO,
		.hello = HELLO_OTHERSET,
		.id = ID(0),
		.masterset = SLICE(S123),
		.places = SLICE(THREE),
		.agreement = AGREEMENT_AGREED};

	begin(3);
	all_tell("", AGREEMENT_NONE);
	w.at = 0;
	vote(&w, v);
	collect();
	ck_assert_str_eq(state(), "agreed");
	ck_assert_int_eq(last[0].agreement, AGREEMENT_AGREED);
	tells(1, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	ck_assert_ptr_nonnull(strstr(tells(0, S123, AGREEMENT_AGREED), "acquire a#1@1"));
	story_done(&w);
}
END_TEST

START_TEST(a_refusal_by_a_set_that_is_ours_by_now_is_no_hello_under_it)
{
	begin(3);
	all_tell("", AGREEMENT_NONE);
	tells(1, S123, AGREEMENT_AGREED);
	w.at = 0;
	vote(&w, (struct vote){.op = CALL_HELLO,
			 .hello = HELLO_OTHERSET,
			 .id = ID(0),
			 .masterset = SLICE(S123),
			 .places = SLICE(THREE),
			 .agreement = AGREEMENT_AGREED});
	collect();
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	ck_assert_ptr_nonnull(strstr(tells(0, S123, AGREEMENT_AGREED), "acquire a#1@1"));
	story_done(&w);
}
END_TEST

/* A stranger at the address of a member that is away: it was a mistake, and has been switched off. */
START_TEST(a_stranger_that_is_gone_refuses_nobody)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 1000);
	tells_other(2, S3YZ, AGREEMENT_AGREED);
	ck_assert_str_eq(lock_once(&w, 2, "b"), "c2 -NOMASTER");
	w.at = 2;
	link_down(&w, "reset");
	ck_assert_str_eq(state(), "agreed");
	ck_assert_ptr_nonnull(strstr(lock_once(&w, 2, "b"), "acquire b#2@1"));
	story_done(&w);
}
END_TEST

/* A single server at a wrong address is no reason to make another set. */
START_TEST(a_stranger_costs_nobody_its_set)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	message(2, (struct vote){.op = CALL_HELLO,
			   .hello = HELLO_OTHERSET,
			   .id = 0xfe,
			   .masterset = SLICE("2 00000000000000fe:url"),
			   .places = SLICE("elsewhere"),
			   .agreement = AGREEMENT_AGREED});
	ck_assert_str_eq(set_text(), S123);
	ck_assert_str_eq(state(), "refused");
	w.at = 2;
	link_down(&w, "reset");
	ck_assert_str_eq(state(), "agreed");
	ck_assert_str_eq(set_text(), S123);
	story_done(&w);
}
END_TEST

static void
only_master_tells(const char *place, enum agreement agreement)
{
	message(0, (struct vote){.op = CALL_HELLO,
			   .hello = HELLO_OTHERSET,
			   .id = 0xfe,
			   .masterset = SLICE("1 00000000000000fe:url"),
			   .places = slice_of(place),
			   .agreement = agreement});
}

/* A daemon of an agreed set is refused by one member, and hears of its own set from another one. */
static void
refused_and_told_the_old_set(const char *set, enum agreement agreement)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	tells_other(0, set, agreement);
	ck_assert_str_eq(state(), "refused");
	tells_other(2, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_ne(set_text(), S123);
	story_done(&w);
}

/* Others went on without one of its members, which still tells it to every daemon that asks. */
START_TEST(a_set_that_is_over_is_not_taken_up_again)
{
	refused_and_told_the_old_set(S12X_LATER, AGREEMENT_AGREED);
}
END_TEST

/* The daemons of the later set are gone, and nobody can say whether they agreed: only an offer takes its
 * place.
 */
START_TEST(a_set_is_offered_anew_where_a_later_one_was_accepted)
{
	refused_and_told_the_old_set(S12X_LATER, AGREEMENT_ACCEPTED);
}
END_TEST

/* What is agreed takes the place of an offer, unless that took the place of a later set. */
START_TEST(a_set_that_an_offer_does_not_give_way_to_is_over)
{
	refused_and_told_the_old_set(S12X_OFFER, AGREEMENT_OFFERED);
}
END_TEST

#define S2YX       "2 00000000000000fe:url 00000000000000ff:url 0000000000001002:url"
#define SY23_LATER "3 00000000000000fe:url 0000000000001002:url 0000000000001003:url"

/* A master that lost its memory got another id, and belongs with another master to a later set. */
static const char *
tells_later(unsigned n, uint64_t id)
{
	return message(n, (struct vote){.op = CALL_HELLO,
				  .hello = HELLO_OTHERSET,
				  .id = id,
				  .masterset = SLICE(S2YX),
				  .places = SLICE("master-1 master-4 master-2"),
				  .agreement = AGREEMENT_AGREED});
}

/* The third one is left behind, and still tells the set that the first one has forgotten. */
START_TEST(a_set_is_left_if_most_of_its_servers_belong_to_a_later_one)
{
	begin(3);
	tells(2, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), S123);
	tells_later(1, ID(1));
	ck_assert_str_eq(set_text(), S123);
	ck_assert_str_eq(state(), "refused");
	tells_later(0, 0xfe);
	ck_assert_str_eq(set_text(), SY23_LATER);
	tells_other(2, S123, AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), SY23_LATER);
	after(&w, GUARD_MS);
	ck_assert_int_eq(hello_of(0).agreement, AGREEMENT_OFFERED);
	ck_assert(slice_equal(last[0].masterset, slice_of(SY23_LATER)));
	story_done(&w);
}
END_TEST

START_TEST(an_earlier_set_with_most_of_its_servers_costs_nobody_its_set)
{
	begin(3);
	all_tell(S123_LATER, AGREEMENT_AGREED);
	tells_other(0, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_eq(set_text(), S123_LATER);
	story_done(&w);
}
END_TEST

/* The only master lost its memory, and other daemons came back to it first. */
START_TEST(a_set_that_was_founded_anew_at_the_only_master_is_taken_up)
{
	begin(1);
	tells(0, "1 0000000000001001:url", AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "agreed");
	only_master_tells("elsewhere", AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), "1 0000000000001001:url");
	ck_assert_str_eq(state(), "refused");
	only_master_tells("master-1", AGREEMENT_AGREED);
	only_master_tells("master-1", AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), "1 00000000000000fe:url");
	ck_assert_str_eq(state(), "agreed");
	story_done(&w);
}
END_TEST

/* It went back to a memory in which a set was accepted that nobody agreed on. An agreed one does not take the
 * place of that, an offer does. A daemon that holds something keeps its set until that is over. */
START_TEST(a_set_is_offered_anew_where_the_only_master_has_only_accepted_another)
{
	begin(1);
	tells(0, "1 0000000000001001:url", AGREEMENT_AGREED);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	only_master_tells("master-1", AGREEMENT_ACCEPTED);
	ck_assert_str_eq(set_text(), "1 0000000000001001:url");
	after(&w, LEASE_MS);
	only_master_tells("elsewhere", AGREEMENT_ACCEPTED);
	ck_assert_str_eq(set_text(), "1 0000000000001001:url");
	only_master_tells("master-1", AGREEMENT_ACCEPTED);
	ck_assert_str_eq(set_text(), "2 00000000000000fe:url");
	after(&w, GUARD_MS);
	collect();
	ck_assert_int_eq(last[0].agreement, AGREEMENT_OFFERED);
	message(0, (struct vote){.op = CALL_HELLO,
			   .admitted = true,
			   .incarnation = MEMORY + 1,
			   .id = 0xfe,
			   .masterset = SLICE("2 00000000000000fe:url"),
			   .places = SLICE("master-1"),
			   .agreement = AGREEMENT_ACCEPTED});
	ck_assert_str_eq(state(), "agreed");
	story_done(&w);
}
END_TEST

/* It would be stored as another text than was read. */
START_TEST(a_set_with_bytes_that_no_way_has_is_not_taken_up)
{
	static const char text[] = "1 0000000000001001:url 0000000000001002:url 0000000000001003:\0";
	struct vote v = {.op = CALL_HELLO,
		.admitted = true,
		.incarnation = MEMORY,
		.id = ID(0),
		.masterset = {text, sizeof(text) - 1},
		.places = SLICE(THREE),
		.agreement = AGREEMENT_AGREED};

	begin(3);
	w.at = 2;
	link_down(&w, "refused");
	message(0, v);
	ck_assert_str_eq(state(), "refused");
	v.id = ID(1);
	message(1, v);
	tells(0, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(set_text(), S12X);
	story_done(&w);
}
END_TEST

START_TEST(a_member_that_forgot_is_given_its_id_and_the_set)
{
	struct call hello;

	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	w.at = 1;
	link_down(&w, "reset");
	link_up(&w);
	hello = hello_of(1);
	ck_assert_uint_eq(hello.id, ID(1));
	ck_assert_int_eq(hello.agreement, AGREEMENT_AGREED);
	story_done(&w);
}
END_TEST

/* Master n has the data of the member with this id; guarded, as the data came from another process. */
static const char *
tells_copied(unsigned n, uint64_t id)
{
	return message(n, (struct vote){.op = CALL_HELLO,
				  .incarnation = MEMORY + 10 + n,
				  .id = id,
				  .masterset = slice_of(S123),
				  .places = slice_of(places),
				  .agreement = AGREEMENT_AGREED});
}

/* What the master is, and what the reason names. */
static void
master_is(unsigned n, const char *word, const char *named)
{
	struct master_view view;

	core_view_master(w.core, w.now.ms, n, &view);
	ck_assert_str_eq(view.word, word);
	ck_assert_msg(strstr(view.reason, named) != NULL, "%s", view.reason);
}

/* Two of three were away for a lease. One comes back without its memory: the third one may have been in
 * another set with it since. */
START_TEST(a_member_that_forgot_is_refused_until_enough_others_confirm_the_set)
{
	struct vote empty = {.op = CALL_HELLO, .incarnation = MEMORY + 11, .id = ID(1)};

	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	for (w.at = 1; w.at < 3; w.at++)
		link_down(&w, "reset");
	for (int64_t ms = 0; ms <= 3 * LEASE_MS; ms += LEASE_MS / 3) {
		after(&w, LEASE_MS / 3);
		collect();
		tells(0, S123, AGREEMENT_AGREED);
	}
	w.at = 1;
	link_up(&w);
	collect();
	for (int turns = 0; turns < 2; turns++) {
		message(1, empty);
		tells(0, S123, AGREEMENT_AGREED);
		after(&w, LEASE_MS / 3);
		collect();
	}
	message(1, empty);
	master_is(1, "refused", "lost its memory, and too few of the other masters are there");
	w.at = 2;
	link_up(&w);
	collect();
	tells(2, S123, AGREEMENT_AGREED);
	message(1, empty);
	ck_assert_int_eq(hello_of(1).agreement, AGREEMENT_AGREED);
	message(1, (struct vote){.op = CALL_HELLO,
			   .incarnation = MEMORY + 11,
			   .id = ID(1),
			   .masterset = slice_of(S123),
			   .places = slice_of(places),
			   .agreement = AGREEMENT_AGREED});
	master_is(1, "guarded", "");
	story_done(&w);
}
END_TEST

START_TEST(a_copy_of_another_member_is_refused_alone)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	tells_copied(2, ID(1));
	master_is(2, "refused", "DEL hf:node at master-3");
	master_is(2, "refused", "the id of master-2");
	ck_assert_str_eq(state(), "agreed");
	tells(1, S123, AGREEMENT_AGREED);
	master_is(1, "admitted", "");
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 2; w.at++)
		granted(&w, "a", 1, 1000);
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 :1"));
	/* It is asked again and again, and nothing else comes of it. */
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_null(strstr(tells_copied(2, ID(1)), "agreed"));
	/* What was copied is deleted: it gets its own id, not the one that it told. */
	message(2, (struct vote){.op = CALL_HELLO, .incarnation = MEMORY + 20, .id = ID(2)});
	ck_assert_uint_eq(hello_of(2).id, ID(2));
	ck_assert_int_eq(hello_of(2).agreement, AGREEMENT_AGREED);
	story_done(&w);
}
END_TEST

/* A daemon that starts may hear the copy first: the places of the set tell who is who. */
START_TEST(a_copy_that_is_heard_first_is_found_out)
{
	begin(3);
	tells_copied(2, ID(1));
	tells(0, S123, AGREEMENT_AGREED);
	tells(1, S123, AGREEMENT_AGREED);
	master_is(1, "admitted", "");
	tells_copied(2, ID(1));
	master_is(2, "refused", "the id of master-2");
	ck_assert_str_eq(state(), "agreed");
	story_done(&w);
}
END_TEST

/* Other names for the places are no reason to refuse the wrong one: the daemon knows what each was. */
START_TEST(a_copy_is_told_by_what_it_was_where_the_set_has_other_places)
{
	places = "here there elsewhere";
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	tells_copied(0, ID(1));
	master_is(0, "refused", "the id of master-2");
	tells(1, S123, AGREEMENT_AGREED);
	master_is(1, "admitted", "");
	story_done(&w);
	places = THREE;
}
END_TEST

/* Each may be given its set although the other one is a copy, too: a copy remembers nothing of its own. */
START_TEST(two_copies_are_mended_one_after_the_other)
{
	begin(3);
	all_tell(S123, AGREEMENT_AGREED);
	for (int i = 0; i < 60; i++) {
		tells_copied(1, ID(0));
		if (i < 30) /* longer than a lease */
			tells_copied(2, ID(0));
		else
			message(2, (struct vote){.op = CALL_HELLO, .incarnation = MEMORY + 20, .id = ID(2)});
		tells(0, S123, AGREEMENT_AGREED);
		after(&w, 500);
		collect();
	}
	ck_assert_uint_eq(hello_of(2).id, ID(2));
	ck_assert_int_eq(hello_of(2).agreement, AGREEMENT_AGREED);
	story_done(&w);
}
END_TEST

/* Where the list has been changed it may be the new one that answers last. */
START_TEST(a_set_without_the_place_of_a_master_that_is_not_heard_yet_is_not_taken_up)
{
	places = "master-1 master-2 another";
	begin(3);
	tells(0, S12X, AGREEMENT_AGREED);
	tells(1, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_str_eq(lock_once(&w, 1, "a"), "c1 -NOMASTER");
	tells(2, "", AGREEMENT_NONE);
	ck_assert_int_eq(hello_of(0).agreement, AGREEMENT_OFFERED);
	ck_assert_str_eq(set_text(), S123_LATER);
	story_done(&w);
	places = THREE;
}
END_TEST

/* Others may know it by another place: a majority is enough. */
START_TEST(a_master_that_is_away_may_be_any_member)
{
	places = "master-1 master-2 another";
	begin(3);
	w.at = 2;
	link_down(&w, "refused");
	tells(0, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "agreed");
	ck_assert_str_eq(set_text(), S12X);
	story_done(&w);
	places = THREE;
}
END_TEST

START_TEST(what_we_offer_follows_all_that_was_agreed_on)
{
	places = "master-1 master-2 another";
	begin(3);
	tells(2, "", AGREEMENT_NONE);
	tells(0, S12X, AGREEMENT_AGREED);
	tells(1, S12X, AGREEMENT_AGREED);
	ck_assert_str_eq(state(), "refused");
	ck_assert_int_eq(hello_of(0).agreement, AGREEMENT_OFFERED);
	ck_assert_str_eq(set_text(), S123_LATER);
	story_done(&w);
	places = THREE;
}
END_TEST

START_TEST(a_set_that_cannot_be_read_is_not_ours)
{
	static const char *const texts[] = {"x", "1", "1 1001:url", "1 000000000000100g:url",
		"1 0000000000001001:", "1  0000000000001001:url", "-1 0000000000001001:url",
		"1 0000000000000000:url", "99999999999999999999 0000000000001001:url",
		"1 0000000000001001:url 0000000000001001:url", "1 0000000000001001:u\x7frl"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		begin(1);
		tells(0, texts[i], AGREEMENT_AGREED);
		ck_assert_msg(strcmp(state(), "refused") == 0, "%s", texts[i]);
		story_done(&w);
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("masterset", NULL, NULL, each_step_is_taken_at_all_before_the_next,
		a_set_is_agreed_on_above_the_tokens_of_who_answers_slowly, an_offer_to_all_is_not_enough,
		a_master_that_is_guarded_accepts_nothing, what_is_agreed_is_taken_up_by_who_has_its_masters,
		another_number_or_way_is_another_set, another_set_at_one_master_stops_all_new_leases,
		a_stranger_among_ours_stops_them_too, who_holds_leases_stays_registered_under_their_set,
		a_refused_daemon_passes_its_leases_on_to_nobody, a_refused_daemon_says_so_of_what_it_holds,
		a_refused_daemon_keeps_no_place_for_a_writer, a_refused_daemon_gives_back_what_it_retains,
		a_refused_daemon_gives_back_what_a_bundle_waits_with,
		a_copy_of_another_member_is_refused_alone, a_copy_that_is_heard_first_is_found_out,
		a_copy_is_told_by_what_it_was_where_the_set_has_other_places,
		two_copies_are_mended_one_after_the_other,
		a_set_learnt_by_a_refusal_is_not_used_there_before_a_hello_under_it,
		a_refusal_by_a_set_that_is_ours_by_now_is_no_hello_under_it,
		a_stranger_that_is_gone_refuses_nobody, a_stranger_costs_nobody_its_set,
		a_set_that_is_over_is_not_taken_up_again,
		a_set_is_offered_anew_where_a_later_one_was_accepted,
		a_set_that_an_offer_does_not_give_way_to_is_over,
		a_set_is_left_if_most_of_its_servers_belong_to_a_later_one,
		an_earlier_set_with_most_of_its_servers_costs_nobody_its_set,
		a_set_that_was_founded_anew_at_the_only_master_is_taken_up,
		a_set_is_offered_anew_where_the_only_master_has_only_accepted_another,
		a_set_with_bytes_that_no_way_has_is_not_taken_up,
		a_member_that_forgot_is_given_its_id_and_the_set,
		a_member_that_forgot_is_refused_until_enough_others_confirm_the_set,
		a_set_without_the_place_of_a_master_that_is_not_heard_yet_is_not_taken_up,
		a_master_that_is_away_may_be_any_member, what_we_offer_follows_all_that_was_agreed_on,
		a_set_that_cannot_be_read_is_not_ours);
}
