/*
 * driver_stored: connections that outlive a crash. A part of driver.c.
 *
 *     session durable ──▶ socket to the service manager, entry to the ledger ──crash──▶ driver_return()
 *
 * While a ledger is written and the service manager keeps descriptors, the socket of each connection that
 * speaks for a durable session is given to it. The ledger says who the client is, and a mark beside it
 * whether anything of the connection is under way (connection.h). The next process goes on with the
 * connections that are not marked; it ends the others, and their clients come back by SESSION RESUME. So no
 * request is carried out twice, and no answer is sent twice.
 */
#include "daemon/driver_stored.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/driver_inner.h"
#include "daemon/driver_ledger.h"
#include "daemon/ledger_file.h"
#include "daemon/net/connection_state.h"
#include "daemon/net/connection_stored.h"
#include "daemon/net/connections.h"

#include <stdlib.h>

#define AGAIN_MS      10 /* until the service manager may listen again; longer if it does not */
#define AGAIN_MOST_MS 1000

_Static_assert(LEDGER_MARK_BYTES == CONNECTIONS_BUSY_BYTES, "the header of a ledger has the marks");

/* ---- while it runs ---- */

static void
stored_enter(struct driver *d, struct connection *c)
{
	struct record r = {.out = &d->ledger.entries};
	struct keep_view keep;
	if (core_view_keep(d->core, connection_identity(c)->id, &keep)) {
		connection_enter(c, &r, &keep);
	}
}

static void
stored_changed(struct driver *d, struct connection *c)
{
	struct keep_view keep;
	if (!core_view_keep(d->core, connection_identity(c)->id, &keep)) {
		connection_unstore(c);
	} else if (d->ledger.ours && connection_store(c)) {
		stored_enter(d, c);
		driver_write_ledger(d);
	}
}

void
driver_keep(void *arg, conn_id id)
{
	struct driver *d = arg;
	struct connection *c = connections_find(d->connections, id);
	if (c) {
		stored_changed(d, c);
	}
}

bool
driver_rests(void *arg, conn_id id)
{
	const struct driver *d = arg;
	return !core_conn_waits(d->core, id);
}

void
driver_served(struct driver *d, struct connection *c)
{
	if (!connection_is_stored(c)) {
		return;
	}
	switch (connection_identity(c)->last) {
	case VERB_HELLO:
	case VERB_AUTH:
	case VERB_CLIENT_SETNAME:
	case VERB_CLIENT_SETINFO:
		stored_changed(d, c);
		break;
	default:
		break;
	}
}

/* In the ledger a loss that is pushed counts as reported, and a connection that has to be closed is one of
 * its session. If the process is killed before either has happened, the connection must not go on. */
void
driver_touch_pushed(struct driver *d)
{
	if (d->stats->clients_kept == 0) {
		return;
	}
	for (size_t i = 0; i < d->actions.n; i++) {
		const struct action *a = &d->actions.list[i];
		struct connection *c = NULL;
		if (a->type == ACTION_PUSH || a->type == ACTION_CLOSE) {
			c = connections_find(d->connections, a->conn);
		}
		if (c) {
			connection_touch(c);
		}
	}
}

static bool
enter_one(void *arg, struct connection *c)
{
	if (connection_is_stored(c)) {
		stored_enter(arg, c);
	}
	return true;
}

void
driver_enter_stored(struct driver *d)
{
	connections_each(d->connections, enter_one, d);
}

static bool
store_one(void *arg, struct connection *c)
{
	struct driver *d = arg;
	if (!connection_is_stored(c)) {
		stored_changed(d, c);
	}
	return !d->fdstore.behind;
}

void
driver_store_all(struct driver *d)
{
	connections_each(d->connections, store_one, d);
}

void
driver_mark_in(struct driver *d, const struct ledger_file *file)
{
	if (d->connections) {
		connections_mark_in(d->connections, file ? ledger_file_marks(file) : NULL);
	}
}

int64_t
driver_stored_turn(struct driver *d, int64_t now_ms)
{
	size_t leaving = d->fdstore.leaving;
	size_t used = d->fdstore.used;
	if (leaving == 0 && !d->fdstore.behind) {
		d->store_pause_ms = 0;
		return INT64_MAX;
	}
	if (d->store_pause_ms > 0 && now_ms < d->store_again_ms) {
		return d->store_again_ms;
	}
	/* At the first time the service manager has just been too busy. */
	if (!fdstore_turn(&d->fdstore) && d->store_pause_ms > 0) {
		d->fdstore.behind = false;
		driver_store_all(d);
	}
	bool listens = d->fdstore.leaving < leaving || d->fdstore.used > used;
	int64_t pause_ms = listens || d->store_pause_ms == 0 ? AGAIN_MS : 2 * d->store_pause_ms;
	d->store_pause_ms = pause_ms < AGAIN_MOST_MS ? pause_ms : AGAIN_MOST_MS;
	d->store_again_ms = now_ms + d->store_pause_ms;
	return d->store_again_ms;
}

/* ---- after a crash ---- */

void
driver_take_descriptors(struct driver *d, struct notify_fd *fds, size_t *count)
{
	fdstore_take(&d->fdstore, fds, count);
}

/* The last entry of the ledger for a slot. */
struct entry {
	conn_id id;
	int slot;
	struct slice body; /* n == 0: there is none */
};

/* Reads the ledger, whose records of other things the core has read. */
static void
entries_read(struct entry *entries, struct slice ledger)
{
	struct record r;
	if (!record_load(&r, ledger)) {
		return;
	}
	while (r.in.n > 0 && record_next(&r) != 0) {
		struct slice body = r.body;
		conn_id id = 0;
		int slot = r.type == RECORD_STORED ? connection_entry_slot(&r, &id) : FDSTORE_NONE;
		if (slot != FDSTORE_NONE && !r.failed) {
			entries[slot] = (struct entry){id, slot, body};
		}
	}
}

static int
entry_order(const void *a, const void *b)
{
	const struct entry *one = a;
	const struct entry *other = b;
	return (one->id > other->id) - (one->id < other->id);
}

void
driver_find_stored(struct driver *d)
{
	struct entry *entries = calloc(FDSTORE_SLOTS, sizeof *entries);
	const uint8_t *busy = ledger_file_marks(d->ledger.file);
	bool passed = d->fdstore.used > 0;
	struct record r;
	if (!entries) {
		return;
	}
	entries_read(entries, ledger_file_entries(d->ledger.file));
	qsort(entries, FDSTORE_SLOTS, sizeof *entries, entry_order);
	record_save(&r, &d->returning);
	for (size_t i = 0; i < FDSTORE_SLOTS; i++) {
		const struct entry *e = &entries[i];
		if (e->body.n == 0 || connections_busy_at(busy, e->slot)) {
			continue;
		}
		/* The service manager has passed none: this process was to go on by exec, and could not. */
		if (!passed && fdstore_has(&d->fdstore, e->slot)) {
			fdstore_drop(&d->fdstore, e->slot);
		}
		record_begin(&r, RECORD_STORED);
		buffer_put(&d->returning, e->body.p, e->body.n);
		record_end(&r);
	}
	free(entries);
}

/* Its session goes on with it, and tells it what it has missed. False: its client has to come back. */
static bool
return_one(struct driver *d, struct record *r)
{
	struct keep_view keep = {0};
	struct connection *c = connection_return(d->connections, r, d->context.access, &keep);
	if (!c) {
		return false;
	}
	admission_restore(&d->admission, c);
	const struct identity *who = connection_identity(c);
	if (connections_find(d->connections, who->id)) {
		driver_event(d, &(struct event){.type = EVENT_RETURN,
					.conn = who->id,
					.keep = keep,
					.no_push = who->protocol < 3});
	}
	return core_session_of(d->core, who->id) != 0;
}

void
driver_return(struct driver *d)
{
	struct slice found = {buffer_bytes(&d->returning), buffer_length(&d->returning)};
	size_t left = d->fdstore.used;
	int64_t returned = 0;
	struct record r;
	if (found.n > 0 && !d->returning.failed && record_load(&r, found)) {
		while (r.in.n > 0 && record_next(&r) != 0) {
			returned += return_one(d, &r);
		}
	}
	buffer_done(&d->returning);
	fdstore_end_left(&d->fdstore);
	/* Of the connections that were handed over some may not be stored yet. */
	d->fdstore.behind = d->fdstore.most > 0;
	d->stats->recovered_connections += returned;
	if (d->ledger.recovered && left > 0) {
		LOG_EVENT(d->log, LOG_INFO_LEVEL, "ledger.connections", log_number("returned", returned),
			log_number("closed", (int64_t)left - returned));
	}
}
