/*
 * connection_stored: connections that may outlive a crash of the daemon; see connection_stored.h. The driver
 * calls it, and connection.c in each turn of such a connection.
 */
#include "daemon/net/connection_stored.h"

#include "daemon/base/stats.h"
#include "daemon/net/connection_inner.h"
#include "daemon/net/socket.h"

#include <assert.h>
#include <string.h>

_Static_assert(CONNECTIONS_BUSY_BYTES * 8 >= FDSTORE_SLOTS, "there is a mark for each slot");

/* The process may be killed after each instruction; what comes after a mark must not come before it. */
static void
mark_set(struct connections *set, int slot, bool busy)
{
	uint8_t bit = (uint8_t)(1U << (slot % 8));
	uint8_t *at = &set->busy[slot / 8];
	uint8_t marks = (uint8_t)(busy ? *at | bit : *at & ~bit);

	__atomic_store_n(at, marks, __ATOMIC_SEQ_CST);
}

bool
connections_busy_at(const uint8_t *busy, int slot)
{
	return busy[slot / 8] >> (slot % 8) & 1;
}

void
connections_mark_in(struct connections *set, uint8_t *busy)
{
	uint8_t *to = busy != NULL ? busy : set->own_busy;

	for (size_t i = 0; to != set->busy && i < CONNECTIONS_BUSY_BYTES; i++)
		to[i] |= set->busy[i];
	set->busy = to;
}

void
connection_mark_busy(struct connection *c)
{
	struct connections *set = c->set;

	if (c->is_touched)
		return;
	mark_set(set, c->store_slot, true);
	c->is_touched = true;
	TAILQ_INSERT_TAIL(&set->touched, c, touched);
}

void
connection_touch(struct connection *c)
{
	connection_touched(c);
}

void
connections_store_in(struct connections *set, struct fdstore *store)
{
	set->fdstore = store;
}

void
connection_stored_in(struct connection *c, int slot)
{
	assert(c->store_slot == FDSTORE_NONE);
	c->store_slot = (int16_t)slot;
	c->set->stats->clients_kept += slot != FDSTORE_NONE;
	connection_touched(c);
}

bool
connection_store(struct connection *c)
{
	if (c->store_slot == FDSTORE_NONE && c->set->fdstore != NULL && c->state == CONNECTION_OPEN &&
		!c->tls)
		connection_stored_in(c, fdstore_put(c->set->fdstore, c->fd));
	return c->store_slot != FDSTORE_NONE;
}

void
connection_unstore(struct connection *c)
{
	int slot = c->store_slot;

	if (slot == FDSTORE_NONE)
		return;
	mark_set(c->set, slot, true);
	if (c->is_touched)
		TAILQ_REMOVE(&c->set->touched, c, touched);
	c->is_touched = false;
	c->store_slot = FDSTORE_NONE;
	c->set->stats->clients_kept--;
	fdstore_drop(c->set->fdstore, slot);
}

bool
connection_is_stored(const struct connection *c)
{
	return c->store_slot != FDSTORE_NONE;
}

/* Whether nothing of it is under way. What has arrived and was not read is for either process. */
static bool
connection_rests(const struct connection *c)
{
	return c->state == CONNECTION_OPEN && buffer_length(&c->in) == 0 && buffer_length(&c->out) == 0 &&
	       !c->waits && !c->pending && !c->is_written && !c->eof && !c->finished && c->owed == 0 &&
	       c->passed_fd == PASSING_NONE && !c->identity.streams &&
	       c->set->hooks->rests(c->set->arg, c->identity.id);
}

void
connections_settle(struct connections *set)
{
	struct connection *c;

	while ((c = TAILQ_FIRST(&set->touched)) != NULL) {
		TAILQ_REMOVE(&set->touched, c, touched);
		c->is_touched = false;
		if (connection_rests(c))
			mark_set(set, c->store_slot, false);
	}
}
