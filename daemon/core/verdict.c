#include "daemon/core/verdict.h"

#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"

void
verdict_null(struct reply *out)
{
	const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

	*out = null;
}

/* What stood in the way at a master. True: something did. */
static bool
verdict_trouble(const struct core *core, const struct lease *l, struct reply *out)
{
	switch (l->trouble) {
	case TROUBLE_NONE:
		return false;
	case TROUBLE_ERROR:
		reply_error(out, CODE_MASTERERR, "the master said: %s", core->masters[l->trouble_at].error);
		return true;
	case TROUBLE_SILENT:
		reply_error(out, CODE_NOMASTER, "the master did not answer in time");
		return true;
	case TROUBLE_KIND:
		reply_error(out, CODE_WRONGKIND,
			"the key of this name at the master holds something that is not a lock of this kind");
		return true;
	case TROUBLE_LIMIT:
		reply_error(out, CODE_LIMIT,
			"it has LIMIT %lld at the master while it is in use: give that, or wait until nobody "
			"holds it",
			(long long)l->traffic->limit_there);
		return true;
	}
	return false;
}

void
verdict_masters(const struct core *core, const struct resource *r, const struct lease *l, struct reply *out)
{
	verdict_null(out);
	if (!quorum_usable(core, r->link)) {
		quorum_verdict(core, r->link, out);
		return;
	}
	if (l == NULL || verdict_trouble(core, l, out))
		return;
	/* Nobody has said that it is taken, and null would say just that. */
	if (l->state == LEASE_HELD)
		reply_error(out, CODE_NOMASTER, "the master has not renewed the lease, or given no tokens");
	else if (!l->refused)
		reply_error(out, CODE_NOMASTER,
			"the master has not said yet who has it: wait longer, or try again");
}

bool
verdict_taken(const struct core *core, const struct resource *r)
{
	return r->grant_count > 0 ||
	       (r->limit == 0 && r->lease.state == LEASE_HELD && quorum_usable(core, r->link));
}

void
verdict_shut(const struct core *core, const struct resource *r, struct reply *out)
{
	if (masterset_usable(core))
		verdict_null(out);
	else
		quorum_verdict(core, r->link, out);
}

void
verdict_name(const struct core *core, const struct resource *r, struct reply *out)
{
	const struct lease *l = r->limit == 0 ? &r->lease : NULL;

	if (verdict_taken(core, r))
		verdict_shut(core, r, out);
	else
		verdict_masters(core, r, l, out);
}

bool
verdict_hopeless(const struct resource *r, enum kind kind)
{
	if (r->limit > 0)
		return r->grant_count > 0 && kind == KIND_EXCLUSIVE;
	return (r->grant_count > 0 && (kind == KIND_EXCLUSIVE || lease_written(&r->lease))) ||
	       (r->lease.state == LEASE_WAITING && r->lease.refused && queue_patient(r));
}
