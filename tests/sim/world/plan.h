/*
 * plan: the parameters that a seed draws before a run: the numbers of all parties, the length of leases, the
 * faults. Seven worlds of ten satisfy all assumptions of GUARANTEES.md.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "tests/sim/world/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MASTERS_MAX 5
#define PLAN_HOSTS_MAX   4
#define PLAN_CLIENTS_MAX 12
#define PLAN_NAMES_MAX   3
#define PLAN_LATCHES_MAX 2

/* FAULT(id, word): what may go wrong. */
#define FAULTS(FAULT)                                                                                        \
	FAULT(LINK, "link")           /* a connection to a master breaks */                                  \
	FAULT(INBOX, "inbox")         /* so does the one for messages */                                     \
	FAULT(PARTITION, "partition") /* nothing gets through between a daemon and a master, or several */   \
	FAULT(ONEWAY, "one-way")      /* or only in one direction */                                         \
	FAULT(SPLIT, "split")         /* the network falls into two halves */                                \
	FAULT(SLOW, "slow")           /* messages take long */                                               \
	FAULT(MESSAGES, "messages")   /* wake-ups are lost */                                                \
	FAULT(PAUSE, "pause")         /* a daemon is paused */                                               \
	FAULT(STUN, "stun")           /* its host does, and its clock */                                     \
	FAULT(CRASH, "crash")         /* a daemon dies and comes back as another */                          \
	FAULT(DRAIN, "drain")         /* a daemon is told to stop */                                         \
	FAULT(RELOAD, "reload")       /* a daemon reads other rules */                                       \
	FAULT(CLONE, "clone")         /* a copy of a daemon, made while it runs, begins elsewhere */         \
	FAULT(WALL, "wall")           /* a daemon's wall clock is set */                                     \
	FAULT(STOP, "stop")           /* a master is paused, then runs what it was sent */                   \
	FAULT(EMPTY, "empty")         /* it restarts without data */                                         \
	FAULT(STALE, "stale")         /* with old data */                                                    \
	FAULT(WHOLE, "whole")         /* with all data */                                                    \
	FAULT(TOTAL, "total")         /* most masters, or all, restart without data at once */               \
	FAULT(AMNESIA, "amnesia")     /* one of many restarts without data at the worst moment */            \
	FAULT(FLUSH, "flush")         /* FLUSHALL */                                                         \
	FAULT(REVERT, "revert")       /* it goes back to old data, and it is the same process */             \
	FAULT(SWAP, "swap")           /* SWAPDB, there or back */                                            \
	FAULT(SCRIPTS, "scripts")     /* SCRIPT FLUSH */                                                     \
	FAULT(FULL, "full")           /* over maxmemory */                                                   \
	FAULT(EVICT, "evict")         /* it evicts keys for a while */                                       \
	FAULT(READONLY, "readonly")   /* a replica for a while */                                            \
	FAULT(LOADING, "loading")     /* loads its data for a while */                                       \
	FAULT(MISCONF, "misconf")     /* cannot write its disk */                                            \
	FAULT(FORWARD, "forward")     /* its clock steps forward, at most J a lease */                       \
	FAULT(BACK, "back")           /* or back */                                                          \
	FAULT(JUMP, "jump")           /* that of one, or of a few of many, jumps by up to an hour */         \
	FAULT(FAST, "fast")           /* it runs fast for a while, by more than J a lease */                 \
	FAULT(DELETE, "delete")       /* a program deletes a lease's key */                                  \
	FAULT(OVERWRITE, "overwrite") /* or writes over it */                                                \
	FAULT(KIND, "kind")           /* with something of another type */                                   \
	/* With sentinels: */                                                                                \
	FAULT(FAILOVER, "failover") /* they are asked for another master */                                  \
	FAULT(CUT_OFF, "cut-off")   /* the master, with replicas and daemons, is cut off from them */        \
	FAULT(RESYNC, "resync")     /* a replica loses its connection to its master */                       \
	FAULT(JOIN, "joined")       /* a replica comes, or leaves for another group */                       \
	FAULT(UNKNOWN, "unknown")   /* they forget the replicas that do not follow the master */             \
	/* By a chance of its own (handover.h): */                                                           \
	FAULT(HANDOVER, "handed-over") /* a daemon hands over to its next process */                         \
	/* Likewise (recovery.h): */                                                                         \
	FAULT(RECOVER, "recovered") /* a daemon dies, and the next one goes on from its ledger */            \
	FAULT(COPY, "copied")       /* a second one goes on from a copy of a ledger */

enum fault {
#define FAULT(id, word) FAULT_##id,
	FAULTS(FAULT)
#undef FAULT
		FAULT_COUNT,
	FAULT_OF_SENTINELS = FAULT_FAILOVER /* the first of those */
};

extern const char *const fault_word[FAULT_COUNT];

/* ASSUMPTION(id, word): what GUARANTEES.md assumes, and a world may break. */
#define ASSUMPTIONS(ASSUMPTION)                                                                              \
	ASSUMPTION(WRITES, "writes")     /* only holdfast writes its keys */                                 \
	ASSUMPTION(RIVALS, "rivals")     /* only daemons lock the name */                                    \
	ASSUMPTION(MEMORIES, "memories") /* no master forgets where a rival, who knows no guard, locks */    \
	ASSUMPTION(COPIES, "copies")     /* no daemon is a copy of another one */                            \
	ASSUMPTION(LEDGERS, "ledgers")   /* nor begins with a copy of its ledger */                          \
	ASSUMPTION(JUMPS, "jumps")       /* no master's clock goes ahead by more than J in a lease */        \
	ASSUMPTION(BACK, "back")         /* no master's clock steps back */                                  \
	ASSUMPTION(STILL, "still")       /* no daemon's clock stands still */                                \
	ASSUMPTION(WILD, "wild")         /* no clock shows just any time */                                  \
	ASSUMPTION(COUNTERS, "counters") /* no master forgets its tokens where clocks are wild */            \
	ASSUMPTION(MEMORY, "memory")     /* a minority of the masters loses its memory within a guard */     \
	ASSUMPTION(LISTS, "lists")       /* all daemons have the same masters and the same rules */          \
	ASSUMPTION(MESSAGES, "messages") /* messages arrive */

enum assumption {
#define ASSUMPTION(id, word) ASSUMES_##id,
	ASSUMPTIONS(ASSUMPTION)
#undef ASSUMPTION
		ASSUMPTION_COUNT
};

#define OFF(assumption) (1U << ASSUMES_##assumption)
#define OFF_CLOCKS      (OFF(JUMPS) | OFF(BACK) | OFF(STILL) | OFF(WILD))

struct plan {
	uint64_t seed;
	unsigned masters;  /* 1, 3 or 5 */
	unsigned replicas; /* of the one master, which sentinels fail over; 0: there are none */
	unsigned joins;    /* so many of these come later */
	unsigned others;   /* some daemons are configured with so many other masters; 0: none */
	unsigned other[PLAN_MASTERS_MAX]; /* these masters, until the faults end */
	unsigned spare;                   /* masters, the last ones, that only these daemons know */
	bool changes;                     /* operators change the set of masters */
	unsigned first_n;                 /* size of the first set */
	unsigned first[PLAN_MASTERS_MAX]; /* the first set, in any order */
	unsigned hosts;
	unsigned clients;
	unsigned names;
	unsigned latches; /* number of latches; 0: none */
	unsigned links;
	int64_t lease_ms;
	int64_t margin_ms;
	int64_t crash_delay_ms; /* of all names without a rule of their own */
	int64_t wait_ms;        /* WAIT by the rules; -1: no limit */
	int64_t max_hold_ms;    /* max-hold by the rules; 0: none */
	int64_t streak;
	int64_t streak_ms;
	int64_t retain_ms;
	bool no_reuse;        /* daemons have seen that nobody comes back to a name (no_reuse.h) */
	int shared_percent;   /* share of shared requests among those that may be */
	int64_t permits;      /* of the second name, a semaphore; 0: not a semaphore */
	int64_t most_permits; /* per request */
	int64_t user_locks;   /* limits of a user, of a session, and of a session's waits; 0: none */
	int64_t session_grants;
	int64_t session_waits;
	int64_t limits;     /* number of different LIMITs requested: `permits` and the next greater ones */
	bool mixed;         /* the first two names are requested in all kinds */
	bool trusted;       /* the first HELLO admits, without a guard */
	bool foreign;       /* the last name has a key template and half the lease */
	bool redisson;      /* the last name is a bare one, and a rival has RLocks of it (foreign_client.h) */
	bool redsync;       /* a rival has strings at the key of its template */
	bool twins;         /* the first two names share the key of the first */
	bool wild;          /* clocks may show anything, so tokens increase by their counters alone */
	int64_t network_us; /* usual delay, one way */
	int64_t spread_us;  /* extra delay between a distant daemon and master, at most */
	int64_t wall_behind_us; /* of the daemons' wall clocks, at most */
	int64_t wall_ahead_us;
	int64_t wall_apart_us; /* of the masters' clocks from true time at the beginning, in either direction,
				  at most */
	int many_percent;      /* share of clients' lives that take several names */
	int id_percent;        /* share of lives that speak with an id (id_client.h) */
	int chaos_percent;     /* share of lives without any order (chaos_client.h) */
	int64_t think_us;      /* a client's rest between locks */
	int64_t hold_us;       /* longest hold */
	int long_percent;      /* share of holds that last for more than two leases */
	int64_t faults_us;     /* duration of the faults */
	int64_t fault_every_us; /* mean time between faults */
	bool fault[FAULT_COUNT];
	unsigned written;  /* other programs write to the keys of these names, a bit for each */
	int64_t lost_most; /* limit of losses that a session is reminded of */
	bool forgets;      /* a client that resumes may not repeat its LOCK */
	bool reloads;      /* daemons reload other rules again and again (reload.h) */
	bool rolls;        /* daemons restart with other rules about keys (rollout.h) */
	bool halves;       /* daemons restart with leases of half the length */
	bool shortens;     /* all of them at once, and a master forgets (shorter_leases.h) */
	bool flaps;        /* connections break again and again (reconnects.h) */
	bool resp2;        /* clients go back to RESP2 while they wait with ASYNC (resp2_client.h) */
	bool private;      /* the only host has a private master (private_master.h) */
	bool ledgers;      /* daemons keep ledgers (ledgers.h) */
	bool away;         /* one of several masters is away from the last fault until the clients leave */
	bool storms;       /* clients count a latch down as fast as they can: see plan_storm() */
};

/* masters: their number; 0: drawn by the seed. */
void plan_draw(struct plan *plan, uint64_t seed, unsigned masters);

/* Whether the rule of this name has a key. Then other programs may lock it, and it is only locked
 * exclusively. */
bool plan_keyed(const struct plan *plan, unsigned name);

/* Whether it may be a semaphore. */
bool plan_counts(const struct plan *plan, unsigned name);

/* Of the names with the same key as this one, the name that can be locked. */
unsigned plan_first(const struct plan *plan, unsigned name);

/* Changes the plan to a world with one master, its replicas and sentinels. */
void plan_sentinel(struct plan *plan);

/* Makes a storm on a latch if one was drawn. Not after plan_sentinel(), where each answer waits for
 * replicas. */
void plan_storm(struct plan *plan);

/* The number of processes that may be masters. */
unsigned plan_servers(const struct plan *plan);

/* Whether this world breaks that assumption for a name, or for any. One that breaks none is of class A: every
 * promise holds there. One that does is of class B: what stands on that assumption is not promised in it. */
bool plan_breaks(const struct plan *plan, enum assumption assumption, unsigned name);
#define PLAN_ANY_NAME PLAN_NAMES_MAX
/* off: OFF() of several. */
bool plan_breaks_any(const struct plan *plan, unsigned off, unsigned name);
bool plan_is_bound(const struct plan *plan);

/* Whether a master may lose its memory. */
bool plan_loses(const struct plan *plan);

/* Describes the plan in one line, for people. */
void plan_text(const struct plan *plan, char *out, size_t size);

/* The smallest majority of its masters. */
unsigned plan_majority(const struct plan *plan);

#endif
