/*
 * ending: what a session holds is given up in parts, a few hundred holds in a millisecond, so that the end
 * of one with thousands of locks keeps no other client waiting. Its waits end with the first part. Meanwhile
 * it is a session that no client finds, and the holds that are left are its own: they are saved, renewed and
 * counted as before, and no other client gets the lock. A LOCK of such a name sees no difference: its hold
 * is given up first. If the daemon crashes meanwhile, they are left to the told deadlines.
 */
#ifndef CORE_ENDING_H
#define CORE_ENDING_H

#include "daemon/core/base/peer.h"

#include <stdbool.h>

struct command;
struct conn;
struct core;
struct session;

/* So many in one millisecond (core_settings.end_holds), which takes a fifth of it at most. */
#define END_HOLDS 256

/* It has no connection any more, and no client can come back for it. */
void session_end(struct core *core, struct session *s, enum end end);

/* Ends what it holds and waits for; the session itself stays. */
void session_clear(struct core *core, struct session *s, enum end end);

/* It still has holds to give up. */
void ending_enter(struct core *core, struct session *s, enum end end);

/* Before a request: what it asks for is given up first if its session ends. */
bool ending_yield(struct core *core, const struct conn *conn, const struct command *c);

void ending_timer(struct core *core);

#endif
