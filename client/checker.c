/*
 * checker: verifies PROTOCOL 3.18 and 4.4 from outside. Used by load.c; it sends and prints nothing.
 */
#include "client/checker.h"

#include <assert.h>
#include <stddef.h>

const char *
checker_grant(struct checker *u, const void *who, bool shared, int64_t token)
{
	if (u->exclusive) {
		return "granted while another has it";
	}
	if (!shared && u->readers > 0) {
		return "granted while others have it shared";
	}
	/* Concurrent shared holds have no order. */
	if (token <= (shared ? u->exclusive_token : u->token)) {
		return "granted with a token that is not greater than those before";
	}
	u->token = token > u->token ? token : u->token;
	if (shared) {
		u->readers++;
		return NULL;
	}
	u->exclusive = true;
	u->exclusive_token = token;
	u->changes += u->former != who;
	u->former = who;
	return NULL;
}

void
checker_release(struct checker *u, bool shared)
{
	assert(shared ? u->readers > 0 : u->exclusive);
	if (shared) {
		u->readers--;
	} else {
		u->exclusive = false;
	}
}
