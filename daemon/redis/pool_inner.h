/*
 * pool_inner: what the files of the pool share; no other file includes it.
 *
 *     pool.c ──▶ pool_lane.c     pool.c: settings, inbox and sentinel; pool_lane.c: links, batches and votes
 */
#ifndef REDIS_POOL_INNER_H
#define REDIS_POOL_INNER_H

#include "daemon/redis/batch.h"
#include "daemon/redis/call.h"
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
	bool up;            /* reported to the driver */
	size_t scripts_due; /* SCRIPT LOADs without an answer yet */
	struct groups groups;
	unsigned lone; /* commands in a row for one name, with at most one other under way; up to LONE_MIN */
	struct batches sent; /* under way, in the order of their answers */
	struct batches kept; /* answered, in that order; withheld until replicas have acknowledged */
	unsigned commands;   /* not yet written */
	unsigned waits;      /* WAITs under way */
	bool wait_due;       /* something was sent after the last WAIT */
};

struct pool {
	const struct pool_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *strings; /* the texts that call_settings points to: namespace, layout, about */
	char *where;
	struct call_settings call_settings;
	bool unguarded; /* trust never ends */
	struct call_command command;
	struct inbox *inbox;
	struct sentinel *sentinel; /* NULL: the master has a fixed address */
	char *sentinel_name;
	bool found;   /* the sentinels have told where the master is */
	bool doubted; /* the server there is no master */
	struct replicas replicas;
	int64_t wait_ms;     /* for the acknowledgement of replicas */
	struct event *probe; /* checks whether replicas acknowledge again */
	struct event *later; /* delivers the votes of unsent */
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
/* The calls so far are sent now. */
void lane_flush(struct lane *lane);
/* Asks the master for its replicas, if it can. */
void lane_ask_replicas(struct lane *lane);
/* Asks the replicas for an acknowledgement although no call needs one. False: not possible now. */
bool lane_probe(struct lane *lane);

/* pool.c. The batch is answered in the next turn. */
void pool_put_unsent(struct pool *pool, struct batch *batch);
/* Answers the batches that are unsent now; calls that follow from their votes wait for their own turn. */
void pool_tell_unsent(struct pool *pool);
/* Gives the vote to the driver. */
void pool_tell(struct pool *pool, const struct vote *vote);
/* Sentinel learns of a failover sooner or later than the daemon loses its connections: so Sentinel is asked
 * more often while something is wrong. */
void pool_watch(struct pool *pool);
/* This many replicas acknowledged in time; -1: the master gave no number. True: that is enough. */
bool pool_judge(struct pool *pool, int64_t acknowledged);
/* Handles the answer to INFO replication. */
void pool_read_info(struct pool *pool, const struct redisReply *reply);

#endif
