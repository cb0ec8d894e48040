/*
 * story: see story.h.
 */
#include "tests/support/story.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/view.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rule rules[] = {
	{.match = "string*", .key = "%", .interop = INTEROP_STRING, .lease_ms = LEASE_MS, .wait_ms = -1},
	{.match = "redisson*", .interop = INTEROP_REDISSON, .lease_ms = LEASE_MS, .wait_ms = -1},
	{.match = "watched*", .lease_ms = LEASE_MS, .wait_ms = -1, .slow_wait_ms = 200, .long_hold_ms = 300},
	{.match = "capped*", .lease_ms = LEASE_MS, .wait_ms = -1, .max_hold_ms = 300},
	{.match = "fragile*", .lease_ms = LEASE_MS, .wait_ms = -1, .crash_delay_ms = CRASH_DELAY_MS},
	{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1},
};

static void trace_add(struct story *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
trace_add(struct story *w, const char *format, ...)
{
	size_t n = strlen(w->trace);
	va_list args;

	/* What a step of hundreds of actions does is read from the actions; its trace is cut. */
	if (n + sizeof(" | ") >= sizeof(w->trace))
		return;
	if (n > 0)
		n += (size_t)snprintf(w->trace + n, sizeof(w->trace) - n, " | ");
	va_start(args, format);
	(void)vsnprintf(w->trace + n, sizeof(w->trace) - n, format, args);
	va_end(args);
}

static void
trace_reply(struct story *w, conn_id conn, const struct reply *reply)
{
	unsigned long long c = (unsigned long long)conn;

	switch (reply->type) {
	case REPLY_INT:
		trace_add(w, "c%llu :%lld", c, (long long)reply->n);
		break;
	case REPLY_NULL:
		trace_add(w, "c%llu null", c);
		break;
	case REPLY_VALIDITY:
		trace_add(w, "c%llu :%lld for %lld", c, (long long)reply->n, (long long)reply->ms);
		break;
	case REPLY_TOKENS:
		trace_add(w, "c%llu [", c);
		for (size_t i = 0; i < reply->count; i++)
			(void)snprintf(w->trace + strlen(w->trace), sizeof(w->trace) - strlen(w->trace),
				"%s:%lld", i > 0 ? " " : "", (long long)reply->tokens[i]);
		(void)snprintf(w->trace + strlen(w->trace), sizeof(w->trace) - strlen(w->trace), "]");
		break;
	case REPLY_ERROR:
		trace_add(w, "c%llu -%s", c, code_word(reply->code));
		break;
	case REPLY_TEXT:
		trace_add(w, "c%llu %s", c, reply->text);
		break;
	default:
		trace_add(w, "c%llu +%s", c, reply->type == REPLY_OK ? "OK" : "QUEUED");
	}
}

static void
trace_call(struct story *w, const struct call *call)
{
	static const char *const words[] = {
#define CALL_OP(name, script) #script,
		CALL_OPS(CALL_OP)
#undef CALL_OP
	};

	static const char *const latch_words[] = {
#define LATCH_OP(name, word) word,
		LATCH_OPS(LATCH_OP)
#undef LATCH_OP
	};

	char at[16] = "";
	char kind[64] = "";

	if (call->op == CALL_LATCH) {
		trace_add(w, "%s %.*s#%llu", latch_words[call->latch_op], (int)call->name.n, call->name.p,
			(unsigned long long)(call->attempt >> ATTEMPT_RANDOM_BITS));
		return;
	}
	if (call->kind == KIND_SHARED)
		(void)snprintf(kind, sizeof(kind), " shared");
	else if (call->kind == KIND_PERMITS)
		(void)snprintf(kind, sizeof(kind), " %lld of %lld%s%.*s", (long long)call->permits,
			(long long)call->limit, call->slots.n > 0 ? ": " : "", (int)call->slots.n,
			call->slots.p);
	if (w->settings.masters > 1)
		(void)snprintf(at, sizeof(at), "@%u", call->master + 1);
	if (call->name.n == 0)
		trace_add(w, "%s%s", words[call->op], at);
	else
		trace_add(w, "%s %.*s#%llu%s%s%s", words[call->op], (int)call->name.n, call->name.p,
			(unsigned long long)(call->attempt >> ATTEMPT_RANDOM_BITS), at, kind,
			call->op == CALL_ACQUIRE && call->queue_ms == 0 ? " once" : "");
}

static void
trace_push(struct story *w, conn_id conn, const struct push *push)
{
	static const char *const words[] = {"grant", "failed", "lost"};
	struct slice what = push->type == PUSH_LOST ? push->name : push->id;

	char ms[32] = "";

	if (push->type == PUSH_GRANT && push->ms >= 0)
		(void)snprintf(ms, sizeof(ms), " %lld ms", (long long)push->ms);
	trace_add(w, "c%llu push %s %.*s%s", (unsigned long long)conn, words[push->type], (int)what.n, what.p,
		ms);
}

static void
attempt_note(struct story *w, uint64_t attempt)
{
	uint64_t count = attempt >> ATTEMPT_RANDOM_BITS;
	size_t room = w->attempts_room;

	while (room <= count)
		room = room > 0 ? 2 * room : 64;
	if (room > w->attempts_room) {
		w->attempts = realloc(w->attempts, room * sizeof(*w->attempts));
		ck_assert_ptr_nonnull(w->attempts);
		memset(w->attempts + w->attempts_room, 0, (room - w->attempts_room) * sizeof(*w->attempts));
		w->attempts_room = room;
	}
	w->attempts[count] = attempt;
}

/* The attempt with this number in the story; any other value is an attempt already. */
static uint64_t
attempt_of(const struct story *w, uint64_t count)
{
	return count < w->attempts_room && w->attempts[count] != 0 ? w->attempts[count] : count;
}

void
story_step(struct story *w, const struct event *event)
{
	struct event named = *event;
	struct vote vote;

	if (event->type == EVENT_VOTE) {
		vote = *event->vote;
		if (vote.op != CALL_HELLO && vote.op != CALL_ADMIT)
			vote.attempt = attempt_of(w, vote.attempt);
		if (vote.name.n > 0)
			vote.hash = names_hash(&w->core->leases->names, vote.name);
		named.vote = &vote;
	}
	core_step(w->core, w->now, &named, &w->actions);
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct call *call = &w->actions.list[i].u.call;

		if (w->actions.list[i].type == ACTION_CALL && call->op != CALL_HELLO &&
			call->op != CALL_ADMIT)
			attempt_note(w, call->attempt);
	}
}

void
story_step_quickly(struct story *w, const struct event *event)
{
	w->actions.n = 0;
	w->now.random[0] += 12345;
	story_step(w, event);
}

/* The ledger says what the core says. */
/* Each check goes through the whole core. While it is small, it is checked after each event; when it has
 * thousands of names, after so many events that the checks cost no more than a constant for each. */
static bool
is_checked(struct story *w)
{
	if (++w->unchecked < w->core->counts.resources / 64)
		return false;
	w->unchecked = 0;
	return true;
}

static void
ck_ledger(struct story *w)
{
	struct replay whole = {0};
	const char *differs;

	replay_snapshot(&whole, w->core);
	differs = replay_differs(&w->ledger, &whole);
	ck_assert_msg(differs == NULL, "%s", differs);
	replay_done(&whole);
}

/* Another core begins a ledger of its own. */
static void
keep_ledger(struct story *w)
{
	struct slice whole;

	core_keep_ledger(w->core, &w->entries);
	replay_snapshot(&w->ledger, w->core);
	whole = replay_bytes(&w->ledger);
	buffer_consume(&w->entries, buffer_length(&w->entries));
	buffer_consume(&w->log, buffer_length(&w->log));
	buffer_put(&w->log, whole.p, whole.n);
	free((char *)(uintptr_t)whole.p);
}

static void
take_entries(struct story *w)
{
	/* Without memory the ledger is begun anew, as the driver does it. */
	if (w->entries.failed) {
		buffer_done(&w->entries);
		buffer_init(&w->entries, SIZE_MAX / 2);
		core_keep_ledger(w->core, NULL);
		return;
	}
	ck_assert(replay_take(
		&w->ledger, (struct slice){buffer_bytes(&w->entries), buffer_length(&w->entries)}));
	buffer_put(&w->log, buffer_bytes(&w->entries), buffer_length(&w->entries));
	buffer_consume(&w->entries, buffer_length(&w->entries));
}

static void
ck_whole(struct story *w)
{
	core_check(w->core, w->now.ms);
	if (w->core->ledger != NULL)
		ck_ledger(w);
}

const struct note *
noted(const struct story *w, enum note_type type)
{
	for (size_t i = 0; i < w->actions.n; i++)
		if (w->actions.list[i].type == ACTION_NOTE && w->actions.list[i].u.note.type == type)
			return &w->actions.list[i].u.note;
	return NULL;
}

void
story_goes_on(struct story *w, struct core *core)
{
	core_free(w->core);
	w->core = core;
	core_pass_ledger(core, &w->entries);
	take_entries(w);
	ck_whole(w);
}

const char *
step(struct story *w, const struct event *event)
{
	w->actions.n = 0;
	w->trace[0] = '\0';
	w->now.random[0] += 12345;
	if (w->core->ledger != &w->entries)
		keep_ledger(w);
	story_step(w, event);
	take_entries(w);
	if (is_checked(w))
		ck_whole(w);
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		switch (a->type) {
		case ACTION_REPLY:
			trace_reply(w, a->conn, &a->u.reply);
			break;
		case ACTION_PUSH:
			trace_push(w, a->conn, &a->u.push);
			break;
		case ACTION_CLOSE:
			trace_add(w, "c%llu close", (unsigned long long)a->conn);
			break;
		case ACTION_CALL:
			if (!w->timer || a->u.call.op != CALL_HELLO)
				trace_call(w, &a->u.call);
			break;
		case ACTION_LISTEN:
			trace_add(w, "%s %.*s", a->u.listen.on ? "listen" : "ignore", (int)a->u.listen.name.n,
				a->u.listen.name.p);
			break;
		case ACTION_MASTER:
			trace_add(w, "move %u %.*s", a->u.move.master + 1, (int)a->u.move.place.n,
				a->u.move.place.n > 0 ? a->u.move.place.p : "");
			break;
		case ACTION_WATCH:
			trace_add(w, "watch %lld", (long long)a->u.process.pid);
			break;
		case ACTION_WHOSE:
			trace_add(w, "whose %.*s %.*s", (int)a->u.whose.name.n, a->u.whose.name.p,
				(int)a->u.whose.as.n, a->u.whose.as.p);
			break;
		case ACTION_KEEP:
		case ACTION_NOTE:
			break;
		}
	}
	return w->trace;
}

const char *
story_text(const struct story *w)
{
	size_t i = 0;

	while (i < w->actions.n && w->actions.list[i].type != ACTION_REPLY)
		i++;
	ck_assert_uint_lt(i, w->actions.n);
	ck_assert_int_eq(w->actions.list[i].u.reply.type, REPLY_TEXT);
	return w->actions.list[i].u.reply.text;
}

/* Registers the daemon, by an answer to the last HELLO that is not in the story. */
static void
registered(struct story *w)
{
	for (unsigned i = 0; i < w->settings.masters; i++)
		w->core->masters[i].registered_ms = w->now.ms;
}

const char *
after(struct story *w, int64_t ms)
{
	w->now.ms += ms;
	w->now.wall_us += ms * 1000;
	if (!w->refused)
		registered(w);
	w->timer = true;
	(void)step(w, &(struct event){.type = EVENT_TIMER});
	w->timer = false;
	return w->trace;
}

const char *
run(struct story *w, conn_id conn, struct command command)
{
	if (command.verb == VERB_LOCK && command.wait_ms == 0)
		command.wait_ms = COMMAND_WAIT_RULE;
	if ((command.verb == VERB_LOCK || command.verb == VERB_MLOCK) && command.retries == 0)
		command.retries = COMMAND_RETRIES_ANY;
	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

const char *
lock(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name)});
}

const char *
lock_shared(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name), .kind = KIND_SHARED});
}

const char *
lock_once(struct story *w, conn_id conn, const char *name)
{
	struct command command = {.verb = VERB_LOCK, .name = slice_of(name)};

	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

const char *
lock_as(struct story *w, conn_id conn, const char *name, const char *owner)
{
	return run(w, conn,
		(struct command){.verb = VERB_LOCK, .name = slice_of(name), .owner = slice_of(owner)});
}

const char *
unlock(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn, (struct command){.verb = VERB_UNLOCK, .name = slice_of(name)});
}

const char *
check(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn, (struct command){.verb = VERB_CHECK, .name = slice_of(name)});
}

const char *
close_as(struct story *w, conn_id conn, enum end end)
{
	return step(w, &(struct event){.type = EVENT_CLOSE, .conn = conn, .end = end});
}

const char *
wanted(struct story *w, const char *name)
{
	return step(w, &(struct event){.type = EVENT_WANT, .name = slice_of(name)});
}

void
agree(struct story *w, struct vote *vote)
{
	size_t n = (size_t)snprintf(w->set, sizeof(w->set), "1"), placed = 0;

	for (unsigned i = 0; i < w->settings.masters; i++) {
		n += (size_t)snprintf(w->set + n, sizeof(w->set) - n, " %016x:url", STORY_ID + i);
		placed +=
			(size_t)snprintf(w->places + placed, sizeof(w->places) - placed, "master-%u ", i + 1);
	}
	vote->places = slice_of(w->places);
	vote->id = STORY_ID + w->at;
	vote->masterset = slice_of(w->set);
	vote->agreement = AGREEMENT_AGREED;
}

/* All daemons accept the same longest lease as this one. */
static void
terms(const struct story *w, struct vote *vote)
{
	struct terms_view terms;

	core_view_terms(w->core, &terms);
	vote->longest_ms = terms.wanted_lease_ms;
	vote->guarded_lease_ms = terms.guarded_lease_ms;
}

const char *
vote(struct story *w, struct vote vote)
{
	if (vote.op == CALL_HELLO && vote.id == 0)
		agree(w, &vote);
	if (vote.op == CALL_HELLO && vote.longest_ms == 0)
		terms(w, &vote);
	vote.master = w->at;
	vote.time_us = (w->now.ms + w->jump_ms) * 1000 + 5000000;
	return step(w, &(struct event){.type = EVENT_VOTE, .vote = &vote});
}

const char *
granted(struct story *w, const char *name, uint64_t attempt, int64_t token)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .name = slice_of(name),
			       .attempt = attempt,
			       .token_first = token,
			       .token_last = token + 999});
}

const char *
busy(struct story *w, const char *name, uint64_t attempt)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_BUSY,
			       .name = slice_of(name),
			       .attempt = attempt,
			       .holder = slice_of("0123456789abcdef0123456789abcdef:9"),
			       .position = 1,
			       .change_ms = 500});
}

const char *
answer(struct story *w, enum call_op op, enum outcome outcome, const char *name, uint64_t attempt)
{
	return vote(
		w, (struct vote){.op = op, .outcome = outcome, .name = slice_of(name), .attempt = attempt});
}

const char *
hello(struct story *w, bool admitted, uint64_t incarnation)
{
	return vote(w, (struct vote){.op = CALL_HELLO, .admitted = admitted, .incarnation = incarnation});
}

const char *
link_up(struct story *w)
{
	return step(w, &(struct event){.type = EVENT_LINK_UP, .master = w->at});
}

const char *
link_down(struct story *w, const char *why)
{
	return step(w, &(struct event){.type = EVENT_LINK_DOWN, .master = w->at, .text = slice_of(why)});
}

static void
open_conn(struct story *w, conn_id conn)
{
	struct peer peer = {.pid = 100 + (int64_t)conn, .uid = 0};

	ck_assert_str_eq(step(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer}), "");
}

static void
story_begin(struct story *w, unsigned masters, unsigned links, int64_t retain_ms)
{
	memset(w, 0, sizeof(*w));
	w->settings = (struct core_settings){.rules = rules,
		.rule_count = sizeof(rules) / sizeof(rules[0]),
		.namespace_ = "hf",
		.daemon_id = STORY_DAEMON,
		.lease_max_ms = LEASE_MS,
		.margin_ms = MARGIN_MS,
		.retain_ms = retain_ms,
		.masters = masters,
		.links = links,
		/* A sanitizer needs far longer for more. */
		.reserve_bytes = 64 << 10,
		.streak = 2,
		.streak_ms = 50,
		.grants_per_session = 3,
		.waiters_per_session = 3,
		.lost_per_session = 2,
		.grace = {.sessions = 3, .per_user = 2, .most_ms = 60000, .ttl_ms = 60000},
		.per_user = {.locks = 1000000, .latches = 10000},
		.name_bytes = 64};
	w->now = (struct now){.ms = 1000000, .wall_us = INT64_C(1760000000000000)};
	w->core = core_new(&w->settings, w->now);
	ck_assert_ptr_nonnull(w->core);
	actions_init(&w->actions);
	buffer_init(&w->entries, SIZE_MAX / 2);
	buffer_init(&w->log, SIZE_MAX / 2);
	for (conn_id c = 1; c <= 4; c++)
		open_conn(w, c);
}

void
story_init(struct story *w)
{
	story_begin(w, 1, 1, 0);
}

void
story_linked(struct story *w, unsigned links)
{
	story_begin(w, 1, links, 0);
}

void
story_apart(struct story *w, unsigned masters)
{
	story_begin(w, masters, 1, 0);
}

void
story_done(struct story *w)
{
	if (w->unchecked > 0)
		ck_whole(w);
	core_free(w->core);
	actions_done(&w->actions);
	buffer_done(&w->entries);
	buffer_done(&w->log);
	replay_done(&w->ledger);
	free(w->attempts);
}

void
story_ready(struct story *w)
{
	story_init(w);
	ck_assert_str_eq(step(w, &(struct event){.type = EVENT_LINK_UP}), "hello");
	ck_assert_str_eq(hello(w, true, MEMORY), "");
}

void
story_retaining(struct story *w, unsigned masters, int64_t ms)
{
	story_begin(w, masters, 1, ms);
	for (w->at = 0; w->at < masters; w->at++) {
		link_up(w);
		hello(w, true, MEMORY + w->at);
	}
	w->at = 0;
}

void
story_among(struct story *w, unsigned masters)
{
	story_retaining(w, masters, 0);
}

void
story_anew(struct story *w)
{
	core_free(w->core);
	w->core = core_new(&w->settings, w->now);
	ck_assert_ptr_nonnull(w->core);
	for (conn_id c = 1; c <= 4; c++)
		open_conn(w, c);
	link_up(w);
	hello(w, true, MEMORY);
}

const struct call *
last_call(const struct story *w)
{
	for (size_t i = w->actions.n; i > 0; i--) {
		if (w->actions.list[i - 1].type == ACTION_CALL && w->actions.list[i - 1].u.call.name.n > 0)
			return &w->actions.list[i - 1].u.call;
	}
	return NULL;
}

size_t
story_renewals(const struct story *w, struct call *calls, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type != ACTION_CALL || a->u.call.op != CALL_RENEW)
			continue;
		ck_assert_uint_lt(n, most);
		calls[n++] = a->u.call;
	}
	return n;
}
