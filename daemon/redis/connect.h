/*
 * connect: connections to one address, without ever making the event loop wait, and the password to log in
 * with.
 *
 *     name ── evdns ──▶ addresses, in turn ── redisAsyncConnect() ──▶ connection under way
 *
 * The link is the only user. One attempt at a time; limits of time and the next attempt are the link's.
 */
#ifndef REDIS_CONNECT_H
#define REDIS_CONNECT_H

#include "daemon/base/tls.h"

#include <stdbool.h>
#include <stdint.h>

struct connector;
struct event_base;
struct redisAsyncContext;

/*
 * From connector_start() and connector_next(), also from within them. redis: a connection under way to the
 * address in turn, or one that failed at once; now the callee's, with tls, which is NULL without TLS. NULL:
 * the attempt has failed; why says what, valid until the callback returns. connector_free() may not be
 * called.
 */
typedef void connector_done(void *arg, struct redisAsyncContext *redis, struct tls *tls, const char *why);

/* Either host (an address or a name) and port, or path (at most 106 bytes); neither: connector_aim() comes
 * before the first connector_start(). The files of tls are read before an attempt, if they have changed. All
 * is copied. NULL: out of memory. */
struct connector *connector_new(struct event_base *base, const char *host, uint16_t port, const char *path,
	const struct tls_settings *tls, connector_done *done, void *arg) __attribute__((warn_unused_result));
void connector_free(struct connector *connector);

/* Another address from the next connector_start() on; no name is being looked up now. False: out of memory,
 * nothing has changed. */
bool connector_aim(struct connector *connector, const char *host, uint16_t port)
	__attribute__((warn_unused_result));

/* Begins with a name's first address; after an attempt that was stopped, with the address after the one that
 * did not answer. */
void connector_start(struct connector *connector);
/* The connection handed over last did not come about, for this reason: the next address, or the end of the
 * attempt. */
void connector_next(struct connector *connector, const char *why);
/* The attempt took too long: no callback any more. */
void connector_stop(struct connector *connector);

/* "10.0.0.1:6379" or "/run/redis.sock": for people. */
const char *connector_where(const struct connector *connector);

/*
 * The password with which a link logs in, while it is being changed at both ends.
 *
 * An operator changes it in the configuration and at the server, in any order. So a new password does not
 * replace the old one until it has worked: whenever the server refuses one of the two, the next attempt takes
 * the other. All zero: no password. Texts are wiped before they are freed.
 */
struct credentials {
	char *password; /* NULL: none */
	char *before;   /* if changed: the last one that worked; NULL: none */
	bool changed;   /* the password is new, and has not worked yet */
	bool fallback;  /* if changed: the next attempt takes before */
};

/* Sets the password, which is copied; NULL: none. False: out of memory, nothing has changed. */
bool credentials_set(struct credentials *credentials, const char *password)
	__attribute__((warn_unused_result));
void credentials_done(struct credentials *credentials);

/* The password for the next attempt; NULL: no login. */
const char *credentials_password(const struct credentials *credentials);

/* The server has refused that password, or has accepted it. */
void credentials_refused(struct credentials *credentials);
void credentials_worked(struct credentials *credentials);

#endif
