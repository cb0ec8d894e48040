/*
 * rules: what the configuration says of names; also the older rules, for the names to which they
 * still apply.
 *
 *     core_set_rules() ──▶ newest ◀── names that are new, or were scanned since
 *                            │ next
 *                            ▼
 *                          older  ◀── the others, until the scan is over
 *
 * New rules apply to all names, and there may be a million; so the names are scanned bit by bit. Until then
 * each name follows its old rule. The rules are copied, except for the key templates.
 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"

#include <stdbool.h>
#include <stddef.h>

struct core;
struct rule;
struct rule_set;

/* Whether clients come back to names that they have locked once (retain.c). It begins anew with new rules. */
struct reuse {
	unsigned back;   /* the share of retained names that were locked again, in parts of REUSE_ALL */
	unsigned passed; /* how many names were not retained since the last one that was */
};

#define REUSE_ALL 1024 /* back, if every retained name was locked again */

/* What the configuration says of names, and what it said before. */
struct rules {
	struct rule_set *newest;
	scan_cursor cursor; /* while there are older sets: how far the scan of all names is */
	struct timer timer; /* and when it goes on */
};

/* False: out of memory. */
bool rules_init(struct rules *rules, const struct rule *first, size_t count)
	__attribute__((warn_unused_result));
void rules_done(struct rules *rules);

/* False: out of memory, and nothing has changed. */
bool rules_replace(struct core *core, const struct rule *first, size_t count);
/* The timer: applies the rules to more names. */
void rules_timer(struct core *core);

/* The first rule that matches. */
const struct rule *rules_find(const struct rules *rules, struct slice name);

/* The first rule of all; the others follow it. */
const struct rule *rules_first(const struct rules *rules);

/* Whether names are locked together with programs that know a single master. */
bool rules_single(const struct rules *rules);

/* Whether this is a rule that has not been forgotten. */
bool rules_have(const struct rules *rules, const struct rule *rule);

/* The struct reuse of the names of this rule, which has not been forgotten. */
struct reuse *rules_reuse(const struct rules *rules, const struct rule *rule);

#endif
