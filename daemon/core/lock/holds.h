/*
 * holds: the holds of one session by name and tag, for a session with many holds and a name with many
 * holders.
 *
 * Usually one of the two lists is short, and a lookup goes through that. If both are long, as with thousands
 * of tags in one session, each request would go through all holds, and other clients would wait. So the first
 * such lookup makes a table, which is maintained until few holds are left. Without memory for it, the lookup
 * stays slow.
 */
#ifndef CORE_HOLDS_H
#define CORE_HOLDS_H

struct core;
struct grant;
struct resource;
struct session;
struct slice;

/* Up to so many are searched one by one. */
#define HOLDS_FEW 16

/* The hold this session has of r under this owner tag; NULL: none. */
struct grant *holds_find(
	const struct core *core, struct session *s, const struct resource *r, struct slice owner);

/* The session has one hold more; and is about to have one less. */
void holds_add(const struct core *core, struct session *s, struct grant *g);
void holds_remove(const struct core *core, struct session *s, const struct grant *g);

/* Frees the table of a session that ends. */
void holds_done(struct session *s);

#endif
