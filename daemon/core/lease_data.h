/*
 * lease_data: what the core remembers of a lease, of its seats at the masters, and of what goes on about it.
 * A part of state.h, for files of the core that look at all of that; lease.h, seat.h and round.h have the
 * functions.
 */
#ifndef CORE_LEASE_DATA_H
#define CORE_LEASE_DATA_H

#include "daemon/core/timers.h"
#include "proto/kind.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;
struct resource;

/* First member of everything that is buried. Its grave then takes the first eight bytes: what else is small
 * may stand there, but nothing that anybody looks at after the end. */
struct freelist_link {
	uint8_t row; /* where its memory belongs, see grave.c */
};

/* LEASE_STATE(id, word in INSPECT) */
#define LEASE_STATES(LEASE_STATE)                                                                            \
	LEASE_STATE(NONE, "none")           /* nothing at the master */                                      \
	LEASE_STATE(ACQUIRING, "acquiring") /* an acquire is on its way */                                   \
	LEASE_STATE(WAITING, "waiting")     /* refused; a wake-up or the timer tries again */                \
	LEASE_STATE(HELD, "held")           /* ours until valid_ms */

enum lease_state {
#define LEASE_STATE(id, word) LEASE_##id,
	LEASE_STATES(LEASE_STATE)
#undef LEASE_STATE
		LEASE_STATE_COUNT
};

/* Why the last acquire did not succeed, when it was not contention: what most masters say, or of as many the
 * later one here. */
enum lease_error {
	LEASE_ERROR_NONE,
	LEASE_ERROR_SILENT, /* no answer in time */
	LEASE_ERROR_ERROR,  /* an error of the master, see master.error */
	LEASE_ERROR_KIND,   /* the key holds something else */
	LEASE_ERROR_LIMIT   /* the name has another LIMIT there */
};

/*
 * What one master is to a lease. A lease is ours while a majority of its seats is; each seat is good for a
 * time of its own, counted from before its last confirmed question left.
 */
struct seat {
	union {
		int64_t valid_ms;   /* confirmed until then; 0: not */
		struct seat *grown; /* of the first one: where they all are, see seat_of() */
	};
};

/* What one master is being asked, and what it said last. */
struct question {
	uint64_t incarnation; /* of its memory, as it was asked last */
	int64_t asked_ms;     /* what a yes to the question under way makes of the seat's valid_ms */
	int64_t deadline_us;  /* asking: when that question refuses itself, its master's time; 0: it cannot
				 create anything */
	int64_t unsure_us;    /* one without an answer may create the lease until then; 0: none */
	uint64_t holder;      /* whose the last refusal named, as a hash; 0: none */
	uint64_t slots;       /* those it gave last or, when it is not ours, could give, as a hash; 0: none */
	int64_t token_first;  /* tokens raised there in this round; 0: none */
	int64_t token_last;
	bool asking;                /* a question is under way */
	bool late;                  /* one retry after LATE has been spent */
	enum lease_error error : 8; /* ACQUIRING: what else than another holder stood in the way there */
};

/*
 * What goes on about a lease, at the masters and between the daemons: an acquire, a refresh, a waiter
 * elsewhere. Most leases are held and at rest, and have none.
 */
struct round {
	struct freelist_link freed;
	unsigned char split;    /* rounds in a row without a majority for any daemon */
	unsigned char deferred; /* and that we won, and left to the daemon to which home gave it */
	bool lasts;             /* ACQUIRING: home names the same holder as last time */
	bool called;            /* ACQUIRING: home called the head of its queue meanwhile: us */
	bool contended;         /* ACQUIRING: another daemon has it at some master */
	bool doubted;           /* another kind of lock was found, and may be gone by now */
	int64_t sent_ms;        /* when the round that runs, or the last one, began */
	int64_t proposal;       /* token proposed in it */
	int64_t asked_block;    /* and how many; 0: none */
	int64_t reached;        /* highest token that a master answered */
	int64_t spare_first;    /* a block fetched ahead; 0: none */
	int64_t spare_last;
	int64_t wanted_ms;           /* since when, */
	int64_t heard_ms;            /* and when that was heard last */
	int64_t streak;              /* local grants since then */
	int64_t line_ms;             /* lines: when to say so again */
	int64_t told_ms;             /* HELD: told deadlines, before clocks shortened it; 0: no later */
	int64_t change_ms;           /* ACQUIRING: ms until something can change, says home; 0: it did not */
	int64_t limit_there;         /* LEASE_ERROR_LIMIT: the one it has there */
	int64_t position;            /* in the master's queue as last seen */
	char *foreign;               /* owner text in the way as last seen; NULL: none */
	struct question questions[]; /* one for each master */
};

/* Masters that a lease can tell apart. */
#define LEASE_MASTERS 15

struct lease {
	struct resource *resource;
	struct round *round;  /* NULL: none, it is at rest */
	struct grant *grants; /* what stands on it, oldest first; a list of utlist.h */
	uint64_t attempt;
	int64_t valid_ms;   /* HELD: surely ours until then */
	int64_t refresh_ms; /* HELD: when to renew */
	int64_t idle_ms;    /* HELD: given back then, unless a client wants it again; 0: it is in use */
	int64_t token;      /* next fencing token; token > token_last: none left */
	int64_t token_last;
	int32_t term_ms; /* how long a lease it asked for: the rule may say something else by now */
	int32_t block;   /* how many tokens there were */
	struct timer timer;
	int16_t permits; /* PERMITS: how many */
	uint8_t ours;    /* a bit for each seat: it said so, and has not taken it back */
	uint8_t odd;     /* and: it gave slots that are not ours to keep, released together with the lease */
	uint8_t vain;    /* HELD: rounds in a row that brought no tokens, though they run short */
	uint8_t queue_master : 4;    /* the master on which the queue of this name lives */
	uint8_t error_at : 4;        /* at which master something stood in the way last time, */
	enum lease_error error : 3;  /* and what */
	bool refreshing : 1;         /* HELD: a round is under way */
	bool dry : 1;                /* HELD: the last round was one of these */
	bool again : 1;              /* ACQUIRING: a refusal is out of date, a wake-up or a master came */
	bool queued : 1;             /* not HELD: this daemon may have a place in the queue at home */
	bool served : 1;             /* HELD: a client was granted on it */
	bool refused : 1;            /* WAITING, ACQUIRING: by a refusal, not for want of one */
	bool fresh : 1;              /* WAITING: the refusal has not been counted yet */
	bool wanted : 1;             /* HELD: another daemon waits, or somebody may whom we cannot hear */
	bool yielded : 1;            /* NONE: given back while another daemon waits, which goes first */
	bool queue_master_first : 1; /* ACQUIRING: only home has been asked so far */
	bool patient : 1;            /* the last acquire asked for a place in the queue */
	bool lines : 1;              /* HELD: shared, and a writer here stands in the queue for its end */
	bool rests : 1;              /* NONE, WAITING: given back for him, who has to notice first */
	enum lease_state state : 8;
	enum kind kind : 7;  /* what is asked for, and what we count it as from then on */
	bool grown : 1;      /* there are more masters than when it was made */
	enum kind asked : 4; /* what the round that runs, or the last one, asked for, */
	enum kind told : 4;  /* HELD: and what a majority of the seats has been told */
	uint8_t noted; /* a bit for each seat: that it was reclaimed, at a guard that is not over for it */
	struct seat within[]; /* its seats, as many as there were masters when it was made; see seat_of() */
};

/* What this master is to it. */
static inline struct seat *
seat_of(const struct lease *l, unsigned master)
{
	const struct seat *seats = l->grown ? l->within[0].grown : l->within;

	return (struct seat *)(uintptr_t)&seats[master];
}

#endif
