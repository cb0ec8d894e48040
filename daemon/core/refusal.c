/*
 * refusal: see refusal.h. It only finds the answer, and changes nothing.
 */
#include "daemon/core/refusal.h"

#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"

void
refusal_null(struct reply *out)
{
	const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

	*out = null;
}

/* What stood in the way at a master. False: nothing. */
static bool
refusal_error(const struct core *core, const struct lease *l, struct reply *out)
{
	switch (l->error) {
	case LEASE_ERROR_NONE:
		return false;
	case LEASE_ERROR_ERROR:
		reply_error(out, CODE_MASTERERR, "the master said: %s", core->masters[l->error_at].error);
		return true;
	case LEASE_ERROR_SILENT:
		reply_error(out, CODE_NOMASTER, "the master did not answer in time");
		return true;
	case LEASE_ERROR_KIND:
		reply_error(out, CODE_WRONGKIND,
			"the key of this name at the master holds something that is not a lock of this kind");
		return true;
	case LEASE_ERROR_LIMIT:
		reply_error(out, CODE_LIMIT,
			"it has LIMIT %lld at the master while it is in use: give that, or wait until nobody "
			"holds it",
			(long long)l->round->limit_there);
		return true;
	}
	return false;
}

void
refusal_masters(const struct core *core, const struct resource *r, const struct lease *l, struct reply *out)
{
	refusal_null(out);
	if (!quorum_usable(core, r->link)) {
		quorum_refusal(core, r->link, out);
		return;
	}
	if (l == NULL || refusal_error(core, l, out))
		return;
	/* No master has said that it is taken, and null would say just that. */
	if (l->state == LEASE_HELD)
		reply_error(out, CODE_NOMASTER, "the master has not renewed the lease, or given no tokens");
	else if (!l->refused)
		reply_error(out, CODE_NOMASTER,
			"the master has not said yet who has it: wait longer, or try again");
}

bool
refusal_taken(const struct core *core, const struct resource *r)
{
	return r->grant_count > 0 ||
	       (r->limit == 0 && r->lease.state == LEASE_HELD && quorum_usable(core, r->link));
}

void
refusal_shut(const struct core *core, const struct resource *r, struct reply *out)
{
	if (masterset_usable(core))
		refusal_null(out);
	else
		quorum_refusal(core, r->link, out);
}

void
refusal_name(const struct core *core, const struct resource *r, struct reply *out)
{
	const struct lease *l = r->limit == 0 ? &r->lease : NULL;

	if (refusal_taken(core, r))
		refusal_shut(core, r, out);
	else
		refusal_masters(core, r, l, out);
}

bool
refusal_hopeless(const struct resource *r, enum kind kind)
{
	if (r->limit > 0)
		return r->grant_count > 0 && kind == KIND_EXCLUSIVE;
	return (r->grant_count > 0 && (kind == KIND_EXCLUSIVE || lease_written(&r->lease))) ||
	       (r->lease.state == LEASE_WAITING && r->lease.refused && queue_patient(r));
}
