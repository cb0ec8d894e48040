/*
 * rules: what the configuration says of names; also the older rules, for names that have not been looked at
 * since.
 *
 *     core_set_rules() ──▶ newest ◀── names that are new, or have been looked at
 *                            │ next
 *                            ▼
 *                          older  ◀── the others, until the walk is over
 *
 * New rules apply to all names, and there may be a million; so they are looked at bit by bit. Until then each
 * name follows its old rule. The rules are copied, except for the key templates.
 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "daemon/core/state.h"

/* False: out of memory. */
bool rules_init(struct rules *rules, const struct rule *first, size_t count)
	__attribute__((warn_unused_result));
void rules_done(struct rules *rules);

/* False: out of memory, and nothing has changed. */
bool rules_replace(struct core *core, const struct rule *first, size_t count);
/* The timer: looks at more names. */
void rules_timer(struct core *core);

/* The first rule that matches. */
const struct rule *rules_find(const struct rules *rules, struct slice name);

/* The first rule of all; the others follow it. */
const struct rule *rules_first(const struct rules *rules);

/* Whether names are locked together with programs that know a single master (Redisson). */
bool rules_single(const struct rules *rules);

/* Whether this is a rule that has not been forgotten. */
bool rules_have(const struct rules *rules, const struct rule *rule);

#endif
