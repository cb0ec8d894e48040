/*
 * apply: see apply.h.
 */
#include "daemon/apply.h"

#include "daemon/admin/events.h"
#include "daemon/admin/history.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/core/base/call.h"
#include "daemon/http/http.h"
#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/redis/masters.h"
#include "proto/reply.h"

#include <stdio.h>
#include <string.h>

/* ---- actions ---- */

/* The counters of what LOCK and MLOCK are refused with; 0: the core refuses none with this code. */
static const size_t refusal_counters[CODE_COUNT] = {
	[CODE_ERR] = offsetof(struct stats, refused_ERR),
	[CODE_HELD] = offsetof(struct stats, refused_HELD),
	[CODE_NOTHELD] = offsetof(struct stats, refused_NOTHELD),
	[CODE_LOST] = offsetof(struct stats, refused_LOST),
	[CODE_DEADLOCK] = offsetof(struct stats, refused_DEADLOCK),
	[CODE_UPGRADE] = offsetof(struct stats, refused_UPGRADE),
	[CODE_WRONGKIND] = offsetof(struct stats, refused_WRONGKIND),
	[CODE_LIMIT] = offsetof(struct stats, refused_LIMIT),
	[CODE_NOMASTER] = offsetof(struct stats, refused_NOMASTER),
	[CODE_GUARD] = offsetof(struct stats, refused_GUARD),
	[CODE_MASTERERR] = offsetof(struct stats, refused_MASTERERR),
	[CODE_DRAINING] = offsetof(struct stats, refused_DRAINING),
};

static void
count_refusal(struct stats *stats, enum code code)
{
	size_t counter = refusal_counters[code];
	if (counter != 0) {
		++*(int64_t *)(void *)((char *)stats + counter);
	}
}

/* A circle of waits has the sessions of other users, and the locks between them. Who does not see these in
 * LOCKS, SESSIONS and EVENTS learns from the answer only that there is a circle. */
static bool
reply_is_for(const struct reply *reply, const struct connection *c)
{
	if (reply->type != REPLY_ERROR || reply->code != CODE_DEADLOCK || reply->n == 0) {
		return true;
	}
	struct viewer viewer = connection_viewer(c);
	return viewer_may(&viewer, RIGHT_SEE) && viewer_names_all(&viewer);
}

static void
apply_reply(struct apply *p, const struct action *action)
{
	const struct reply *reply = &action->u.reply;
	struct connection *c = connections_find(p->connections, action->conn);
	if (!c || !connection_waits(c)) {
		return;
	}
	enum verb last = connection_identity(c)->last;
	if (reply->type == REPLY_QUEUED) {
		connection_owe(c);
	} else if (last == VERB_CANCEL && reply->type == REPLY_INT && reply->n == 1) {
		connection_paid(c);
	}
	if (reply->type == REPLY_ERROR && (last == VERB_LOCK || last == VERB_MLOCK)) {
		count_refusal(p->stats, reply->code);
	}
	connection_answered(c);
	/* Alone, it could wake its client for nothing. */
	p->queued = reply->type == REPLY_QUEUED && connection_unread_bytes(c) == 0 ? action->conn : 0;
	if (reply_is_for(reply, c)) {
		connection_reply(c, reply);
		return;
	}
	struct reply less;
	reply_error(&less, CODE_DEADLOCK,
		"this wait would wait for itself, through sessions that this user may not see: unlock, and "
		"start again; the daemon's log has the circle");
	connection_reply(c, &less);
}

static void
apply_push(struct apply *p, const struct action *action)
{
	const struct push *push = &action->u.push;
	struct connection *c = connections_find(p->connections, action->conn);
	if (!c) {
		return;
	}
	/* A client that has gone back to HELLO 2 meanwhile could not tell a push from an answer. The end of
	 * the connection tells it instead. */
	if (connection_identity(c)->protocol < 3) {
		connection_close(c, END_ABANDONED, "a push was due, and it left RESP3");
		return;
	}
	struct buffer *out = connection_out(c);
	switch (push->type) {
	case PUSH_GRANT:
		connection_paid(c);
		push_write_grant(out, push->id, push->token, push->ms);
		break;
	case PUSH_FAILED:
		if (push->code != CODE_COUNT) {
			count_refusal(p->stats, push->code);
		}
		connection_paid(c);
		push_write_failed(out, push->id, push->code, push->text);
		break;
	case PUSH_LOST:
		push_write_lost(out, push->name, push->owner, push->token, push->text);
		break;
	}
	connection_written(c);
}

/*
 * A LOCK ASYNC of a name without a lease has led to this call. Its +QUEUED is held back, since the push of
 * the grant comes with the answer of a near master: the client is woken once for both, and one segment is
 * sent. A wait for which no master is asked has its +QUEUED at once.
 */
static void
apply_call(struct apply *p, const struct call *call)
{
	struct connection *c = p->queued != 0 && call->op == CALL_ACQUIRE
				       ? connections_find(p->connections, p->queued)
				       : NULL;
	if (c) {
		connection_hold_back(c);
		p->queued = 0;
	}
	p->calls_out++;
	masters_call(p->masters, call);
}

static void
apply_close(struct apply *p, const struct action *action)
{
	struct connection *c = connections_find(p->connections, action->conn);
	if (c) {
		connection_close(c, END_ABANDONED, "session ended");
	}
}

void
apply_note(void *apply, const struct note *note)
{
	struct apply *p = apply;
	const char *where = note->master >= 0 ? masters_where(p->masters, (unsigned)note->master) : NULL;
	bool meant = note->type == NOTE_MASTER_AWAY && masters_left(p->masters);
	note_log(note, where, meant, &p->gates, p->log);
	note_count(note, p->stats);
	events_tell(p->events, note, where);
	history_note(p->history, note, p->wall_ms);
	http_tell(p->http, note, where);
}

static void
apply_action(struct apply *p, const struct action *action)
{
	switch (action->type) {
	case ACTION_REPLY:
		apply_reply(p, action);
		break;
	case ACTION_PUSH:
		apply_push(p, action);
		break;
	case ACTION_CLOSE:
		apply_close(p, action);
		break;
	case ACTION_CALL:
		apply_call(p, &action->u.call);
		break;
	case ACTION_LISTEN:
		masters_listen(p->masters, action->u.listen.name, action->u.listen.on);
		break;
	case ACTION_KEEP:
		p->keep(p->arg, action->conn);
		break;
	case ACTION_WHOSE:
		p->whose(p->arg, &action->u.whose);
		break;
	case ACTION_WATCH:
		p->watch_wanted = true;
		break;
	case ACTION_MASTER:
		masters_move(p->masters, &action->u.move);
		break;
	case ACTION_NOTE:
		apply_note(p, &action->u.note);
		break;
	}
}

void
apply_actions(struct apply *p, struct actions *actions)
{
	p->queued = 0;
	for (size_t i = 0; i < actions->n; i++) {
		apply_action(p, &actions->list[i]);
	}
	actions_empty(actions);
}

/* ---- the service manager ---- */

#define REMARK_REFUSED "; the new configuration was refused, see the log"

static void
service_text(const struct service *s, const struct service_view *view, char out[SERVICE_TEXT_MAX])
{
	(void)snprintf(out, SERVICE_TEXT_MAX, "%s%s%s%s", view->available ? "serving" : "no new locks",
		view->text[0] != '\0' ? ": " : "", view->text, s->remark);
}

void
service_start(struct service *s, const struct notify *notify, const struct core *core, int64_t now_ms)
{
	*s = (struct service){.notify = notify,
		.core = core,
		.ready_by_ms = now_ms + SERVICE_READY_MS,
		.check_at_ms = now_ms,
		.ready = !notify || notify->fd < 0,
		.remark = ""};
}

int64_t
service_turn(struct service *s, int64_t now_ms)
{
	struct service_view view;
	char text[SERVICE_TEXT_MAX];

	if (!s->notify || s->notify->fd < 0) {
		return INT64_MAX;
	}
	if (now_ms < s->check_at_ms) {
		return s->check_at_ms;
	}
	core_view_service(s->core, &view);
	service_text(s, &view, text);
	if (!s->ready && (view.available || view.settled || now_ms >= s->ready_by_ms)) {
		s->ready = notify_ready(s->notify, text);
		if (!s->ready) {
			return now_ms + SERVICE_CHECK_MS; /* the manager is behind */
		}
	} else if (strcmp(text, s->text) != 0) {
		notify_status(s->notify, text);
	}
	memcpy(s->text, text, sizeof text);
	if (!s->ready) {
		return s->ready_by_ms;
	}
	/* A view may tell for how long no lock can be had: so it is read even if nothing happens. */
	s->check_at_ms = now_ms + SERVICE_CHECK_MS;
	return view.available ? INT64_MAX : s->check_at_ms;
}

void
service_reloaded(struct service *s, bool refused)
{
	struct service_view view;

	if (!s->notify) {
		return;
	}
	s->remark = refused ? REMARK_REFUSED : "";
	core_view_service(s->core, &view);
	service_text(s, &view, s->text);
	s->ready = notify_ready(s->notify, s->text); /* else service_turn() tells it */
}
