#include "daemon/core/verdict.h"

#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/share.h"

void
verdict_masters(const struct core *core, const struct lease *l, struct reply *out)
{
	const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

	*out = null;
	if (!quorum_usable(core, l->resource->link)) {
		quorum_verdict(core, l->resource->link, out);
		return;
	}
	switch (l->trouble) {
	case TROUBLE_ERROR:
		reply_error(out, CODE_MASTERERR, "the master said: %s", core->masters[l->trouble_at].error);
		return;
	case TROUBLE_SILENT:
		reply_error(out, CODE_NOMASTER, "the master did not answer in time");
		return;
	case TROUBLE_KIND:
		reply_error(out, CODE_WRONGKIND,
			"the key of this name at the master holds something that is not a lock of this kind");
		return;
	default:
		break;
	}
	/* Nobody has said that it is taken, and null would say just that. */
	if (l->state == LEASE_HELD)
		reply_error(out, CODE_NOMASTER, "the master has not renewed the lease, or given no tokens");
	else if (l->state == LEASE_ACQUIRING && !l->refused)
		reply_error(out, CODE_NOMASTER, "the master has not answered yet");
}

void
verdict_name(const struct core *core, const struct resource *r, struct reply *out)
{
	const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

	if (r->grant_count > 0 || r->lease.state == LEASE_HELD)
		*out = null;
	else
		verdict_masters(core, &r->lease, out);
}

bool
verdict_mismatch(const struct resource *r, enum kind kind, struct reply *out)
{
	if (kind == KIND_EXCLUSIVE || (r->rule->key == NULL && r->rule->interop == INTEROP_NONE))
		return false;
	reply_error(out, CODE_WRONGKIND,
		"other programs lock this name too, and know exclusive locks only: its rule has a key or "
		"interop");
	return true;
}

bool
verdict_hopeless(const struct resource *r, enum kind kind)
{
	return (r->grant_count > 0 && (kind == KIND_EXCLUSIVE || share_written(r))) ||
	       (r->lease.state == LEASE_WAITING && r->lease.refused && queue_patient(r));
}
