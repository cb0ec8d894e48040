/*
 * connection_state: connections as records, for the next process of this daemon; see connection_state.h.
 */
#include "daemon/net/connection_state.h"

#include "daemon/base/descriptors.h"
#include "daemon/base/fdstore.h"
#include "daemon/base/stats.h"
#include "daemon/net/access.h"
#include "daemon/net/connection_inner.h"
#include "daemon/net/connections.h"
#include "daemon/net/process.h"
#include "daemon/net/socket.h"
#include "proto/record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A descriptor that the client passed, until the request it came with is served. */
enum saved_passed { PASSED_NONE, PASSED_LOST, PASSED_PROCESS, PASSED_LAST = PASSED_PROCESS };

struct saved_connection {
	uint64_t socket; /* see descriptors.h */
	struct slice in;
	struct slice out;
	int64_t owed;
	int64_t stalls;
	bool closing;
	bool waits;
	bool finished;
	bool eof;
	enum end end;
	enum saved_passed passed;
	struct process process; /* PASSED_PROCESS */
	struct slice last;      /* words of the latest verb */
	struct slice last_sub;
	struct slice user; /* the login; n == 0: none */
	struct slice label;
	struct slice lib_name;
	struct slice lib_ver;
	int64_t store_slot;
	bool local_user;
};

static void
stream_fields(struct record *r, struct saved_connection *s)
{
	record_unsigned(r, &s->socket);
	record_bytes(r, &s->in, UINT32_MAX);
	record_bytes(r, &s->out, UINT32_MAX);
	s->owed = record_range(r, s->owed, 0, INT32_MAX);
	s->stalls = record_range(r, s->stalls, 0, INT16_MAX);
	record_flag(r, &s->closing);
	record_flag(r, &s->waits);
	record_flag(r, &s->finished);
	record_flag(r, &s->eof);
	s->end = (enum end)record_range(r, s->end, END_CLEAN, END_ABANDONED);
	s->passed = (enum saved_passed)record_range(r, s->passed, PASSED_NONE, PASSED_LAST);
	record_number(r, &s->process.pid);
	record_unsigned(r, &s->process.started);
}

static void
identity_fields(struct record *r, struct identity *who, struct saved_connection *s)
{
	record_unsigned(r, &who->id);
	record_number(r, &who->last_ms);
	record_unsigned(r, &who->requests);
	who->protocol = (int)record_range(r, who->protocol, 2, 3);
	record_flag(r, &who->local);
	record_flag(r, &who->unauthenticated);
	record_flag(r, &who->extra);
	record_flag(r, &who->release);
	record_flag(r, &who->native_admin);
	peer_fields(r, &who->peer);
	record_number(r, &who->unauthenticated_ms);
	who->failures = (unsigned)record_range(r, who->failures, 0, INT32_MAX);
	record_number(r, &who->since_ms);
	record_bytes(r, &s->last, LABEL_BYTES_MAX);
	record_bytes(r, &s->last_sub, LABEL_BYTES_MAX);
	record_bytes(r, &s->user, CREDENTIAL_BYTES_MAX);
	record_bytes(r, &s->label, LABEL_BYTES_MAX);
	record_bytes(r, &s->lib_name, LABEL_BYTES_MAX);
	record_bytes(r, &s->lib_ver, LABEL_BYTES_MAX);
}

static void
slot_field(struct record *r, int64_t *slot)
{
	*slot = record_range(r, *slot, FDSTORE_NONE, FDSTORE_SLOTS - 1);
}

/* ---- saved ---- */

static void
passed_save(int fd, struct saved_connection *s)
{
	struct reply error;
	if (fd == PASSING_NONE) {
		return;
	}
	/* Other descriptors than pidfds are of no use to any request. */
	s->passed =
		fd >= 0 && process_identify(fd, 0, &s->process, &error) == 0 ? PASSED_PROCESS : PASSED_LOST;
}

static struct slice
text_or_empty(const char *text)
{
	return slice_of(text ? text : "");
}

/* The client of the connection. */
static void
identity_save(const struct identity *who, struct saved_connection *s)
{
	s->user = text_or_empty(who->user ? who->user->name : NULL);
	s->local_user = who->local_user;
	s->label = text_or_empty(who->label);
	s->lib_name = text_or_empty(who->lib_name);
	s->lib_ver = text_or_empty(who->lib_ver);
	if (who->last != VERB_COUNT) {
		s->last = command_info(who->last)->word;
		s->last_sub = command_info(who->last)->sub;
	}
}

void
connection_save(struct connection *c, struct record *r, struct descriptors *given)
{
	struct identity who = c->identity;
	bool stored = c->store_slot != FDSTORE_NONE;
	struct saved_connection s = {
		/* 0: its client finds it closed. */
		.socket = c->tls   ? 0
			  : stored ? descriptors_add_stored(given, c->fd)
				   : descriptors_add(given, c->fd),
		.in = {buffer_bytes(&c->in), buffer_length(&c->in)},
		.out = {buffer_bytes(&c->out), buffer_length(&c->out)},
		.owed = (int64_t)c->owed,
		.stalls = c->stalls,
		.closing = c->state == CONNECTION_CLOSING,
		.waits = c->waits,
		.finished = c->finished,
		.eof = c->eof,
		.end = c->end,
		.store_slot = c->store_slot,
	};
	identity_save(&who, &s);
	passed_save(c->passed_fd, &s);
	record_begin(r, RECORD_CONNECTION);
	stream_fields(r, &s);
	identity_fields(r, &who, &s);
	slot_field(r, &s.store_slot);
	record_flag(r, &s.local_user);
	record_unsigned(r, &s.process.space);
	record_unsigned(r, &who.login);
	record_end(r);
}

/* ---- loaded ---- */

static bool
text_load(char **to, struct slice from)
{
	*to = from.n > 0 ? strndup(from.p, from.n) : NULL;
	return from.n == 0 || *to;
}

static void
passed_load(struct connection *c, const struct saved_connection *s)
{
	enum process_sight sight;
	c->passed_fd = s->passed == PASSED_NONE      ? PASSING_NONE
		       : s->passed == PASSED_PROCESS ? process_open(s->process, &sight)
						     : PASSING_LOST;
	if (c->passed_fd >= 0) {
		c->holds_fd = true;
		c->set->held_fds++;
	} else if (s->passed != PASSED_NONE) {
		c->passed_fd = PASSING_LOST;
	}
}

static enum verb
verb_load(const struct saved_connection *s)
{
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		const struct command_info *info = command_info(verb);
		if (s->last.n > 0 && slice_equal(info->word, s->last) &&
			slice_equal(info->sub, s->last_sub)) {
			return verb;
		}
	}
	return VERB_COUNT;
}

/* A lower limit than before counts for new bytes. False: out of memory. */
static bool
bytes_load(struct buffer *b, struct slice bytes)
{
	size_t max = b->max;
	b->max = bytes.n > max ? bytes.n : max;
	buffer_put(b, bytes.p, bytes.n);
	return !b->failed;
}

/* False: out of memory, or a user that the state does not have. */
static bool
identity_load(struct connection *c, const struct saved_connection *s, const struct access *access)
{
	struct identity *who = &c->identity;
	who->last = verb_load(s);
	who->user = s->user.n > 0 ? access_find(access, s->user) : NULL;
	who->local_user = who->user && s->local_user;
	if (who->user && !who->local_user && who->login == 0) {
		/* No login by a certificate is handed over: the process before did not keep the mark. */
		who->login = connection_password_mark(who, who->user->passwords[0].text);
	}
	/* The process before may have been in another PID namespace, where the number was another one. */
	if (who->local && c->fd >= 0) {
		who->peer.pid = socket_peer_pid(c->fd);
	}
	return (s->user.n == 0 || who->user) && text_load(&who->label, s->label) &&
	       text_load(&who->lib_name, s->lib_name) && text_load(&who->lib_ver, s->lib_ver);
}

/* What the connection was doing. Its socket reports anew what has arrived meanwhile. */
static void
work_load(struct connection *c, const struct saved_connection *s)
{
	c->owed = (size_t)s->owed;
	c->stalls = (short)s->stalls;
	c->waits = s->waits;
	c->finished = s->finished;
	c->eof = s->eof;
	passed_load(c, s);
	connection_set_buffered(c, c->in.room + c->out.room);
	if (s->closing) {
		connection_close(c, s->end, "closed before the hand-over");
		return;
	}
	if (buffer_length(&c->out) > 0) {
		connection_written(c);
	}
	if ((buffer_length(&c->in) > 0 || c->eof) && c->state == CONNECTION_OPEN) {
		c->pending = true;
		connection_line_up(c);
	}
}

/* The socket, and the slot in which the service manager keeps it: either this process has it from there, or
 * in another way. */
static int
socket_load(struct connections *set, struct descriptors *given, uint64_t identity, int *slot)
{
	struct fdstore *store = set->fdstore;
	int fd = descriptors_take(given, identity);
	if (*slot == FDSTORE_NONE || !store) {
		*slot = FDSTORE_NONE;
		return fd;
	}
	if (fd < 0) {
		fd = fdstore_find(store, *slot, identity);
	} else if (!fdstore_has(store, *slot)) {
		*slot = FDSTORE_NONE;
	}
	*slot = fd < 0 ? FDSTORE_NONE : *slot;
	return fd;
}

struct connection *
connection_load(
	struct connections *set, struct record *r, struct descriptors *given, const struct access *access)
{
	struct identity who = {0};
	struct saved_connection s = {.store_slot = FDSTORE_NONE};
	stream_fields(r, &s);
	identity_fields(r, &who, &s);
	slot_field(r, &s.store_slot);
	record_flag(r, &s.local_user);
	record_unsigned(r, &s.process.space);
	record_unsigned(r, &who.login);
	if (r->failed || who.id <= set->last_id) {
		record_fail(r, "a connection of it makes no sense");
		return NULL;
	}
	int slot = (int)s.store_slot;
	int fd = socket_load(set, given, s.socket, &slot);
	struct connection *c = connections_put(set, fd, &who);
	if (!c) {
		record_no_memory(r);
		return NULL;
	}
	if (!identity_load(c, &s, access) || !bytes_load(&c->in, s.in) || !bytes_load(&c->out, s.out)) {
		record_fail(r, "there is no memory for a connection of it, or its user is missing");
		return NULL;
	}
	connection_stored_in(c, slot);
	if (fd < 0) {
		connection_cut(c, connection_hangup_end(c), "ended during the hand-over");
		return c;
	}
	work_load(c, &s);
	return c;
}

/* ---- in the ledger ---- */

static void
entry_fields(struct record *r, struct identity *who, struct saved_connection *s, struct keep_view *keep)
{
	slot_field(r, &s->store_slot);
	identity_fields(r, who, s);
	record_unsigned(r, &s->socket);
	record_unsigned(r, &who->login);
	record_unsigned(r, &keep->session);
	record_flag(r, &keep->pushed);
	record_flag(r, &s->local_user);
	record_flag(r, &keep->anchor);
}

void
connection_enter(struct connection *c, struct record *r, struct keep_view *keep)
{
	struct identity who = c->identity;
	struct saved_connection s = {.store_slot = c->store_slot, .socket = descriptor_identity(c->fd)};
	identity_save(&who, &s);
	record_begin(r, RECORD_STORED);
	entry_fields(r, &who, &s, keep);
	record_end(r);
}

int
connection_entry_slot(struct record *r, conn_id *id)
{
	int64_t slot = FDSTORE_NONE;
	slot_field(r, &slot);
	record_unsigned(r, id);
	return (int)slot;
}

/* Whether its client is logged in as it was: as a user that is still there, with a password that it still
 * has, and still an administrator if it was one. The user of a client on a Unix socket is looked up anew. */
static bool
login_returns(struct connection *c, struct saved_connection *s, const struct access *access)
{
	struct identity *who = &c->identity;
	bool admin = who->peer.admin;
	if (s->local_user) {
		s->user = (struct slice){NULL, 0};
	}
	bool loaded = identity_load(c, s, access);
	if (s->local_user) {
		connection_recognise(c, access);
		return loaded && admin == who->peer.admin;
	}
	bool now = who->native_admin || (who->user && who->user->rights & RIGHT_ADMIN);
	return loaded && (!who->user || connection_login_stands(who, who->user)) && admin == now;
}

struct connection *
connection_return(
	struct connections *set, struct record *r, const struct access *access, struct keep_view *keep)
{
	struct identity who = {0};
	struct saved_connection s = {.store_slot = FDSTORE_NONE};
	entry_fields(r, &who, &s, keep);
	int fd = r->failed || who.id <= set->last_id
			 ? -1
			 : fdstore_find(set->fdstore, (int)s.store_slot, s.socket);
	if (fd < 0) {
		return NULL;
	}
	struct connection *c = connections_put(set, fd, &who);
	if (!c) {
		fdstore_drop(set->fdstore, (int)s.store_slot);
		return NULL;
	}
	connection_stored_in(c, (int)s.store_slot);
	if (!login_returns(c, &s, access)) {
		connection_cut(c, END_ABANDONED, "its login has changed during the crash");
	}
	return c;
}

/* The numbers go on behind all that were ever used. */
conn_id
connections_last_id(const struct connections *set)
{
	return set->last_id;
}

void
connections_go_on_from(struct connections *set, conn_id last)
{
	set->last_id = last > set->last_id ? last : set->last_id;
}
