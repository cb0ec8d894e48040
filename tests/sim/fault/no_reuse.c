/* no_reuse: see no_reuse.h. Apart from host.c, since a conn is another thing there. */
#include "tests/sim/fault/no_reuse.h"
#include "daemon/core/lease/leases.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"

void
no_reuse_begin(struct core *core)
{
	const struct rule *first = rules_first(&core->leases->rules);

	for (size_t i = 0; i < core->settings.rule_count; i++)
		rules_reuse(&core->leases->rules, first + i)->back = 0;
}
