/*
 * link: one connection to a master that keeps coming back.
 *
 *     waiting ──▶ connecting ──▶ login ──▶ up     AUTH, SELECT, CLIENT SETNAME, PING
 *        ▲            │            │       │
 *        └────────────┴────────────┴───────┘      down(why), then again after a pause that grows
 *
 * The pool and the inbox use it. It knows nothing of calls: commands in, replies out in the same order.
 */
#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include "daemon/base/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct link;
struct log;
struct redisReply;
struct stats;

#define LINK_PENDING_MAX                                                                                     \
	65536                /* commands without an answer; a master this far behind is not helped by more */
#define LINK_RETRY_MIN_MS 50 /* the first retry is at once, the second after this, then twice as long */
#define LINK_RETRY_MAX_MS                                                                                    \
	2000 /* each time half of it is left to chance, so that daemons do not come together */

/* Copied by link_new(). One of host and path, or neither: it waits for link_aim(). */
struct link_settings {
	const char *host; /* address or name */
	uint16_t port;
	const char *path;        /* Unix socket */
	struct tls_settings tls; /* of host */
	const char *user;        /* NULL: the default user */
	const char *password;    /* NULL: no AUTH */
	int db;
	const char *client_name; /* as CLIENT LIST shows it: no spaces */
	const char *role;        /* what is there, as the log calls it; a constant; NULL: "master" */
	int64_t connect_ms;      /* limit for connecting and logging in, > 0 */
	int64_t retry_most_ms;   /* longest wait between two attempts, at most LINK_RETRY_MAX_MS; 0: that */
	int64_t reply_ms;    /* silent for so long while an answer is due: the connection is given up, > 0 */
	size_t output_bytes; /* link_send() refuses when more than this is unsent */
};

enum link_fate {
	LINK_ANSWERED, /* reply is there */
	LINK_UNKNOWN,  /* it left, its answer was lost */
	LINK_UNSENT    /* it did not leave whole, so it never ran */
};

/* Called from the event loop only, never from within the functions below but link_end(). None of them may
 * free the link. */
struct link_hooks {
	/* Logged in. */
	void (*up)(void *arg);
	/* After up(), or when a first or another attempt failed for a new reason. All replies came before.
	 * why is for people and says no secrets. */
	void (*down)(void *arg, const char *why);
	/* Exactly once for every link_send() that was taken, in that order. reply only when LINK_ANSWERED. */
	void (*reply)(void *arg, void *context, enum link_fate fate, const struct redisReply *reply);
	/* A published message, no answer to anything. NULL: there are none. */
	void (*message)(void *arg, const struct redisReply *message);
};

/* Begins to connect when the loop turns. hooks, log and stats are held by reference. NULL: out of memory. */
struct link *link_new(struct event_base *base, const struct link_settings *settings,
	const struct link_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* No hook any more, also not for commands that are under way. */
void link_free(struct link *link);

/* False: not up, too much unsent, or out of memory; there will be no reply then. It leaves at link_flush().
 */
bool link_send(struct link *link, int argc, const char *const *argv, const size_t *argvlen, void *context)
	__attribute__((warn_unused_result));
void link_flush(struct link *link);
/* See stream_acknowledge(). */
void link_acknowledge(struct link *link);

/* Gives the connection up for this reason when the loop turns, and connects again. */
void link_break(struct link *link, const char *why);

/* From the event loop, and not from a hook: gives the connection up now, for this reason. All replies and
 * down() come from within; then it has to be freed. */
void link_end(struct link *link, const char *why);

/*
 * From now on it connects there, at once, and not to a path any more. A connection that is up or under way is
 * given up when the loop turns. False: out of memory, nothing has changed.
 */
bool link_aim(struct link *link, const char *host, uint16_t port) __attribute__((warn_unused_result));

/*
 * It logs in with this password from its next attempt on; NULL: without one. As long as the new one has not
 * worked, an attempt that fails for it is followed by one with the password before, and the other way round.
 * A connection that is up stays. False: out of memory, nothing has changed.
 */
bool link_set_password(struct link *link, const char *password) __attribute__((warn_unused_result));

bool link_is_up(const struct link *link);
/* "10.0.0.1:6379": for people. */
const char *link_where(const struct link *link);

#endif
