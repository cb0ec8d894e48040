/*
 * rules: what the configuration says of names, as it says it now, and as it did for names that have not been
 * looked at since.
 *
 *     core_set_rules() ──▶ newest ◀── names that are new, or have been looked at
 *                            │ next
 *                            ▼
 *                          older  ◀── the others, until the walk is over
 *
 * Other rules go for all names, and there may be a million: they are looked at by and by. Until then each
 * name follows its rule as it was. What the rules say is copied, but for the key templates.
 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "daemon/core/state.h"

/* False: out of memory. */
bool rules_init(struct rules *rules, const struct rule *first, size_t count)
	__attribute__((warn_unused_result));
void rules_done(struct rules *rules);

/* False: out of memory, nothing has changed. */
bool rules_replace(struct core *core, const struct rule *first, size_t count);
/* Time to look at more names. */
void rules_timer(struct core *core);

/* The first one that matches. */
const struct rule *rules_find(const struct rules *rules, struct slice name);

/* The first one there is; the others follow it. */
const struct rule *rules_first(const struct rules *rules);

/* Whether names are locked together with programs that know a single master (Redisson). */
bool rules_single(const struct rules *rules);

/* Whether this is one that has not been forgotten. */
bool rules_have(const struct rules *rules, const struct rule *rule);

#endif
