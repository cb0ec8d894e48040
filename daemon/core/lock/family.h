/*
 * family: what waiters, holds and connections ask of the family of locks that they belong to.
 *
 *     scheduler, queue, grant, attach, ending ──▶ struct lock_family ◀── share, semaphore, parts, latch
 *
 * A family is the code for locks of some kinds (enum kind), or for requests that wait in a way of their own:
 * share serves exclusive and shared locks, semaphore permits, parts the names of an MLOCK, latch latches. A
 * name is of one of the first two for as long as it is in use (mode.h). Any of its waiters and holds may be a
 * part of a request for several names, which notes what becomes of its parts. And a connection may wait in a
 * request of whatever family. The families enter their functions when a core is made
 * (families_init()): so this room needs none of them. A function that a family has no use for is NULL.
 * CONTRIBUTING.md says what one more kind needs.
 */
#ifndef CORE_FAMILY_H
#define CORE_FAMILY_H

#include "proto/name.h"

#include <stdbool.h>

struct conn;
struct core;
struct grant;
struct lease;
struct part;
struct reply;
struct resource;
struct session;
struct waiter;

enum lock_families {
	FAMILY_SHARE,   /* a name that is locked exclusive and shared */
	FAMILY_PERMITS, /* a name with permits */
	FAMILY_LATCHES, /* requests about latches, which are no locks */
	FAMILY_PARTS,   /* requests for several names, and their parts */
	FAMILY_COUNT
};

struct lock_family {
	/* Of a name: it is locked in this way from now on, and nothing is known of it; it is no more, and
	 * gives back what leases it has. No session holds it or waits for it. For core_free(): frees them. */
	void (*begin)(struct core *core, struct resource *r);
	void (*end)(struct core *core, struct resource *r);
	void (*free)(struct core *core, struct resource *r);
	/* Of a name that is dirty: grants the waiters that it can, and acquires, retains or gives back what
	 * the name needs. */
	void (*schedule)(struct core *core, struct resource *r);
	/* Of a name: the answer of a waiter that cannot wait any longer. */
	void (*refusal)(const struct core *core, const struct waiter *w, struct reply *out);
	/* Of a name: whether a LOCK that tries once can be refused without the masters, because a session
	 * here holds it, or waits for it without success. */
	bool (*hopeless)(const struct resource *r, enum kind kind);
	/* Of a lease: one more hold stands on it; one has ended. */
	void (*held)(struct lease *l);
	void (*released)(struct lease *l);

	/* Of parts: the lease of a name has changed, and its holds may be parts. */
	void (*check)(struct core *core, struct resource *r);
	/* The waiter of a part was granted this hold; the waiter is refused; the hold is about to end. */
	void (*won)(struct core *core, struct waiter *w, struct grant *g);
	void (*refused)(struct core *core, struct part *p, const struct reply *reply);
	void (*lost)(struct core *core, struct part *p);

	/* Of a connection that may wait in a request of this family: no more requests will come on it; it is
	 * gone; its session gives up what it has. */
	void (*finish)(struct core *core, struct conn *conn);
	void (*close)(struct core *core, struct conn *conn);
	void (*clear)(struct core *core, struct conn *conn);
};

/* Who searches for cycles of waits. */
struct wait_watch {
	/* A cycle may have been closed without a new wait: the session has one connection less, or was
	 * granted something while it is blocked. */
	void (*check)(struct core *core, struct session *s);
	/* The session ends. */
	void (*forget)(struct core *core, struct session *s);
};

/* The family of this name. */
const struct lock_family *family_of_name(const struct core *core, const struct resource *r);
/* Of what is part of a request for several names. */
const struct lock_family *family_of_parts(const struct core *core);

/* In each family. */
void families_finish(struct core *core, struct conn *conn);
void families_close(struct core *core, struct conn *conn);
void families_clear(struct core *core, struct conn *conn);

#endif
