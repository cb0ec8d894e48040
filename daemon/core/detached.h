/*
 * detached: sessions that belong to an id of their caller and to no connection (PROTOCOL.md 5.11).
 *
 *     conn ──request AS id──▶ guest ──▶ session of the id ──▶ holds, waits, losses
 *       └─────────────────────────────▶ its own session
 *
 * A guest is a second struct conn with the number of its connection. It speaks for the detached session while
 * a request AS id is under way, and ends with the answer. So a verb finds its session as always, in
 * conn->session, and a wait belongs to its connection. A connection has one guest at most: further requests
 * wait for the answer.
 *
 * - TTL: the session's heartbeat (session.h). Any request AS id is a sign of life. After a silence its holds
 *   without LEASE are abandoned. It ends when no hold is left.
 * - An offer: the copy of a LOCK that comes late is granted, and nobody knows. So a hold without LEASE has a
 *   CLAIM, of the TTL unless it asks for another. Only a request that names its token claims it, as all
 * others may be late copies, too: they put the end off. So nothing changes or ends a hold but a request with
 * its token, and EXTEND lets it end no sooner than its client was told.
 * - A loss counts as told when its client gives up the hold that was lost (loss_renounce()): an answer may
 * have been lost with its connection.
 * - A repeated request: a LOCK of what is held answers the same token and counts nothing. A LOCK that still
 *   waits takes over the wait, unless its client has half-closed: that may be an older copy of the request
 *   that waits. An UNLOCK is remembered as a loss of the reason RETURNED (grant.h).
 * - A lost connection: a waiter becomes an orphaned waiter for DETACHED_CLAIM_MS. A grant to it is untold,
 *   and is given back when that time is over. Over TCP a closed connection looks half-closed until the daemon
 *   writes to it. So a waiter whose client has half-closed is answered as with WAIT 0, and then is orphaned.
 *
 * Detached sessions are durable, and are counted as sessions with a grace.
 */
#ifndef CORE_DETACHED_H
#define CORE_DETACHED_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/view.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;
struct core;
struct session;
struct user;

/* A client connects again and repeats its request within so long, or the TTL if that is shorter. Others wait
 * for so long for a client that does not. */
#define DETACHED_CLAIM_MS 5000

/* The TTL of a session that has not asked for one, unless detached-ttl is less. */
#define DETACHED_TTL_MS 30000

TAILQ_HEAD(detached_list, detached);

/* The id of a session. */
struct detached {
	struct freelist_link freed;
	TAILQ_ENTRY(detached) in_core; /* the one silent for longest is first */
	struct session *session;
	bool hidden; /* its session ends: no request finds it */
	uint8_t id_n;
	char id[];
};

/* The connection as it speaks for the session of command->as, which may be new. NULL: conn has its answer. */
struct conn *guest_begin(struct core *core, struct conn *conn, const struct command *command);
/* The request of its connection has been carried out: unless it waits, the guest ends. made: the session, if
 * it was made for this request, ends too if nothing has come of it. */
void guest_carried_out(struct core *core, struct conn *conn, bool made);
/* A request of this connection or guest has been answered after a wait. A guest ends, but can be read until
 * the next step. If the daemon ends, the session of the guest ends with its last one. */
void conn_answered(struct core *core, struct conn *conn);
/* A connection that was loaded gets the guest for this session that it had. False: out of memory. */
bool guest_load(struct core *core, struct conn *conn, struct session *s) __attribute__((warn_unused_result));
/* The connection with this number as it speaks in a request that waits: its guest, if it has one. NULL: there
 * is no such connection. */
struct conn *conn_speaking(const struct core *core, conn_id id);

/* The session with this id of the user with this number; NULL: none. */
struct session *detached_find(const struct core *core, uint64_t user, struct slice id);
/* It belongs to this id, which no session of its user has. False: out of memory. */
bool detached_give(struct core *core, struct session *s, struct slice id) __attribute__((warn_unused_result));
/* Whether requests find it by its id. */
bool detached_is_found(const struct session *s);
/* It ends: no request finds it, and what is told of its holds still names its id. */
void detached_hide(struct core *core, struct session *s);
/* It has ended: it has no id any more. */
void detached_leave(struct core *core, struct session *s);

struct slice detached_id(const struct session *s);
/* A few digits that tell sessions apart and say nothing about the id. "": the session has none, or is NULL.
 */
void detached_hash(const struct core *core, const struct session *s, char out[VIEW_AS]);

/* The CLAIM of a hold that its LOCK asks for with these, ms; 0: none. */
int64_t detached_offer_ms(const struct session *s, int64_t lease_ms, int64_t claim_ms);

/* Until when an orphaned waiter of the session keeps its place. */
int64_t detached_claim_until(const struct core *core, const struct session *s);

/* Its TTL is over, and no connection waits for it. */
void detached_silent(struct core *core, struct session *s);

/* An MLOCK of a detached session. Ends the one that it repeats, if that waits over another connection. True:
 * conn has its answer, since all names are held or its client has half-closed. */
bool detached_mlock(struct core *core, const struct conn *conn, const struct command *c);

/* EVENT_ELSEWHERE: each LOCK and MLOCK of the id that waits for the name is answered with the text. */
void detached_elsewhere(struct core *core, const struct whose *whose, struct slice text);

/* SESSION TTL, SESSION END. */
void detached_ttl(struct core *core, struct conn *conn, int64_t ms);
void detached_end(struct core *core, struct conn *conn, int64_t number);

/* SESSION KILL: its requests that wait are answered, and what it holds is abandoned. */
void detached_kill(struct core *core, struct session *s);

/* The answer of a request that is repeated over another connection, and of one whose session was ended. */
void detached_refusal(struct reply *out, bool ended);

#endif
