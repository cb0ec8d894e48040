/*
 * lease_note: what the core tells of a lease, for the log, EVENTS and the counters.
 */
#ifndef CORE_LEASE_NOTE_H
#define CORE_LEASE_NOTE_H

#include "daemon/core/base/action.h"

#include <stdint.h>

struct core;
struct lease;

void emit_lease_note(struct core *core, enum note_type type, const struct lease *l, int64_t token, int64_t ms,
	const char *text);

#endif
