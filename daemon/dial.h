/*
 * dial: a connected socket to one place, without ever making the event loop wait.
 *
 *     name ── evdns ──▶ addresses ── connect() ──▶ socket
 *
 * The link is the only user. One attempt at a time; limits of time and the next attempt are the link's.
 */
#ifndef DAEMON_DIAL_H
#define DAEMON_DIAL_H

#include <stdint.h>

struct dial;
struct event_base;

/*
 * The outcome of dial_start(), also from within it. fd >= 0: connected, non-blocking, close-on-exec, now the
 * callee's. -1: why says what failed, valid until the callback returns. dial_start() may be called again,
 * dial_free() may not.
 */
typedef void dial_done(void *arg, int fd, const char *why);

/* Either host (an address or a name) and port, or path. Copied. NULL: out of memory. */
struct dial *dial_new(struct event_base *base, const char *host, uint16_t port, const char *path,
	dial_done *done, void *arg) __attribute__((warn_unused_result));
void dial_free(struct dial *dial);

/* A name's addresses are tried in turn until one connects; an attempt that was stopped makes the next one
 * begin with the address after the one that did not answer. */
void dial_start(struct dial *dial);
/* No callback any more. Harmless when nothing is under way. */
void dial_stop(struct dial *dial);

/* "10.0.0.1:6379" or "/run/redis.sock": for people. */
const char *dial_where(const struct dial *dial);

#endif
