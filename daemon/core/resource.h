/*
 * resource: one name, while a session here holds it or waits for it, or this daemon has a lease of it.
 *
 * Every noun that changes something about a resource makes it dirty; before the step ends scheduler.c looks
 * at the whole and does what follows.
 */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/map.h"
#include "daemon/core/lease.h"
#include "daemon/core/semaphore.h"
#include "proto/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct grant;
struct queue;
struct rule;
struct rule_set;

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
	struct queue *queue; /* its waiters; &core.nobody: none */
	union {
		struct permit_leases permit_leases; /* limit > 0 */
		struct lease lease;                 /* limit == 0; its seats follow */
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

/* It will be read soon: fetches its memory. */
static inline void
resource_expect(const struct resource *r)
{
	for (size_t at = 0; at < sizeof(*r) + 64; at += 64)
		__builtin_prefetch((const char *)r + at);
}

/* Makes one for a name that has none. NULL: out of memory. */
struct resource *resource_new(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Finds or makes it. NULL: out of memory. */
struct resource *resource_get(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Asks the masters to tell when locks of other daemons on this name end, until the name is forgotten. */
void resource_listen(struct core *core, struct resource *r);

/* Seats of its lease within the struct: as many as there were masters when it was made. */
unsigned resource_seats(const struct resource *r);

/* There is nothing left to remember of it. */
bool resource_idle(const struct resource *r);

/* Forgets it if it is idle and not dirty. */
void resource_forget(struct core *core, struct resource *r);

/* The lease of r after this one; NULL: the first one, or there is none. A name has one lease, with permits
 * any number. */
struct lease *resource_next_lease(const struct resource *r, const struct lease *l);

/* The hold of r after this one, in their order on each lease; NULL: the first one, or there is none. */
struct grant *resource_next_grant(const struct resource *r, const struct grant *g);

/* The link to the master for a name, with a resource or without. */
unsigned resource_link_of(const struct core *core, struct slice name);

/*
 * Modes: how a name is locked at a time: by exclusive and shared holds, which stand on its one lease, or by
 * permits of a limited number, where each hold stands on a permit lease of its own.
 *
 * The first LOCK decides; the mode stays for as long as a session here holds the name or waits for it.
 */

/* Whether the name cannot be locked as this LOCK says, either ever or while it is in use in another mode.
 * Then *why is the answer. */
bool mode_refuses(const struct resource *r, const struct command *c, struct reply *why)
	__attribute__((warn_unused_result));

/* After mode_refuses() said false: from now on the name is locked in this mode. Leases of an unused earlier
 * mode are given back. */
void mode_join(struct core *core, struct resource *r, const struct command *c);

/*
 * The table of resources, by their names.
 *
 * A table of chains that grows and shrinks by one chain at a time (linear hashing). So with a million names
 * the next one takes no longer than any other; in a table that doubles, every client would wait for the move.
 * A name costs a pointer and the hash in its resource, and a pointer for its chain; with half as many chains
 * a renewal took a tenth longer. Adding cannot fail: without memory the chains become longer.
 *
 *     chains 0..n-1: a hash belongs to chain hash & mask; if that one is not there yet,
 *                    to chain hash & mask/2, which will be split for it
 */

#define NAMES_FIRST_LOG 6 /* log2 of the number of chains at first */
#define NAMES_PER_CHAIN 1 /* names per chain, on average, before one more is added */
#define NAMES_SPARE     4 /* chains are removed when there are more than this many per name */
#define NAMES_PIECES    26

struct names {
	uint64_t secret[2]; /* clients choose names, but must not choose chains (map.h) */
	size_t count;
	uint32_t n;    /* chains */
	uint32_t mask; /* the least power of two that is not below n, less one */
	/* Of chains: the first piece has as many as there are at first, each further one as many as all
	 * before it. */
	struct resource **pieces[NAMES_PIECES];
	struct resource *first[1 << NAMES_FIRST_LOG];
};

/* secret: unpredictable; copied. */
void names_init(struct names *names, const uint64_t secret[2]);

/* Frees the chains. There must be no names any more. */
void names_done(struct names *names);

/* NULL: no such name. */
struct resource *names_find(const struct names *names, struct slice name);

/* The name must not be there yet. */
void names_add(struct names *names, struct resource *r);
void names_remove(struct names *names, struct resource *r);

/* All names, in an arbitrary order: the one after r; NULL: r was the last. None may be added on the way.
 * Before one is removed, the next one has to be fetched. */
struct resource *names_first(const struct names *names);
struct resource *names_next(const struct names *names, const struct resource *r);

/* Scans all names in parts, while names come and go: see map.h. */
scan_cursor names_scan(const struct names *names, scan_cursor cursor, size_t looks,
	bool (*each)(void *arg, struct resource *r), void *arg);

/*
 * Keys: a name locks a key at the masters, and a key has one name.
 *
 * NAMESPACE:{NAME} is the key of one name alone. A rule's template can give a name the key of another name,
 * or one of holdfast's own keys. The masters exclude two names with one key, but a queue, a token counter, a
 * holder and a daemon's lease belong to a name. So the first rule that gives a key decides which name has it:
 * at every daemon the same, whether the name is in use or not. The other names are refused.
 */

/* Whether this name cannot be locked, because its key belongs to another name or to holdfast itself. True:
 * *why is set. */
bool key_refuses(const struct core *core, struct slice name, struct reply *why)
	__attribute__((warn_unused_result));

#endif
