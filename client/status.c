/*
 * status: the list of exit codes, and the exit code for an error reply of the daemon.
 */
#include "client/status.h"

#include <stddef.h>

const struct status_entry *
status_list(void)
{
	static const struct status_entry list[] = {
#define STATUS(id, number, meaning) {number, meaning},
#include "client/status.def"
#undef STATUS
		{0, NULL}};

	return list;
}

int
status_of_code(enum code code)
{
	static const int by_code[CODE_COUNT + 1] = {
		[CODE_ERR] = STATUS_USAGE,
		[CODE_HELD] = STATUS_USAGE,
		[CODE_NOAUTH] = STATUS_DENIED,
		[CODE_NOPERM] = STATUS_DENIED,
		[CODE_WRONGPASS] = STATUS_DENIED,
		[CODE_NOTHELD] = STATUS_NO,
		[CODE_LOST] = STATUS_LOST,
		[CODE_DEADLOCK] = STATUS_BUSY,
		[CODE_UPGRADE] = STATUS_USAGE,
		[CODE_WRONGKIND] = STATUS_USAGE,
		[CODE_LIMIT] = STATUS_UNAVAILABLE,
		[CODE_NOMASTER] = STATUS_UNAVAILABLE,
		[CODE_GUARD] = STATUS_UNAVAILABLE,
		[CODE_MASTERERR] = STATUS_UNAVAILABLE,
		[CODE_DRAINING] = STATUS_UNAVAILABLE,
	};

	/* A code that is not listed is new, or this client never causes it. */
	return by_code[code] != 0 ? by_code[code] : STATUS_INTERNAL;
}
