/*
 * withheld: the holds that no session has (grant.h), by name and token.
 *
 * A client that ends, or gives back what it has lost, passes on what is withheld because of its losses. It
 * may have thousands of them, and a name thousands of holders: if each loss went through all holders, other
 * clients would wait. Without memory for the table a lookup does go through them, until nothing is withheld
 * any more.
 */
#ifndef CORE_WITHHELD_H
#define CORE_WITHHELD_H

#include "daemon/core/base/map.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct grant;
struct resource;

/* All zero at first. */
struct withheld {
	struct map holds;
	bool lacks; /* there was no memory: the table is empty, whatever is withheld */
};

/* The hold is withheld from now on, and counts as that (counts.withheld). */
void withheld_add(struct core *core, struct grant *g);
/* It ends, and counts no more. */
void withheld_remove(struct core *core, const struct grant *g);

/* The withheld hold of r with this token; NULL: none. */
struct grant *withheld_find(const struct core *core, const struct resource *r, int64_t token);

/* For core_free(). */
void withheld_done(struct core *core);

#endif
