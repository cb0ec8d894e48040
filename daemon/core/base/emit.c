/* emit: see emit.h. If there is no memory for an action, it comes from the reserve: no action is lost.
 */
#include "daemon/core/base/emit.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "proto/escape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ACTIONS_FIRST 64
#define ACTIONS_FULL                                                                                         \
	256 /* from this number on notes are passed on: as many actions as fit into a fast cache */

static void
actions_tell(struct actions *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->list[i].type == ACTION_NOTE)
			a->tell(a->arg, &a->list[i].u.note);
		else
			a->list[n++] = a->list[i];
	}
	a->n = n;
}

/* Makes room for one more. */
static void
actions_widen(struct core *core, struct actions *a)
{
	if (a->tell != NULL && a->room >= ACTIONS_FULL)
		actions_tell(a);
	/* Where few of them were notes, the next attempt is not to come soon. */
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
	assert(call->link < core->settings.links);
	/* A HELLO is about the server, every other call about one name. */
	assert((call->name.n > 0) == (call->op != CALL_HELLO && call->op != CALL_ADMIT));
	/* Only members of the set are asked about names. */
	assert(call->name.n == 0 || call->master < core->settings.masters);
	emit(core, ACTION_CALL, 0)->u.call = *call;
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
emit_move(struct core *core, const struct move *move)
{
	assert(move->master < CORE_SLOTS_MAX);
	emit(core, ACTION_MASTER, 0)->u.move = *move;
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

struct note *
emit_note_of(struct core *core, enum note_type type, int64_t token, int64_t ms, const char *text)
{
	struct note *note = &emit(core, ACTION_NOTE, 0)->u.note;

	/* A hand-over is noted by the driver. */
	assert(type < NOTE_COUNT && type != NOTE_HANDED_OVER);
	*note = (struct note){.type = type,
		.token = token,
		.ms = ms,
		.kind = KIND_EXCLUSIVE,
		.span_ms = -1,
		.text = text,
		.master = -1};
	return note;
}
