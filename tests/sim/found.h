/*
 * found: all sessions and holds of a core, and all durable sessions of the model, to compare them
 * (recovery.h).
 */
#ifndef SIM_FOUND_H
#define SIM_FOUND_H

#include "daemon/core/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;
struct pact;

#define FOUND_SESSIONS 256
#define FOUND_HOLDS    1024

struct found {
	const struct host *host;
	const struct core *core;
	size_t sessions_n;
	struct session_view sessions[FOUND_SESSIONS];
	unsigned name;
	size_t holds_n;
	struct found_hold {
		unsigned name;
		char owner[16];
		struct hold_view view;
	} holds[FOUND_HOLDS];
};

/* The core need not be the host's. */
void found_all(struct found *found, const struct host *host, const struct core *core);
/* NULL: there is none. */
const struct session_view *found_session(const struct found *found, session_id id);
const struct found_hold *found_hold(const struct found *found, unsigned name, int64_t token);
/* Whether it is there, and a session has it. */
bool found_held(const struct found_hold *hold);

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
bool durable_pact(const struct pact *pact, const struct host *host, uint64_t life);

#endif
