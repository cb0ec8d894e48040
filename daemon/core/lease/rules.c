/* rules: see rules.h. */
#include "daemon/core/lease/rules.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "proto/glob.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TURN_NAMES 2000 /* names in one turn: a tenth of a millisecond or so */
#define TURN_MS    1

struct rule_set {
	struct rule_set *next; /* the set before; NULL: none */
	size_t count;
	struct reuse *reuse; /* of each rule */
	struct rule rules[]; /* their struct reuse follow, and then their globs */
};

/* NULL: out of memory. */
static struct rule_set *
set_new(const struct rule *first, size_t count)
{
	size_t bytes = count * sizeof(struct reuse);
	struct rule_set *set;
	char *at;

	assert(count > 0);
	for (size_t i = 0; i < count; i++)
		bytes += strlen(first[i].match) + 1;
	set = malloc(sizeof(*set) + count * sizeof(*first) + bytes);
	if (set == NULL)
		return NULL;
	set->next = NULL;
	set->count = count;
	set->reuse = (struct reuse *)(set->rules + count);
	at = (char *)(set->reuse + count);
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(first[i].match) + 1;

		set->reuse[i] = (struct reuse){.back = REUSE_ALL};
		set->rules[i] = first[i];
		set->rules[i].match = memcpy(at, first[i].match, n);
		at += n;
	}
	return set;
}

static void
set_free_all(struct rule_set *set)
{
	while (set != NULL) {
		struct rule_set *next = set->next;

		free(set);
		set = next;
	}
}

bool
rules_init(struct rules *rules, const struct rule *first, size_t count)
{
	assert(rules->newest == NULL);
	timer_init(&rules->timer, TIMER_RULES);
	rules->newest = set_new(first, count);
	return rules->newest != NULL;
}

void
rules_done(struct rules *rules)
{
	set_free_all(rules->newest);
}

const struct rule *
rules_find(const struct rules *rules, struct slice name)
{
	const struct rule_set *set = rules->newest;
	size_t i = 0;

	assert(name.n > 0);
	while (!glob_match(slice_of(set->rules[i].match), name)) {
		i++;
		assert(i < set->count && "the last rule matches everything");
	}
	return &set->rules[i];
}

const struct rule *
rules_first(const struct rules *rules)
{
	return rules->newest->rules;
}

bool
rules_single(const struct rules *rules)
{
	for (size_t i = 0; i < rules->newest->count; i++) {
		if (rules->newest->rules[i].interop > INTEROP_STRING)
			return true;
	}
	return false;
}

/* The set of this rule; NULL: it has been forgotten. */
static const struct rule_set *
set_of(const struct rules *rules, const struct rule *rule)
{
	const struct rule_set *set = rules->newest;

	while (set != NULL && (rule < set->rules || rule >= set->rules + set->count))
		set = set->next;
	return set;
}

bool
rules_have(const struct rules *rules, const struct rule *rule)
{
	return set_of(rules, rule) != NULL;
}

struct reuse *
rules_reuse(const struct rules *rules, const struct rule *rule)
{
	const struct rule_set *set = set_of(rules, rule);

	assert(set != NULL);
	return &set->reuse[rule - set->rules];
}

static bool
rules_apply(void *arg, struct resource *r)
{
	struct core *core = arg;
	const struct rule *before = r->rule;
	struct lease *l = NULL;

	assert(before != NULL);
	r->rule = rules_find(&core->leases->rules, resource_name(r));
	/* What the ledger says of holds beside the durable ones counts the delay. */
	while (r->rule->crash_delay_ms != before->crash_delay_ms && (l = resource_next_lease(r, l)) != NULL)
		lease_changed(core, l);
	return true;
}

void
rules_timer(struct core *core)
{
	struct rules *rules = &core->leases->rules;

	/* The scan is over when no name follows an older rule. */
	assert(rules->newest->next != NULL);
	rules->cursor = names_scan(&core->leases->names, rules->cursor, TURN_NAMES, rules_apply, core);
	if (rules->cursor != 0) {
		timer_arm(&core->timers, &rules->timer, core->now.ms + TURN_MS);
		return;
	}
	set_free_all(rules->newest->next);
	rules->newest->next = NULL;
}

bool
rules_replace(struct core *core, const struct rule *first, size_t count)
{
	struct rules *rules = &core->leases->rules;
	struct rule_set *set = set_new(first, count);

	if (set == NULL)
		return false;
	set->next = rules->newest;
	rules->newest = set;
	rules->cursor = 0;
	timer_cancel(&core->timers, &rules->timer);
	rules_timer(core);
	return true;
}
