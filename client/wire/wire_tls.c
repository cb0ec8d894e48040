/*
 * wire_tls: the part of a wire that opens step by step, and that speaks TLS; see wire.h. wire.c and session.c
 * call it.
 *
 * The context is made when the wire is opened for the first time, and lasts until wire_close(): a client that
 * comes back reads the files again only if they have changed.
 */
#include "client/wire/wire_tls.h"

#include "client/wire/deadline.h"
#include "client/wire/wire.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool
wire_can_tls(void)
{
	return tls_context_new != NULL;
}

short
wire_events(const struct wire *w)
{
	/* A handshake that is complete already has nothing to wait for: a server need not say anything more.
	 */
	return w->tls == NULL || tls_is_up(w->tls) || tls_wants_write(w->tls) ? POLLOUT : POLLIN;
}

bool
wire_begin_tls(struct wire *w)
{
	char why[TLS_WHY_MAX] = "out of memory";

	if (w->context == NULL || !tls_context_load(w->context, why)) {
		return wire_fail(w, "%s", why);
	}
	w->tls = tls_new(w->context, w->fd, w->server);
	return w->tls != NULL || wire_fail(w, "out of memory");
}

enum wire_progress
wire_handshake_tls(struct wire *w)
{
	if (tls_handshake(w->tls) == 0) {
		return WIRE_OPEN;
	}
	if (errno == EAGAIN) {
		return WIRE_OPENING;
	}
	w->away = errno != EPROTO;
	(void)wire_fail(w, "%s", tls_why(w->tls));
	return WIRE_FAILED;
}

enum wire_progress
wire_reopened(struct wire *w)
{
	socklen_t n = sizeof(int);
	int error = 0;

	if (w->tls != NULL) {
		return wire_handshake_tls(w);
	}
	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0) {
		error = errno;
	}
	if (error != 0) {
		(void)wire_fail(w, "cannot reach the daemon: %s", strerror(error));
		return WIRE_FAILED;
	}
	if (w->context == NULL) {
		return WIRE_OPEN;
	}
	return wire_begin_tls(w) ? wire_handshake_tls(w) : WIRE_FAILED;
}

bool
wire_secure(struct wire *w, const struct address *a)
{
	const struct tls_settings settings = {
		.on = true, .ca = a->ca, .certificate = a->certificate, .key = a->key, .name = a->name};
	struct pollfd p[2] = {{w->fd, 0, 0}, {wakeup_open(), POLLIN, 0}};
	enum wire_progress progress = WIRE_OPENING;
	char why[WIRE_TEXT_MAX / 2];

	w->context = tls_context_new(TLS_CLIENT, &settings);
	memcpy(w->server, a->host, sizeof(w->server));
	(void)wakeup_set(p[1].fd, clock_ms() + WIRE_CONNECT_MS);
	if (!wire_begin_tls(w)) {
		progress = WIRE_FAILED;
	}
	while (progress == WIRE_OPENING && p[1].revents == 0) {
		progress = wire_handshake_tls(w);
		p[0].events = wire_events(w);
		if (progress == WIRE_OPENING) {
			(void)poll(p, 2, -1);
		}
	}
	if (p[1].fd >= 0) {
		(void)close(p[1].fd);
	}
	if (progress == WIRE_OPEN) {
		return true;
	}
	(void)snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1,
		progress == WIRE_OPENING ? "it does not answer in TLS" : w->why);
	return wire_fail(w, "cannot reach the daemon at %s: %s", a->text, why);
}
