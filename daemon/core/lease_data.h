/*
 * lease_data: what the core remembers of a lease, of its seats at the masters, and of its round. A part of
 * state.h, for files of the core that need all of that; lease.h, seat.h and round.h have the functions.
 */
#ifndef CORE_LEASE_DATA_H
#define CORE_LEASE_DATA_H

#include "daemon/core/alloc.h"
#include "daemon/core/timers.h"
#include "proto/kind.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;
struct resource;

/* LEASE_STATE(id, word in INSPECT) */
#define LEASE_STATES(LEASE_STATE)                                                                            \
	LEASE_STATE(NONE, "none")           /* nothing at the masters */                                     \
	LEASE_STATE(ACQUIRING, "acquiring") /* an acquire is under way */                                    \
	LEASE_STATE(WAITING, "waiting")     /* refused; a wake-up or the timer begins the next acquire */    \
	LEASE_STATE(HELD, "held")           /* ours until valid_ms */

enum lease_state {
#define LEASE_STATE(id, word) LEASE_##id,
	LEASE_STATES(LEASE_STATE)
#undef LEASE_STATE
		LEASE_STATE_COUNT
};

/* Why the last acquire failed, if not by contention: the error that most masters told; of two that equally
 * many told, the later one in this list. */
enum lease_error {
	LEASE_ERROR_NONE,
	LEASE_ERROR_SILENT, /* no answer in time */
	LEASE_ERROR_ERROR,  /* an error of the master, see master.error */
	LEASE_ERROR_KIND,   /* the key holds something that is not our kind of lock */
	LEASE_ERROR_LIMIT   /* the name has another LIMIT at the master */
};

/*
 * The lease at one master. A lease is ours while a majority of its seats is. Each seat has a validity of its
 * own, which counts from before its last confirmed question left.
 */
struct seat {
	union {
		int64_t valid_ms;   /* confirmed until then; 0: not confirmed */
		struct seat *grown; /* first seat of a grown lease: all its seats, see seat_of() */
	};
};

/* What one master is being asked, and what it said last. */
struct question {
	uint64_t incarnation; /* of the master's memory, when it was asked last */
	int64_t asked_ms;     /* the seat's valid_ms, if the answer under way is a yes */
	int64_t deadline_us;  /* asking: the master's time after which the question refuses itself; 0: the
				 question cannot create a lease */
	int64_t unsure_us;    /* an unanswered question may create the lease until then; 0: none */
	uint64_t holder;      /* the holder that the last refusal named, as a hash; 0: none */
	uint64_t slots;       /* permits granted there or, if not ours, on offer there, as a hash; 0: none */
	int64_t token_first;  /* first token raised there in this round; 0: none */
	int64_t token_last;
	bool asking;                /* a question is under way */
	bool late;                  /* the one retry after LATE has been used */
	enum lease_error error : 8; /* ACQUIRING: the error there; a refusal is none */
};

/*
 * Work on a lease: an acquire, a renewal, a daemon elsewhere that waits. Most leases are held and at rest,
 * and have no round.
 */
struct round {
	struct freelist_link freed;
	unsigned char split;    /* rounds in a row that no daemon won */
	unsigned char deferred; /* rounds in a row that we won, and left to another daemon */
	bool lasts;             /* ACQUIRING: the queue master names the same holder as last time */
	bool called;            /* ACQUIRING: the queue master has called us since it was asked */
	bool contended;         /* ACQUIRING: another daemon has the lease at some master */
	bool doubted;           /* a lock of another kind was found, and may be gone by now */
	int64_t sent_ms;        /* when this round began; between rounds: the last one */
	int64_t proposal;       /* the token that it proposed */
	int64_t asked_block;    /* how many tokens it asked for; 0: none */
	int64_t reached;        /* highest token that a master answered */
	int64_t spare_first;    /* first token of a block fetched ahead; 0: none */
	int64_t spare_last;
	int64_t wanted_ms; /* wanted: since when */
	int64_t heard_ms;  /* wanted: when a waiting daemon was heard last */
	int64_t streak;    /* local grants since wanted_ms */
	int64_t line_ms;   /* lines: when to refresh the place in the queue */
	int64_t told_ms;   /* HELD: deadline told before clocks shortened the validity; 0: no later one */
	int64_t change_ms; /* ACQUIRING: ms until something can change, says the queue master; 0: not said */
	int64_t limit_there;         /* LEASE_ERROR_LIMIT: the limit at the master */
	int64_t position;            /* our place in the queue, as last seen */
	char *foreign;               /* owner text of the lease in the way, as last seen; NULL: none */
	struct question questions[]; /* one for each master */
};

/* Masters that a lease can tell apart. */
#define LEASE_MASTERS 15

struct lease {
	struct resource *resource;
	struct round *round;  /* NULL: none, the lease is at rest */
	struct grant *grants; /* holds on this lease, oldest first; a list of utlist.h */
	uint64_t attempt;
	int64_t valid_ms;   /* HELD: surely ours until then */
	int64_t refresh_ms; /* HELD: when to renew */
	int64_t idle_ms;    /* HELD: unused, released then unless a client wants the name again; 0: in use */
	int64_t token;      /* next fencing token; token > token_last: none left */
	int64_t token_last;
	int32_t term_ms; /* the term that the last round asked for; the rule may have changed since */
	int32_t block;   /* how many tokens the block had */
	struct timer timer;
	int16_t permits;            /* PERMITS: how many */
	uint8_t ours;               /* a bit for each seat: the master granted it, and has not revoked it */
	uint8_t odd;                /* a bit for each seat: granted there, but permits that we do not keep */
	uint8_t vain;               /* HELD: rounds in a row that brought no tokens though few were left */
	uint8_t queue_master : 4;   /* the master that keeps the queue of this name */
	uint8_t error_at : 4;       /* the master that told the last error */
	enum lease_error error : 3; /* the last error */
	bool refreshing : 1;        /* HELD: a round is under way */
	bool dry : 1;               /* HELD: the last round brought no tokens */
	bool again : 1;             /* ACQUIRING: a wake-up or a master came: a refusal is out of date */
	bool queued : 1;  /* not HELD: this daemon may have a place in the queue at the queue master */
	bool served : 1;  /* HELD: a client was granted the lock on this lease */
	bool refused : 1; /* WAITING, ACQUIRING: the last round ended with a refusal */
	bool fresh : 1;   /* WAITING: the refusal has not been counted yet */
	bool wanted : 1;  /* HELD: another daemon waits, or a foreign client may wait unheard */
	bool yielded : 1; /* NONE: released while another daemon waits, which goes first */
	bool queue_master_first : 1; /* ACQUIRING: only the queue master has been asked so far */
	bool patient : 1;            /* the last acquire asked for a place in the queue */
	bool lines : 1; /* HELD, shared: a place in the queue is kept for a writer that waits here */
	bool rests : 1; /* NONE, WAITING: released to a foreign client, which has to notice first */
	enum lease_state state : 8;
	enum kind kind : 7;  /* what is asked for, and what we count the lease as from then on */
	bool grown : 1;      /* the number of masters has grown since the lease was made */
	enum kind asked : 4; /* what this round asks for; between rounds: the last one */
	enum kind told : 4;  /* HELD: what a majority of the seats has been told */
	uint8_t noted; /* a bit for each seat: a reclaim has been noted, and the guard is not over for it */
	struct seat within[]; /* its seats, as many as there were masters then; see seat_of() */
};

/* The seat at this master. */
static inline struct seat *
seat_of(const struct lease *l, unsigned master)
{
	const struct seat *seats = l->grown ? l->within[0].grown : l->within;

	return (struct seat *)(uintptr_t)&seats[master];
}

#endif
