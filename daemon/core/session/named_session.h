/*
 * named_session: sessions that belong to an id of their caller and to no connection (PROTOCOL.md 5.11).
 *
 *     conn ──request AS id──▶ guest ──▶ session of the id ──▶ holds, waits, losses
 *       └─────────────────────────────▶ its own session
 *
 * A guest is a second struct conn with the number of its connection. It speaks for the named session while
 * a request AS id is under way (guest.h), and ends with the answer. So a verb finds its session as always, in
 * conn->session, and a wait belongs to its connection. A connection has one guest at most: further requests
 * wait for the answer.
 *
 * - TTL: the session's heartbeat (session.h). Any request AS id is a sign of life. After a silence its holds
 *   without LEASE are abandoned. It ends when no hold is left.
 * - An offer: the copy of a LOCK that comes late is granted, and no client knows. So a hold without LEASE has
 *   a CLAIM, of the TTL unless it asks for another. Only a request that names its token claims it, as all
 * others may be late copies, too: they put the end off. So nothing changes or ends a hold but a request with
 * its token, and EXTEND lets it end no sooner than was announced to its client.
 * - A loss counts as reported when its client gives up the hold that was lost (loss_renounce()): an answer
 * may have been lost with its connection.
 * - A repeated request: a LOCK of what is held answers the same token and counts nothing. A LOCK that still
 *   waits takes over the wait, unless its client has half-closed: that may be an older copy of the request
 *   that waits. An UNLOCK is remembered as a loss of the reason RETURNED (grant.h).
 * - A lost connection: a waiter becomes an orphaned waiter for NAMED_SESSION_CLAIM_MS. A grant to it is
 * unannounced, and is given back when that time is over. Over TCP a closed connection looks half-closed until
 * the daemon writes to it. So a waiter whose client has half-closed is answered as with WAIT 0, and then is
 * orphaned.
 *
 * Named sessions are durable, and are counted as sessions with a grace.
 */
#ifndef CORE_NAMED_SESSION_H
#define CORE_NAMED_SESSION_H

#include "daemon/core/base/alloc.h"
#include "proto/slice.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;
struct core;
struct session;
struct reply;

/* A client connects again and repeats its request within so long, or the TTL if that is shorter. Others wait
 * for so long for a client that does not. */
#define NAMED_SESSION_CLAIM_MS 5000

/* The TTL of a session that has not asked for one, unless named-session-ttl is less. */
#define NAMED_SESSION_TTL_MS 30000

TAILQ_HEAD(named_session_list, named_session);

/* The id of a session. */
struct named_session {
	struct freelist_link freed;
	TAILQ_ENTRY(named_session) in_core; /* the one silent for longest is first */
	struct session *session;
	bool hidden; /* its session ends: no request finds it */
	uint8_t id_n;
	char id[];
};

/* The session with this id of the user with this number; NULL: none. */
struct session *named_session_find(const struct core *core, uint64_t user, struct slice id);
/* It belongs to this id, which no session of its user has. False: out of memory. */
bool named_session_give(struct core *core, struct session *s, struct slice id)
	__attribute__((warn_unused_result));
/* Whether requests find it by its id. */
bool named_session_is_found(const struct session *s);
/* It ends: no request finds it, and what is reported of its holds still names its id. */
void named_session_hide(struct core *core, struct session *s);
/* It has ended: it has no id any more. */
void named_session_leave(struct core *core, struct session *s);

/* It holds nothing and waits for nothing, and no request of it is under way. */
bool named_session_is_idle(const struct session *s);

struct slice named_session_id(const struct session *s);

/* The CLAIM of a hold that its LOCK asks for with these, ms; 0: none. */
int64_t named_session_offer_ms(const struct session *s, int64_t lease_ms, int64_t claim_ms);

/* Until when an orphaned waiter of the session keeps its position. */
int64_t named_session_claim_until(const struct core *core, const struct session *s);

/* The answer of a request that is repeated over another connection, and of one whose session was ended. */
void named_session_refusal(struct reply *out, bool ended);

#endif
