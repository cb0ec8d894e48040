/*
 * adopt: a lease that an earlier process of this daemon had, by its ledger (ledger.h).
 *
 * It is HELD at once, until the deadline that was announced to its holders. Its key belongs to the previous
 * owner at each master, and the lease has an attempt number of its own: so a master that has not adopted it
 * is asked ADOPT in place of RENEW. A yes makes the vote ours as any other. After a no the vote is missing,
 * and is acquired as any other (R6). No answer leaves it open: then it is asked again.
 *
 * All votes count until that deadline, which a majority gave to the previous owner: nothing is announced
 * that was not announced before. Only a majority of yes adds to it. A crash in the middle leaves some masters
 * with one owner and some with the other: the next process names both. A guarded master is asked RECLAIM,
 * which names them, too: what an earlier process has reclaimed in the same guard is no newer lease of another
 * daemon.
 *
 * An adoption changes to whom a key belongs, so what holds for an acquire holds for it. It refuses itself
 * when the lease is over, it is released when the lease is given up, and if it was not answered, it is
 * released again after its deadline (R2). What the previous owner still had under way names the previous
 * owner. It renews and releases nothing after the adoption; before it, it did what its process wanted then.
 */
#ifndef CORE_ADOPT_H
#define CORE_ADOPT_H

#include "proto/name.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct lease;
struct resource;

struct lease_past {
	enum kind kind;
	int16_t permits;        /* PERMITS: how many */
	struct slice slots;     /* PERMITS: which, as the masters name them */
	int64_t valid_until_ms; /* now < valid_until_ms <= now + term_ms */
	int32_t term_ms;        /* > 0 */
	int64_t token;          /* the newest of its tokens (round_newest()), > 0 */
	const char *daemon_id;  /* of that process, 32 hexadecimal digits */
	uint64_t attempt;       /* the lease's, there */
	struct slice previous;  /* the lease's previous owners, there (previous_owners_fit()); n == 0: none */
	bool asked;             /* false: it had previous owners, and no master has been asked to adopt it */
};

/*
 * The lease is HELD from now on, as if all masters had given it; it has no hold yet. A name without LIMIT has
 * no lease before, and is of no lease's name; a name with LIMIT gets a permit lease more. core->now and
 * core->random are set. NULL: out of memory.
 */
struct lease *lease_recover(struct core *core, struct resource *r, const struct lease_past *past)
	__attribute__((warn_unused_result));

#endif
