/*
 * pool_inner: what the files of the pool share; otherwise only tests include it.
 *
 *     pool.c ──▶ pool_link.c     pool.c: settings, inbox and finder; pool_link.c: links, batches and votes
 */
#ifndef REDIS_POOL_INNER_H
#define REDIS_POOL_INNER_H

#include "daemon/base/stats.h"
#include "daemon/core/base/call.h"
#include "daemon/redis/batch.h"
#include "daemon/redis/call.h"
#include "daemon/redis/link.h"
#include "daemon/redis/pool.h"
#include "daemon/redis/replicas.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_WAITS_MAX 2

#define POOL_LOOKUPS_MAX 64

/* The lookups under way on a link, in the order of their answers. */
struct lookups {
	size_t first;
	size_t n;
	uint64_t ids[POOL_LOOKUPS_MAX];
};

/* One link, and the calls that are under way on it. */
struct pool_link {
	struct pool *pool;
	unsigned index;
	struct link *link;
	bool up;            /* reported to the driver */
	size_t scripts_due; /* SCRIPT LOADs without an answer yet */
	struct groups groups;
	unsigned lone; /* commands in a row for one name, with at most one other under way; up to LONE_MIN */
	struct batches sent;            /* under way, in the order of their answers */
	struct batches withheld;        /* answered, in that order, until replicas have acknowledged */
	unsigned commands;              /* not yet written */
	unsigned waits;                 /* rounds under way */
	bool wait_due;                  /* something was sent after the last round */
	struct replicas_round round;    /* whose answers arrive */
	unsigned asked[POOL_WAITS_MAX]; /* of the replicas by the WAIT of each round under way */
	unsigned again;                 /* rounds that have said nothing of what is withheld */
	struct lookups lookups;
};

struct pool {
	const struct pool_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *strings;           /* the texts that call_settings points to: namespace, layout */
	char *about;             /* and about */
	char *user;              /* of the login; "": Redis's default user */
	struct tls_settings tls; /* for reports: on, and copies of the names of its files */
	char *where;
	struct call_settings call_settings;
	bool unguarded; /* trust never ends */
	struct call_command command;
	struct inbox *inbox;
	struct finder *finder;     /* NULL: the master has a fixed address */
	bool clustered;            /* it is the owner of a slot of a cluster */
	bool found;                /* the finder has found the master */
	bool doubted;              /* the server there is no master */
	bool leaving;              /* doubted, and leave is set */
	int64_t leave_ms;          /* how long it is put up with; 0: not doubted */
	struct timeout *leave;     /* connects again, as the name may lead elsewhere by now */
	struct buckets round_trip; /* of commands, to their answers */
	int64_t round_trip_us;     /* the latest ones, averaged; 0: none yet */
	int64_t clock_ms;          /* see pool_view */
	char *node_key;            /* of the node hash */
	struct replicas replicas;
	struct replicas_change changing; /* that was sent last */
	int64_t wait_ms;                 /* for the acknowledgement of replicas */
	struct timeout *probe;           /* checks whether replicas acknowledge again */
	struct timeout *later;           /* delivers the votes of unsent */
	struct batches unsent;
	unsigned link_count;
	struct pool_link links[POOL_LINKS_MAX];
};

/* pool_lookup.c. The context of an answer: one of a lookup, one for which no request waits (of pool_link.c,
 * too). */
extern const char pool_lookup_context, pool_publish_context;

#endif
