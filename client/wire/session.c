/*
 * session: comes back to the daemon; see session.h.
 */
#include "client/wire/session.h"

#include "client/wire/deadline.h"
#include "client/wire/hello.h"
#include "client/wire/wire_tls.h"
#include "daemon/base/clock.h"
#include "proto/reply.h"

#include <assert.h>
#include <unistd.h>

#define CONNECT_MS 2000 /* a connection that is not there by then is tried again */

int64_t
session_pause_after(int64_t pause_ms)
{
	if (pause_ms < SESSION_PAUSE_MIN) {
		return SESSION_PAUSE_MIN;
	}
	return pause_ms * 2 < SESSION_PAUSE_MAX ? pause_ms * 2 : SESSION_PAUSE_MAX;
}

void
session_ask_grace(struct wire *w)
{
	char ms[NUMBER_TEXT_MAX];

	wire_ask(w, "SESSION", "GRACE",
		number_text(ms, w->local ? SESSION_GRACE_LOCAL_MS : SESSION_GRACE_TCP_MS));
}

bool
session_secret(char secret[SECRET_BYTES_MAX + 1], const struct answer *answer)
{
	if (answer->type != ANSWER_TEXT || answer->text.n > SECRET_BYTES_MAX) {
		return false;
	}
	slice_text(secret, SECRET_BYTES_MAX + 1, answer->text);
	return true;
}

void
session_start(struct session *s, struct wire *w, const struct address *a, const char *label,
	const char *secret, bool pushes)
{
	*s = (struct session){
		.wire = w, .a = a, .label = label, .secret = secret, .pushes = pushes, .next_ms = INT64_MAX};
	s->refused = CODE_COUNT;
}

void
session_open(struct session *s, int64_t now_ms)
{
	s->state = SESSION_CONNECTING;
	s->next_ms = now_ms + CONNECT_MS;
}

void
session_cut(struct session *s, int64_t now_ms)
{
	s->pause_ms = session_pause_after(s->state == SESSION_THERE ? 0 : s->pause_ms);
	s->state = SESSION_AWAY;
	s->next_ms = now_ms + s->pause_ms;
}

void
session_watch(const struct session *s, struct pollfd *p)
{
	p->fd = s->state == SESSION_AWAY ? -1 : s->wire->fd;
	p->events = s->state == SESSION_CONNECTING ? wire_events(s->wire) : POLLIN;
}

int64_t
session_next(const struct session *s)
{
	return s->state == SESSION_THERE ? INT64_MAX : s->next_ms;
}

static void
session_connect(struct session *s, int64_t now_ms)
{
	s->refused = CODE_COUNT;
	if (!wire_reopen(s->wire)) {
		session_cut(s, now_ms);
		return;
	}
	session_open(s, now_ms);
}

static void
session_hello(struct session *s, int64_t now_ms)
{
	wire_hello(s->wire, s->a, s->label);
	if (s->secret[0] != '\0') {
		wire_ask(s->wire, "SESSION", s->alone ? "RESUME" : "JOIN", s->secret);
	}
	if (s->pushes) {
		wire_ask(s->wire, "SESSION", "ONLOSS", "PUSH");
	}
	s->state = SESSION_HELLO;
	s->answers = 0;
	s->next_ms = now_ms + SESSION_HELLO_MS;
	/* If that fails, the next event is the end of the connection. */
	(void)wire_flush(s->wire);
}

/* An answer to session_hello(): false if the daemon does not serve this client now. */
static bool
answer_take(struct session *s, const struct answer *answer, bool *known)
{
	struct slice rest;
	bool failed = answer->type == ANSWER_ERROR;

	s->answers++;
	if (s->answers == 1) {
		answer = wire_welcomed(s->wire, s->a, answer);
		s->refused = answer != NULL ? answer_code(answer, &rest) : CODE_COUNT;
		if (s->refused != CODE_COUNT) {
			slice_text(s->wire->why, sizeof(s->wire->why), rest);
		}
		return answer != NULL && !failed;
	}
	if (s->answers == 2 && s->secret[0] != '\0') {
		*known = !answer_is_error(answer, CODE_ERR);
		return !failed || !*known;
	}
	return true;
}

static enum session_news
session_read(struct session *s, int64_t now_ms)
{
	unsigned wanted = 1u + (s->secret[0] != '\0') + s->pushes;
	const struct answer *answer;
	bool known = true, served = true, more = wire_fill(s->wire);

	while (served && s->answers < wanted && (answer = wire_next(s->wire)) != NULL) {
		served = answer->type == ANSWER_PUSH || answer_take(s, answer, &known);
		if (!known) {
			s->state = SESSION_THERE;
			return SESSION_UNKNOWN;
		}
	}
	if (served && s->answers == wanted) {
		s->state = SESSION_THERE;
		return SESSION_BACK;
	}
	if (!more || !served || s->wire->ended) {
		session_cut(s, now_ms);
	}
	return SESSION_NOTHING;
}

enum session_news
session_turn(struct session *s, bool ready, int64_t now_ms)
{
	assert(s->state != SESSION_THERE);
	if (s->state == SESSION_CONNECTING && ready) {
		enum wire_progress progress = wire_reopened(s->wire);

		if (progress == WIRE_OPEN) {
			session_hello(s, now_ms);
		} else if (progress == WIRE_FAILED) {
			session_cut(s, now_ms);
		}
		return SESSION_NOTHING;
	}
	if (s->state == SESSION_HELLO && ready) {
		return session_read(s, now_ms);
	}
	if (now_ms >= s->next_ms) {
		if (s->state == SESSION_AWAY) {
			session_connect(s, now_ms);
		} else {
			session_cut(s, now_ms);
		}
	}
	return SESSION_NOTHING;
}

enum session_news
session_wait(struct session *s, int64_t until_ms)
{
	struct pollfd p[2] = {{-1, POLLIN, 0}, {wakeup_open(), POLLIN, 0}};
	enum session_news news = SESSION_NOTHING;

	while (news == SESSION_NOTHING && p[1].fd >= 0 && clock_ms() < until_ms) {
		session_watch(s, &p[0]);
		(void)wakeup_set(p[1].fd, session_next(s) < until_ms ? session_next(s) : until_ms);
		if (poll(p, 2, -1) >= 0) {
			news = session_turn(s, p[0].fd >= 0 && p[0].revents != 0, clock_ms());
		}
	}
	if (p[1].fd >= 0) {
		(void)close(p[1].fd);
	}
	return news;
}
