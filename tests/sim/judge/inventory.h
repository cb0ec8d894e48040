/*
 * inventory: all sessions and holds of a core, and all durable sessions of the model, to compare them
 * (recovery.h).
 */
#ifndef SIM_INVENTORY_H
#define SIM_INVENTORY_H

#include "daemon/core/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;
struct session_terms;

#define FOUND_SESSIONS 256
#define FOUND_HOLDS    1024

struct inventory {
	const struct host *host;
	const struct core *core;
	size_t sessions_n;
	struct session_view sessions[FOUND_SESSIONS];
	unsigned name;
	size_t holds_n;
	struct inventory_hold {
		unsigned name;
		char owner[16];
		struct hold_view view;
	} holds[FOUND_HOLDS];
};

/* The core need not be the host's. */
void inventory_all(struct inventory *found, const struct host *host, const struct core *core);
/* NULL: there is none. */
const struct session_view *inventory_session(const struct inventory *found, session_id id);
const struct inventory_hold *inventory_hold(const struct inventory *found, unsigned name, int64_t token);
/* Whether it is there, and a session has it. */
bool inventory_held(const struct inventory_hold *hold);

struct durable {
	size_t n;
	struct {
		uint64_t tag;
		session_id session;
	} of[FOUND_SESSIONS];
};

/* Those of that life of the daemon which are kept by a grace or a process. */
void durable_list(struct durable *durable, const struct host *host, uint64_t life);
bool durable_is(const struct durable *durable, uint64_t tag);
/* Whether its session was there in that life. */
bool durable_pact(const struct session_terms *pact, const struct host *host, uint64_t life);

#endif
