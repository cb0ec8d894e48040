/* refusal: see refusal.h. It only finds the answer, and changes nothing. */
#include "daemon/core/lock/refusal.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/masterset/masterset.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

bool
refusal_long(const struct core *core, struct slice name, struct reply *out)
{
	size_t most = core->settings.name_bytes;

	if (name.n <= most)
		return false;
	reply_error(out, CODE_LIMIT, "bad name: %zu bytes, name-bytes allows %zu", name.n, most);
	return true;
}

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
	switch (round_error(l)) {
	case LEASE_ERROR_NONE:
		return false;
	case LEASE_ERROR_ERROR:
		reply_error(out, CODE_MASTERERR, "the master said: %s",
			core->masters[round_acquiring(l)->error_at].error);
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
			"it has LIMIT %lld at the master while it is in use: give that, or wait until "
			"no client holds it",
			(long long)round_acquiring(l)->limit_there);
		return true;
	}
	return false;
}

void
refusal_masters(const struct core *core, const struct resource *r, const struct lease *l, struct reply *out)
{
	assert(l == NULL || l->resource == r);
	refusal_null(out);
	if (!majority_usable(core, r->link)) {
		majority_refusal(core, r->link, out);
		return;
	}
	if (l != NULL && refusal_error(core, l, out))
		return;
	/* No master has said that it is taken, and null would say just that. */
	if (l != NULL && l->state == LEASE_HELD)
		reply_error(out, CODE_NOMASTER, "the master has not renewed the lease, or given no tokens");
	else if (l == NULL || !lease_refused(l))
		reply_error(out, CODE_NOMASTER,
			"the master has not said yet who has it: wait longer, or try again");
}

bool
refusal_taken(const struct core *core, const struct resource *r)
{
	return r->grant_count > 0 ||
	       (r->limit == 0 && r->lease.state == LEASE_HELD && majority_usable(core, r->link));
}

void
refusal_shut(const struct core *core, const struct resource *r, struct reply *out)
{
	if (masterset_usable(core))
		refusal_null(out);
	else
		majority_refusal(core, r->link, out);
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
refusal_may_pass(const struct reply *reply)
{
	if (reply->type != REPLY_ERROR)
		return reply->type == REPLY_NULL;
	return reply->code == CODE_NOMASTER || reply->code == CODE_GUARD || reply->code == CODE_MASTERERR;
}
