/*
 * grant: a session's hold of a name.
 *
 * A hold is released by its holder (the name passes on at once), is lost (the session is notified), or is
 * abandoned by a session that may still be working. An abandoned hold is withheld and belongs to no session.
 * It ends at the latest deadline announced to its holder, which is the validity of the lease at the last
 * announcement, plus the rule's crash-delay, if the lease can be renewed as long.
 */
#ifndef CORE_GRANT_H
#define CORE_GRANT_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct part;
struct reply;
struct resource;
struct session;
struct user;
struct waiter;

/* Why a hold ended, other than by its holder's release: LOSS(id, word, text for people) */
#define LOSSES(LOSS)                                                                                         \
	LOSS(EXPIRED, "expired", "the master could not be asked in time")                                    \
	LOSS(TAKEN, "taken", "the master no longer knows this lease")                                        \
	LOSS(REFUSED, "refused", "the restarted master gave the name to another holder")                     \
	LOSS(LEASE, "lease", "its LEASE is over")                                                            \
	LOSS(MAXHOLD, "maxhold", "its MAXHOLD is over")                                                      \
	LOSS(BROKEN, "broken", "an administrator broke it")                                                  \
	LOSS(CLONED, "cloned", "another copy of this daemon may hold it, too")                               \
	LOSS(RETURNED, "returned", "it was given back") /* no loss: an UNLOCK AS id that may be repeated */  \
	LOSS(CLAIM, "claim", "its CLAIM is over, and no request claimed it")                                 \
	LOSS(SHORTENED, "shortened", "an EXTEND let it end sooner, and that time is over")

enum loss_reason {
#define LOSS(id, word, text) LOSS_##id,
	LOSSES(LOSS)
#undef LOSS
		LOSS_COUNT
};

/* The client that had a hold which is withheld. */
struct last_holder {
	struct freelist_link freed;
	struct peer peer;
};

#define GRANT_WHY_MAX ((1U << 9) - 1)

struct grant {
	struct freelist_link freed;
	uint8_t owner_n;
	uint16_t why_n : 9;
	bool unannounced : 1; /* its LOCK lost its connection: the client does not know that it is held */
	bool bounded : 1;     /* it has terms */
	bool durable : 1;     /* it is in the ledger (ledger.h) */
	bool changed : 1;     /* it is on the list of changes (change_list.h) */
	bool gone : 1;        /* it has ended in this step */
	enum kind kind : 2;   /* PERMITS: as many as its lease has */
	uint32_t count;       /* how often it was entered; >= 1 */
	union {
		LIST_ENTRY(grant) in_session;
		struct {
			struct user *left_by;     /* withheld: the user whose session had it */
			struct last_holder *last; /* and its client; NULL: there was no memory */
		};
		uint64_t attempt; /* gone: of the lease that it stood on */
	};
	struct lease *lease;
	struct grant *before;    /* the one before it on its lease; of the first one: the last one */
	struct grant *after;     /* NULL: it is the last one */
	struct session *session; /* NULL: withheld, until its terms end */
	int64_t token;
	union {
		int64_t granted_ms;  /* not bounded: it lasts until its session ends it */
		struct terms *terms; /* bounded; granted_ms is in there */
	};
	char bytes[]; /* owner and why */
};

/* What limits a hold beside its lease. */
struct terms {
	struct freelist_link freed;
	struct timer timer;
	struct grant *grant;
	int64_t granted_ms;
	struct part *part;          /* of an unanswered MLOCK: its client knows nothing of it; NULL: none */
	int64_t ends_ms;            /* end by LEASE or MAXHOLD, or of its withholding; or TIMER_NEVER */
	int64_t ceiling_at_ms;      /* end by MAXHOLD, which EXTEND cannot pass; or TIMER_NEVER */
	int64_t announced_until_ms; /* the latest deadline announced to a client; or TIMER_NEVER */
	int64_t claim_ends_ms;      /* end by CLAIM, which a named session has without asking for it
				  (named_session.h), unless a request names the hold before; or TIMER_NEVER */
	int64_t long_at_ms; /* the rule's long-hold is reached then; TIMER_NEVER: not, or that is noted */
	bool leased;        /* LEASE was given: the hold is not renewed, but can be extended */
	enum loss_reason ends_why; /* LEASE, or SHORTENED by EXTEND, or MAXHOLD, whichever ends first */
};

/* The lease is in the ledger, for its durable holds: they come first on it. */
static inline bool
lease_is_durable(const struct lease *l)
{
	return l->grants != NULL && l->grants->durable;
}

static inline struct slice
grant_owner(const struct grant *g)
{
	return (struct slice){g->bytes, g->owner_n};
}

static inline struct slice
grant_why(const struct grant *g)
{
	return (struct slice){g->bytes + g->owner_n, g->why_n};
}

/* Turns a waiter into a holder on this lease, which is good, with this token, and answers the waiter.
 * If queue_end_unpushable() ends the wait, there is no hold. */
void grant_give(struct core *core, struct lease *l, struct waiter *w, int64_t token);

/* Puts a new hold on its lease, as the latest, and into its session; a withheld one has none. Its user is
 * counted for a session only (user_left_behind()). */
void grant_join(struct core *core, struct grant *g);

/* Bounds a hold from now on: its end must be noticed. If it was not bounded, it lasts as long as its session
 * does. */
struct terms *grant_bound(struct core *core, struct grant *g);

/* Begins LEASE, MAXHOLD and CLAIM; 0: none. */
void grant_begin(struct core *core, struct grant *g, int64_t lease_ms, int64_t max_hold_ms, int64_t claim_ms);

/* This session's hold of r under this owner tag, also one of an unanswered MLOCK; NULL: none. */
struct grant *grant_any(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* The same, but only a hold that has been announced to the session. */
struct grant *grant_find(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* The hold of r after this one, in their order on each lease; NULL: the first one, or there is none. */
struct grant *resource_next_grant(const struct resource *r, const struct grant *g);

/* The hold with this token; NULL: none. */
struct grant *grant_with(const struct resource *r, int64_t token);

/* The session shows that it knows of the hold, by a repeated LOCK or another verb. True: it had not been
 * announced, or the hold has a CLAIM, which is over with that. */
bool grant_claim(struct core *core, struct grant *g);

/* The session of an id shows that it knows of the hold, by a request that may be a late copy of one about an
 * earlier hold. So that claims nothing, but its CLAIM ends no sooner than ms from now. */
void grant_defer_claim(struct core *core, struct grant *g, int64_t ms);

/* The bounds of the hold; NULL: none. */
static inline struct terms *
grant_terms(const struct grant *g)
{
	assert(!g->bounded || g->terms->grant == g);
	return g->bounded ? g->terms : NULL;
}

static inline int64_t
grant_since_ms(const struct grant *g)
{
	return g->bounded ? g->terms->granted_ms : g->granted_ms;
}

/* When it ends unless a request claims it; TIMER_NEVER: it is claimed. */
static inline int64_t
grant_claim_ends_ms(const struct grant *g)
{
	return g->bounded ? g->terms->claim_ends_ms : TIMER_NEVER;
}

/* When its terms end it; TIMER_NEVER: never. */
static inline int64_t
grant_ends_ms(const struct grant *g)
{
	int64_t claim_ends_ms = grant_claim_ends_ms(g);

	return g->bounded && g->terms->ends_ms < claim_ends_ms ? g->terms->ends_ms : claim_ends_ms;
}

/* Its session has lost its last connection; and has a connection again. */
void grant_cut_off(struct core *core, struct grant *g);
void grant_reconnected(struct grant *g);

/* How long it is surely good for, ms; <= 0: not any longer. */
int64_t grant_valid_ms(const struct core *core, const struct grant *g);

/* The same as announced to its holder: less the possible drift of the client's clock, rounded down. >= 0. */
int64_t grant_announced_ms(const struct core *core, const struct grant *g);

/* EXTEND: its LEASE ends ms from now, MAXHOLD permitting. That of a named session ends no sooner than was
 * announced to its client: the EXTEND may be a copy that comes late. */
void grant_extend(struct core *core, struct grant *g, int64_t ms);

/* Until when its holder may rely on it, by what has been announced to the holder; 0: nothing has. */
int64_t grant_relied_until_ms(const struct grant *g);

/* Until when it is withheld if it is abandoned now; 0: its client does not know of it. */
int64_t grant_withheld_until_ms(const struct grant *g);

/* DOWNGRADE: readers may join from now on. */
void grant_share(struct core *core, struct grant *g);

/* UNLOCK: it was entered once less; the last time, it is released. */
void grant_leave(struct core *core, struct grant *g);

/* UNLOCK and MUNLOCK: as grant_leave(); a named session remembers that it was given back. */
void grant_give_back(struct core *core, struct grant *g);

void grant_release(struct core *core, struct grant *g);
void grant_lose(struct core *core, struct grant *g, enum loss_reason reason);

/* Cuts it from its session and withholds it. Returns for how long, ms; 0: no client can rely on it. */
int64_t grant_abandon(struct core *core, struct grant *g);

/* A withheld hold whose client relies on it no more ends, unless a rule withholds it for longer
 * (crash-delay). */
void grant_end_withheld(struct core *core, struct grant *g);

/* BREAK: its session loses it, and the name stays withheld. Returns for how long, ms. */
int64_t grant_break(struct core *core, struct grant *g);

void grant_timer(struct core *core, struct grant *g);

/* What renew.h has answered of this lease. If it is lost, it ends, and so does every hold that stands on
 * it. */
void grants_lose(struct core *core, struct lease *l, enum lease_loss why);

/* A note about it, with its kind, its WHY and how long it has been held. Returns the note, until the next
 * one.
 */
struct note *grant_note(
	struct core *core, enum note_type type, const struct grant *g, int64_t ms, const char *text);

/* For core_free(): frees its memory, no more; and all that stand on a lease. */
void grant_free(struct grant *g);
void grants_free(struct lease *l);

#endif
