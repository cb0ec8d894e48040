/*
 * master: what this daemon knows of one Redis master, and whether leases may be asked for there.
 *
 *     AWAY ──link up──▶ REGISTERING ──hello──┬─ remembers ───────▶ ADMITTED
 *      ▲                   ▲              ├─ may have forgotten ▶ GUARDED ──guard over, admit──▶ ADMITTED
 *      │                   │              └─ replica, cluster, … ▶ REFUSED ──asked again──▶ …
 *      └── all links down  └── forgotten, demoted, identity to be checked
 *
 * A master that restarted, was flushed or is new to us may have forgotten leases. It is guarded from the
 * moment we saw it, by our clock, for the longest lease, the drift of two clocks in that time, and the clock
 * margin. A guarded master takes reclaims and grants nothing new. When the guard is over, admission.h finds
 * the floor of its tokens and has it admitted.
 */
#ifndef CORE_MASTER_H
#define CORE_MASTER_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/usable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

/* ---- a master ---- */

#define MASTER_REASON_MAX  720
#define MASTER_REFUSED_MAX 512
#define MASTER_RUN_MAX     48
#define MASTER_NONCES                                                                                        \
	64 /* a minute at least: a HELLO whose link broke may run at the master after many later ones */
#define MASTER_NONCE_MS      1000 /* a nonce is sent with each HELLO for so long */
#define MASTER_NONCE_SIZE    17   /* 16 hexadecimal digits and a space */
#define MASTERSET_LIVING_MAX 160  /* of the text that names some daemons */

struct master_link {
	bool up;
	bool hello_under_way;  /* a HELLO is under way */
	int64_t hello_sent_ms; /* when it left */
	uint64_t hello_nonce;  /* the number of its nonce */
	bool doubts;           /* it says that the master's clock jumped */
	bool overtaken;        /* another link has shown a jump since: it may have been read before that */
	bool informed;         /* it left after all jumps that any master has shown */
	bool repeated;   /* sent once more, because the HELLO before it took too long to measure the clock */
	bool identified; /* it reaches the master we know */
	bool suspect;    /* it has been silent; the next answer clears this */
	uint64_t set_serial;      /* the masterset's serial when that HELLO left */
	enum agreement set_step;  /* how far that HELLO could take the set at the master */
	size_t due;               /* calls without an answer */
	char run[MASTER_RUN_MAX]; /* the server process that it reaches; "": not known on this connection */
	uint64_t run_first;       /* the master's serial when that was reported first, */
	uint64_t run_last;        /* and last, */
	uint64_t run_sent;        /* and that of the HELLO that was answered last with it */
	int64_t quiet_since_ms;   /* due > 0: silent since then */
	struct offset
		offset; /* of the master's clock from ours: answers on one link do not overtake each other */
};

/* What a master has reported of sets in its present memory (masterset_memory.h). A serial is the masterset's:
 * what the answer to a HELLO that left at it or later says was so after all that had been reported before. */
struct memory {
	uint64_t incarnation;
	int64_t reported_ms; /* when the last HELLO left in whose answer it reported our set or an earlier one
				of ours, in any memory */
	int64_t asked_ms;    /* when it was asked last */
	uint64_t asked;      /* the serial at asked_ms */
	uint64_t enrolled;   /* the serial when it first had reported our set as agreed; 0: it has not */
	uint64_t blank;      /* the serial when it had reported that it has no agreed set; 0: it has not */
	uint64_t accepted;   /* the serial when it had reported our next set as accepted; 0: it has not */
	bool earlier;        /* it came with our set, and last reported an earlier set that it had */
};

/* A server that a slot reached before, and what it and this daemon know of each other (struct master). */
struct retired_server {
	char place[MASTERSET_PLACE_MAX];
	char way[MASTERSET_WAY_MAX];
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE];
	uint64_t nonces_drawn;
	uint64_t nonce_answered;
	int64_t mark;
};

#define RETIRED_MAX 8

/* Notes of one kind about a master, for events that come many times in a row (emit_master_stretch()). 0: none
 * yet. */
struct stretch {
	int64_t last_ms;
	int64_t noted_ms;
	bool unreported; /* there was news since noted_ms */
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
	int64_t admit_at_ms; /* GUARDED: when to ask for the admission, at the earliest */
	int64_t hello_at_ms;
	int64_t longest_ms;      /* the longest lease that it takes, as it reported last; 0: not known yet */
	bool moved;              /* the slot reaches another server: no lease knows it yet (quorum.h) */
	bool admitting;          /* an ADMIT is under way */
	bool guarding;           /* guard_until_ms belongs to this incarnation */
	struct stretch errors;   /* notes of its errors */
	struct stretch silences; /* notes of its links that did not answer */
	bool known;              /* incarnation is meaningful */
	bool registered;         /* this daemon is registered there, until master_registered_until() */
	bool reclaim;            /* leases have to be reclaimed, from this step on */
	bool reclaims;           /* the scan of leases to reclaim goes on */
	scan_cursor reclaiming;  /* how far it has come */
	int64_t time_us;         /* its TIME when last seen */
	int64_t time_seen_ms;    /* when time_us was seen */
	uint64_t doubted; /* the memory whose clock jumped, until a HELLO has notified the master; 0: none */
	int64_t withheld_until_ms; /* its clock jumped, or ours stood still: nothing it grants counts until
				      then; 0: it counts */
	struct clock_jump jumps[CORE_SLOTS_MAX]; /* of the clock of each master, in any memory, since this one
					      caught up (clock_jump.c) */
	int64_t off_ms;          /* how much of that has been taken off the leases at this master */
	int64_t mark;            /* the greatest token it has reported, in any memory: see lua/node.inc */
	int64_t highest;         /* highest token in the answer to its last HELLO */
	int64_t highest_sent_ms; /* when that HELLO was sent; 0: none in this memory */
	int64_t registered_ms;   /* when the last HELLO that was answered GOOD was sent */
	uint64_t serial;         /* of the latest HELLO or ADMIT */
	uint64_t hello_serial;   /* of the latest HELLO */
	uint64_t nonces_drawn;   /* how many nonces were sent with HELLO */
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE]; /* the latest nonces, newest first */
	uint64_t nonce_answered; /* the number of the newest nonce that was answered GOOD */
	int64_t nonce_until_ms;  /* until then the newest nonce is sent again; a loaded core draws one at once
				  */
	uint64_t admit_serial;   /* of the ADMIT under way */
	uint64_t id;             /* its permanent id, as it reported; 0: not known yet */
	uint64_t member;         /* its id as a member of the set that is agreed on; 0: not yet */
	enum agreement agreement; /* how far our set has come there (masterset.h) */
	bool enrolled;            /* it says that our agreed set is agreed on */
	bool blank;               /* it stores no set */
	bool other;               /* it is not one of ours */
	bool copied;              /* it reported the id of another one last: its data is a copy */
	bool several;             /* its links reach several servers that run at the same time */
	bool mismatch;            /* REFUSED: daemons with other limits live there */
	struct memory memory;     /* what it has reported of sets */
	enum next_step next_step; /* how far the next set has come there, as it reported last */
	bool next_known;          /* all living daemons that it knows of have acknowledged the next set */
	bool left; /* a slot behind the members: the server is no member any more, and has to be notified */
	bool next_rival;                           /* it has accepted another next set */
	char unacknowledged[MASTERSET_LIVING_MAX]; /* ids of the daemons that have not */
	char run[MASTER_RUN_MAX];                  /* the server process */
	char reason[MASTER_REASON_MAX];            /* AWAY, REFUSED: why */
	char error[MASTER_REASON_MAX];             /* its last error, for MASTERERR */
	unsigned refused_count;                    /* other daemons that it refused lately */
	char refused[MASTER_REFUSED_MAX];          /* which, and why */
	bool failing; /* its last HELLO was answered with `error`, or reported one: it takes no leases now */
};

/* Its clock jumped, or ours stood still: it is connected, but nothing that it grants counts. */
static inline bool
master_withheld(const struct master *m)
{
	return m->withheld_until_ms != 0 && (m->state == MASTER_ADMITTED || m->state == MASTER_REGISTERING);
}

void master_link_up(struct core *core, struct master *m, unsigned link);
/* True: that was its last link, and it is AWAY now. */
bool master_link_down(struct core *core, struct master *m, unsigned link, struct slice why);

/* What is due by now, apart from HELLO: silent links, and what no longer counts. Then master_arm(). */
void master_timer(struct core *core, struct master *m);
/* Sets its timer to the next time that something is due. */
void master_arm(struct core *core, struct master *m);

/* Sends a call to a master, and notes from when on its link is silent. */
void master_call(struct core *core, const struct call *call);

/* Begins a HELLO on this link: notes that it leaves now, and fills in what it says of this daemon. False:
 * none can leave. */
bool master_hello(struct core *core, struct master *m, unsigned link, struct call *hello);
/* The next HELLO leaves soon, as after a HELLO that failed. */
void master_hello_soon(struct core *core, struct master *m);
/* HELLO to all masters, in the next turn. */
void masters_hello(struct core *core);

/* To be called with every answer, of any call: takes its TIME, its tokens and its error. True: it forgot, or
 * is a replica now. */
bool master_answered(struct core *core, struct master *m, const struct vote *vote);

/*
 * Whether this answer shows that the master's clock went ahead of ours by more than the clock margin within a
 * lease. Either leases ended there before their time, and another daemon may still rely on a lease that the
 * master now grants again; or our clock stood still, and our leases end earlier than we count. Nothing that
 * the master grants counts for the length of a guard. To be called with every answer, before
 * master_answered().
 */
bool master_clock_jumped(struct core *core, struct master *m, const struct vote *vote);

/* A call was not answered in time: nothing new is asked on this link until it answers again. */
void master_suspect(struct core *core, struct master *m, unsigned link);

/* An answer GOOD to HELLO: whether it takes leases, whom it refuses, and which server it is. False: its links
 * reach several servers, and it is REFUSED. */
bool master_good(struct core *core, struct master *m, const struct vote *vote);

/* The moves between the states (the picture above). master_doubt(): it may not be the one that we knew, and
 * is REGISTERING until it has answered HELLO; false: it is AWAY. */
bool master_doubt(struct core *core, struct master *m);
void master_guard(struct core *core, struct master *m);
/* changed: we knew no memory of it, or another one. That is noted, even if it is ADMITTED already. */
void master_admit(struct core *core, struct master *m, bool changed);
/* The detail, which has the values, comes before the cure, which is in `what` behind a colon: where there is
 * little room the cure is cut off. */
void master_refuse(struct core *core, struct master *m, const char *what, struct slice detail);

#endif
