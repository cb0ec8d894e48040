/*
 * replicas: which of a master's replicas have to acknowledge a change before it counts, and whether they do.
 *
 * A failover may promote a replica that has not heard of a lease, and a master that was cut off goes on
 * granting. So a change counts when a majority of the group, the master and its replicas, has it: of two
 * servers that both take themselves for the master only one can have that. Both have to mean the same group.
 * So it is stored at the master, by the names of its members, and travels to the replicas with all else:
 *
 *     members            a majority of these; the first was the master when they were stored, and if another
 *                        is the master now, a majority of the others will do as well
 *     members, joining   of these, and of those
 *
 * It changes by two steps: joining is stored; and when all members of both have that, it replaces members.
 * Whoever is promoted meanwhile has the one text or the other, and any two of these want a server in common.
 *
 * A master that has lost its data stores no group. It gets the one that a daemon remembers, with this master
 * first: the daemon may have missed that another had become the first, so only a majority of all members will
 * do, and of what is in view. That has a server in common with all that any order of the members wants.
 *
 * A change begins when all members, old and new, follow. So a new replica counts when those before follow, or
 * when an operator has declared the others gone: replicas_forget().
 *
 *     HMGET node members joining   ──▶ replicas_read_group()      a round: which group it is now,
 *     INFO replication             ──▶ replicas_read_target()     how far the stream has come,
 *     WAIT n ms                                                   replicas_ask(): n
 *     INFO replication             ──▶ replicas_judge()           which members have come so far
 *
 * WAIT counts replicas; who they are only INFO tells. A round covers what its connection sent before.
 *
 * Bookkeeping only, without I/O: the pool asks the master, and the simulator uses the same functions.
 */
#ifndef REDIS_REPLICAS_H
#define REDIS_REPLICAS_H

#include "daemon/core/base/call.h"
#include "daemon/redis/roster.h"

#include <stdbool.h>
#include <stdint.h>

struct redisReply;

#define REPLICAS_WHY_MAX   512
#define REPLICAS_REPLID    41 /* with its NUL */
#define REPLICAS_AGAIN_MAX 3  /* rounds in a row for the same calls */

/* The fields of the node hash; lua/join.lua writes the first two. */
#define REPLICAS_MEMBERS "members"
#define REPLICAS_JOINING "joining"
#define REPLICAS_NUDGE   "nudge" /* says nothing: written so that there is something to acknowledge */

/* What the sentinels or nodes say of the group. */
struct replicas_found {
	char self[ROSTER_NAME_MAX]; /* the master, as members are named */
	bool ids;                   /* members have ids, not addresses */
	unsigned count;             /* replicas that they count; more than are named if names are not given */
	struct roster named;        /* replicas, also those that are down */
	struct roster addresses; /* of named, in that order, as INFO tells them; empty: names are addresses */
	struct roster previous;  /* may follow the master before; they count while no group is stored */
	struct roster gone;      /* these say themselves that they serve this master's keys no more */
};

/* To be written by lua/join.lua, if the group is still this one. */
struct replicas_change {
	bool due;
	bool stored; /* false: the master stores none */
	struct roster members, joining;
	struct roster next_members, next_joining;
};

/* All zero, but for watched, in the beginning. */
struct replicas {
	bool watched; /* false: nothing has to be acknowledged */
	struct replicas_found found;
	struct roster members, joining; /* as they were stored last; empty: not known */
	bool remembered;                /* only here: the master has lost its data, and stores none */
	struct roster attached;         /* that were connected to the master, when it was asked last, */
	unsigned strangers;             /* further ones without a name */
	struct roster forgotten;        /* an operator has declared them gone, and they are stored still */
	/* From here on in the stream the stored group has been the present one. */
	char settled_replid[REPLICAS_REPLID];
	int64_t settled;
	struct replicas_change change;
	unsigned known;             /* replicas of the group, absent ones included */
	unsigned needed;            /* of them have to acknowledge */
	bool missing;               /* too few acknowledge */
	char why[REPLICAS_WHY_MAX]; /* when missing: an error reply for people */
};

/* What a connection has heard of a round. */
struct replicas_round {
	bool stored_known; /* which group is stored, or that none is */
	bool stored;
	struct roster members, joining;
	int64_t target; /* offset; -1: not known */
	char replid[REPLICAS_REPLID];
	int64_t acknowledged; /* answer to WAIT; -1: none */
};

enum replicas_worth {
	REPLICAS_ENOUGH,
	REPLICAS_TOO_FEW,
	REPLICAS_AGAIN /* those that acknowledged were others, or another round came between: one more tells
			*/
};

/* Whether what is answered to a call of this operation counts only when it is acknowledged. A release need
 * not be: what is not released runs out. */
static inline bool
replicas_matter(const struct replicas *r, enum call_op op)
{
	return r->watched && op != CALL_RELEASE && op != CALL_LEAVE && op != CALL_ENTER;
}

/* Why a call of this operation is not even sent, as the text of an error: nothing new is begun while too few
 * acknowledge. NULL: it is sent. */
static inline const char *
replicas_refuse(const struct replicas *r, enum call_op op)
{
	return r->missing && (op == CALL_ACQUIRE || op == CALL_LATCH) ? r->why : NULL;
}

/* Turns a vote that was not acknowledged into what it is worth. True: it has changed. What a master grants,
 * or says of its memory or of a latch, may be lost in a failover: a HELLO becomes an error, other votes
 * have an unknown outcome. That a master cannot be used, or does not grant, is believed. */
bool replicas_disbelieve(const struct replicas *replicas, const struct call *call, struct vote *vote);

/* The sentinels or nodes say something new. another: the master is another server. */
void replicas_find(struct replicas *replicas, const struct replicas_found *found, bool another);

/* How many replicas WAIT waits for; 0: it need not be asked. */
unsigned replicas_ask(const struct replicas *replicas);

/* The answers of a round, in this order. */
void replicas_read_group(struct replicas_round *round, const struct redisReply *reply);
void replicas_read_target(struct replicas_round *round, const struct redisReply *reply);
/* asked: of WAIT. missing, why, and the numbers for reports follow; change is set if one is due. */
enum replicas_worth replicas_judge(struct replicas *replicas, const struct replicas_round *round,
	unsigned asked, const struct redisReply *reply);
/* What was sent was not acknowledged, as the connection ended or the master gave no answer. */
void replicas_fail(struct replicas *replicas);

/* An operator declares a member gone: the group goes on without it from the next round on. NULL, or why
 * not, as a clause that follows its name. */
const char *replicas_forget(struct replicas *replicas, struct slice name);

#endif
