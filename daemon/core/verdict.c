#include "daemon/core/verdict.h"

#include "daemon/core/quorum.h"

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
