/*
 * guest: requests that are sent AS id, which speak for the session of that id. named_session.h has the
 * picture.
 */
#ifndef CORE_GUEST_H
#define CORE_GUEST_H

#include "daemon/core/base/peer.h"
#include "daemon/core/view.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct session;
struct whose;

/* The connection as it speaks for the session of command->as, which may be new. NULL: conn has its answer. */
struct conn *guest_begin(struct core *core, struct conn *conn, const struct command *command);
/* The request of its connection has been carried out: unless it waits, the guest ends. made: the session, if
 * it was made for this request, ends too if nothing has come of it. */
void guest_carried_out(struct core *core, struct conn *conn, bool made);
/* A connection that was loaded gets the guest for this session that it had. False: out of memory. */
bool guest_load(struct core *core, struct conn *conn, struct session *s) __attribute__((warn_unused_result));
/* The connection with this number as it speaks in a request that waits: its guest, if it has one. NULL: there
 * is no such connection. */
struct conn *conn_speaking(const struct core *core, conn_id id);

/* A few digits that tell sessions apart and say nothing about the id. "": the session has none, or is NULL.
 */
void named_session_hash(const struct core *core, const struct session *s, char out[VIEW_AS]);

/* An MLOCK of a named session. Ends the one that it repeats, if that waits over another connection. True:
 * conn has its answer, since all names are held or its client has half-closed. */
bool named_session_mlock(struct core *core, const struct conn *conn, const struct command *c);

/* EVENT_ELSEWHERE: each LOCK and MLOCK of the id that waits for the name is answered with the text. */
void named_session_elsewhere(struct core *core, const struct whose *whose, struct slice text);

/* SESSION TTL, SESSION END. */
void named_session_ttl(struct core *core, struct conn *conn, int64_t ms);
void named_session_end(struct core *core, struct conn *conn, int64_t number);

/* SESSION KILL: an administrator ends the session with this number: what it holds is abandoned, its
 * connections are closed, and it has no grace. */
void session_kill(struct core *core, struct conn *conn, int64_t number);

#endif
