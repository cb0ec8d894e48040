/*
 * master: what this daemon knows of one Redis master, and whether leases may be asked for there.
 *
 *     AWAY ──link up──▶ GREETING ──hello──┬─ remembers ───────▶ ADMITTED
 *      ▲                   ▲              ├─ may have forgotten ▶ GUARDED ──guard over, admit──▶ ADMITTED
 *      │                   │              └─ replica, cluster, … ▶ REFUSED ──asked again──▶ …
 *      └── all links down  └── forgotten, demoted, identity to be checked
 *
 * A master that restarted, was flushed or is new to us may have forgotten leases. It is guarded from the
 * moment we saw it, by our clock, for the longest lease, the drift of two clocks in that time, and the clock
 * margin. A guarded master takes reclaims and grants nothing new. When the guard is over, quorum.h finds the
 * floor of its tokens and has it admitted.
 */
#ifndef CORE_MASTER_H
#define CORE_MASTER_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

/*
 * The offset: how far a master's clock is ahead of ours, as its greetings show, and whether it has leapt
 * since.
 *
 * The time in an answer was read after the question left and before the answer came. Compared with the moment
 * the question left, it shows the most that the clock can be ahead; compared with the moment the answer came,
 * the least. If the least is now above the most of an earlier greeting, the clock has leapt, in one step or
 * little by little. Greetings of more than a lease are kept: a clock that runs fast may stay within the
 * margin in each third of a lease, and not in all of it.
 */

#define OFFSET_SAMPLES 8

struct offset_sample {
	int64_t from_ms;  /* when its first greeting left; 0: no sample */
	int64_t at_ms;    /* when the greeting left that showed the least */
	int64_t ahead_us; /* by which the clock is ahead of ours at most */
};

struct offset {
	struct offset_sample samples[OFFSET_SAMPLES];
	unsigned newest;
};

/* How far a clock leapt, or ours stood still, in steps that are less than a guard apart. */
struct leap {
	int64_t at_ms; /* when that was last seen, or taken off leases; 0: never */
	int64_t ms;
};

/* A greeting that left at sent_ms was answered with time_us. The times of one offset come in the order in
 * which the master read them. Samples of over_ms, the same in all calls, are kept at least. */
void offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us);

/* When the last kept greeting left; 0: there is none. */
int64_t offset_latest_ms(const struct offset *offset);

/* An answer with time_us comes at now_ms: how far the clock went ahead since a greeting of the last over_ms,
 * or since the last greeting, in ms, rounded up. 0: not more than allowed_ms and the difference of the rates.
 * Some greetings that are up to a fifth older are compared, too. */
int64_t offset_leap_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us);

/* A leap by ms is known: from now on only what goes beyond it is reported. */
void offset_leapt(struct offset *offset, int64_t ms);

/* ---- a master ---- */

#define MASTER_REASON_MAX  720
#define MASTER_REFUSED_MAX 512
#define MASTER_RUN_MAX     48
#define MASTER_NONCES                                                                                        \
	64 /* greetings of some minutes: one whose link broke may run at the master after many later ones */
#define MASTER_NONCE_SIZE    17  /* 16 hexadecimal digits and a space */
#define MASTERSET_LIVING_MAX 160 /* of the text that names some daemons */

struct master_link {
	bool up;
	bool greeting;           /* a HELLO is under way */
	int64_t greeting_ms;     /* when it left */
	uint64_t greeting_nonce; /* the number of its nonce */
	bool doubts;             /* it says that the master's clock leapt */
	bool overtaken;          /* another link has shown a leap since: it may have been read before that */
	bool informed;           /* it left after all leaps that any master has shown */
	bool repeated; /* sent once more, because the HELLO before it took too long to measure the clock */
	bool greeted;  /* it reaches the master we know */
	bool suspect;  /* it has been silent; the next answer clears this */
	uint64_t set_serial;      /* the masterset's serial when that HELLO left */
	enum agreement set_step;  /* how far that HELLO could take the set at the master */
	size_t due;               /* calls without an answer */
	char run[MASTER_RUN_MAX]; /* the server process that it reaches; "": not told on this connection */
	uint64_t run_first;       /* the master's serial when that was told first, */
	uint64_t run_heard;       /* and last, */
	uint64_t run_sent;        /* and that of the HELLO that was answered last with it */
	int64_t quiet_ms;         /* due > 0: silent since then */
	struct offset
		offset; /* of the master's clock from ours: answers on one link do not overtake each other */
};

/* What a master has told of sets in its present memory (masterset.h). A serial is the masterset's:
 * what a greeting that left at it or later tells was so after all that had been told before. */
struct memory {
	uint64_t incarnation;
	int64_t told_ms; /* the last time when it was asked and told our set or an earlier one of ours, in any
			    memory */
	int64_t heard_ms;  /* when it was asked last */
	uint64_t heard;    /* the serial at heard_ms */
	uint64_t enrolled; /* the serial when it first had told our set as agreed; 0: it has not */
	uint64_t blank;    /* the serial when it had told that it has no agreed set; 0: it has not */
	uint64_t accepted; /* the serial when it had told that it has accepted our next set; 0: it has not */
	bool earlier;      /* it came with our set, and last told an earlier set that it had */
};

/* A server that a slot reached before, and what it and this daemon have told each other (struct master). */
struct parted {
	char place[MASTERSET_PLACE_MAX];
	char way[MASTERSET_WAY_MAX];
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE];
	uint64_t nonces_drawn;
	uint64_t nonce_heard;
	int64_t mark;
};

#define PARTED_MAX 8

/* Notes of one kind about a master, for events that come many times in a row (emit_master_stretch()). 0: none
 * yet. */
struct stretch {
	int64_t last_ms;
	int64_t noted_ms;
	bool untold; /* there was news since noted_ms */
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
	int64_t admit_ms; /* GUARDED: when to ask for the admission, at the earliest */
	int64_t greet_ms;
	int64_t longest_ms;      /* the longest lease that it takes, as it told last; 0: not told yet */
	bool moved;              /* the slot reaches another server: no lease has been told yet (quorum.h) */
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
	uint64_t doubted; /* the memory whose clock leapt, until a greeting has told the master; 0: none */
	int64_t withheld_until_ms; /* its clock leapt, or ours stood still: nothing it grants counts until
				      then; 0: it counts */
	struct leap leaps[CORE_SLOTS_MAX]; /* of the clock of each master, in any memory, since this one
					      caught up (leap.c) */
	int64_t off_ms;                    /* how much of that has been taken off the leases at this master */
	int64_t mark;          /* the greatest token it has told, in any memory: see lua/node.inc */
	int64_t highest;       /* highest token its last greeting told */
	int64_t highest_ms;    /* when that greeting was sent; 0: none in this memory */
	int64_t registered_ms; /* when the last greeting that was answered GOOD was sent */
	uint64_t serial;       /* of the latest HELLO or ADMIT */
	uint64_t hello_serial; /* of the latest HELLO */
	uint64_t nonces_drawn; /* how many nonces were sent with HELLO */
	char nonces[MASTER_NONCES * MASTER_NONCE_SIZE]; /* the latest nonces, newest first */
	uint64_t nonce_heard;     /* the number of the newest nonce that was answered GOOD */
	uint64_t admit_serial;    /* of the ADMIT under way */
	uint64_t id;              /* its permanent id, as it told; 0: not told yet */
	uint64_t member;          /* its id as a member of the set that is agreed on; 0: not yet */
	enum agreement agreement; /* how far our set has come there (masterset.h) */
	bool enrolled;            /* it says that our agreed set is agreed on */
	bool blank;               /* it stores no set */
	bool other;               /* it is not one of ours */
	bool copied;              /* it told the id of another one last: its data is a copy */
	bool several;             /* its links reach several servers that run at the same time */
	bool mismatch;            /* REFUSED: daemons with other limits live there */
	struct memory memory;     /* what it has told of sets */
	enum next_step next_step; /* how far the next set has come there, as it told last */
	bool next_known;          /* all living daemons that it knows of have acknowledged the next set */
	bool left; /* a slot behind the members: the server is no member any more, and has to be told so */
	bool next_rival;                           /* it has accepted another next set */
	char unacknowledged[MASTERSET_LIVING_MAX]; /* ids of the daemons that have not */
	char run[MASTER_RUN_MAX];                  /* the server process */
	char reason[MASTER_REASON_MAX];            /* AWAY, REFUSED: why */
	char error[MASTER_REASON_MAX];             /* its last error, for MASTERERR */
	unsigned refused_count;                    /* other daemons that it refused lately */
	char refused[MASTER_REFUSED_MAX];          /* which, and why */
	bool failing; /* its last greeting was answered with `error`, or told it: it takes no leases now */
};

/* Its clock leapt, or ours stood still: it is connected, but nothing that it grants counts. */
static inline bool
master_withheld(const struct master *m)
{
	return m->withheld_until_ms != 0 && (m->state == MASTER_ADMITTED || m->state == MASTER_GREETING);
}

/*
 * A nonce for the next HELLO. The master stores the nonce of the last HELLO that it ran, which can be any
 * HELLO since the last answered one. So the nonces of these are kept; if there is no room for one more, the
 * newest is sent again. A copy of this process draws different nonces: if the stored nonce was never sent
 * here, a copy sent it (move.c).
 */
void master_draw_nonce(struct core *core, struct master *m);
/* As a HELLO carries them: the newest first. */
struct slice master_nonces(const struct master *m);
/* Takes over the nonces of slots that may have greeted this server; whether there were any that it had not.
 */
bool master_recall(const struct core *core, struct master *m);

void master_link_up(struct core *core, struct master *m, unsigned link);
void master_link_down(struct core *core, struct master *m, unsigned link, struct slice why);
/* The master says that its data was flushed. */
void master_flushed(struct core *core, struct master *m);
/* An answer to HELLO or ADMIT. */
void master_vote(struct core *core, struct master *m, const struct vote *vote);
void master_timer(struct core *core, struct master *m);

/* Sends a call to a master, and notes from when on its link is silent. */
void master_call(struct core *core, const struct call *call);

/* To be called with every answer, of any call: takes its TIME, its tokens and its error, and greets the
 * master again if it forgot. */
void master_heard(struct core *core, struct master *m, const struct vote *vote);

/*
 * Whether this answer shows that the master's clock went ahead of ours by more than the clock margin within a
 * lease. Either leases ended there before their time, and another daemon may still rely on a lease that the
 * master now grants again; or our clock stood still, and our leases end earlier than we count. Nothing that
 * the master grants counts for the length of a guard. All masters are greeted: this one, to be told of the
 * leap; the others, because their clocks show which of the two it was (leap). To be called with every answer,
 * before master_heard().
 */
bool master_leapt(struct core *core, struct master *m, const struct vote *vote);

/*
 * leap.c: what leaps of the masters' clocks tell of ours, and what that takes off leases.
 *
 * For each master the core counts how far the clock of every master has leapt since this one caught up. It
 * catches up with the answer to a greeting that left after all leaps, if what these showed has been taken off
 * the leases there: by then its own clock has shown what it had to show. One master may miss a leap that
 * another one shows. So what they have shown since different times is never compared.
 *
 * leap_seen(): an answer on this link shows that the clock of this master leapt by ms. leaps_take_off():
 * after that; if the clocks of a majority have leapt, leases end earlier than was counted, by as much as has
 * not been taken off yet. leap_caught_up(): a greeting was answered that had left after all leaps.
 */
void leap_seen(struct core *core, struct master *of, unsigned link, int64_t ms);
void leaps_take_off(struct core *core);
void leap_caught_up(struct master *m);

/* A call was not answered in time: nothing new is asked on this link until it answers again. */
void master_suspect(struct core *core, struct master *m, unsigned link);

/* Asks on every link who the master is and which tokens it has seen. */
void master_greet_all(struct core *core, struct master *m);
/* The same for all masters, in the next turn. */
void masters_greet(struct core *core);

/* Its guard is over (master_guard_over()): asks to admit it with this floor; or looks again after ms. */
void master_admit(struct core *core, struct master *m, int64_t floor);
void master_admit_later(struct core *core, struct master *m, int64_t ms);

/*
 * usable.c: what a master can be asked for in its present state, why not, and how long that may take. It
 * changes no state of a master; master.c does. Only master_vague() notes what it has said.
 */

/* New leases may be asked for on this link. master_why_not(): why not, as a clause that follows the master's
 * name. */
bool master_usable(const struct master *m, unsigned link);
void master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room);

/* Leases may be kept: by CALL_RENEW, or by CALL_RECLAIM while guarded. False: neither. */
bool master_keeps(const struct master *m, unsigned link, enum call_op *op);

/* Releases are taken. */
bool master_releases(const struct master *m, unsigned link);

/* Another of our masters that is the same server: its vote would count twice. idle: also one that is not in
 * use. */
const struct master *master_twin(const struct core *core, const struct master *m, bool idle);
/* Another of our masters has not yet said which server it is, and may be this one. Not waited for if this one
 * no longer takes us for registered. */
bool master_unheard(const struct core *core, const struct master *m);

/* A greeting is under way on some link. */
bool master_greets(const struct core *core, const struct master *m);

/* The first greeting that was to measure its clock was answered on this link, but took longer than the clock
 * margin: a leap of that size would not show against it. False for the greeting after that. */
bool master_vague(const struct core *core, struct master *m, unsigned link);

/* Its TIME ms from now, by the last one seen; 0 ms: now. */
int64_t master_time_us(const struct core *core, const struct master *m, int64_t ms);

/* How long a call may go unanswered, ms. */
int64_t master_patience_ms(const struct core *core);

/* When a silent link becomes suspect; TIMER_NEVER: it is not asked. What came while this daemon stood still
 * has not been read yet. */
int64_t link_doubt_ms(const struct core *core, const struct master_link *l);

/* GUARDED, and the guard is over. */
bool master_guard_over(const struct core *core, const struct master *m);

/* Until when this daemon is registered there by its last greeting. Whatever lease it asks for until then ends
 * before that registration does: daemons with other limits, or of another format, wait for the end of the
 * registration. Later it asks for nothing. */
int64_t master_registered_until(const struct core *core, const struct master *m);

/* How often it is greeted; how soon again after a greeting failed, since leases have to survive a short
 * absence; for how long a greeting counts as a sample of its clock: at the end of a lease the last one before
 * the lease has to be among them. ms. */
int64_t master_greet_every_ms(const struct core *core);
int64_t master_greet_again_ms(struct core *core);
int64_t master_offset_over_ms(const struct core *core);

/*
 * Terms: how long leases may be. Daemons of a namespace may differ in the longest lease that they would take,
 * so that it can be changed at one daemon after the other (lua/hello.lua):
 *
 *     wanted    the longest lease by the rules of this daemon. It grows with them, and never shrinks in the
 *               life of a process
 *     guarded   the longest lease that its guards wait for: no shorter than what it wants, or than what any
 *               master has told of any daemon. It never shrinks either: the masters rely on it
 *     longest   at a master: what it takes now. It is no longer than what all daemons that live there guard
 *
 * All of them are in milliseconds.
 */

/* The rules have a lease as long as this. True: the masters have to be told. */
bool terms_ruled(struct core *core, int64_t lease_ms);

/* A greeting told of the longest lease, and which one to guard: guards under way grow with it. True: the
 * masters have to be told. */
bool terms_heard(struct core *core, struct master *m, const struct vote *vote);

/* How much of this lease: this master takes; every connected master takes. How much of the lease of this rule
 * every connected master takes. */
int64_t terms_at_ms(const struct master *m, int64_t lease_ms);
int64_t terms_least_ms(const struct core *core, int64_t lease_ms);
int64_t terms_lease_ms(const struct core *core, const struct rule *rule);

/* How long new leases are withheld after a master forgot. */
int64_t terms_guard_ms(const struct core *core);
/* And until when; first: no memory of it was known before. */
int64_t terms_guard_until(const struct core *core, bool first);

#endif
