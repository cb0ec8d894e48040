/*
 * resource: one name, while a session here holds it or waits for it, or this daemon has a lease of it.
 *
 * Every noun that changes something about a resource makes it dirty; before the step ends scheduler.c
 * handles each dirty one as a whole.
 */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/permit_lease.h"
#include "proto/command.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct rule;

/* What clients here want of a name. */
struct demand {
	uint32_t count;  /* how many wait */
	uint32_t once;   /* of these: WAIT 0, or at the end of their WAIT */
	enum kind kind;  /* what the first one wants */
	int16_t permits; /* and how many */
};

struct resource {
	struct freelist_link freed;
	struct dirty_item item;
	int16_t limit; /* permits of the semaphore; 0: the name is locked exclusive and shared */
	uint16_t name_n : 10;
	uint16_t link : 3;
	uint16_t listens : 1;  /* this daemon listens for the ends of other daemons' locks of it */
	uint16_t parts : 1;    /* grants may be parts of an MLOCK */
	uint16_t name_at;      /* offset of the name, bytes from the start of this struct */
	struct resource *next; /* in its chain of names */
	uint32_t hash;         /* of its name; a search of the chain reads only up to here */
	uint32_t grant_count;  /* on all its leases */
	const struct rule *rule;
	struct demand *demand; /* in the queue of its waiters, if there are any (queue.h) */
	union {
		struct permit_leases permit_leases; /* limit > 0 */
		struct lease lease;                 /* limit == 0; its votes follow */
	};
	/* then the bytes of the name */
};

_Static_assert(NAME_BYTES_MAX < 1 << 10, "the length of each name fits into name_n");

static inline struct slice
resource_name(const struct resource *r)
{
	return (struct slice){(const char *)r + r->name_at, r->name_n};
}

/* Bytes of a short name. Each call about a name is copied and sent with several keys made of it. */
#define RESOURCE_SHORT 32

/* The work for a call about this name; 1 for a short one. */
static inline size_t
resource_work(const struct resource *r)
{
	return 1 + r->name_n / RESOURCE_SHORT;
}

/* A client here waits for more than one refusal. */
static inline bool
resource_patient(const struct resource *r)
{
	assert(r->demand->once <= r->demand->count);
	return r->demand->count > r->demand->once;
}

/* It will be read soon: fetches its memory. */
static inline void
resource_expect(const struct resource *r)
{
	for (size_t at = 0; at < sizeof(*r) + 64; at += 64)
		__builtin_prefetch((const char *)r + at);
}

/* Makes one for a name that has none. NULL: out of memory. The second one is for a name whose hash and rule
 * are known already. */
struct resource *resource_new(struct core *core, struct slice name) __attribute__((warn_unused_result));
struct resource *resource_make(struct core *core, struct slice name, uint32_t hash, const struct rule *rule)
	__attribute__((warn_unused_result));

/* Finds or makes it. NULL: out of memory. */
struct resource *resource_get(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Asks the masters to tell when locks of other daemons on this name end, until the name is forgotten. */
void resource_listen(struct core *core, struct resource *r);

/* Votes of its lease within the struct: as many as there were masters when it was made. */
unsigned resource_votes(const struct resource *r);

/* There is nothing left to remember of it. */
bool resource_idle(const struct resource *r);

/* Forgets it if it is idle and not dirty. */
void resource_forget(struct core *core, struct resource *r);

/* The lease for which the masters are asked next, or are being asked. NULL: there is none. */
struct lease *resource_asking(const struct resource *r);

/* The lease that an answer about this attempt is about. NULL: there is none any more. */
struct lease *resource_lease(const struct core *core, const struct resource *r, uint64_t attempt);

/* The owner elsewhere that the masters name. n == 0: they name none. */
struct slice resource_foreign(const struct resource *r);

/* The lease of r after this one; NULL: the first one, or there is none. A name has one lease, with permits
 * any number. */
struct lease *resource_next_lease(const struct resource *r, const struct lease *l);

/* The link to the master for a name, with a resource or without. */
unsigned resource_link_of(const struct core *core, struct slice name);

#endif
