/*
 * Tests of daemon/core/persist/durable: each field of an entry is written, read, given to the thing, and
 * taken from it again. An entry begins with all its bytes 1, so a field that is added is among them.
 */
#include "daemon/core/persist/durable.h"

#include "daemon/core/base/base.h"
#include "daemon/core/core.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "proto/buffer.h"
#include "proto/command.h"
#include "proto/record.h"
#include "proto/slice.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <string.h>

#define NOW_MS    1000000
#define BYTES_MAX 4096

static struct core *core;
static struct buffer first, again;

static void
setup(void)
{
	static const struct rule rules[] = {{.match = "*", .lease_ms = 1000, .wait_ms = -1}};
	const struct core_settings settings = {.rules = rules,
		.rule_count = 1,
		.namespace_ = "hf",
		.lease_max_ms = 1000,
		.masters = 1,
		.links = 1,
		.streak = 2,
		.streak_ms = 50,
		.grants_per_session = 10,
		.lost_per_session = 10,
		.grace = {.sessions = 10, .per_user = 10, .most_ms = COMMAND_MS_MAX},
		.name_bytes = 64};

	core = core_new(&settings, (struct now){.ms = NOW_MS, .random = {1, 2}});
	ck_assert_ptr_nonnull(core);
	buffer_init(&first, BYTES_MAX);
	buffer_init(&again, BYTES_MAX);
}

static void
teardown(void)
{
	buffer_done(&first);
	buffer_done(&again);
	core_free(core);
}

/* ---- the bytes of an entry, and the entry that is read from them ---- */

#define SAVE(out, type, fields, entry)                                                                       \
	do {                                                                                                 \
		struct record saved_;                                                                        \
		record_save(&saved_, (out));                                                                 \
		record_begin(&saved_, (type));                                                               \
		fields(&saved_, (entry));                                                                    \
		record_end(&saved_);                                                                         \
		ck_assert_msg(!saved_.failed, "%s", saved_.why);                                             \
	} while (0)

static struct record
loading(void)
{
	struct record r;

	ck_assert(record_load(&r, (struct slice){buffer_bytes(&first), buffer_length(&first)}));
	ck_assert_uint_ne(record_next(&r), 0);
	return r;
}

static void
ck_read(const struct record *r)
{
	ck_assert_msg(!r->failed, "%s", r->why);
	ck_assert_uint_eq(r->body.n, 0);
}

static void
ck_same(void)
{
	ck_assert_uint_eq(buffer_length(&first), buffer_length(&again));
	ck_assert_mem_eq(buffer_bytes(&first), buffer_bytes(&again), buffer_length(&first));
}

/* ---- the nouns ---- */

static struct session_entry
session_entry(void)
{
	struct session_entry e;

	memset(&e, 1, sizeof(e));
	e.id = 7;
	e.peer = (struct peer){.pid = 1, .uid = 2, .address = "unix", .name = "me", .admin = true, .user = 3};
	e.onloss = ONLOSS_NEXT;
	e.opened_ms = NOW_MS - 2;
	e.heartbeat_ms = 5000;
	e.grace_ms = 4000;
	e.as = (struct slice){NULL, 0};
	e.orphaned = false;
	return e;
}

static struct session *
ck_session_comes_back(struct session_entry e)
{
	struct session_entry read = {.peer = {.uid = -1}};
	struct record r;
	struct session *s;

	SAVE(&first, RECORD_LEDGER_SESSION, durable_session_fields, &e);
	r = loading();
	durable_session_fields(&r, &read);
	ck_read(&r);
	s = durable_session_make(core, &r, &read);
	ck_assert_msg(s != NULL, "%s", r.why);
	durable_session_settle(core, &r, s, read.as);
	read = durable_session(s);
	SAVE(&again, RECORD_LEDGER_SESSION, durable_session_fields, &read);
	ck_same();
	return s;
}

START_TEST(a_session_that_is_bound_to_a_process_comes_back)
{
	ck_session_comes_back(session_entry());
}
END_TEST

START_TEST(a_session_of_an_id_comes_back)
{
	struct session_entry e = session_entry();

	e.process = (struct process){0};
	e.grace_ms = 0;
	e.as = SLICE("0123456789abcdef");
	e.orphaned = true;
	ck_session_comes_back(e);
}
END_TEST

START_TEST(a_loss_comes_back)
{
	struct session *s = ck_session_comes_back(session_entry());
	struct loss_entry e, read = {0};
	struct record r;

	buffer_done(&first);
	buffer_done(&again);
	memset(&e, 1, sizeof(e));
	e.session = s->id;
	e.name = SLICE("name");
	e.owner = SLICE("tag");
	e.reason = LOSS_BROKEN;
	e.token = 9;
	SAVE(&first, RECORD_LOSS, durable_loss_fields, &e);
	r = loading();
	durable_loss_fields(&r, &read);
	ck_read(&r);
	durable_loss_make(core, &r, s, &read);
	ck_assert_ptr_nonnull(s->losses);
	read = durable_loss(s->losses);
	SAVE(&again, RECORD_LOSS, durable_loss_fields, &read);
	ck_same();
}
END_TEST

START_TEST(a_hold_comes_back)
{
	struct session *s = ck_session_comes_back(session_entry());
	struct lease lease = {.attempt = 5};
	struct hold_entry e, read = {0};
	struct record r;
	struct grant *g;

	buffer_done(&first);
	buffer_done(&again);
	memset(&e, 1, sizeof(e));
	e.attempt = lease.attempt;
	e.token = 9;
	e.session = s->id;
	e.owner = SLICE("tag");
	e.why = SLICE("a reason");
	e.kind = KIND_SHARED;
	e.count = 3;
	e.granted_ms = NOW_MS - 3;
	e.ends_ms = NOW_MS + 100;
	e.ceiling_at_ms = NOW_MS + 200;
	e.ends_why = LOSS_SHORTENED;
	e.claim_ends_ms = NOW_MS + 50;
	SAVE(&first, RECORD_LEDGER_HOLD, durable_hold_fields, &e);
	r = loading();
	durable_hold_fields(&r, &read);
	ck_read(&r);
	g = durable_hold_make(core, &lease, s, &read);
	ck_assert_ptr_nonnull(g);
	read = durable_hold(g);
	SAVE(&again, RECORD_LEDGER_HOLD, durable_hold_fields, &read);
	ck_same();
	grant_free(g);
}
END_TEST

/* A record says that it is gone by what identifies it, and no more. */
START_TEST(what_is_gone_is_only_identified)
{
	struct hold_entry e = {.attempt = 5, .token = 9, .count = 1};

	SAVE(&first, RECORD_HOLD_GONE, durable_hold_fields, &e);
	SAVE(&again, RECORD_LEDGER_HOLD, durable_hold_fields, &e);
	ck_assert_uint_lt(buffer_length(&first), buffer_length(&again));
	ck_assert_uint_eq(loading().body.n, 2 * sizeof(uint64_t));
}
END_TEST

/* The next session gets the next number. */
START_TEST(a_session_with_the_last_of_all_numbers_is_refused)
{
	struct session_entry e = session_entry(), read = {.peer = {.uid = -1}};
	struct record r;
	char bytes[BYTES_MAX];
	size_t n;

	SAVE(&first, RECORD_LEDGER_SESSION, durable_session_fields, &e);
	n = buffer_length(&first);
	memcpy(bytes, buffer_bytes(&first), n);
	memset(bytes + strlen("holdfast state 1\n") + 6, 0xff, sizeof(e.id));
	ck_assert(record_load(&r, (struct slice){bytes, n}));
	ck_assert_uint_eq(record_next(&r), RECORD_LEDGER_SESSION);
	durable_session_fields(&r, &read);
	ck_assert(r.failed);
	ck_assert_str_eq(r.why, "a count in its record of type 33 is invalid");
}
END_TEST

START_TEST(a_session_that_cannot_be_is_refused)
{
	struct session_entry nameless = session_entry(), outlives = session_entry();
	struct record r = {0};

	nameless.id = 0;
	ck_assert_ptr_null(durable_session_make(core, &r, &nameless));
	ck_assert_str_eq(r.why, "a session of it has no number");
	r = (struct record){0};
	outlives.orphaned = true;
	ck_assert_ptr_null(durable_session_make(core, &r, &outlives));
	ck_assert_str_eq(r.why, "a session of it outlives a process that has not ended");
	r = (struct record){0};
	ck_session_comes_back(session_entry());
	outlives = session_entry();
	outlives.id++;
	ck_assert_ptr_null(durable_session_make(core, &r, &outlives));
	ck_assert_str_eq(r.why, "two of its sessions are bound to one process");
}
END_TEST

int
main(void)
{
	return SUITE_RUN("durable", setup, teardown, a_session_that_is_bound_to_a_process_comes_back,
		a_session_of_an_id_comes_back, a_loss_comes_back, a_hold_comes_back,
		what_is_gone_is_only_identified, a_session_with_the_last_of_all_numbers_is_refused,
		a_session_that_cannot_be_is_refused);
}
