/*
 * sessions: what the core remembers of its clients.
 *
 *     conn ──▶ session ──▶ user
 *
 * A conn is a connection, and its session is the client that it speaks for; several may speak for one. A
 * session belongs to a user. What it holds and waits for hangs from it, and is no concern of this room.
 */
#ifndef CORE_SESSIONS_H
#define CORE_SESSIONS_H

#include "daemon/core/base/change_list.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"

struct user;

struct sessions {
	struct map conns; /* by their numbers */
	struct session *all;
	struct map ids; /* named sessions, by user and id */
	struct named_session_list named;
	struct map bound; /* those bound to a process, by process */
	struct user *users;
	struct change_list changed; /* what the ledger has not heard of yet */
	session_id last_id;         /* the last one used */
};

#endif
