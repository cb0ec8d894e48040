/*
 * server: a master's process in the world: its life, its clock, its memory.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "tests/sim/fault/clock_error.h"
#include "tests/sim/judge/effects.h"
#include "tests/sim/world/master.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/replication.h"

#include <stdbool.h>
#include <stdint.h>

/* For the last name, if Redisson locks it, too. */
#define SERVER_TOKEN_COUNTER "redisson_lock_token:{foreign}"
#define SERVER_END_CHANNEL   "redisson_lock__channel:{foreign}"

struct world;

struct server {
	struct world *world;
	unsigned index;
	struct master *master;
	bool up;
	uint64_t life;            /* connections belong to one life of the process */
	int64_t stopped_until_us; /* SIGSTOP: commands that arrive wait until then */
	int64_t deaf_until_us;    /* published messages are lost */
	int64_t unseen_until_us;  /* the sentinels do not see it */
	int64_t bare_until_us; /* its scripts were flushed: until then a command may need a second attempt */
	struct clock_error drift; /* difference of its clock from true time */
	int64_t ppm;
	int64_t forward_until_us; /* no further forward step before: at most J in the life of a lease */
	int64_t ended_us;         /* when its process ended, or it became the master; 0: never */
	int64_t evicted_us;       /* when it evicted keys, until the next HELLO; 0: no */
	int64_t forgot_us;        /* when it last may have forgotten something; 0: never */
	int64_t given_up_us;      /* when a HELLO gave up its memory; 0: never */
	int64_t lacks_until_us;   /* its clock jumped, or its memory went back: until then its leases are
				   * missing
				   */
	struct store *backup;     /* the data of a restart with old data */
	struct store *other;      /* the data of its other database */
	struct replication replication;      /* with sentinels */
	struct herald herald;                /* the messages that the current command has published */
	int64_t peak_us;                     /* the latest time that its clock has shown to a command */
	int64_t lost_token;                  /* the greatest token granted before it last lost its memory */
	int64_t learnt_us[PLAN_MASTERS_MAX]; /* since when it knows the lost_token of that other server;
						INT64_MAX: it does not */
	int64_t token[PLAN_NAMES_MAX];       /* the last token of each name from this memory */
};

void server_init(struct world *world, unsigned index);
void server_done(struct server *server);

int64_t server_wall_us(const struct server *server);
void server_step_clock(struct server *server, int64_t step_us);

/* Runs a command now, by this process's clock. */
redisReply *server_run(struct server *server, int argc, const char *const *argv, const size_t *argvlen);

/* Its clock gains `percent` for a time, so that leases end there before their time. */
void server_run_fast(struct server *server, int64_t for_us, int64_t percent);

/* The greatest token in a memory; 0: none. */
int64_t server_highest(struct store *memory);
/* The longest lease that it accepts, plus its margin, by its memory; 0: not stored. */
int64_t server_longest_ms(struct store *memory);

/* Whether all daemons were told greater tokens than this memory has. Then it may replace the current memory.
 */
bool server_may_turn_to(const struct server *server, struct store *memory);
/* The same process gets the memory of its backup, or of its other database. */
void server_revert(struct server *server);
void server_swap(struct server *server);

/* Runs a script that is not the project's, for faults and checks; its reply is dropped. */
void server_meddle(struct server *server, const char *script, const char *key);

/* kill -9: all connections break. It restarts after down_us with this store (NULL: empty). */
void server_crash(struct server *server, struct store *store, int64_t down_us);
/* All its connections end, and the process continues. */
void server_hang_up(struct server *server);
void server_flush(struct server *server);
void server_backup(struct server *server);

/* Whether it runs, accepts commands, and has no fault. */
bool server_sound(const struct server *server);

/* Whether a daemon has admitted it since it last may have forgotten something. */
bool server_admitted(const struct server *server);

/* Whether it has this text in that field of what it knows of itself ("hf:node"). */
bool server_field_is(const struct server *server, const char *field, const char *text);

/* Whether it knows that its set of masters is agreed on (masterset.h). */
bool server_agreed(const struct server *server);

/* The key of a name's lease, the key of its queue, and whether the lease has an owner now. owner: valid until
 * the next command. */
struct slice server_lease_key(const struct world *world, unsigned name);
struct slice server_queue_key(unsigned name);
bool server_owner(const struct server *server, unsigned name, struct slice *owner);

#endif
