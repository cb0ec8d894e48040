/* emit: see core_inner.h. If there is no memory for an action, it comes from the reserve: no action is lost.
 */
#include "daemon/core/core_inner.h"

#include "daemon/core/grant.h"
#include "daemon/core/latch.h"
#include "proto/escape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS_FIRST 64
#define ACTIONS_KEPT  1024
#define ACTIONS_FULL  256 /* with so many, notes are told: as many as fit into a fast cache */

void
actions_init(struct actions *a)
{
	memset(a, 0, sizeof(*a));
}

void
actions_empty(struct actions *a)
{
	a->n = 0;
	if (a->room > ACTIONS_KEPT)
		actions_done(a);
}

void
actions_done(struct actions *a)
{
	free(a->list);
	a->list = NULL;
	a->n = a->room = 0;
}

static void
actions_tell(struct actions *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->list[i].type == ACTION_NOTE)
			a->tell(a->arg, &a->list[i].u.note);
		else
			a->list[kept++] = a->list[i];
	}
	a->n = kept;
}

/* Makes room for one more. */
static void
actions_widen(struct core *core, struct actions *a)
{
	if (a->tell != NULL && a->room >= ACTIONS_FULL)
		actions_tell(a);
	/* Where few of them were notes, the next look is not to come soon. */
	if (a->n > a->room / 2 || a->room == 0)
		a->list = reserve_grow(&core->reserve, a->list, &a->room, sizeof(*a->list), ACTIONS_FIRST);
}

static struct action *
emit(struct core *core, enum action_type type, conn_id conn)
{
	struct actions *a = core->actions;

	/* The driver takes actions from a step alone. */
	assert(a != NULL);
	/* These are about a connection, and no others are. */
	assert((conn != 0) ==
		(type == ACTION_REPLY || type == ACTION_PUSH || type == ACTION_CLOSE || type == ACTION_KEEP));
	if (a->n == a->room)
		actions_widen(core, a);
	a->list[a->n].type = type;
	a->list[a->n].conn = conn;
	return &a->list[a->n++];
}

void
emit_reply(struct core *core, conn_id conn, const struct reply *reply)
{
	emit(core, ACTION_REPLY, conn)->u.reply = *reply;
}

static void
emit_plain(struct core *core, conn_id conn, enum reply_type type, int64_t n, int64_t ms)
{
	struct reply *reply = &emit(core, ACTION_REPLY, conn)->u.reply;

	/* An error has a text. */
	assert(type != REPLY_ERROR);
	reply->type = type;
	reply->code = CODE_COUNT;
	reply->n = n;
	reply->ms = ms;
	reply->text[0] = '\0';
}

void
emit_int(struct core *core, conn_id conn, int64_t n)
{
	emit_plain(core, conn, REPLY_INT, n, 0);
}

void
emit_validity(struct core *core, conn_id conn, int64_t token, int64_t ms)
{
	assert(token > 0 && ms >= 0);
	emit_plain(core, conn, REPLY_VALIDITY, token, ms);
}

void
emit_null(struct core *core, conn_id conn)
{
	emit_plain(core, conn, REPLY_NULL, 0, 0);
}

void
emit_ok(struct core *core, conn_id conn)
{
	emit_plain(core, conn, REPLY_OK, 0, 0);
}

void
emit_error(struct core *core, conn_id conn, enum code code, const char *format, ...)
{
	va_list args;

	assert(code < CODE_COUNT);
	va_start(args, format);
	reply_verror(&emit(core, ACTION_REPLY, conn)->u.reply, code, format, args);
	va_end(args);
}

void
emit_push(struct core *core, conn_id conn, const struct push *push)
{
	assert(push->type == PUSH_FAILED || push->token > 0);
	emit(core, ACTION_PUSH, conn)->u.push = *push;
}

void
emit_close(struct core *core, conn_id conn)
{
	(void)emit(core, ACTION_CLOSE, conn);
}

void
emit_keep(struct core *core, conn_id conn)
{
	(void)emit(core, ACTION_KEEP, conn);
}

void
emit_call(struct core *core, const struct call *call)
{
	struct call *emitted = &emit(core, ACTION_CALL, 0)->u.call;

	assert(call->link < core->settings.links);
	/* A greeting is about the server, every other call about one name. */
	assert((call->name.n > 0) == (call->op != CALL_HELLO && call->op != CALL_ADMIT));
	/* Only members of the set are asked about names. */
	assert(call->name.n == 0 || call->master < core->settings.masters);
	*emitted = *call;
	emitted->mark = core->masters[call->master].mark;
	emitted->set = core->masterset.tag;
	emitted->fenced = core->settings.masters > 1;
	if (call->op == CALL_HELLO || call->op == CALL_ADMIT) {
		emitted->wanted_ms = core->settings.lease_max_ms;
		emitted->guarded_ms = core->guarded_ms;
	}
}

void
emit_listen(struct core *core, struct slice name, bool on)
{
	struct action *action;

	assert(name.n > 0);
	action = emit(core, ACTION_LISTEN, 0);
	action->u.listen.name = name;
	action->u.listen.on = on;
}

void
emit_move(struct core *core, const struct master *m)
{
	assert(m->index < CORE_SLOTS_MAX);
	emit(core, ACTION_MASTER, 0)->u.move = (struct move){m->index, slice_of(m->place), slice_of(m->way)};
}

void
emit_watch(struct core *core, const struct process *process)
{
	assert(process->pid != 0);
	emit(core, ACTION_WATCH, 0)->u.process = *process;
}

void
emit_whose(struct core *core, const struct whose *whose)
{
	assert(whose->name.n > 0 && whose->as.n > 0);
	emit(core, ACTION_WHOSE, 0)->u.whose = *whose;
}

const char *
emit_text(char *out, size_t room, struct slice text)
{
	/* For the dots, and one byte before them. */
	assert(room > 3);
	if (escape_length(text, ESCAPE_PLAIN) < room) {
		(void)escape_text(out, room, text, ESCAPE_PLAIN);
		return out;
	}
	strcpy(out + escape_text(out, room - 2, text, ESCAPE_PLAIN), "..");
	return out;
}

const char *
emit_who(char out[EMIT_WHO_MAX], const struct session *s)
{
	char label[EMIT_LABEL_MAX];
	unsigned long long id = s->id;

	if (s->peer.name[0] == '\0')
		(void)snprintf(out, EMIT_WHO_MAX, "session %llu", id);
	else
		(void)snprintf(out, EMIT_WHO_MAX, "session %llu (%s)", id,
			emit_text(label, sizeof(label), slice_of(s->peer.name)));
	return out;
}

struct last_words {
	struct freelist_link freed;
	_Alignas(8) char text[REPLY_TEXT_MAX]; /* after the bytes that freelist_link takes */
};

const char *
emit_words(struct core *core, const char *text)
{
	struct last_words *words = freelist_new(core, sizeof(*words));

	assert(strlen(text) < sizeof(words->text));
	if (words == NULL)
		return NULL;
	strcpy(words->text, text);
	freelist_retire(core, &words->freed);
	return words->text;
}

void
emit_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	int64_t token, int64_t ms, const char *text)
{
	struct note *note = &emit(core, ACTION_NOTE, 0)->u.note;

	/* A hand-over is noted by the driver. */
	assert(type < NOTE_COUNT && type != NOTE_HANDED_OVER);
	note->type = type;
	note->session = s == NULL ? 0 : s->id;
	note->peer = s == NULL ? NULL : &s->peer;
	note->name = r == NULL ? (struct slice){NULL, 0} : resource_name(r);
	note->owner = (struct slice){NULL, 0};
	note->why = (struct slice){NULL, 0};
	note->token = token;
	note->ms = ms;
	note->kind = KIND_EXCLUSIVE;
	note->span_ms = -1;
	note->late_ms = 0;
	note->text = text;
	note->master = -1;
}

void
emit_tag_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	struct slice owner, int64_t token, int64_t ms, const char *text)
{
	/* A tag is of a session, and so is what it tells. */
	assert(s != NULL);
	emit_note(core, type, r, s, token, ms, text);
	core->actions->list[core->actions->n - 1].u.note.owner = owner;
}

struct note *
emit_hold_note(struct core *core, enum note_type type, const struct grant *g, int64_t ms, const char *text)
{
	struct note *note;

	emit_tag_note(core, type, g->lease->resource, g->session, grant_owner(g), g->token, ms, text);
	note = &core->actions->list[core->actions->n - 1].u.note;
	note->kind = g->kind;
	note->why = grant_why(g);
	note->span_ms = core->now.ms - grant_since_ms(g);
	return note;
}

void
emit_latch_note(struct core *core, enum note_type type, const struct latch *l, session_id session, int64_t ms,
	const char *text)
{
	struct note *note;

	assert(type == NOTE_LATCH_SET || type == NOTE_LATCH_OPENED || type == NOTE_LATCH_LOST);
	emit_note(core, type, NULL, NULL, 0, ms, text);
	note = &core->actions->list[core->actions->n - 1].u.note;
	note->name = l->name;
	note->session = session;
}

void
emit_master_note(struct core *core, enum note_type type, const struct master *m, int64_t token, int64_t ms,
	const char *text)
{
	emit_note(core, type, NULL, NULL, token, ms, text);
	core->actions->list[core->actions->n - 1].u.note.master = (int)m->index;
}

void
emit_master_stretch(struct core *core, enum note_type type, const struct master *m, struct stretch *stretch,
	bool news, int64_t ms, const char *text)
{
	bool paused = stretch->last_ms == 0 || core->now.ms - stretch->last_ms >= NOTE_PAUSE_MS;

	stretch->last_ms = core->now.ms;
	stretch->untold |= news;
	if (!paused && (!stretch->untold || core->now.ms - stretch->noted_ms < NOTE_NEWS_MS))
		return;
	*stretch = (struct stretch){.last_ms = core->now.ms, .noted_ms = core->now.ms};
	emit_master_note(core, type, m, 0, ms, text);
}

/* splitmix64: stretches the one random number of a step. It spreads retries; no secret comes from it. */
uint64_t
core_random(struct core *core)
{
	uint64_t z = core->random += UINT64_C(0x9e3779b97f4a7c15);

	if (core->drew == 0)
		core->drew = 1;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
core_attempt(struct core *core)
{
	uint64_t count = (core->attempts >> ATTEMPT_RANDOM_BITS) + 1;

	core->attempts = count << ATTEMPT_RANDOM_BITS | core_random(core) >> (64 - ATTEMPT_RANDOM_BITS);
	return core->attempts;
}

int64_t
core_jitter(struct core *core, int64_t low, int64_t high)
{
	assert(low <= high);
	return low + (int64_t)(core_random(core) % (uint64_t)(high - low + 1));
}
