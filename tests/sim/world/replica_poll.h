/*
 * replica_poll: what a daemon asks a master to learn whether its replicas have acknowledged, as
 * daemon/redis/pool_link.c does: one flight stands for all its commands.
 */
#ifndef SIM_REPLICA_POLL_H
#define SIM_REPLICA_POLL_H

#include "daemon/redis/replicas.h"

#include <hiredis/hiredis.h>
#include <stdint.h>

struct flight;
struct host;
struct server;

struct replica_poll {
	unsigned asked; /* of the replicas by WAIT */
	struct replicas_change *change;
	redisReply *group, *target, *info; /* the answers; NULL: not yet */
};

/* A round of this daemon, with the change of the group that is due. */
struct replica_poll *replica_poll_new(struct host *host);
void replica_poll_free(struct replica_poll *poll);

/* At the master: the group and how far its stream is, before WAIT; then who has come how far. */
void replica_poll_arrives(struct flight *f);
void replica_poll_ends(struct flight *f);
/* What the daemon makes of it. */
enum replicas_worth replica_poll_judge(struct host *host, const struct flight *f);

/* What the sentinels say to this daemon. another: the master is another server. */
void replica_poll_find(struct host *host, unsigned known, bool another);

#endif
