/*
 * nest: a run inside a run of the same name: it joins the session of the outer run instead of taking the
 * lock.
 *
 * It would wait for itself forever otherwise. The hold of the outer run covers it, because the outer run does
 * not end before all its processes have ended.
 */
#ifndef CLIENT_NEST_H
#define CLIENT_NEST_H

#include <stdbool.h>

struct address;
struct grant;
struct options;
struct taking;
struct wire;

/* Puts name, token, kind, session and address of a hold into the environment of the command. */
void nest_export(const struct options *o, const struct address *a, const struct grant *g);

/* Whether an outer run holds one of several names. Then they cannot be taken all together. */
bool nest_overlaps(const struct options *o);

/*
 * Whether an outer run (see nest_export()) holds the name now, and its hold covers the wanted one. Then *w
 * has joined its session, and *g is its hold. False: *w is closed. Prints nothing.
 */
bool nest_join(struct wire *w, const struct taking *t, struct grant *g) __attribute__((warn_unused_result));

#endif
