/*
 * master_data: what the core remembers of each master: whether it can be used, and how far its memory and its
 * clock can be trusted. A part of state.h, for whoever may look at all of that; master.h has the functions.
 */
#ifndef CORE_MASTER_DATA_H
#define CORE_MASTER_DATA_H

#include "daemon/core/core.h"
#include "daemon/core/names.h"
#include "daemon/core/offset.h"
#include "daemon/core/timers.h"
#include "daemon/core/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MASTER_REASON_MAX 640
#define MASTER_RUN_MAX    48
#define MASTER_NONCES                                                                                        \
	64 /* greetings of minutes: one that was cut off may run at the master after many later ones */
#define MASTER_NONCE_SIZE 17 /* 16 hexadecimal digits and a space */

/* As text, for each of the masters: an id of 16 digits and the way to it, or its place, and what parts them.
 */
#define MASTERSET_TEXT_MAX   (16 + CORE_MASTERS_MAX * (MASTERSET_WAY_MAX + 18))
#define MASTERSET_PLACES_MAX (CORE_MASTERS_MAX * MASTERSET_PLACE_MAX)
#define MASTERSET_WHY_MAX    480
#define MASTERSET_LIVING_MAX 160 /* of the text that names some daemons */

struct master_link {
	bool up;
	bool greeting;           /* a HELLO is on its way, */
	int64_t greeting_ms;     /* which left then, */
	uint64_t greeting_nonce; /* with the nonce of this number */
	bool doubts;             /* it says that the clock leapt */
	bool repeated;           /* once more, as the one before it took too long to measure the clock */
	bool greeted;            /* it reaches the master we know */
	bool suspect;            /* it has been silent; the next answer clears it */
	uint64_t set_serial;     /* of masterset, when that HELLO left, */
	enum agreement set_step; /* and how far it could take the set there */
	size_t due;              /* calls without an answer */
	int64_t quiet_ms;        /* due > 0: silent since then */
	struct offset
		offset; /* of the master's clock from ours: answers on one link do not overtake each other */
};

/* What a master has told of sets in the memory that it has (masterset_memory.h). A serial is of masterset:
 * what a greeting tells that left at it or later was so after all that had been told before. */
struct memory {
	uint64_t incarnation;
	int64_t told_ms;  /* when it was asked last, in whatever memory, and told our set or an earlier one of
			     ours */
	int64_t heard_ms; /* when it was asked last, */
	uint64_t heard;   /* and the serial then */
	uint64_t enrolled; /* the serial when it had told our set, agreed on, for the first time; 0: it has
			      not */
	uint64_t blank;    /* when it had told that it has none that is agreed on; 0: it has not */
	uint64_t accepted; /* when it had told that it has accepted our next set; 0: it has not */
	bool earlier;      /* it comes with our set, and told last an earlier one that it had */
};

/* A server that a slot has been, and what it and this daemon have told each other: see struct master. */
struct parted {
	char place[MASTERSET_PLACE_MAX];
	char way[MASTERSET_WAY_MAX];
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE];
	uint64_t nonces_drawn;
	uint64_t nonce_heard;
	int64_t mark;
};

#define PARTED_MAX 8

/* What of it happens many times in a row (emit_master_stretch()); 0: not yet. */
struct stretch {
	int64_t last_ms;
	int64_t noted_ms;
	bool untold; /* there was news since then */
};

struct master {
	enum master_state state;
	unsigned index;
	char place[MASTERSET_PLACE_MAX]; /* as a set names it; "": the slot is closed */
	char way[MASTERSET_WAY_MAX];
	struct timer timer;
	struct master_link links[CORE_LINKS_MAX];
	uint64_t incarnation;
	int64_t guard_until_ms;
	int64_t admit_ms; /* GUARDED: when to ask for the admission, then or later */
	int64_t greet_ms;
	int64_t longest_ms;        /* lease that it takes, as it told last (terms.h); 0: not yet */
	bool moved;                /* it is another server: no lease has been told yet (reseat.h) */
	bool admitting;            /* an ADMIT is on its way */
	bool guarding;             /* guard_until_ms is of this incarnation */
	struct stretch errors;     /* of its errors that have been noted, */
	struct stretch silences;   /* and of those of its links that did not answer */
	bool known;                /* incarnation is meaningful */
	bool registered;           /* this daemon is, until master_registered_until() */
	bool reclaim;              /* leases have to be re-asserted, which begins before the step ends, */
	bool reclaims;             /* and goes on: */
	scan_cursor reclaiming;    /* so far */
	int64_t time_us;           /* its TIME when last seen ... */
	int64_t time_seen_ms;      /* ... and when that was */
	uint64_t doubted;          /* the memory whose clock leapt, until a greeting has said so; 0: none */
	int64_t withheld_until_ms; /* its clock leapt, or ours stood still: nothing new until then; 0: no */
	struct leap leap;          /* in whatever memory */
	int64_t mark;              /* the greatest token it has told, in whatever memory: see lua/node.inc */
	int64_t highest;           /* highest token its last greeting told ... */
	int64_t highest_ms;        /* ... and when that greeting was sent; 0: none of this memory */
	int64_t registered_ms;     /* when the last greeting was sent that was answered well */
	uint64_t serial;           /* of HELLO and ADMIT */
	uint64_t hello_serial;     /* of the latest HELLO */
	uint64_t nonces_drawn;     /* so many were sent with HELLO, the latest of them */
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE]; /* are these, newest first; */
	uint64_t nonce_heard;                           /* the number of the newest that was answered well */
	uint64_t admit_serial;                          /* of the ADMIT on its way */
	uint64_t id;                                    /* its permanent one, as it told; 0: not yet */
	uint64_t member;          /* its id as a member of the set that is agreed on; 0: not yet */
	enum agreement agreement; /* how far our set has come there (masterset.h) */
	bool enrolled;            /* it says that the set that we have agreed on is agreed */
	bool blank;               /* it stores no set */
	bool other;               /* it is not one of ours */
	bool mismatch;            /* REFUSED: daemons with other limits live there */
	struct memory memory;     /* what it has told of sets */
	enum next_step next_step; /* how far the next set has come there, as it told last */
	bool next_known;          /* and all living daemons that it knows of have acknowledged it */
	bool left;                /* a slot behind the members: it is no member any more, and is to hear it */
	bool next_rival;          /* it has accepted another one */
	char unacknowledged[MASTERSET_LIVING_MAX]; /* those that have not */
	char run[MASTER_RUN_MAX];                  /* the server process */
	char reason[MASTER_REASON_MAX];            /* AWAY, REFUSED: why */
	char error[MASTER_REASON_MAX];             /* its last error, for MASTERERR */
};

/* Its clock leapt, or ours stood still: it is connected, but nothing that it grants counts. */
static inline bool
master_withheld(const struct master *m)
{
	return m->withheld_until_ms != 0 && (m->state == MASTER_ADMITTED || m->state == MASTER_GREETING);
}

#endif
