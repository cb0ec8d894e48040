/*
 * pool: the connections to one master, and the calls that are under way on them.
 *
 *     driver ── pool_call() ──▶ batch ──▶ link ──▶ master          calls of one operation share one script
 *     driver ◀── vote() ◀──── take apart ◀── link ◀── master
 *            ◀── wake(), want(), latch(), flushed(), subscribed() ◀── inbox ◀── master
 *
 * The driver is the only user. The pool decides nothing: it never repeats a call, never reorders the calls of
 * one link about one name, and never calls a hook from within pool_call(), pool_flush() or pool_free().
 */
#ifndef REDIS_POOL_H
#define REDIS_POOL_H

#include "daemon/core/call.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct log;
struct pool;
struct sentinel_settings;
struct stats;

#define POOL_LINKS_MAX      8
/* Commands on one link after which they are written: daemon and master then work side by side. */
#define POOL_WRITE_COMMANDS 8

/* Exactly one of host, path and sentinel is set. Everything is copied by pool_new(). */
struct pool_settings {
	const char *host; /* TCP: address or name */
	uint16_t port;
	const char *path;                         /* Unix socket */
	const struct sentinel_settings *sentinel; /* who knows where it is; client_name and times are ours */
	/* What is granted counts when a majority of the master and its replicas has it: acquires, renewals,
	 * reclaims and admissions are UNKNOWN until then. */
	bool replicas_ack;
	const char *title;     /* what people read in front of the address; NULL: nothing */
	const char *user;      /* NULL: the default user */
	const char *password;  /* NULL: no AUTH */
	int db;                /* >= 0 */
	unsigned links;        /* 1 .. POOL_LINKS_MAX, the inbox's connection not counted */
	const char *namespace; /* prefix of every key and channel; no braces */
	const char *daemon_id; /* 32 lower-case hexadecimal digits */
	const char *layout;    /* what the daemons of a namespace must agree on besides the two below */
	const char *about;     /* this daemon, for people: its host and version; NULL: nothing is known */
	int64_t lease_max_ms;  /* longest lease any daemon of this namespace uses */
	int64_t margin_ms;     /* J */
	/* The master surely forgot nothing that matters: its first greeting admits it without a guard. Once
	 * it has, the pool trusts no other memory. */
	bool trusted;
	/* Every memory is trusted, always. Unsafe, but may be asked for. */
	bool unguarded;
	int64_t connect_ms;  /* limit for connecting and logging in */
	int64_t reply_ms;    /* a master silent for so long while an answer is due is given up */
	size_t output_bytes; /* more than this unwritten on one link: further calls are UNSENT */
};

/* Defaults for everything that has one; the others are zero. */
#define POOL_SETTINGS_DEFAULT                                                                                \
	{                                                                                                    \
		.links = 1, .namespace = "holdfast", .layout = "", .lease_max_ms = 10000, .margin_ms = 1000, \
		.connect_ms = 2000, .reply_ms = 2000, .output_bytes = 16 << 20                               \
	}

/* Called from the event loop only. Slices and votes are valid until the hook returns. */
struct pool_hooks {
	void (*link_up)(void *arg, unsigned link); /* logged in, scripts loaded */
	void (*link_down)(void *arg, unsigned link, const char *why);
	void (*subscribed)(void *arg); /* the inbox listens (again): messages may have been missed before */
	void (*wake)(void *arg, struct slice name);
	void (*want)(void *arg, struct slice name);
	void (*latch)(void *arg, struct slice name);
	void (*flushed)(void *arg); /* the master says that its data was flushed */
	/* One per call, before the link_down of its link. */
	void (*vote)(void *arg, const struct vote *vote);
};

/*
 * Begins to connect; a link that cannot is tried again for ever, with link_down() once for every stretch of
 * absence that has a new reason. hooks is kept by reference. NULL: out of memory, or no such settings.
 */
struct pool *pool_new(struct event_base *base, const struct pool_settings *settings,
	const struct pool_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* What its master and, where there are any, the sentinels are logged in to with from now on; as
 * link_set_password(). The rest of the settings is not looked at. */
bool pool_set_passwords(struct pool *pool, const struct pool_settings *settings)
	__attribute__((warn_unused_result));
/* Calls under way get no vote any more. */
void pool_free(struct pool *pool);
/* From the event loop, and not from a hook: every call under way gets its vote and every link is told down,
 * for this reason, from within. The driver calls nothing more once they are, and frees it. */
void pool_end(struct pool *pool, const char *why);

/* "10.0.0.1:6379", "/run/redis.sock", with the title in front; until Sentinel has said more the name it knows
 * the master by: for people. Valid until the loop turns. */
const char *pool_where(const struct pool *pool);

/* For people. */
struct pool_view {
	const char *sentinel; /* the name that the sentinels know the master by; NULL: there are none */
	unsigned replicas;    /* that belong to it, also those that are away */
	unsigned needed;      /* of them, to acknowledge; 0: none */
	bool replicated;      /* enough of them do */
};
void pool_see(const struct pool *pool, struct pool_view *out);

/* Copies what it needs of the call. A call that cannot leave is answered UNSENT, later. */
void pool_call(struct pool *pool, const struct call *call);
/* Hears of the ends of somebody else's locks of this name, by wake(), or no longer. */
void pool_listen(struct pool *pool, struct slice name, bool on);
/* The end of a turn of the loop: what was called so far leaves now. */
void pool_flush(struct pool *pool);

#endif
