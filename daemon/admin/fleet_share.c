/*
 * fleet_share: how much of the fleet each user may ask for. Called by fleet.c before it begins a request. An
 * administrator may ask at any time; each other user has a share.
 */
#include "daemon/admin/fleet_share.h"

#include "daemon/admin/fleet_inner.h"

/* The share of the user; a new one takes the place of one that is whole again. NULL: there is none. */
static struct fleet_share *
share_find(struct fleet *fleet, uint64_t user, int64_t now_ms)
{
	struct fleet_share *whole = NULL;
	for (size_t i = 0; i < FLEET_USERS_MAX; i++) {
		struct fleet_share *share = &fleet->shares[i];
		if (share->asked_ms > 0 && share->user == user) {
			return share;
		}
		if (share->asked_ms == 0 || now_ms - share->asked_ms >= 1000) {
			whole = share;
		}
	}
	if (whole) {
		*whole = (struct fleet_share){.user = user, .left = FLEET_PER_SECOND, .asked_ms = now_ms};
	}
	return whole;
}

static bool
share_take(struct fleet_share *share, int64_t now_ms)
{
	share->left += (double)(now_ms - share->asked_ms) * FLEET_PER_SECOND / 1000;
	share->left = share->left > FLEET_PER_SECOND ? FLEET_PER_SECOND : share->left;
	share->asked_ms = now_ms;
	if (share->left < 1) {
		return false;
	}
	share->left -= 1;
	return true;
}

static size_t
count_opens(const struct fleet *fleet, uint64_t user)
{
	const struct fleet_open *open;
	size_t n = 0;
	TAILQ_FOREACH (open, &fleet->opens, next) {
		n += open->user == user;
	}
	return n;
}

bool
fleet_allows(struct fleet *fleet, const struct peer *peer, int64_t now_ms)
{
	if (peer->admin) {
		return fleet->open_count < FLEET_OPEN_MAX;
	}
	if (fleet->open_count >= FLEET_OPEN_MAX / 2 || count_opens(fleet, peer->user) >= FLEET_USER_MAX) {
		return false;
	}
	struct fleet_share *share = share_find(fleet, peer->user, now_ms);
	return share && share_take(share, now_ms);
}
