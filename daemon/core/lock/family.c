/* family: see family.h. */
#include "daemon/core/lock/family.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/locks.h"

#include <stddef.h>

const struct lock_family *
family_of_name(const struct core *core, const struct resource *r)
{
	return core->locks->families[r->limit == 0 ? FAMILY_SHARE : FAMILY_PERMITS];
}

const struct lock_family *
family_of_parts(const struct core *core)
{
	return core->locks->families[FAMILY_PARTS];
}

void
families_finish(struct core *core, struct conn *conn)
{
	for (int i = 0; i < FAMILY_COUNT; i++) {
		const struct lock_family *family = core->locks->families[i];

		if (family->finish != NULL)
			family->finish(core, conn);
	}
}

void
families_close(struct core *core, struct conn *conn)
{
	for (int i = 0; i < FAMILY_COUNT; i++) {
		const struct lock_family *family = core->locks->families[i];

		if (family->close != NULL)
			family->close(core, conn);
	}
}

void
families_clear(struct core *core, struct conn *conn)
{
	for (int i = 0; i < FAMILY_COUNT; i++) {
		const struct lock_family *family = core->locks->families[i];

		if (family->clear != NULL)
			family->clear(core, conn);
	}
}
