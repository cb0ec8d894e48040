/*
 * majority: whether a majority of the masters can be asked for leases, and why not. Each master says whether
 * it can be used (usable.h); all have to belong to the set that is agreed on.
 */
#ifndef CORE_MAJORITY_H
#define CORE_MAJORITY_H

#include <stdbool.h>
#include <stddef.h>

struct core;
struct reply;

/* A majority can be asked for new leases on this link. */
bool majority_usable(const struct core *core, unsigned link);

/* And a majority takes leases, as it answered its last HELLOs. */
bool majority_works(const struct core *core, unsigned link);

/* No majority is usable now, but one may be in a moment: the answer to a HELLO is under way. */
bool majority_near(const struct core *core, unsigned link);

/* Why no majority is usable, as the answer of a LOCK. */
void majority_refusal(const struct core *core, unsigned link, struct reply *why);

/* Each master that is not in use on this link, and why; "": all are in use. */
void majority_missing(const struct core *core, unsigned link, char *out, size_t room);

#endif
