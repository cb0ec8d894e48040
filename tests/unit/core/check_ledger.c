/*
 * check_ledger: a daemon crashes in the middle of a story, and the next process recovers what its ledger
 * says. Each client with a durable session finds what it had when it comes back. After every step of every
 * story the ledger says what the core says (tests/support/story.h).
 */
#include "daemon/core/base/base.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/persist/durable.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_MS 4000
#define NEXT     "fedcba9876543210fedcba9876543210"
#define THIRD    "00000000000000000000000000000003"
#define FOURTH   "00000000000000000000000000000004"

/* Whose it is, what its settings bind, and its masters. */
#define HEAD_ENTRIES 3

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

/* ---- clients ---- */

struct secret {
	char text[64];
};

static struct secret
secret_of(void)
{
	struct secret secret;

	(void)snprintf(secret.text, sizeof(secret.text), "%.48s", story_text(&w));
	return secret;
}

static struct secret
grace(conn_id conn, int64_t ms)
{
	run(&w, conn, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = ms});
	return secret_of();
}

static void
open_as(conn_id conn, uint64_t user)
{
	struct peer peer = {.pid = 100 + (int64_t)conn, .uid = 0, .user = user};

	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer}), "");
}

static const char *
resume(conn_id conn, const struct secret *secret)
{
	return run(&w, conn, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret->text)});
}

static const char *
bound(conn_id conn, int64_t pid)
{
	return step(&w, &(struct event){.type = EVENT_BIND, .conn = conn, .process = {pid, 7, 3}});
}

static const char *
ended(int64_t pid)
{
	return step(&w, &(struct event){.type = EVENT_EXIT, .process = {pid, 7, 3}});
}

static const char *
unlock_as(conn_id conn, const char *name, const char *owner)
{
	return run(&w, conn,
		(struct command){.verb = VERB_UNLOCK, .name = slice_of(name), .owner = slice_of(owner)});
}

/* A LOCK that the master grants with this token. */
static void
holds(conn_id conn, const char *name, uint64_t attempt, int64_t token)
{
	char expected[64];

	lock(&w, conn, name);
	(void)snprintf(expected, sizeof(expected), "c%llu :%lld", (unsigned long long)conn, (long long)token);
	ck_assert_str_eq(granted(&w, name, attempt, token), expected);
}

/* ---- connections that outlive the crash ---- */

/* What the latest step has said of the connections that a next process could have: "1 2" */
static const char *
kept(void)
{
	static char text[64];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < w.actions.n; i++) {
		if (w.actions.list[i].type == ACTION_KEEP)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%llu", n > 0 ? " " : "",
				(unsigned long long)w.actions.list[i].conn);
	}
	return text;
}

/* What is to be known of a connection: the number of its session, and whether it gets pushes; "": it ends
 * with its process. */
static const char *
keep_of(conn_id conn)
{
	static char text[64];
	struct keep_view keep;

	text[0] = '\0';
	if (core_view_keep(w.core, conn, &keep))
		(void)snprintf(text, sizeof(text), "%llu%s%s", (unsigned long long)keep.session,
			keep.pushed ? " pushed" : "", keep.anchor ? " anchor" : "");
	return text;
}

static const char *
returned(conn_id conn, session_id session, bool pushed)
{
	return step(&w,
		&(struct event){
			.type = EVENT_RETURN, .conn = conn, .keep = {.session = session, .pushed = pushed}});
}

static const char *
onloss(conn_id conn, enum onloss what)
{
	return run(&w, conn, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = what});
}

/* ---- the crash ---- */

static struct slice
ledger(void)
{
	return (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)};
}

static struct core *
recover(struct slice bytes, const char *daemon_id)
{
	struct core_settings settings = w.settings;

	settings.daemon_id = daemon_id;
	return core_recover(&settings, w.now, bytes, why);
}

/* For the corpus of tests/fuzz/fuzz_ledger.c: `make corpus`. Each ledger has a name of its own. */
static void
keep(const char *name)
{
	const char *folder = getenv("HOLDFAST_CORPUS");
	char path[512];
	FILE *to;

	if (folder == NULL)
		return;
	ck_assert_uint_lt((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name), sizeof(path));
	to = fopen(path, "wx");
	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(fwrite(ledger().p, 1, ledger().n, to), ledger().n);
	ck_assert_int_eq(fclose(to), 0);
}

/* The process is killed, and the next one begins; its masters are away. Returns what its first step does. */
static const char *
crashed_to(const char *daemon_id)
{
	struct core *core = recover(ledger(), daemon_id);

	ck_assert_msg(core != NULL, "%s", why);
	core_check(core, w.now.ms);
	core_free(w.core);
	free(w.attempts);
	w.attempts = NULL;
	w.attempts_room = 0;
	w.core = core;
	w.settings.daemon_id = daemon_id;
	step(&w, &(struct event){.type = EVENT_TIMER});
	return w.trace;
}

static const char *
crashed(void)
{
	return crashed_to(NEXT);
}

/* The corpus has the ledger under this name. */
static const char *
crashed_as(const char *name)
{
	keep(name);
	return crashed();
}

/* The masters are back. Returns what is asked of the last one. */
static const char *
masters_back(void)
{
	for (w.at = 0; w.at < w.settings.masters; w.at++) {
		link_up(&w);
		hello(&w, true, MEMORY + w.at);
	}
	w.at = 0;
	return w.trace;
}

static const char *
adopted(const char *name, uint64_t attempt, int64_t token)
{
	return vote(&w, (struct vote){.op = CALL_ADOPT,
				.name = slice_of(name),
				.attempt = attempt,
				.token_first = token,
				.token_last = token + 99});
}

/* Time passes, and the master renews what it is asked to. */
static void
pass(int64_t ms)
{
	while (ms-- > 0) {
		after(&w, 1);
		if (last_call(&w) != NULL && last_call(&w)->op == CALL_RENEW)
			vote(&w, (struct vote){.op = CALL_RENEW,
					 .name = last_call(&w)->name,
					 .attempt = last_call(&w)->attempt});
	}
}

/* ---- what is recovered ---- */

START_TEST(a_session_that_is_not_durable_is_forgotten)
{
	struct secret secret;

	run(&w, 1, (struct command){.verb = VERB_SESSION_SECRET});
	secret = secret_of();
	holds(1, "a", 1, 500);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
	ck_assert_str_eq(crashed(), "");
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 -ERR");
	masters_back();
	ck_assert_str_eq(lock(&w, 11, "a"), "acquire a#1");
}
END_TEST

START_TEST(a_session_with_a_grace_finds_its_holds)
{
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	holds(1, "b", 2, 700);
	after(&w, 100);
	ck_assert_str_eq(crashed_as("grace"), "");
	open_as(11, 0);
	open_as(12, 0);
	ck_assert_str_eq(lock(&w, 12, "a"), "");
	ck_assert_str_eq(resume(11, &secret), "c11 :2");
	ck_assert_str_eq(check(&w, 11, "a"), "c11 :878");
	ck_assert_str_eq(lock(&w, 11, "b"), "c11 -HELD");
	ck_assert_str_eq(masters_back(), "adopt a#1 | adopt b#2");
	ck_assert_str_eq(adopted("a", 1, 2000), "");
	ck_assert_str_eq(adopted("b", 2, 3000), "");
	ck_assert_str_eq(check(&w, 11, "a"), "c11 :977");
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 :0 | c12 :2000");
	ck_assert_str_eq(unlock(&w, 11, "b"), "c11 :0 | release b#2");
}
END_TEST

START_TEST(a_secret_is_needed_after_a_crash)
{
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	crashed();
	open_as(11, 0);
	secret.text[40] ^= 1;
	ck_assert_str_eq(resume(11, &secret), "c11 -ERR");
	secret.text[40] ^= 1;
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
}
END_TEST

START_TEST(a_grace_begins_anew_and_ends)
{
	grace(1, GRACE_MS);
	holds(1, "a", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	after(&w, 900);
	crashed();
	masters_back();
	adopted("a", 1, 2000);
	ck_assert_uint_eq(w.core->counts.grants, 1);
	pass(GRACE_MS);
	ck_assert_uint_eq(w.core->counts.sessions, 1);
	pass(GRACE_MS / 8 + 1);
	ck_assert_uint_eq(w.core->counts.sessions, 0);
	ck_assert_uint_eq(w.core->counts.grants, 0);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
}
END_TEST

START_TEST(a_grace_taken_back_leaves_nothing)
{
	grace(1, GRACE_MS);
	holds(1, "a", 1, 500);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 3);
	run(&w, 1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 0});
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
	crashed();
	ck_assert_uint_eq(w.core->counts.sessions, 0);
	ck_assert_uint_eq(w.core->counts.leases, 0);
}
END_TEST

START_TEST(a_session_that_becomes_durable_keeps_what_it_held)
{
	struct secret secret;

	holds(1, "a", 1, 500);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
	secret = grace(1, GRACE_MS);
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
}
END_TEST

/* The bytes of the entries that a request writes. */
static size_t
bytes_of_grace(int64_t ms)
{
	size_t before = buffer_length(&w.log);

	grace(1, ms);
	return buffer_length(&w.log) - before;
}

static void
begin_with_many(size_t many)
{
	w.settings.ledger_many = many;
	story_anew(&w);
}

START_TEST(a_session_that_holds_many_becomes_durable_with_one_entry)
{
	struct secret secret;
	size_t one;

	begin_with_many(2);
	holds(1, "a", 1, 500);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
	holds(1, "b", 2, 600);
	holds(1, "c", 3, 700);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1 + 2 * 3);
	grace(1, 0);
	one = bytes_of_grace(GRACE_MS);
	ck_assert_uint_eq(bytes_of_grace(GRACE_MS + 1), one);
	ck_assert_uint_eq(bytes_of_grace(0), one);
	ck_assert_uint_eq(bytes_of_grace(GRACE_MS), one);
	secret = secret_of();
	crashed_as("many");
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :3");
}
END_TEST

START_TEST(a_session_that_holds_many_and_is_not_durable_is_forgotten)
{
	begin_with_many(2);
	holds(1, "a", 1, 500);
	holds(1, "b", 2, 600);
	grace(1, GRACE_MS);
	grace(1, 0);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1 + 2 * 2);
	crashed_as("many-plain");
	ck_assert_uint_eq(w.core->counts.sessions, 0);
	ck_assert_uint_eq(w.core->counts.leases, 0);
	/* Its number is not given again. */
	open_as(11, 0);
	ck_assert_uint_gt(conn_find(w.core, 11)->session->id, 1);
}
END_TEST

START_TEST(a_session_that_held_many_leaves_the_ledger)
{
	begin_with_many(2);
	holds(1, "a", 1, 500);
	holds(1, "b", 2, 600);
	unlock(&w, 1, "a");
	grace(1, 0);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
	holds(1, "a", 3, 700);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1 + 2 * 2);
	close_as(&w, 1, END_CLEAN);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
}
END_TEST

START_TEST(tags_and_entries_are_counted_on)
{
	struct secret secret = grace(1, GRACE_MS);

	lock_as(&w, 1, "a", "tag");
	granted(&w, "a", 1, 500);
	lock_as(&w, 1, "a", "tag");
	lock_as(&w, 1, "a", "tag");
	ck_assert_str_eq(unlock_as(1, "a", "tag"), "c1 :2");
	crashed_as("tags");
	open_as(11, 0);
	resume(11, &secret);
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 -NOTHELD");
	ck_assert_str_eq(lock_as(&w, 11, "a", "tag"), "c11 :500");
	ck_assert_str_eq(unlock_as(11, "a", "tag"), "c11 :2");
	ck_assert_str_eq(unlock_as(11, "a", "tag"), "c11 :1");
	ck_assert_str_eq(unlock_as(11, "a", "tag"), "c11 :0");
}
END_TEST

START_TEST(a_loss_is_remembered_until_it_is_told)
{
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	after(&w, 400);
	answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1);
	crashed_as("loss");
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :0");
	ck_assert_str_eq(check(&w, 11, "a"), "c11 -LOST");
	crashed_to(THIRD);
	open_as(21, 0);
	resume(21, &secret);
	masters_back();
	/* It has been told, but the answer may have been lost with the connection. */
	ck_assert_str_eq(lock(&w, 21, "a"), "c21 -LOST");
	ck_assert_str_eq(lock(&w, 21, "a"), "acquire a#1");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1);
}
END_TEST

START_TEST(a_lease_whose_time_is_over_is_a_loss)
{
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	w.now.ms += LEASE_MS;
	crashed();
	ck_assert_uint_eq(w.core->counts.resources, 0);
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :0");
	ck_assert_str_eq(lock(&w, 11, "a"), "c11 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "expired"));
	ck_assert_int_ge(w.core->quorum->highest, 1499);
}
END_TEST

static const char *
lock_for(conn_id conn, const char *name, int64_t lease_ms, int64_t max_hold_ms)
{
	return run(&w, conn,
		(struct command){.verb = VERB_LOCK,
			.name = slice_of(name),
			.lease_ms = lease_ms,
			.max_hold_ms = max_hold_ms});
}

START_TEST(a_hold_ends_when_it_would_have_ended)
{
	struct secret secret = grace(1, GRACE_MS);

	lock_for(1, "a", 300, 0);
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 500}),
		"c1 :493");
	lock_for(1, "b", 0, 400);
	granted(&w, "b", 2, 600);
	crashed_as("terms");
	open_as(11, 0);
	resume(11, &secret);
	after(&w, 399);
	ck_assert_str_eq(check(&w, 11, "b"), "c11 :0");
	after(&w, 1);
	ck_assert_str_eq(check(&w, 11, "b"), "c11 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "maxhold"));
	ck_assert_str_eq(check(&w, 11, "a"), "c11 :97");
	ck_assert_str_eq(
		run(&w, 11, (struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 200}),
		"c11 :196");
	after(&w, 200);
	ck_assert_str_eq(check(&w, 11, "a"), "c11 -LOST");
}
END_TEST

START_TEST(a_hold_that_ended_meanwhile_is_a_loss_of_its_kind)
{
	struct secret secret = grace(1, GRACE_MS);

	lock_for(1, "a", 300, 0);
	granted(&w, "a", 1, 500);
	lock_for(1, "b", 0, 300);
	granted(&w, "b", 2, 600);
	w.now.ms += 300;
	crashed();
	ck_assert_uint_eq(w.core->counts.leases, 0);
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :0");
	ck_assert_str_eq(lock(&w, 11, "b"), "c11 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "maxhold"));
	/* The holder chose the end of its LEASE, and knows of it. */
	ck_assert_str_eq(lock(&w, 11, "a"), "");
}
END_TEST

/* c1 is offered a, and has claimed b. */
static struct secret
offered(void)
{
	struct command c = {.verb = VERB_LOCK, .name = SLICE("a"), .claim_ms = 300};
	struct secret secret = grace(1, GRACE_MS);

	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	c.name = SLICE("b");
	run(&w, 1, c);
	granted(&w, "b", 2, 600);
	check(&w, 1, "b");
	return secret;
}

START_TEST(a_claim_is_due_when_it_was)
{
	struct secret secret = offered();

	crashed_as("claim");
	open_as(11, 0);
	resume(11, &secret);
	after(&w, 299);
	ck_assert_uint_eq(w.core->counts.grants, 2);
	after(&w, 1);
	ck_assert_str_eq(check(&w, 11, "a"), "c11 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "claim"));
	ck_assert_str_eq(check(&w, 11, "b"), "c11 :680");
}
END_TEST

/* The CLAIM of a is over before the next process is there. */
static void
recovered_late(void)
{
	struct secret secret = offered();

	w.now.ms += 300;
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
	ck_assert_str_eq(check(&w, 11, "b"), "c11 :680");
}

START_TEST(a_claim_that_was_due_meanwhile_is_a_loss_of_its_kind)
{
	recovered_late();
	ck_assert_str_eq(check(&w, 11, "a"), "c11 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "claim"));
}
END_TEST

START_TEST(a_claim_that_was_due_meanwhile_keeps_nobody_from_locking_again)
{
	recovered_late();
	ck_assert_str_eq(lock(&w, 11, "a"), "");
}
END_TEST

START_TEST(a_bound_process_does_not_notice)
{
	ck_assert_str_eq(bound(1, 4711), "watch 4711 | c1 :0");
	holds(1, "a", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(crashed_as("bound"), "watch 4711");
	ck_assert_str_eq(masters_back(), "adopt a#1");
	adopted("a", 1, 2000);
	open_as(11, 0);
	ck_assert_str_eq(bound(11, 4711), "c11 :1");
	ck_assert_str_eq(check(&w, 11, "a"), "c11 :977");
	close_as(&w, 11, END_ABANDONED);
	ck_assert_str_eq(ended(4711), "release a#1");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES);
}
END_TEST

START_TEST(a_heartbeat_counts_as_heard)
{
	bound(1, 4711);
	run(&w, 1, (struct command){.verb = VERB_SESSION_HEARTBEAT, .heartbeat_ms = 800});
	holds(1, "a", 1, 500);
	after(&w, 300);
	after(&w, 300);
	crashed();
	after(&w, 700);
	ck_assert_uint_eq(w.core->counts.sessions, 1);
	after(&w, 100);
	after(&w, 101);
	ck_assert_uint_eq(w.core->counts.sessions, 0);
}
END_TEST

/* ---- what is not ---- */

START_TEST(waits_are_forgotten)
{
	struct secret secret = grace(2, GRACE_MS);

	holds(1, "a", 1, 500);
	lock(&w, 2, "a");
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :0");
	ck_assert_uint_eq(w.core->counts.waiters, 0);
	ck_assert_uint_eq(w.core->counts.leases, 0);
}
END_TEST

START_TEST(a_hold_that_was_not_told_is_forgotten)
{
	struct secret secret = grace(2, GRACE_MS);

	holds(1, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 2, END_ABANDONED);
	unlock(&w, 1, "a");
	ck_assert_uint_eq(w.core->counts.grants, 1);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1);
	/* The client comes back for it, and knows. */
	resume(3, &secret);
	ck_assert_str_eq(lock(&w, 3, "a"), "c3 :501");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 3);
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
}
END_TEST

START_TEST(an_mlock_without_an_answer_is_forgotten)
{
	static const struct slice names[] = {SLICE("a"), SLICE("b")};
	struct secret secret = grace(1, GRACE_MS);

	run(&w, 1, (struct command){.verb = VERB_MLOCK, .names = names, .name_count = 2, .lease_ms = 700});
	granted(&w, "a", 1, 500);
	ck_assert_uint_eq(w.core->counts.grants, 1);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 1);
	ck_assert_str_eq(granted(&w, "b", 2, 600), "c1 [:500 :600]");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 5);
	crashed_as("mlock");
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :2");
	after(&w, 700);
	ck_assert_uint_eq(w.core->counts.grants, 0);
}
END_TEST

/* ---- kinds of locks ---- */

static const struct command two_of_three = {
	.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 3, .permits = 2};

static const char *
given(enum call_op op, uint64_t attempt, const char *slots)
{
	return vote(&w, (struct vote){.op = op,
				.name = SLICE("a"),
				.attempt = attempt,
				.token_first = (int64_t)attempt * 100,
				.token_last = (int64_t)attempt * 100 + 99,
				.slots = slice_of(slots)});
}

START_TEST(permits_keep_their_slots)
{
	struct secret secret = grace(1, GRACE_MS);
	struct command one = two_of_three;

	run(&w, 1, two_of_three);
	ck_assert_str_eq(given(CALL_ACQUIRE, 1, "0,2"), "c1 :100");
	crashed_as("permits");
	ck_assert_str_eq(masters_back(), "adopt a#1 2 of 3: 0,2");
	ck_assert_str_eq(adopted("a", 1, 300), "");
	open_as(11, 0);
	open_as(12, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
	one.permits = 1;
	ck_assert_str_eq(run(&w, 12, one), "acquire a#2 1 of 3");
	ck_assert_str_eq(given(CALL_ACQUIRE, 2, "1"), "c12 :200");
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 :0 | release a#1 2 of 3: 0,2");
}
END_TEST

/* A reader that was plain may rely on the lease, though it is the durable one's now. */
START_TEST(a_reader_that_is_gone_is_waited_for)
{
	struct secret secret = grace(1, GRACE_MS);

	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	crashed_as("readers");
	ck_assert_uint_eq(w.core->counts.withheld, 1);
	masters_back();
	adopted("a", 1, 2000);
	open_as(11, 0);
	open_as(12, 0);
	resume(11, &secret);
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 :0");
	ck_assert_str_eq(lock(&w, 12, "a"), "enter a#1 shared");
	pass(987);
	ck_assert_uint_eq(w.core->counts.withheld, 1);
	ck_assert_str_eq(after(&w, 1), "release a#1 shared | acquire a#2");
	ck_assert_uint_eq(w.core->counts.withheld, 0);
}
END_TEST

START_TEST(what_is_withheld_is_not_withheld_longer_by_a_crash)
{
	grace(1, GRACE_MS);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 2, "a");
	close_as(&w, 2, END_ABANDONED);
	after(&w, 400);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	crashed_as("withheld");
	ck_assert_uint_eq(w.core->counts.withheld, 1);
	masters_back();
	adopted("a", 1, 2000);
	crashed_to(THIRD);
	ck_assert_uint_eq(w.core->counts.withheld, 1);
	pass(587);
	ck_assert_uint_eq(w.core->counts.withheld, 1);
	after(&w, 1);
	ck_assert_uint_eq(w.core->counts.withheld, 0);
	ck_assert_uint_eq(w.core->counts.grants, 1);
}
END_TEST

START_TEST(a_delay_after_crashes_is_kept)
{
	grace(1, GRACE_MS);
	lock_shared(&w, 1, "fragile");
	granted(&w, "fragile", 1, 500);
	lock_shared(&w, 2, "fragile");
	crashed();
	masters_back();
	adopted("fragile", 1, 600);
	ck_assert_int_eq(
		grant_ends_ms(resource_next_grant(names_find(&w.core->leases->names, SLICE("fragile")), NULL)
				      ->after),
		w.now.ms + LEASE_MS - 12 + CRASH_DELAY_MS);
}
END_TEST

static struct command
read_for(int64_t lease_ms, int64_t max_hold_ms)
{
	return (struct command){.verb = VERB_LOCK,
		.name = SLICE("a"),
		.kind = KIND_SHARED,
		.lease_ms = lease_ms,
		.max_hold_ms = max_hold_ms};
}

/* Plain readers beside a durable one: until when they are withheld after a crash, from now on. */
static int64_t
withheld_ms(void)
{
	struct core *next = recover(ledger(), NEXT);
	const struct grant *g =
		resource_next_grant(names_find(&next->leases->names, SLICE("a")), NULL)->after;
	int64_t ms = g == NULL ? 0 : grant_ends_ms(g) - w.now.ms;

	ck_assert_uint_eq(next->counts.withheld, g != NULL);
	core_free(next);
	return ms;
}

START_TEST(a_reader_that_is_gone_is_waited_for_until_its_own_end)
{
	grace(1, GRACE_MS);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_int_eq(withheld_ms(), 0);
	run(&w, 2, read_for(0, 300));
	ck_assert_int_eq(withheld_ms(), 300);
	run(&w, 3, read_for(200, 0));
	ck_assert_int_eq(withheld_ms(), 300);
	run(&w, 3,
		(struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 400, .lease_ms = 0});
	ck_assert_int_eq(withheld_ms(), 400);
	lock_shared(&w, 4, "a");
	ck_assert_int_eq(withheld_ms(), LEASE_MS - 12);
	unlock(&w, 4, "a");
	ck_assert_int_eq(withheld_ms(), 400);
	unlock(&w, 3, "a");
	ck_assert_int_eq(withheld_ms(), 300);
}
END_TEST

/* The same, of readers that are in the ledger themselves, because their sessions hold many. */
START_TEST(a_reader_that_holds_many_is_waited_for_until_its_own_end)
{
	begin_with_many(1);
	grace(1, GRACE_MS);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_int_eq(withheld_ms(), 0);
	run(&w, 2, read_for(0, 300));
	ck_assert_int_eq(withheld_ms(), 300);
	run(&w, 3, read_for(200, 0));
	ck_assert_int_eq(withheld_ms(), 300);
	run(&w, 3,
		(struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 400, .lease_ms = 0});
	ck_assert_int_eq(withheld_ms(), 400);
	lock_shared(&w, 4, "a");
	ck_assert_int_eq(withheld_ms(), LEASE_MS - 12);
	unlock(&w, 4, "a");
	ck_assert_int_eq(withheld_ms(), 400);
	unlock(&w, 3, "a");
	ck_assert_int_eq(withheld_ms(), 300);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_waited_for_by_the_newest_rule)
{
	static const struct rule newest = {
		.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1, .crash_delay_ms = 2000};

	grace(1, GRACE_MS);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	run(&w, 2, read_for(0, 300));
	core_set_rules(w.core, &newest, 1);
	after(&w, 1);
	ck_assert_int_eq(withheld_ms(), 299 + 2000);
}
END_TEST

START_TEST(a_reader_that_does_not_know_of_its_hold_is_not_waited_for)
{
	static const struct slice names[] = {SLICE("a"), SLICE("b")};

	grace(1, GRACE_MS);
	grace(2, GRACE_MS);
	lock_shared(&w, 1, "a");
	lock_shared(&w, 2, "a");
	close_as(&w, 2, END_GONE);
	granted(&w, "a", 1, 500);
	ck_assert_uint_eq(w.core->counts.grants, 2);
	ck_assert_int_eq(withheld_ms(), 0);
	run(&w, 3,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = 2,
			.kind = KIND_SHARED,
			.lease_ms = 700});
	ck_assert_uint_eq(w.core->counts.grants, 3);
	ck_assert_int_eq(withheld_ms(), 0);
	ck_assert_str_eq(granted(&w, "b", 2, 600), "c3 [:502 :600]");
	ck_assert_int_eq(withheld_ms(), 700);
}
END_TEST

START_TEST(the_last_durable_reader_takes_the_others_along)
{
	struct secret secret = grace(1, GRACE_MS);

	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 2, "a");
	lock_shared(&w, 3, "a");
	grace(3, GRACE_MS);
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 5);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 4);
	unlock(&w, 2, "a");
	unlock(&w, 3, "a");
	ck_assert_uint_eq(w.ledger.n, HEAD_ENTRIES + 2);
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :0");
	ck_assert_uint_eq(w.core->counts.leases, 0);
}
END_TEST

START_TEST(a_writer_that_reads_now_lets_readers_join)
{
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	ck_assert_str_eq(run(&w, 1, (struct command){.verb = VERB_DOWNGRADE, .name = SLICE("a")}), "c1 :500");
	wanted(&w, "a");
	crashed();
	ck_assert_str_eq(masters_back(), "adopt a#1 shared");
	adopted("a", 1, 2000);
	open_as(11, 0);
	open_as(12, 0);
	ck_assert_str_eq(resume(11, &secret), "c11 :1");
	ck_assert_str_eq(lock_shared(&w, 12, "a"), "c12 :2000");
}
END_TEST

START_TEST(a_foreign_key_is_adopted_too)
{
	size_t adopts = 0;

	grace(1, GRACE_MS);
	lock(&w, 1, "string-a");
	granted(&w, "string-a", 1, 500);
	lock(&w, 1, "redisson-a");
	granted(&w, "redisson-a", 2, 600);
	crashed_as("foreign");
	masters_back();
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct call *call = &w.actions.list[i].u.call;

		if (w.actions.list[i].type != ACTION_CALL || call->op != CALL_ADOPT)
			continue;
		ck_assert_int_eq(call->interop, call->name.p[0] == 's' ? INTEROP_STRING : INTEROP_REDISSON);
		ck_assert(call->name.p[0] == 's' ? strcmp(call->key, "%") == 0 : call->key == NULL);
		ck_assert_uint_gt(call->previous.n, sizeof(STORY_DAEMON));
		ck_assert_int_eq(memcmp(call->previous.p, STORY_DAEMON ":", sizeof(STORY_DAEMON)), 0);
		adopts++;
	}
	ck_assert_uint_eq(adopts, 2);
}
END_TEST

/* ---- several crashes ---- */

START_TEST(each_process_is_a_previous_owner_until_all_masters_have_adopted)
{
	const struct lease *l;
	struct slice previous;

	story_done(&w);
	story_among(&w, 3);
	grace(1, GRACE_MS);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 500);
	crashed();
	w.at = 0;
	link_up(&w);
	hello(&w, true, MEMORY);
	keep("adopting");
	crashed_to(THIRD);
	l = &names_find(&w.core->leases->names, SLICE("a"))->lease;
	previous = lease_previous_owners(l);
	ck_assert_uint_eq(previous.n, 2 * (sizeof(THIRD) + 5) + 1);
	ck_assert_int_eq(memcmp(previous.p, NEXT ":", sizeof(NEXT)), 0);
	ck_assert_ptr_nonnull(memmem(previous.p, previous.n, " " STORY_DAEMON ":", sizeof(STORY_DAEMON) + 1));
	masters_back();
	for (w.at = 0; w.at < 3; w.at++) {
		ck_assert_uint_gt(lease_previous_owners(l).n, 0);
		adopted("a", 1, 2000);
	}
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
}
END_TEST

START_TEST(a_process_that_asked_no_master_is_no_previous_owner)
{
	static const char *const ids[] = {"00000000000000000000000000000004",
		"00000000000000000000000000000005", "00000000000000000000000000000006",
		"00000000000000000000000000000007"};
	struct slice previous;

	grace(1, GRACE_MS);
	holds(1, "a", 1, 500);
	crashed();
	crashed_to(THIRD);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		crashed_to(ids[i]);
	previous = lease_previous_owners(&names_find(&w.core->leases->names, SLICE("a"))->lease);
	ck_assert_uint_eq(previous.n, sizeof(THIRD) + 5);
	ck_assert_int_eq(memcmp(previous.p, STORY_DAEMON ":", sizeof(STORY_DAEMON)), 0);
	ck_assert_str_eq(masters_back(), "adopt a#1");
	crashed_to(NEXT);
	previous = lease_previous_owners(&names_find(&w.core->leases->names, SLICE("a"))->lease);
	ck_assert_uint_eq(previous.n, 2 * (sizeof(THIRD) + 5) + 1);
	ck_assert_int_eq(memcmp(previous.p, ids[3], sizeof(THIRD) - 1), 0);
}
END_TEST

START_TEST(users_are_counted_on)
{
	struct secret secret;

	w.settings.per_user.locks = 2;
	story_anew(&w);
	open_as(5, 77);
	secret = grace(5, GRACE_MS);
	holds(5, "a", 1, 500);
	holds(5, "b", 2, 600);
	crashed_as("users");
	masters_back();
	open_as(11, 77);
	ck_assert_str_eq(lock(&w, 11, "c"), "c11 -LIMIT");
	ck_assert_str_eq(resume(11, &secret), "c11 :2");
	ck_assert_uint_eq(w.core->counts.graces, 1);
}
END_TEST

START_TEST(numbers_of_sessions_go_on)
{
	grace(4, GRACE_MS);
	crashed();
	open_as(11, 0);
	ck_assert_str_eq(run(&w, 11, (struct command){.verb = VERB_SESSION_ID}), "c11 :5");
}
END_TEST

/* ---- whose ledger it is ---- */

static void
ck_refused(struct slice bytes, const char *daemon_id, const char *because)
{
	ck_assert_ptr_null(recover(bytes, daemon_id));
	ck_assert_msg(strstr(why, because) != NULL, "%s", why);
}

START_TEST(connections_of_durable_sessions_can_outlive_a_crash)
{
	struct secret secret;

	ck_assert_str_eq(kept(), "");
	ck_assert_str_eq(keep_of(1), "");
	secret = grace(1, 60000);
	ck_assert_str_eq(kept(), "1");
	ck_assert_str_eq(keep_of(1), "1");
	/* One that leaves a session which is durable for another one, which is. */
	run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)});
	ck_assert_str_eq(kept(), "2");
	ck_assert_str_eq(keep_of(2), "1");
	ck_assert_str_eq(onloss(1, ONLOSS_PUSH), "c1 +OK");
	ck_assert_str_eq(keep_of(1), "1 pushed");
	ck_assert_str_eq(onloss(2, ONLOSS_PUSH), "c2 +OK");
	ck_assert_str_eq(kept(), "2 1");
	ck_assert_str_eq(keep_of(1), "1");
	ck_assert_str_eq(keep_of(2), "1 pushed");
	/* Nothing changes for those whose session is as it was. */
	grace(1, 30000);
	ck_assert_str_eq(kept(), "");
	grace(2, 0);
	ck_assert_str_eq(kept(), "1 2");
	ck_assert_str_eq(keep_of(1), "");
	ck_assert_str_eq(keep_of(2), "");
}
END_TEST

START_TEST(an_anchor_outlives_a_crash_before_and_after_the_end_of_its_process)
{
	for (unsigned dead = 0; dead < 2; dead++) {
		struct secret secret;

		story_anew(&w);
		secret = grace(1, GRACE_MS);
		bound(1, 4711);
		holds(1, "a", 1, 500);
		run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)});
		ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_SESSION_ANCHOR}), "c2 +OK");
		ck_assert_str_eq(keep_of(2), "1 anchor");
		ck_assert_str_eq(dead ? ended(4711) : "", "");
		crashed_to(dead ? THIRD : NEXT);
		step(&w, &(struct event){
				 .type = EVENT_RETURN, .conn = 2, .keep = {.session = 1, .anchor = true}});
		ck_assert_str_eq(dead ? "" : ended(4711), "");
		masters_back();
		adopted("a", 1, 2000);
		open_as(11, 0);
		ck_assert_str_eq(lock(&w, 11, "a"), "");
		ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_CLOSE, .conn = 2, .end = END_GONE}),
			"c11 :2000");
	}
}
END_TEST

START_TEST(a_connection_waits_while_a_request_of_it_does)
{
	holds(1, "a", 1, 500);
	ck_assert(!core_conn_waits(w.core, 1));
	ck_assert(!core_conn_waits(w.core, 2));
	lock(&w, 2, "a");
	ck_assert(core_conn_waits(w.core, 2));
	ck_assert(!core_conn_waits(w.core, 1));
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert(!core_conn_waits(w.core, 2));
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("x")}),
		"c1 +QUEUED");
	ck_assert(core_conn_waits(w.core, 1));
	ck_assert(!core_conn_waits(w.core, 2));
}
END_TEST

START_TEST(a_connection_that_returns_speaks_for_its_session)
{
	grace(1, 2000);
	holds(1, "a", 1, 500);
	crashed();
	ck_assert_str_eq(returned(1, 1, false), "");
	ck_assert_str_eq(kept(), "1");
	ck_assert_str_eq(keep_of(1), "1");
	masters_back();
	adopted("a", 1, 2000);
	/* Its grace does not run. */
	pass(4000);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	core_check(w.core, w.now.ms);
}
END_TEST

START_TEST(a_connection_that_returns_to_no_session_is_closed)
{
	grace(1, 60000);
	crashed();
	ck_assert_str_eq(returned(2, 2, false), "c2 close");
	ck_assert_str_eq(returned(3, 77, false), "c3 close");
	/* Its end is no news. */
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	core_check(w.core, w.now.ms);
}
END_TEST

/* Two sessions have lost what they held while the daemon was away; ONLOSS as given. */
static void
lost_meanwhile(enum onloss how)
{
	grace(1, 60000);
	onloss(1, how);
	holds(1, "a", 1, 500);
	w.now.ms += LEASE_MS;
	crashed();
}

START_TEST(a_loss_during_the_crash_closes_a_connection_that_returns)
{
	lost_meanwhile(ONLOSS_CLOSE);
	ck_assert_str_eq(returned(1, 1, false), "c1 close");
}
END_TEST

START_TEST(a_loss_during_the_crash_is_pushed_to_a_connection_that_returns)
{
	lost_meanwhile(ONLOSS_PUSH);
	ck_assert_str_eq(returned(1, 1, true), "c1 push lost a");
	/* It is told once, and the next one is pushed again. */
	crashed_to(THIRD);
	ck_assert_str_eq(returned(1, 1, true), "");
	ck_assert_str_eq(keep_of(1), "1 pushed");
}
END_TEST

START_TEST(a_loss_during_the_crash_is_told_with_the_next_use)
{
	lost_meanwhile(ONLOSS_NEXT);
	ck_assert_str_eq(returned(1, 1, false), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
}
END_TEST

START_TEST(a_ledger_of_another_is_refused)
{
	grace(1, GRACE_MS);
	holds(1, "a", 1, 500);
	ck_refused(ledger(), STORY_DAEMON, "of this daemon itself");
	w.settings.namespace_ = "other";
	ck_refused(ledger(), NEXT, "its namespace is hf, and the configuration has other");
	w.settings.namespace_ = "hf";
	ck_refused(SLICE(""), NEXT, "does not begin");
	ck_refused(SLICE("holdfast state 1\n"), NEXT, "does not begin as a ledger");
	core_free(recover(ledger(), NEXT));
}
END_TEST

/* ---- other settings ---- */

static const struct rule shorter_rule = {.match = "*", .lease_ms = LEASE_MS / 5, .wait_ms = -1};

/* The next process has shorter leases, and this clock margin. */
static const char *
crashed_to_shorter_leases(int64_t margin_ms)
{
	w.settings.rules = &shorter_rule;
	w.settings.rule_count = 1;
	w.settings.lease_max_ms = shorter_rule.lease_ms;
	w.settings.margin_ms = margin_ms;
	return crashed();
}

static struct terms_view
terms_now(void)
{
	struct terms_view terms;

	core_view_terms(w.core, &terms);
	return terms;
}

static struct lease *
lease_of_a(void)
{
	return &names_find(&w.core->leases->names, SLICE("a"))->lease;
}

/* Its client was told by the process before, under the longer lease. */
START_TEST(a_silent_id_is_waited_for_until_what_it_was_told_under_a_longer_lease)
{
	const struct slice id = SLICE("0123456789abcdef");

	run(&w, 1, (struct command){.verb = VERB_SESSION_TTL, .ttl_ms = 50, .as = id});
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = -1, .as = id});
	granted(&w, "a", 1, 500);
	/* It is claimed, so that the silence ends it. */
	run(&w, 1, (struct command){.verb = VERB_CHECK, .name = SLICE("a"), .token = 500, .as = id});
	ck_assert_str_eq(crashed_to_shorter_leases(MARGIN_MS), "");
	pass(100);
	ck_assert_ptr_null(lease_of_a()->grants->session);
	ck_assert_int_gt(grant_withheld_until_ms(lease_of_a()->grants) - w.now.ms, LEASE_MS / 10 * 8);
}
END_TEST

/* Sessions of before are told that the masters guard, take and register leases as long as they were told. */
START_TEST(the_longest_lease_of_before_counts_until_it_is_over)
{
	int64_t over_ms = LEASE_MS + drift_ms(LEASE_MS) + MARGIN_MS;

	(void)grace(1, 60000);
	ck_assert_str_eq(crashed_to_shorter_leases(MARGIN_MS), "");
	ck_assert_int_eq(terms_now().wanted_lease_ms, LEASE_MS);
	ck_assert_int_eq(terms_guard_ms(w.core), over_ms);
	/* So does the next one after that, and no longer than the first. */
	after(&w, over_ms - 10);
	ck_assert_str_eq(crashed_to(THIRD), "");
	ck_assert_int_eq(terms_now().wanted_lease_ms, LEASE_MS);
	after(&w, 20);
	ck_assert_str_eq(crashed_to(FOURTH), "");
	ck_assert_int_eq(terms_now().wanted_lease_ms, shorter_rule.lease_ms);
}
END_TEST

/* The rules were shortened while the process before ran, and clients had been told under the longer ones. */
START_TEST(a_longer_lease_of_before_a_reload_counts_after_a_crash)
{
	(void)grace(1, 60000);
	ck_assert(core_set_rules(w.core, &shorter_rule, 1));
	after(&w, 1);
	ck_assert_str_eq(crashed_to_shorter_leases(MARGIN_MS), "");
	ck_assert_int_eq(terms_now().wanted_lease_ms, LEASE_MS);
	after(&w, LEASE_MS + drift_ms(LEASE_MS) + MARGIN_MS);
	ck_assert_str_eq(crashed_to(THIRD), "");
	ck_assert_int_eq(terms_now().wanted_lease_ms, shorter_rule.lease_ms);
}
END_TEST

/* A guard has the greater margin, and a clock may step by the smaller one: keys of before live as long as
 * that one says. */
START_TEST(either_margin_counts_until_the_leases_of_before_are_over)
{
	static const int64_t margins[] = {MARGIN_MS / 2, MARGIN_MS * 3};
	int64_t over_ms = LEASE_MS + drift_ms(LEASE_MS);

	for (int i = 0; i < 2; i++) {
		int64_t most_ms = margins[i] > MARGIN_MS ? margins[i] : MARGIN_MS;
		int64_t least_ms = margins[i] < MARGIN_MS ? margins[i] : MARGIN_MS;

		end();
		begin();
		(void)grace(1, 60000);
		w.settings.margin_ms = margins[i];
		ck_assert_str_eq(crashed(), "");
		ck_assert_int_eq(terms_guard_ms(w.core), over_ms + most_ms);
		ck_assert_int_eq(binding_step_ms(w.core), least_ms);
		after(&w, over_ms + most_ms);
		ck_assert_int_eq(terms_guard_ms(w.core), over_ms + margins[i]);
		ck_assert_int_eq(binding_step_ms(w.core), margins[i]);
	}
}
END_TEST

/* The holds of other names go on. */
START_TEST(a_lock_whose_key_has_changed_is_lost)
{
	static const struct rule rules[] = {{.match = "a", .key = "x%", .lease_ms = LEASE_MS, .wait_ms = -1},
		{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1}};
	struct secret secret = grace(1, GRACE_MS);

	holds(1, "a", 1, 500);
	holds(1, "b", 2, 600);
	w.settings.rules = rules;
	w.settings.rule_count = 2;
	ck_assert_str_eq(crashed(), "");
	ck_assert_str_eq(why, "a has another key or interop by the configuration than it was locked by");
	open_as(11, 0);
	resume(11, &secret);
	ck_assert_str_eq(run(&w, 11, (struct command){.verb = VERB_CHECK, .name = SLICE("a")}), "c11 -LOST");
	ck_assert_ptr_null(names_find(&w.core->leases->names, SLICE("a")));
	ck_assert_ptr_nonnull(names_find(&w.core->leases->names, SLICE("b"))->lease.grants);
}
END_TEST

/* A whole ledger, and one entry more: another lease of "a" with a hold of the same session. */
static struct slice
ledger_with_another_lease(void)
{
	static struct buffer bytes;
	struct record r = {.out = &bytes};
	struct lease_entry lease = {.attempt = 77,
		.name = SLICE("a"),
		.valid_until_ms = w.now.ms + LEASE_MS / 2,
		.announced_until_ms = w.now.ms + LEASE_MS / 2,
		.newest = 900,
		.asked = true};
	struct hold_entry hold = {.attempt = 77,
		.token = 900,
		.session = 1,
		.owner = SLICE("other"),
		.count = 1,
		.granted_ms = w.now.ms,
		.ends_ms = TIMER_NEVER,
		.ceiling_at_ms = TIMER_NEVER,
		.ends_why = LOSS_EXPIRED,
		.claim_ends_ms = TIMER_NEVER};

	buffer_done(&bytes);
	buffer_init(&bytes, SIZE_MAX / 2);
	buffer_put(&bytes, ledger().p, ledger().n);
	record_begin(&r, RECORD_LEDGER_HOLD);
	durable_hold_fields(&r, &hold);
	record_end(&r);
	record_begin(&r, RECORD_LEDGER_LEASE);
	ledger_lease_fields(&r, w.core, &lease);
	record_end(&r);
	return (struct slice){buffer_bytes(&bytes), buffer_length(&bytes)};
}

/* Neither of the two is believed, as one of them is wrong. The session is told of both, and keeps the rest.
 */
START_TEST(of_two_leases_that_cannot_be_at_once_both_are_lost_and_nothing_else)
{
	struct core *core;

	(void)grace(1, GRACE_MS);
	holds(1, "a", 1, 500);
	holds(1, "b", 2, 600);
	core = recover(ledger_with_another_lease(), NEXT);
	ck_assert_msg(core != NULL, "%s", why);
	core_check(core, w.now.ms);
	ck_assert_str_eq(why, "two of its leases cannot be at once");
	ck_assert_uint_eq(HASH_COUNT(core->sessions->all->losses), 2);
	ck_assert_ptr_null(names_find(&core->leases->names, SLICE("a")));
	ck_assert_ptr_nonnull(names_find(&core->leases->names, SLICE("b"))->lease.grants);
	core_free(core);
}
END_TEST

/* How many ledgers that end between the first and the last entry of the latest step can be recovered. */
static unsigned
cuts_recovered(size_t before)
{
	struct slice whole = ledger();
	unsigned recovered = 0;

	for (size_t n = before + 1; n < whole.n; n++) {
		struct core *core = recover((struct slice){whole.p, n}, NEXT);

		if (core == NULL)
			continue;
		core_check(core, w.now.ms);
		core_free(core);
		recovered++;
	}
	return recovered;
}

/* The process is killed while it writes the entries of a step. */
START_TEST(a_step_that_was_not_written_to_the_end_can_be_recovered)
{
	size_t before;

	grace(1, GRACE_MS);
	grace(2, GRACE_MS);
	lock_shared(&w, 1, "a");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	before = ledger().n;
	/* The end of a hold on a lease that goes on, and the end of its session. */
	(void)close_as(&w, 1, END_CLEAN);
	ck_assert_uint_eq(cuts_recovered(before), 1);
	before = ledger().n;
	(void)close_as(&w, 2, END_CLEAN);
	ck_assert_uint_eq(cuts_recovered(before), 1);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("ledger", begin, end, a_session_that_is_not_durable_is_forgotten,
		a_session_with_a_grace_finds_its_holds, a_secret_is_needed_after_a_crash,
		a_grace_begins_anew_and_ends, a_grace_taken_back_leaves_nothing,
		a_session_that_becomes_durable_keeps_what_it_held,
		a_session_that_holds_many_becomes_durable_with_one_entry,
		a_session_that_holds_many_and_is_not_durable_is_forgotten,
		a_session_that_held_many_leaves_the_ledger,
		a_step_that_was_not_written_to_the_end_can_be_recovered,
		a_reader_that_holds_many_is_waited_for_until_its_own_end, tags_and_entries_are_counted_on,
		a_loss_is_remembered_until_it_is_told, a_lease_whose_time_is_over_is_a_loss,
		a_hold_ends_when_it_would_have_ended, a_claim_is_due_when_it_was,
		a_claim_that_was_due_meanwhile_is_a_loss_of_its_kind,
		a_claim_that_was_due_meanwhile_keeps_nobody_from_locking_again,
		a_hold_that_ended_meanwhile_is_a_loss_of_its_kind, a_bound_process_does_not_notice,
		a_heartbeat_counts_as_heard, waits_are_forgotten, a_hold_that_was_not_told_is_forgotten,
		an_mlock_without_an_answer_is_forgotten, permits_keep_their_slots,
		a_reader_that_is_gone_is_waited_for, what_is_withheld_is_not_withheld_longer_by_a_crash,
		a_delay_after_crashes_is_kept, a_reader_that_is_gone_is_waited_for_until_its_own_end,
		a_reader_that_is_gone_is_waited_for_by_the_newest_rule,
		a_reader_that_does_not_know_of_its_hold_is_not_waited_for,
		the_last_durable_reader_takes_the_others_along, a_writer_that_reads_now_lets_readers_join,
		a_foreign_key_is_adopted_too, each_process_is_a_previous_owner_until_all_masters_have_adopted,
		a_process_that_asked_no_master_is_no_previous_owner, users_are_counted_on,
		numbers_of_sessions_go_on, connections_of_durable_sessions_can_outlive_a_crash,
		an_anchor_outlives_a_crash_before_and_after_the_end_of_its_process,
		a_connection_waits_while_a_request_of_it_does,
		a_connection_that_returns_speaks_for_its_session,
		a_connection_that_returns_to_no_session_is_closed,
		a_loss_during_the_crash_closes_a_connection_that_returns,
		a_loss_during_the_crash_is_pushed_to_a_connection_that_returns,
		a_loss_during_the_crash_is_told_with_the_next_use, a_ledger_of_another_is_refused,
		a_silent_id_is_waited_for_until_what_it_was_told_under_a_longer_lease,
		the_longest_lease_of_before_counts_until_it_is_over,
		a_longer_lease_of_before_a_reload_counts_after_a_crash,
		either_margin_counts_until_the_leases_of_before_are_over,
		a_lock_whose_key_has_changed_is_lost,
		of_two_leases_that_cannot_be_at_once_both_are_lost_and_nothing_else);
}
