/*
 * dial: connections to one place, without ever making the event loop wait.
 *
 *     name ── evdns ──▶ addresses, in turn ── redisAsyncConnect() ──▶ connection under way
 *
 * The link is the only user. One attempt at a time; limits of time and the next attempt are the link's.
 */
#ifndef REDIS_DIAL_H
#define REDIS_DIAL_H

#include <stdbool.h>
#include <stdint.h>

struct dial;
struct event_base;
struct redisAsyncContext;

/*
 * From dial_start() and dial_next(), also from within them. redis: a connection under way to the address in
 * turn, or one that failed at once; now the callee's. NULL: the attempt has failed; why says what, valid
 * until the callback returns. dial_free() may not be called.
 */
typedef void dial_done(void *arg, struct redisAsyncContext *redis, const char *why);

/* Either host (an address or a name) and port, or path (at most 106 bytes); neither: dial_aim() comes before
 * the first dial_start(). Copied. NULL: out of memory. */
struct dial *dial_new(struct event_base *base, const char *host, uint16_t port, const char *path,
	dial_done *done, void *arg) __attribute__((warn_unused_result));
void dial_free(struct dial *dial);

/* Another place from the next dial_start() on; no name is being looked up now. False: out of memory, nothing
 * has changed. */
bool dial_aim(struct dial *dial, const char *host, uint16_t port) __attribute__((warn_unused_result));

/* Begins with a name's first address; after an attempt that was stopped, with the address after the one that
 * did not answer. */
void dial_start(struct dial *dial);
/* The connection handed over last did not come about, for this reason: the next address, or the end of the
 * attempt. */
void dial_next(struct dial *dial, const char *why);
/* The attempt took too long: no callback any more. */
void dial_stop(struct dial *dial);

/* "10.0.0.1:6379" or "/run/redis.sock": for people. */
const char *dial_where(const struct dial *dial);

#endif
