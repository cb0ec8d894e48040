/*
 * grant: a session's hold of a name.
 *
 * It ends by its holder (released: passes on at once), is lost (the session is told), or is abandoned by a
 * session that may still be working: then it is withheld, owned by nobody, until the deadline its holder
 * was told at most, the validity of the lease when it was last told anything, and then for the rule's
 * crash-delay, as long as the lease can be kept.
 */
#ifndef CORE_GRANT_H
#define CORE_GRANT_H

#include "daemon/core/state.h"

/* Turns a waiter into a holder on this lease, with this token, and answers it. The lease is good. One that
 * cannot be answered, because its connection left RESP3, ends instead, and so does the connection. */
void grant_give(struct core *core, struct lease *l, struct waiter *w, int64_t token);

/* LEASE and MAXHOLD begin; 0: none. */
void grant_begin(struct core *core, struct grant *g, int64_t lease_ms, int64_t max_hold_ms);

/* The hold this session has of r under this owner tag, or may have when its MLOCK is answered; NULL: none. */
struct grant *grant_any(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* And only one that the session has been told of. */
struct grant *grant_find(
	const struct core *core, const struct resource *r, struct session *s, struct slice owner);

/* The hold with this token; NULL: none. */
struct grant *grant_with(const struct resource *r, int64_t token);

/* Its session shows that it knows of it: a repeated LOCK, or another verb. True: it had not been told. */
bool grant_claim(struct grant *g);

/* What bounds it; NULL: nothing. */
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

/* When its terms end it; TIMER_NEVER: they do not. */
static inline int64_t
grant_ends_ms(const struct grant *g)
{
	return g->bounded ? g->terms->ends_ms : TIMER_NEVER;
}

/* Its session has lost its last connection, and has one again. */
void grant_tell_no_more(struct core *core, struct grant *g);
void grant_tell_on(struct grant *g);

/* How long it is surely good for, ms; <= 0: not any more. */
int64_t grant_valid_ms(const struct core *core, const struct grant *g);

/* What its holder is told of that: shortened by what the client's clock may differ from ours, and rounded
 * down.
 * >= 0. */
int64_t grant_told_ms(const struct core *core, const struct grant *g);

/* EXTEND: its LEASE ends ms from now, MAXHOLD permitting. */
void grant_extend(struct core *core, struct grant *g, int64_t ms);

/* Until when its holder may rely on it, by what it has been told. */
int64_t grant_relied_ms(const struct grant *g);

/* DOWNGRADE: readers may come in from now on. */
void grant_share(struct core *core, struct grant *g);

void grant_release(struct core *core, struct grant *g);
void grant_lose(struct core *core, struct grant *g, enum loss_reason reason);

/* Cuts it from its session and withholds it. Answers for how long, ms; 0: nobody can rely on it. */
int64_t grant_abandon(struct core *core, struct grant *g);

/* BREAK: its session loses it, the name stays withheld. Answers for how long, ms. */
int64_t grant_break(struct core *core, struct grant *g);

void grant_timer(struct core *core, struct grant *g);

/* At the core's own end: its memory alone. */
void grant_free(struct grant *g);

#endif
