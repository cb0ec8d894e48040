/*
 * table: finds things by their keys, except for resources (names.h). Adding fails only when out of memory;
 * what was not added still belongs to the caller.
 */
#ifndef CORE_TABLE_H
#define CORE_TABLE_H

#include "daemon/core/state.h"

/* Permit leases that are asked for or held, by the attempt of that lease. */

struct latch *table_latch(const struct core *core, struct slice name);
bool table_add_latch(struct core *core, struct latch *latch) __attribute__((warn_unused_result));
void table_remove_latch(struct core *core, struct latch *latch);

struct latch_quota *table_latch_quota(const struct core *core, uint64_t latch);
bool table_add_latch_quota(struct core *core, struct latch_quota *latch_quota)
	__attribute__((warn_unused_result));
void table_remove_latch_quota(struct core *core, struct latch_quota *latch_quota);

/* Latch requests with a call under way. */
struct latch_request *table_ask(const struct core *core, uint64_t attempt);
bool table_add_ask(struct core *core, struct latch_request *latch_request)
	__attribute__((warn_unused_result));
void table_remove_ask(struct core *core, struct latch_request *latch_request);

#endif
