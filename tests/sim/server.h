/*
 * server: a master's process in the world: when it runs, what its clock shows, what it forgets.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "tests/sim/drift.h"
#include "tests/sim/effects.h"
#include "tests/sim/master.h"
#include "tests/sim/plan.h"
#include "tests/sim/replication.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the last name, where it is Redisson's too. */
#define SERVER_TOKEN_COUNTER "redisson_lock_token:{foreign}"
#define SERVER_END_CHANNEL   "redisson_lock__channel:{foreign}"

struct world;

struct server {
	struct world *world;
	unsigned index;
	struct master *master;
	bool up;
	uint64_t life;            /* connections belong to one life of the process */
	int64_t stopped_until_us; /* SIGSTOP: what arrives waits, and runs then */
	int64_t deaf_until_us;    /* messages are lost */
	int64_t unseen_until_us;  /* by the sentinels */
	int64_t bare_until_us;    /* its scripts were flushed: until then it may have to be asked twice */
	struct drift drift;       /* of its clock from true time */
	int64_t ppm;
	int64_t forward_until_us; /* no further step forward before: at most J in the life of a lease */
	int64_t ended_us;         /* when its process ended, or it began to be the master; 0: never */
	int64_t evicted_us;       /* it evicted keys, and was not greeted since then; 0: no */
	int64_t forgot_us;        /* when it last may have forgotten something; 0: never */
	int64_t given_up_us;      /* a greeting gave its memory up; 0: never */
	int64_t lacks_until_us;   /* its clock leapt, or its memory went back: its leases are missed */
	int64_t spoilt_us[PLAN_NAMES_MAX];   /* somebody wrote to the lease's key; 0: never */
	int64_t unqueued_us[PLAN_NAMES_MAX]; /* somebody deleted a key of its queue; 0: never */
	int64_t foreign_us[PLAN_NAMES_MAX];  /* what somebody wrote was last there; 0: never */
	int64_t back_until_us; /* its clock stepped back: until then what is there may outlive its time */
	bool leapt;            /* its clock, to most daemons, whose hosts stood still: it was guarded once */
	struct store *backup;  /* what a restart with old data finds */
	struct store *other;   /* what is in its other database */
	struct replication replication; /* where there are sentinels */
	struct herald herald;           /* what the command that runs has published */
	int64_t peak_us;                /* the most that its clock has shown when it was asked */
	int64_t lost_token; /* the greatest one that had been granted when it last lost what it knew */
	int64_t token[PLAN_NAMES_MAX]; /* the last one of each name that this memory has given out */
};

void server_init(struct world *world, unsigned index);
void server_done(struct server *server);

int64_t server_wall_us(const struct server *server);
void server_step_clock(struct server *server, int64_t step_us);

/* Runs a command now, in this process' own clock. */
redisReply *server_run(struct server *server, int argc, const char *const *argv, const size_t *argvlen);

/* Its clock gains so many percent for a while: leases end at it before their time. */
void server_run_fast(struct server *server, int64_t for_us, int64_t percent);

/* The highest token that a memory knows; 0: none. */
int64_t server_highest(struct store *memory);
/* The longest lease that it takes, and its margin, as it remembers; 0: it does not. */
int64_t server_longest_ms(struct store *memory);

/* Whether all daemons were told more than this memory knows: then it may take the place of the one there is.
 */
bool server_may_turn_to(const struct server *server, struct store *memory);
/* The same process has its backup for a memory, or what is in its other database. */
void server_revert(struct server *server);
void server_swap(struct server *server);

/* A script that is not the project's, for faults and checks; its reply is dropped. */
void server_meddle(struct server *server, const char *script, const char *key);

/* kill -9; all connections die. Comes back after a while with this store (NULL: empty). */
void server_crash(struct server *server, struct store *store, int64_t down_us);
/* All its connections end, and it lives on. */
void server_hang_up(struct server *server);
void server_flush(struct server *server);
void server_backup(struct server *server);

/* Up, taking commands, and well. */
bool server_sound(const struct server *server);

/* Whether some daemon has admitted it since it last may have forgotten something. */
bool server_admitted(const struct server *server);

/* The key of a name's lease, that of its queue, and whether somebody has it now. owner: valid until the next
 * command. */
struct slice server_lease_key(const struct world *world, unsigned name);
struct slice server_queue_key(unsigned name);
bool server_owner(const struct server *server, unsigned name, struct slice *owner);

#endif
