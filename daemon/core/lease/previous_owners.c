/*
 * previous_owners: see previous_owners.h. lease_vote.c asks the masters to adopt the leases, and tells this
 * file what they have said.
 */
#include "daemon/core/lease/previous_owners.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWNER_MAX (CALL_OWNER_SIZE - 1)

/* ---- the text of the owners ---- */

/* "<32 hexadecimal digits>:<1 to 13 digits of base 32>", as call_owner() writes it. */
static bool
owner_fits(struct slice owner)
{
	size_t id = CALL_DAEMON_ID_SIZE - 1;

	if (owner.n < id + 2 || owner.n > OWNER_MAX || owner.p[id] != ':')
		return false;
	for (size_t i = 0; i < owner.n; i++) {
		const char *digits = i < id ? "0123456789abcdef" : "0123456789abcdefghijklmnopqrstuv";

		if (i != id && (owner.p[i] == '\0' || strchr(digits, owner.p[i]) == NULL))
			return false;
	}
	return true;
}

bool
previous_owners_fit(struct slice owners)
{
	if (owners.n > 0 && owners.p[owners.n - 1] == ' ')
		return false;
	for (unsigned i = 0; i < PREVIOUS_OWNERS_MAX && owners.n > 0; i++) {
		if (!owner_fits(slice_word(&owners)))
			return false;
	}
	return owners.n == 0;
}

size_t
previous_owners_write(
	struct slice latest, struct slice owners, char out[PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE])
{
	size_t n = latest.n;

	memcpy(out, latest.p, n);
	for (unsigned i = 1; i < PREVIOUS_OWNERS_MAX && owners.n > 0; i++) {
		struct slice owner = slice_word(&owners);

		out[n++] = ' ';
		memcpy(out + n, owner.p, owner.n);
		n += owner.n;
	}
	assert(n <= PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE);
	return n;
}

struct previous_owners *
previous_owners_new(struct core *core, struct slice owners, uint8_t masters)
{
	struct previous_owners *previous = freelist_new(core, sizeof(*previous) + owners.n);

	assert(owners.n > 0 && masters != 0);
	if (previous == NULL)
		return NULL;
	memcpy(previous->bytes, owners.p, owners.n);
	previous->owners = (struct slice){previous->bytes, owners.n};
	previous->masters = masters;
	previous->asked = false;
	return previous;
}

/* ---- what the masters say ---- */

void
previous_owners_end(struct core *core, struct lease *l)
{
	struct previous_owners *previous = lease_previous(l);

	/* Calls of this step may point into it. */
	if (previous != NULL) {
		round_held(l)->previous = NULL;
		freelist_retire(core, &previous->freed);
		lease_changed(core, l);
	}
}

bool
lease_previous_asked(const struct lease *l)
{
	const struct previous_owners *previous = lease_previous(l);

	return previous == NULL || previous->asked;
}

void
lease_vote_adopts(struct core *core, struct lease *l)
{
	assert(l->state == LEASE_HELD);
	if (lease_previous_asked(l))
		return;
	lease_previous(l)->asked = true;
	lease_changed(core, l);
}

void
lease_vote_adopted(struct core *core, struct lease *l, unsigned master)
{
	struct previous_owners *previous = lease_previous(l);

	if (previous == NULL)
		return;
	previous->masters &= (uint8_t) ~(1U << master);
	/* A vote that a previous owner may have counts as ours. */
	assert((previous->masters & ~l->ours) == 0);
	if (previous->masters == 0)
		previous_owners_end(core, l);
}

struct slice
lease_previous_owners(const struct lease *l)
{
	const struct previous_owners *previous = lease_previous(l);

	return previous == NULL ? (struct slice){NULL, 0} : previous->owners;
}
