/* lease_note: see lease_note.h. */
#include "daemon/core/lease/lease_note.h"

#include "daemon/core/base/emit.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/resource.h"

void
emit_lease_note(struct core *core, enum note_type type, const struct lease *l, int64_t token, int64_t ms,
	const char *text)
{
	emit_note_of(core, type, token, ms, text)->name = resource_name(l->resource);
}
