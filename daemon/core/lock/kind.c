/* kind: see kind.h. */
#include "daemon/core/lock/kind.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/locks.h"

#include <stddef.h>

const struct lock_kind *
kind_of_name(const struct core *core, const struct resource *r)
{
	return core->locks->kinds[r->limit == 0 ? LOCK_SHARE : LOCK_PERMITS];
}

const struct lock_kind *
kind_of_parts(const struct core *core)
{
	return core->locks->kinds[LOCK_PARTS];
}

void
kinds_finish(struct core *core, struct conn *conn)
{
	for (int i = 0; i < LOCK_KINDS; i++) {
		const struct lock_kind *kind = core->locks->kinds[i];

		if (kind->finish != NULL)
			kind->finish(core, conn);
	}
}

void
kinds_close(struct core *core, struct conn *conn)
{
	for (int i = 0; i < LOCK_KINDS; i++) {
		const struct lock_kind *kind = core->locks->kinds[i];

		if (kind->close != NULL)
			kind->close(core, conn);
	}
}

void
kinds_clear(struct core *core, struct conn *conn)
{
	for (int i = 0; i < LOCK_KINDS; i++) {
		const struct lock_kind *kind = core->locks->kinds[i];

		if (kind->clear != NULL)
			kind->clear(core, conn);
	}
}
