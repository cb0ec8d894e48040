/*
 * replicas: how many of a master's replicas have to acknowledge a change before it counts, and whether they
 * do.
 *
 * A failover may promote a replica that has not heard of a lease, and a master that was cut off goes on
 * granting. So a change counts when a majority of the whole group, the master and its replicas, has it: of
 * two servers that both take themselves for the master only one can have that. The group is what the
 * sentinels or nodes know of, or what is connected if that is more; a replica that is away still belongs to
 * it.
 *
 * Bookkeeping only, without I/O: the pool asks the master with WAIT, and the simulator uses the same
 * functions.
 */
#ifndef REDIS_REPLICAS_H
#define REDIS_REPLICAS_H

#include "daemon/core/call.h"

#include <stdbool.h>
#include <stdint.h>

struct redisReply;

#define REPLICAS_WHY_MAX 160

/* All zero, but for watched, in the beginning. */
struct replicas {
	bool watched;               /* false: nothing has to be acknowledged */
	unsigned named;             /* known to the sentinels or nodes */
	unsigned connected;         /* to the master, when it was asked last */
	bool missing;               /* too few acknowledge */
	char why[REPLICAS_WHY_MAX]; /* when missing: an error reply for people */
};

/* How many there are, connected or not. */
static inline unsigned
replicas_known(const struct replicas *r)
{
	return r->named > r->connected ? r->named : r->connected;
}

/* How many have to acknowledge; 0: none. A majority of the group is the master and so many more. */
static inline unsigned
replicas_needed(const struct replicas *r)
{
	return r->watched ? (1 + replicas_known(r)) / 2 : 0;
}

/* Whether what is answered to a call of this operation counts only when it is acknowledged. A release need
 * not be: what is not released runs out. */
static inline bool
replicas_matter(const struct replicas *r, enum call_op op)
{
	return replicas_needed(r) > 0 && op != CALL_RELEASE && op != CALL_LEAVE && op != CALL_ENTER;
}

/* Why a call of this operation is not even sent, as the text of an error: nothing new is begun while too few
 * acknowledge. NULL: it is sent. */
static inline const char *
replicas_refuse(const struct replicas *r, enum call_op op)
{
	return r->missing && (op == CALL_ACQUIRE || op == CALL_LATCH) ? r->why : NULL;
}

/* Turns a vote that was not acknowledged into what it is worth. True: it has changed. What a master grants,
 * or says of its memory or of a latch, may be lost in a failover: a greeting becomes an error, other votes
 * have an unknown outcome. That a master cannot be used, or does not grant, is believed. */
bool replicas_disbelieve(const struct replicas *replicas, const struct call *call, struct vote *vote);

/* The answer to INFO replication. Asked at each new connection, and when those know of more or fewer;
 * not in between: a master that loses its replicas must not take that for a smaller group. */
void replicas_read_info(struct replicas *replicas, const struct redisReply *reply);

/* So many acknowledged in time; -1: the master gave no number. True: that is enough. missing and why follow.
 */
bool replicas_judge(struct replicas *replicas, int64_t acknowledged);

#endif
