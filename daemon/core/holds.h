/*
 * holds: the holds of one session by name and tag, for a session that has many of a name that many hold.
 *
 * Mostly one of the two is short, and whoever looks goes through that. Where both are long, as with thousands
 * of tags of one session, each request would cost a look at all of them, and everybody else would wait. So
 * the first such look makes a table, which is kept up until few are left; without memory for it the look is
 * as slow as it was.
 */
#ifndef CORE_HOLDS_H
#define CORE_HOLDS_H

#include "daemon/core/state.h"

/* As many are gone through. */
#define HOLDS_FEW 16

/* The hold this session has of r under this owner tag; NULL: none. */
struct grant *holds_find(
	const struct core *core, struct session *s, const struct resource *r, struct slice owner);

/* It has one more; and it is about to have one less. */
void holds_add(const struct core *core, struct session *s, struct grant *g);
void holds_remove(struct session *s, const struct grant *g);

/* The table of a session that ends. */
void holds_done(struct session *s);

#endif
