/* conn: see conn.h. */
#include "daemon/core/session/conn.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct conn *
conn_find(const struct core *core, conn_id id)
{
	return map_find(&core->sessions->conns, id);
}

struct conn *
conn_new(struct core *core, conn_id id)
{
	struct conn *conn = freelist_new(core, sizeof(*conn));

	assert(id != 0 && conn_find(core, id) == NULL);
	if (conn == NULL)
		return NULL;
	conn->id = id;
	if (map_add(&core->sessions->conns, id, conn) == 0)
		return conn;
	free(conn);
	return NULL;
}

void
conn_remove(struct core *core, struct conn *conn)
{
	map_remove(&core->sessions->conns, conn->id, conn);
}

void
conn_set_durable(struct core *core, struct conn *conn)
{
	bool before = conn->durable;

	conn->durable = conn->host == NULL && conn->session->durable;
	if (conn->durable || before)
		emit_keep(core, conn->id);
}

void
guest_end(struct core *core, struct conn *guest)
{
	struct session *s = guest->session;

	assert(guest->host->guest == guest && s->conn_count > 0);
	assert(guest->id == guest->host->id);
	guest->host->guest = NULL;
	TAILQ_REMOVE(&s->conns, guest, in_session);
	s->conn_count--;
	freelist_retire(core, &guest->freed);
}

void
conn_answered(struct core *core, struct conn *conn)
{
	conn_alive(core, conn);
	if (conn->host == NULL)
		return;
	conn_alive(core, conn->host);
	guest_end(core, conn);
}
