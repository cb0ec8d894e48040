/*
 * pool_inner: what the files of the pool know of each other; nobody else includes it.
 *
 *     pool.c ──▶ pool_lane.c     settings, inbox and sentinel there; links, batches and votes here
 */
#ifndef REDIS_POOL_INNER_H
#define REDIS_POOL_INNER_H

#include "daemon/redis/batch.h"
#include "daemon/redis/call.h"
#include "daemon/redis/group.h"
#include "daemon/redis/link.h"
#include "daemon/redis/pool.h"
#include "daemon/redis/replicas.h"

#include <stdbool.h>
#include <stddef.h>

/* One link, and the calls that are under way on it. */
struct lane {
	struct pool *pool;
	unsigned index;
	struct link *link;
	bool up;            /* told to the driver */
	size_t scripts_due; /* SCRIPT LOADs without an answer */
	struct groups groups;
	unsigned lone; /* commands for one name in a row, with at most one other under way; up to LONE_MIN */
	struct batches sent; /* under way, in the order of their answers */
	struct batches kept; /* answered, but not told before replicas have acknowledged, in that order */
	unsigned commands;   /* not yet written */
	unsigned waits;      /* WAITs under way */
	bool wait_due;       /* something was sent that no WAIT is behind yet */
};

struct pool {
	const struct pool_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *strings; /* namespace, layout, about: behind call_settings */
	char *where;
	struct call_settings call_settings;
	bool unguarded; /* trust never ends */
	struct call_command command;
	struct inbox *inbox;
	struct sentinel *sentinel; /* NULL: the master has its place */
	char *sentinel_name;
	bool found;   /* the sentinels have said where it is */
	bool doubted; /* what is there is no master */
	struct replicas replicas;
	int64_t wait_ms;     /* for their acknowledgement */
	struct event *probe; /* asks whether they are back */
	struct event *later; /* delivers the unsent */
	struct batches unsent;
	unsigned lane_count;
	struct lane lanes[POOL_LINKS_MAX];
};

/* pool_lane.c. False: out of memory. */
bool lane_open(struct lane *lane, struct pool *pool, struct event_base *base,
	const struct link_settings *settings) __attribute__((warn_unused_result));
void lane_close(struct lane *lane);
/* See pool_end(). */
void lane_end(struct lane *lane, const char *why);
void lane_call(struct lane *lane, const struct call *call);
/* What was called so far leaves now. */
void lane_flush(struct lane *lane);
/* Asks the master for its replicas, if it can. */
void lane_ask_replicas(struct lane *lane);
/* Asks the replicas for their acknowledgement although nothing needs it. False: there is no way now. */
bool lane_probe(struct lane *lane);

/* pool.c. Answered in the next turn. */
void pool_put_unsent(struct pool *pool, struct batch *batch);
/* Those there are now; what the votes lead to waits for its own turn. */
void pool_tell_unsent(struct pool *pool);
/* To the driver. */
void pool_tell(struct pool *pool, const struct vote *vote);
/* Sentinel hears of a failover sooner or later than we lose our connections: it is asked more often while
 * something is wrong. */
void pool_watch(struct pool *pool);
/* So many replicas acknowledged in time; -1: the master gave no number. True: that is enough. */
bool pool_judge(struct pool *pool, int64_t acknowledged);
/* The answer to INFO replication. */
void pool_read_info(struct pool *pool, const struct redisReply *reply);

#endif
