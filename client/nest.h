/*
 * nest: a run inside a run of the same name. It would wait for itself for ever; so it joins the session of
 * the one around it, whose hold covers it: that one does not end before all its processes have.
 */
#ifndef CLIENT_NEST_H
#define CLIENT_NEST_H

#include "client/take.h"

/* Puts name, token, kind, session and address of a hold into the environment, for the command. */
void nest_export(const struct options *o, const struct address *a, const struct grant *g);

/* Whether a run around this process has one of several names: then they cannot be had all together. */
bool nest_overlaps(const struct options *o);

/* "exclusive", "shared" or "permits": what the command finds as HOLDFAST_KIND. */
const char *nest_kind(const struct options *o);

/*
 * Whether a run around this process (see nest_export()) holds
 * the name now, so that it covers what is wanted: then *w speaks for its session, and *g is its hold. False:
 * *w is closed. Says nothing.
 */
bool nest_join(struct wire *w, const struct taking *t, struct grant *g) __attribute__((warn_unused_result));

#endif
