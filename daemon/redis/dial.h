/*
 * dial: a connected socket to one place, without ever making the event loop wait.
 *
 *     name ── evdns ──▶ addresses ── connect() ──▶ socket
 *
 * The link is the only user. One attempt at a time; limits of time and the next attempt are the link's.
 */
#ifndef REDIS_DIAL_H
#define REDIS_DIAL_H

#include <stdbool.h>
#include <stdint.h>

struct dial;
struct event_base;

/*
 * The outcome of dial_start(), also from within it. fd >= 0: connected, non-blocking, close-on-exec, now the
 * callee's. -1: why says what failed, valid until the callback returns. dial_start() may be called again,
 * dial_free() may not.
 */
typedef void dial_done(void *arg, int fd, const char *why);

/* Either host (an address or a name) and port, or path; neither: dial_aim() comes before the first
 * dial_start(). Copied. NULL: out of memory. */
struct dial *dial_new(struct event_base *base, const char *host, uint16_t port, const char *path,
	dial_done *done, void *arg) __attribute__((warn_unused_result));
void dial_free(struct dial *dial);

/* Another place from the next dial_start() on; nothing is under way now. False: out of memory, nothing has
 * changed. */
bool dial_aim(struct dial *dial, const char *host, uint16_t port) __attribute__((warn_unused_result));

/* A name's addresses are tried in turn until one connects; an attempt that was stopped makes the next one
 * begin with the address after the one that did not answer. */
void dial_start(struct dial *dial);
/* No callback any more. Harmless when nothing is under way. */
void dial_stop(struct dial *dial);

/* "10.0.0.1:6379" or "/run/redis.sock": for people. */
const char *dial_where(const struct dial *dial);

#endif
