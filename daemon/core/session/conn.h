/*
 * conn: a connection, and the session that it speaks for.
 */
#ifndef CORE_CONN_H
#define CORE_CONN_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/session/session.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>

struct latch_request;
struct mlock;
struct waiter;

struct conn {
	struct freelist_link freed;
	bool no_push; /* it takes no more pushes: it is closed if its client has to be notified */
	bool durable; /* its session is, and ACTION_KEEP has said so */
	bool anchor;  /* SESSION ANCHOR: while it is open, the session outlives its process */
	conn_id id;
	struct session *session;
	struct waiter *blocked;              /* the LOCK that it waits in; NULL: none */
	size_t waiters;                      /* of its LOCKs and MLOCKs, the ASYNC ones, too */
	struct latch_request *latch_request; /* the LATCH request that it waits in; NULL: none */
	struct mlock *mlock;                 /* the MLOCK that it waits in; NULL: none */
	bool drains;                         /* it waits for the end of a drain */
	struct conn *guest; /* it, as it speaks for a named session (named_session.h); NULL: it does not */
	struct conn *host;  /* of a guest: its connection; NULL: it is no guest */
	TAILQ_ENTRY(conn) in_session;
};

/* NULL: there is none. */
struct conn *conn_find(const struct core *core, conn_id id);
/* One that speaks for no session yet, with a number that no connection has. NULL: out of memory. */
struct conn *conn_new(struct core *core, conn_id id) __attribute__((warn_unused_result));
/* Takes it out of the connections. */
void conn_remove(struct core *core, struct conn *conn);

/*
 * A connection may outlive a crash, if its client has no reason to notice: its session is durable, and no
 * request of it waits (keep_view in view.h, ACTION_KEEP, EVENT_RETURN). Tells if that has changed.
 */
void conn_set_durable(struct core *core, struct conn *conn);

/* The guest of a connection ends. Its memory stays until the next step. */
void guest_end(struct core *core, struct conn *guest);
/* A request of this connection or guest has been answered after a wait. A guest ends, but can be read until
 * the next step. */
void conn_answered(struct core *core, struct conn *conn);

/* A request came on this connection, or the answer was given that kept further ones from coming: see
 * heartbeat.h. */
static inline void
conn_alive(const struct core *core, struct conn *conn)
{
	assert(conn->session != NULL);
	conn->session->alive_ms = core->now.ms;
}

#endif
