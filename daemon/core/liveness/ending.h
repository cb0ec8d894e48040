/*
 * ending: a session that ends gives up its holds in parts, a few hundred in a millisecond, so that the end of
 * a session with thousands of locks keeps no other client waiting. Its waits end with the first part. Until
 * the last part no client finds the session, and it still owns the holds that are left: they are saved,
 * renewed and counted, and no other client gets their locks. A LOCK of one of these names sees no difference,
 * because the hold of that name is given up first. If the daemon crashes before the last part, the remaining
 * holds end at the deadlines that were announced to their clients.
 *
 * Its losses follow in parts, too: each is forgotten, and if its client ended the session, a name that is
 * withheld because of the loss passes on. No LOCK hastens that.
 */
#ifndef CORE_ENDING_H
#define CORE_ENDING_H

#include "daemon/core/base/peer.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

struct command;
struct conn;
struct core;
struct session;

TAILQ_HEAD(ending_list, session);

/* So many in one millisecond (core_settings.end_holds), which takes a fifth of it at most. */
#define END_HOLDS 256

/* It has no connection any more, and no client can come back for it. */
void session_end(struct core *core, struct session *s, enum end end);

/* Ends what it holds and waits for; the session itself stays. */
void session_clear(struct core *core, struct session *s, enum end end);

/* It still has holds to give up, or losses to forget. */
void ending_enter(struct core *core, struct session *s, enum end end);

/* Before a request: what it asks for is given up first if its session ends. */
bool ending_yield(struct core *core, const struct conn *conn, const struct command *c);

void ending_timer(struct core *core);

#endif
