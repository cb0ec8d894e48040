/*
 * call: one script to be run at a master, mostly about one name; and vote: its answer.
 *
 * The core emits calls (action.h) and takes exactly one vote for each (event.h). The adapter
 * (daemon/redis/call.c) puts calls of one operation that arise together into one script call, and takes the
 * answer apart again. Calls of one link about one name run at the master in the order in which the core
 * emitted them. A call about no name (HELLO, ADMIT) runs after all calls that came before it on its link, and
 * before all that came after it.
 *
 * Clocks: *_ms are durations; deadline_us and time_us are the master's own TIME in microseconds.
 *
 * Kinds: an exclusive lease is alone at its key. Shared leases and permits are members of a group, one for
 * each daemon or for each permit; slots are the numbers of the permits as text, "3,7", in rising order.
 */
#ifndef CORE_CALL_H
#define CORE_CALL_H

#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* CALL_OP(name, script): each operation is the script lua/<script>.lua. */
#define CALL_OPS(CALL_OP)                                                                                    \
	CALL_OP(HELLO, hello)     /* who are you, do you remember us; begins a guard if necessary */         \
	CALL_OP(ADMIT, admit)     /* the guard is over: raise the token floor, admit the master */           \
	CALL_OP(ACQUIRE, acquire) /* take the lease, or a position in the queue */                           \
	CALL_OP(RENEW, renew)     /* renew the lease, perhaps with a new block of tokens */                  \
	CALL_OP(RECLAIM, reclaim) /* re-assert a valid lease while the master is guarded */                  \
	CALL_OP(ADOPT, adopt)     /* renew the lease that one of exactly these previous owners has */        \
	CALL_OP(RELEASE, release) /* end the lease of this attempt, wake the head of the queue */            \
	CALL_OP(LEAVE, leave)     /* give up this daemon's position in the queue */                          \
	CALL_OP(LATCH, latch)     /* set a latch, count it down, or look at it */                            \
	CALL_OP(ENTER, enter)     /* queue a writer here that waits for our own readers */

enum call_op {
#define CALL_OP(name, script) CALL_##name,
	CALL_OPS(CALL_OP)
#undef CALL_OP
		CALL_OP_COUNT
};

/* LATCH_OP(name, word): what is done to a latch. */
#define LATCH_OPS(LATCH_OP)                                                                                  \
	LATCH_OP(SET, "set")   /* make a latch, unless there is one */                                       \
	LATCH_OP(DOWN, "down") /* report how many steps a session has done; a repeat counts once */          \
	LATCH_OP(LOOK, "look") /* how many are left */

enum latch_op {
#define LATCH_OP(name, word) LATCH_OP_##name,
	LATCH_OPS(LATCH_OP)
#undef LATCH_OP
		LATCH_OP_COUNT
};

/* Which foreign library locks the name as well. From Redisson on it knows a single master. */
enum interop {
	INTEROP_NONE,
	INTEROP_STRING,   /* a string with a time to live at a key of its own; its end is not announced */
	INTEROP_REDISSON, /* a hash at the bare name; the end of a hold is published */
	INTEROP_PYTHON_REDIS_LOCK /* a string at lock:NAME; the end of a lock of the library is not
				     announced, but the end of ours has to be, by an element of
				     lock-signal:NAME */
};

/* An attempt number is a count, with this many random bits below it. Two copies of one process count on from
 * the same number, and must not take each other's leases for their own. */
#define ATTEMPT_RANDOM_BITS 22

/* How far a set of masters has come at one of them (masterset.h). */
enum agreement { AGREEMENT_NONE, AGREEMENT_OFFERED, AGREEMENT_ACCEPTED, AGREEMENT_AGREED };

/* How far the next set has come there, or may go. HELLO only: LEFT: the server has left the set; INSISTED:
 * offered in place of a later set, because another member has accepted it. */
enum next_step { NEXT_NONE, NEXT_OFFERED, NEXT_ACCEPTED, NEXT_LEFT, NEXT_INSISTED };

/* A set of masters that is to follow the agreed one (masterset.h). */
struct next_set {
	struct slice set; /* n == 0: none */
	struct slice places;
	enum next_step step;
	uint32_t tag; /* HELLO only */
};

/*
 * A lease's owner at the master is the text "<daemon-id>:<attempt>"; the adapter knows the daemon-id (32
 * lower-case hexadecimal digits). Each acquire has an attempt number of its own, never used again.
 *
 * A lease that was recovered from a ledger (ledger.h) has a new attempt number, and at the masters it has
 * previous owners: the processes before that had it, each with the attempt number of its own.
 */
#define CALL_DAEMON_ID_SIZE 33 /* 32 hexadecimal digits and NUL */

/* An owner: a daemon-id, a colon, an attempt in base 32, and NUL. */
#define CALL_OWNER_SIZE (CALL_DAEMON_ID_SIZE + 1 + 13)

/* Previous owners of one lease: processes that crashed one after the other before all masters had adopted it.
 */
#define PREVIOUS_OWNERS_MAX 4

/* Writes an owner as text, and returns its length. The attempt is in base 32, so that the first 2^33 attempts
 * of a daemon make owners of at most 44 bytes: Redis keeps a value of that length in one piece with its
 * object. With longer ones acquire and release took it 4 % longer. */
static inline size_t
call_owner(const char *daemon_id, uint64_t attempt, char out[CALL_OWNER_SIZE])
{
	char digits[CALL_OWNER_SIZE - CALL_DAEMON_ID_SIZE - 1];
	size_t at = sizeof(digits), n = CALL_DAEMON_ID_SIZE - 1;

	do {
		digits[--at] = "0123456789abcdefghijklmnopqrstuv"[attempt & 31];
		attempt >>= 5;
	} while (attempt > 0);
	memcpy(out, daemon_id, n);
	out[n++] = ':';
	memcpy(out + n, digits + at, sizeof(digits) - at);
	n += sizeof(digits) - at;
	assert(n < CALL_OWNER_SIZE);
	out[n] = '\0';
	return n;
}

struct call {
	enum call_op op;
	unsigned master;  /* which master, 0-based, in the order of the configuration */
	unsigned link;    /* which link of its pool, 0-based; a name always uses the same one */
	uint64_t attempt; /* the owner's second half; for HELLO and ADMIT a serial; returned in the vote */
	uint64_t incarnation; /* the master's memory for which this call is meant; HELLO: a fresh candidate */
	int64_t mark; /* the greatest token that this master has reported to this daemon (lua/node.inc) */
	struct slice name; /* the resource; absent for HELLO and ADMIT. Valid until the next core_step() */
	uint32_t hash;     /* ACQUIRE, RENEW, RECLAIM, ADOPT: by which the core finds the name again; returned
			      in the vote */
	enum interop interop; /* the foreign library that locks it as well */
	const char *key;      /* key template with one '%' for the name; NULL: NAMESPACE:{%} */
	int64_t ttl_ms;       /* ACQUIRE, RENEW, RECLAIM, ADOPT: lifetime of the key, L + J, > 0 */
	int64_t deadline_us;  /* ACQUIRE, RECLAIM, ADOPT: the call refuses itself if it runs later than this
				 TIME; RELEASE: > 0: an acquire may still be under way, and the vote must tell
				 the  time */
	int64_t token;        /* ACQUIRE: proposal; RECLAIM, HELLO, ADMIT: highest token known; RENEW, ADOPT:
				 proposal */
	enum kind kind; /* of the lease; RENEW or ADOPT with SHARED makes an exclusive lease of ours a shared
			   one; HELLO, ADMIT, LATCH: EXCLUSIVE */
	uint32_t set;   /* the set of masters for which this call is meant (masterset.h); 0: none is agreed on
			   yet */
	bool fenced;    /* each name counts its own tokens, as several masters need it; else the master counts
			   for all */
	int64_t queue_ms; /* ACQUIRE: lifetime of a position in the queue; 0: do not queue, try once;
			     CALL_QUEUELESS: the queue of this name lives on another master. RELEASE: lifetime
			     of a position at the head, to which this daemon goes back; 0: none. ENTER: of a
			     position. LATCH LOOK: for how long messages about the latch are wanted, 0: none
			   */
	union {
		/* HELLO and ADMIT: the set of masters, and how far it may go at this one (masterset.h). Texts
		 * are valid as long as the name is. */
		struct {
			uint64_t id;            /* for the master, if it has none or has lost it */
			struct slice masterset; /* n == 0: not known yet */
			struct slice places;
			struct next_set next; /* the set that is to follow it */
			enum agreement agreement;
			struct slice nonces; /* of this HELLO, 16 hexadecimal digits; then, each after a
						space, those of HELLOs before it */
			bool leaves; /* this daemon ends, and no client relies on a lease of it: HELLO then
					only ends its registration */
			uint64_t doubted; /* the memory whose clock has jumped, as seen here; 0: none */
			int64_t wanted_lease_ms;  /* the longest lease that this daemon would take (master.h)
						   */
			int64_t guarded_lease_ms; /* the longest lease that its guards wait for, >=
						     wanted_lease_ms */
		};
		/* Calls about a lease: see call_about_lease(). */
		struct {
			int64_t newest; /* RECLAIM: newest token of this lease: of two reclaims, the newer one
					   is right */
			int64_t block;  /* ACQUIRE, RENEW, ADOPT: how many tokens to reserve; 0 keeps the
					   present block, except for ACQUIRE */
			int64_t limit;  /* PERMITS: how many the name has */
			int64_t permits; /* PERMITS: how many of them are wanted, 1 .. limit */
			int64_t hint;    /* PERMITS, ACQUIRE: search for free ones from this number on, modulo
					    limit */
			struct slice slots;    /* PERMITS: exactly these; n == 0 (ACQUIRE only): any. Valid as
						  long as the name is */
			struct slice previous; /* ADOPT, RECLAIM: at most PREVIOUS_OWNERS_MAX owners, a blank
						between them: what one of them has is ours. RECLAIM: n == 0:
						none. Likewise */
		};
		/* LATCH. ttl_ms: SET: how long it lives, 0: a day, and one more with each use; deadline_us:
		 * SET. */
		struct {
			enum latch_op latch_op;
			uint64_t latch; /* SET: the latch's id, never used before; DOWN: which latch */
			int64_t steps;  /* SET: how many open it; DOWN: how many session and tag have done */
			uint64_t session; /* DOWN */
			struct slice tag; /* DOWN: n == 0: none. Valid until the vote for this call has been
					     given */
		};
	};
};

/* Whether a call is about a lease, or about a position in the queue for one. */
static inline bool
call_about_lease(enum call_op op)
{
	return op != CALL_HELLO && op != CALL_ADMIT && op != CALL_LATCH;
}

/* As queue_ms: neither take a position nor respect those of others. */
#define CALL_QUEUELESS (-1)

enum outcome {
	OUTCOME_YES,  /* done as asked: granted, renewed, reclaimed, registered, ...; LATCH: see vote.latch */
	OUTCOME_BUSY, /* ACQUIRE: another daemon has the lease, or is ahead in the queue */
	OUTCOME_NO,   /* RENEW, ADOPT, RELEASE: not ours, or no longer; RECLAIM: another daemon reclaimed a
			 newer one;   LATCH: there is none, or, with vote.latch.id, none that counts: it was set
			 before the   master's memory changed */
	OUTCOME_LATE, /* executed after deadline_us; nothing was done */
	OUTCOME_FORGOTTEN, /* the incarnation is not the one meant, or the master is not admitted (ACQUIRE,
			      RENEW, ADOPT), or is admitted (RECLAIM), or takes no lease as long, or knows of
			      a longer one to guard (ADMIT); nothing was done: send HELLO again */
	OUTCOME_WRONGKIND, /* the key holds something that is not our kind of lock; nothing was touched */
	OUTCOME_LIMIT,     /* PERMITS: the name has another LIMIT while permits are taken, see vote.limit */
	OUTCOME_DEMOTED,   /* READONLY, LOADING, MASTERDOWN, ...: not a master now; send HELLO again */
	OUTCOME_ERROR,     /* another error of the master, quoted in text; nothing was done for this name */
	OUTCOME_UNKNOWN,   /* the call may have left, and its answer was lost */
	OUTCOME_UNSENT     /* the call never left: the link was not up, or the output was full */
};

/* Why a master that answered HELLO cannot be used: HELLO_RESULT(name, text for people). What the master says
 * of it, with the values, comes before the colon: a short text may have no room for the cure. */
#define HELLO_RESULTS(HELLO_RESULT)                                                                          \
	HELLO_RESULT(GOOD, "good")                                                                           \
	HELLO_RESULT(REPLICA, "is a replica: name its master instead")                                       \
	HELLO_RESULT(CLOCK,                                                                                  \
		"has a clock that is after 2112 or before 1970, at which no token can begin: set it, "       \
		"as with `timedatectl set-ntp true`")                                                        \
	HELLO_RESULT(CLUSTER, "runs in cluster mode: name its nodes under `cluster:`")                       \
	HELLO_RESULT(EVICTING, "may evict keys: set maxmemory-policy noeviction")                            \
	HELLO_RESULT(MISMATCH,                                                                               \
		"is used by daemons of another format or with other limits: upgrade the older "              \
		"hosts, or make clock-margin, restart-guard and the rules with keys agree")                  \
	HELLO_RESULT(OTHERSET, "belongs to another set of masters")                                          \
	HELLO_RESULT(CLONED, "knows another process with this daemon-id: a copy that was made while it ran") \
	HELLO_RESULT(LEFT, "has heard that this daemon ends")

enum hello_result {
#define HELLO_RESULT(name, text) HELLO_##name,
	HELLO_RESULTS(HELLO_RESULT)
#undef HELLO_RESULT
		HELLO_COUNT
};

/* What a master says of a latch. */
struct latch_state {
	uint64_t id;    /* as it was SET; 0: there is none */
	int64_t set;    /* steps that open it, > 0 */
	int64_t left;   /* 0 .. set; 0: it is open */
	int64_t ttl_ms; /* how long it lives if no client uses it */
};

struct vote {
	enum call_op op;
	enum outcome outcome;
	unsigned master;   /* of the call */
	unsigned link;     /* of the call */
	uint64_t attempt;  /* of the call */
	struct slice name; /* of the call */
	uint32_t hash;     /* of the call */
	int64_t time_us; /* the master's TIME when the script ran; 0: no script answered, or it had no need to
			    tell */
	int64_t token_first; /* ACQUIRE, RENEW, ADOPT: YES with a new block: first..last are ours; else 0 */
	int64_t token_last;
	int64_t highest; /* highest token the master knows of; ADMIT YES: the new floor; ACQUIRE BUSY, too */
	struct slice text; /* ERROR, DEMOTED: the master's words; HELLO MISMATCH: both values; OTHERSET: ids
			      of daemons that are registered there */
	bool spoken;       /* UNKNOWN: the master answered, with the error in text; a part may be done */
	union {
		/* HELLO YES */
		struct {
			struct slice run;     /* the server process: two with the same one are one master */
			uint64_t incarnation; /* the master's memory from now on */
			enum hello_result hello;
			bool admitted;      /* false: guarded; it takes reclaims and grants nothing new */
			int64_t longest_ms; /* GOOD: the longest lease that may be asked for, >= 0 */
			int64_t guarded_lease_ms; /* GOOD, MISMATCH: the longest that a guard has to wait for
						   */

			/* GOOD or OTHERSET: as the master stores it (masterset.h) */
			enum agreement agreement;
			uint64_t id;
			struct slice masterset; /* n == 0: none */
			struct slice places;
			struct next_set next;        /* GOOD only */
			struct slice unacknowledged; /* GOOD: ids of living daemons that have not acknowledged
							the next set of the call; n == 0: all have */
			struct slice lacks; /* GOOD: why it can take no leases now, as an error says it; n ==
					       0: it can */
			/* GOOD: how many other daemons it refused lately; of the first few which, and why */
			int64_t refused_count;
			struct slice refused;
		};
		/* About a lease: see call_about_lease() */
		struct {
			struct slice holder; /* ACQUIRE BUSY: owner text of the lease in the way; n == 0: the
						name is free, but it is not our turn */
			int64_t position; /* ACQUIRE BUSY: our position in the queue, 1 = head; 0: not queued.
					     ACQUIRE, RENEW, ADOPT YES: how many other daemons wait in the
					     queue    now */
			int64_t change_ms;  /* ACQUIRE BUSY: ms until something can change, unless a wake-up
					       comes */
			struct slice slots; /* PERMITS, ACQUIRE YES: permits that were taken; BUSY: permits on
					       offer, for the masters to agree on; n == 0: none */
			int64_t limit;      /* LIMIT: the name's limit there */
		};
		struct latch_state latch; /* LATCH YES: as it is after the operation; NO: see OUTCOME_NO */
	};
};

/* The master answered, and with an error. */
static inline bool
vote_is_error(const struct vote *vote)
{
	return vote->outcome == OUTCOME_ERROR || vote->spoken;
}

#endif
