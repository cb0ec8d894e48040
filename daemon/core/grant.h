/*
 * grant: a session's hold of a name.
 *
 * A hold is released by its holder (the name passes on at once), is lost (the session is told), or is
 * abandoned by a session that may still be working. An abandoned hold is withheld and belongs to no session.
 * It ends at the deadline that its holder was told at most, which is the validity of the lease when the
 * holder was last told anything, plus the rule's crash-delay, if the lease can be kept as long.
 */
#ifndef CORE_GRANT_H
#define CORE_GRANT_H

#include "daemon/core/state.h"

/* Turns a waiter into a holder on this lease, which is good, with this token, and answers the waiter. If the
 * answer cannot be given because the connection left RESP3, the hold ends, and so does the connection. */
void grant_give(struct core *core, struct lease *l, struct waiter *w, int64_t token);

/* Begins LEASE and MAXHOLD; 0: none. */
void grant_begin(struct core *core, struct grant *g, int64_t lease_ms, int64_t max_hold_ms);

/* This session's hold of r under this owner tag, also one of an unanswered MLOCK; NULL: none. */
struct grant *grant_any(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* The same, but only a hold that the session has been told of. */
struct grant *grant_find(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* The hold with this token; NULL: none. */
struct grant *grant_with(const struct resource *r, int64_t token);

/* The session shows that it knows of the hold, by a repeated LOCK or another verb. True: it had not been
 * told. */
bool grant_claim(struct grant *g);

/* The bounds of the hold; NULL: none. */
static inline struct terms *
grant_terms(const struct grant *g)
{
	return g->bounded ? g->terms : NULL;
}

static inline int64_t
grant_since_ms(const struct grant *g)
{
	return g->bounded ? g->terms->granted_ms : g->granted_ms;
}

/* When its terms end it; TIMER_NEVER: never. */
static inline int64_t
grant_ends_ms(const struct grant *g)
{
	return g->bounded ? g->terms->ends_ms : TIMER_NEVER;
}

/* Its session has lost its last connection; and has a connection again. */
void grant_tell_no_more(struct core *core, struct grant *g);
void grant_tell_on(struct grant *g);

/* How long it is surely good for, ms; <= 0: not any longer. */
int64_t grant_valid_ms(const struct core *core, const struct grant *g);

/* The same as its holder is told it: less the possible drift of the client's clock, rounded down. >= 0. */
int64_t grant_told_ms(const struct core *core, const struct grant *g);

/* EXTEND: its LEASE ends ms from now, MAXHOLD permitting. */
void grant_extend(struct core *core, struct grant *g, int64_t ms);

/* Until when its holder may rely on it, by what the holder has been told; 0: it has not been told. */
int64_t grant_relied_ms(const struct grant *g);

/* DOWNGRADE: readers may join from now on. */
void grant_share(struct core *core, struct grant *g);

void grant_release(struct core *core, struct grant *g);
void grant_lose(struct core *core, struct grant *g, enum loss_reason reason);

/* Cuts it from its session and withholds it. Returns for how long, ms; 0: no client can rely on it. */
int64_t grant_abandon(struct core *core, struct grant *g);

/* BREAK: its session loses it, and the name stays withheld. Returns for how long, ms. */
int64_t grant_break(struct core *core, struct grant *g);

void grant_timer(struct core *core, struct grant *g);

/* For core_free(): frees its memory, no more. */
void grant_free(struct grant *g);

#endif
