/*
 * pool: the connections to one master, and the calls that are under way on them.
 *
 *     driver ── pool_call() ──▶ batch ──▶ link ──▶ master          calls of one operation share one script
 *     driver ◀── vote() ◀──── take apart ◀── link ◀── master
 *            ◀── wake(), want(), latch(), flushed(), subscribed() ◀── inbox ◀── master
 *
 * The driver is the only user. The pool decides nothing. It never repeats a call, never reorders the calls of
 * one link about one name, and never calls a hook from within pool_call(), pool_flush() or pool_free().
 */
#ifndef REDIS_POOL_H
#define REDIS_POOL_H

#include "daemon/base/tls.h"
#include "daemon/core/base/call.h"
#include "daemon/redis/finder.h"
#include "daemon/redis/replicas.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct event_base;
struct buckets;
struct log;
struct lookup_answer;
struct pool;
struct redisReply;
struct replicas_change;
struct replicas_round;
struct stats;
struct vote;

#define POOL_LINKS_MAX      8
/* A link is written to after this many commands: daemon and master then work at the same time. */
#define POOL_WRITE_COMMANDS 8

/* Exactly one of host, path and finder is set. pool_new() copies everything. */
struct pool_settings {
	const char *host; /* TCP: address or name */
	uint16_t port;
	const char *path;        /* Unix socket */
	struct tls_settings tls; /* of host, or of the master that is found */
	/* Those who know its address; pool_new() sets key, client_name and times. With CLUSTER all keys and
	 * channels are those of the namespace {NAMESPACE}, and so in one slot. */
	const struct finder_settings *finder;
	/* A grant counts only when a majority of the master and its replicas has it: acquires, renewals,
	 * reclaims and admissions are UNKNOWN until then. */
	bool replicas_ack;
	const char *title;     /* shown to people in front of the address; NULL: nothing */
	const char *user;      /* NULL: the default user */
	const char *password;  /* NULL: no AUTH */
	int db;                /* >= 0 */
	unsigned links;        /* 1 .. POOL_LINKS_MAX, without the connection of the inbox */
	const char *namespace; /* prefix of every key and channel; no braces */
	const char *daemon_id; /* 32 lower-case hexadecimal digits */
	const char *layout;    /* what the daemons of a namespace must agree on besides the next two times */
	const char *about;     /* of this daemon, for people, as main_about.c writes it; NULL: unknown */
	int64_t lease_max_ms;  /* the longest lease that a daemon of this namespace uses */
	int64_t margin_ms;     /* J */
	/* The master has certainly forgotten nothing that matters: its first HELLO admits it without a
	 * guard. After that admission the pool trusts no other memory. */
	bool trusted;
	/* Every memory is trusted, always. Unsafe, but may be configured. */
	bool unguarded;
	int64_t connect_ms;  /* limit for connecting and login */
	int64_t reply_ms;    /* a master that is silent for so long while an answer is due is given up */
	size_t output_bytes; /* with more unwritten output on a link further calls are UNSENT */
};

/* Defaults of the fields that have one; the others are zero. */
#define POOL_SETTINGS_DEFAULT                                                                                \
	{                                                                                                    \
		.links = 1, .namespace = "holdfast", .layout = "", .lease_max_ms = 10000, .margin_ms = 1000, \
		.connect_ms = 2000, .reply_ms = 2000, .output_bytes = 16 << 20                               \
	}

/* Called from the event loop only. Slices and votes are valid until the hook returns. */
struct pool_hooks {
	void (*link_up)(void *arg, unsigned link); /* logged in, scripts loaded */
	void (*link_down)(void *arg, unsigned link, const char *why);
	void (*subscribed)(
		void *arg); /* the inbox is subscribed (again): messages may have been missed before */
	void (*wake)(void *arg, struct slice name);
	void (*want)(void *arg, struct slice name);
	void (*latch)(void *arg, struct slice name);
	void (*flushed)(void *arg); /* the master reports that its data was flushed */
	/* See inbox_hooks. */
	void (*asked)(void *arg, bool answer, struct slice text);
	/* The answer to pool_lookup(); NULL: there is none, or it makes no sense. */
	void (*lookup_answered)(void *arg, uint64_t id, const struct lookup_answer *answer);
	/* One for each call, before the link_down of its link. */
	void (*vote)(void *arg, const struct vote *vote);
};

/*
 * Begins to connect. A link that fails is tried again without end; link_down() comes once for each period of
 * absence, and again if the reason changes. hooks is held by reference. NULL: out of memory, or invalid
 * settings.
 */
struct pool *pool_new(struct event_base *base, const struct pool_settings *settings,
	const struct pool_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* Takes up what a reload may change: what is said about this daemon, and the passwords for the master and,
 * where there are any, for the sentinels or nodes; see link_set_password(). Ignores the other settings. */
bool pool_reload(struct pool *pool, const struct pool_settings *settings) __attribute__((warn_unused_result));
/* Calls under way get no vote. */
void pool_free(struct pool *pool);
/* Call it from the event loop, and not from a hook. Every call under way gets its vote and every link is
 * reported down, for this reason, before it returns. After that the driver only frees the pool. */
void pool_end(struct pool *pool, const char *why);

/* The address for people: "10.0.0.1:6379", "/run/redis.sock", with the title in front. Until a finder
 * has found it: the name that the finder has. Valid until the loop turns. */
const char *pool_where(const struct pool *pool);

#define POOL_WHY_MAX 128

/* What reports show of a pool. */
struct pool_view {
	const char *user;                 /* of its login there; "": Redis's default user */
	const struct tls_settings *tls;   /* of its connections to the master; a text that is absent: NULL */
	struct finder_view finder;        /* its name is NULL: the master has a fixed address */
	unsigned replicas;                /* replicas of this master, absent ones included */
	unsigned needed;                  /* of them, for an acknowledgement; 0: none */
	bool replicated;                  /* enough replicas acknowledge */
	struct slice group, joining;      /* as it is stored at the master; valid until the loop turns */
	size_t calls;                     /* without a vote yet; masters.h counts them */
	const struct buckets *round_trip; /* of commands, to their answers; valid until the loop turns */
	int64_t round_trip_us;            /* the latest ones, averaged; 0: none yet */
	int64_t clock_ms; /* how far its wall clock was ahead of this host's at the latest HELLO */
	bool inbox;       /* messages of other daemons arrive through this master */
	char inbox_why[POOL_WHY_MAX]; /* !inbox: why not; "": not known yet */
};
void pool_see(const struct pool *pool, struct pool_view *out);

/* Copies what it needs of the call. A call that cannot be sent is answered UNSENT, in a later turn. */
void pool_call(struct pool *pool, const struct call *call);
/* Sets whether wake() reports the ends of Redisson's locks of this name. */
void pool_listen(struct pool *pool, struct slice name, bool on);

/* An operator declares a member of the master's group gone: see replicas_forget(). */
const char *pool_forget(struct pool *pool, struct slice member);

/* The end of a turn of the loop: the calls so far are sent now. */
void pool_flush(struct pool *pool);

/* ---- for pool_link.c and pool_lookup.c ---- */

/* The batch is answered in the next turn. */
void pool_put_unsent(struct pool *pool, struct batch *batch);
/* Answers the batches that are unsent now; calls that follow from their votes wait for their own turn. */
void pool_tell_unsent(struct pool *pool);
/* Gives the vote to the driver. */
void pool_tell(struct pool *pool, const struct vote *vote);
/* Sentinels and nodes learn of a failover sooner or later than the daemon loses its connections: so they are
 * asked more often while something is wrong. Without a finder a server that is no master is left after a
 * while. Called when a link comes up or goes down, and when a vote says what the server is. */
void pool_watch(struct pool *pool);
/* The answer that ends a round of replicas.h; NULL: there is none. */
enum replicas_worth pool_judge(struct pool *pool, const struct replicas_round *round, unsigned asked,
	const struct redisReply *reply);
/* The group was changed as replicas.change says. */
void pool_joined(struct pool *pool, const struct replicas_change *change);

#endif
