/*
 * fleet_peers: the daemons that the masters name, and how one of them is asked. Called by fleet.c. What a
 * master says is taken apart word by word; a line that makes no sense is left out.
 */
#include "daemon/admin/fleet_peers.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_sign.h"
#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/redis/call.h"
#include "daemon/redis/masters.h"
#include "daemon/request/audit.h"
#include "proto/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
text_next_line(struct slice *text, struct slice *line)
{
	if (text->n == 0) {
		return false;
	}
	const char *end = memchr(text->p, '\n', text->n);
	size_t n = end ? (size_t)(end - text->p) : text->n;
	*line = (struct slice){text->p, n};
	*text = (struct slice){text->p + n + !!end, text->n - n - !!end};
	return true;
}

struct slice
line_daemon(struct slice line)
{
	const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
	return (struct slice){line.p, colon ? (size_t)(colon - line.p) : 0};
}

uint64_t
peer_digits(const char *id)
{
	uint64_t digits = 0;
	for (size_t i = 0; i < PEER_DIGITS; i++) {
		digits = digits << 4 | (uint64_t)number_hex(id[i]);
	}
	return digits;
}

static int
peer_compare(const void *a, const void *b)
{
	return strcmp(((const struct fleet_peer *)a)->id, ((const struct fleet_peer *)b)->id);
}

static int
id_compare(const void *id, const void *peer)
{
	return strcmp(id, ((const struct fleet_peer *)peer)->id);
}

struct fleet_peer *
peers_find(const struct fleet_peers *peers, struct slice id)
{
	char text[DAEMON_ID_MAX];
	slice_text(text, sizeof text, id);
	return peers->n == 0 || id.n != DAEMON_ID_MAX - 1
		       ? NULL
		       : bsearch(text, peers->list, peers->n, sizeof *peers->list, id_compare);
}

struct fleet_peer *
peers_after(const struct fleet_peers *peers, const char *id)
{
	size_t low = 0, high = peers->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (strcmp(peers->list[middle].id, id) > 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low < peers->n ? &peers->list[low] : NULL;
}

struct fleet_peer *
peers_from(const struct fleet_peers *peers, uint64_t digits)
{
	for (size_t i = 0; i < peers->n; i++) {
		if (peer_digits(peers->list[i].id) >= digits) {
			return &peers->list[i];
		}
	}
	return NULL;
}

struct fleet_peer *
peers_add(struct fleet_peers *peers, struct slice id)
{
	if (peers->n == peers->room) {
		size_t room = peers->room == 0 ? 16 : peers->room * 2;
		struct fleet_peer *list =
			room > 2 * FLEET_PEERS_MAX ? NULL : reallocarray(peers->list, room, sizeof *list);
		if (!list) {
			return NULL;
		}
		peers->list = list;
		peers->room = room;
	}
	struct fleet_peer *peer = &peers->list[peers->n++];
	*peer = (struct fleet_peer){0};
	slice_text(peer->id, sizeof peer->id, id);
	return peer;
}

bool
is_daemon_id(struct slice id)
{
	bool good = id.n == DAEMON_ID_MAX - 1;
	for (size_t i = 0; good && i < id.n; i++) {
		good = number_hex(id.p[i]) >= 0;
	}
	return good;
}

int64_t
line_next_number(struct slice *line)
{
	int64_t n;
	return number_parse(slice_word(line), 0, INT64_MAX / 2, &n) ? n : 0;
}

void
peer_describe_public(struct fleet_peer *peer, struct slice *about)
{
	slice_text(peer->host, sizeof peer->host, slice_word(about));
	slice_text(peer->version, sizeof peer->version, slice_word(about));
	peer->pid = line_next_number(about);
	peer->begun_s = line_next_number(about);
	slice_text(peer->settings, sizeof peer->settings, slice_word(about));
	slice_text(peer->address, sizeof peer->address, slice_word(about));
}

void
peer_describe(struct fleet_peer *peer, struct slice *about)
{
	peer_describe_public(peer, about);
	struct slice secret = slice_word(about);
	slice_text(peer->secret, sizeof peer->secret, is_daemon_id(secret) ? secret : SLICE(""));
}

void
peer_seen(struct fleet_peer *peer, int64_t hello_ms, int64_t time_ms, int64_t now_ms)
{
	int64_t ago_ms = hello_ms > 0 && hello_ms < time_ms ? time_ms - hello_ms : 0;
	if (now_ms - ago_ms > peer->seen_ms) {
		peer->seen_ms = now_ms - ago_ms;
	}
}

/* The words of a field 'h:' behind the format; see hello.lua. */
static void
peer_registered(struct fleet_peer *peer, struct slice line, int64_t time_ms, int64_t now_ms)
{
	peer_describe(peer, &line);
	peer_seen(peer, line_next_number(&line), time_ms, now_ms);
}

/* Of those that no master has any more, nothing is stored. */
static void
peers_forget(struct fleet_peers *peers, int64_t now_ms)
{
	size_t n = 0;
	for (size_t i = 0; i < peers->n; i++) {
		if (peers->list[i].listed != 0 && peers->list[i].expires_ms > now_ms) {
			peers->list[n++] = peers->list[i];
		}
	}
	peers->n = n;
}

void
peers_take(struct fleet_peers *peers, unsigned master, const struct lookup_answer *answer, bool sure,
	int64_t now_ms)
{
	struct slice text = answer->daemons, line;
	const unsigned bit = 1U << master;
	size_t sorted = peers->n;
	assert(master < CORE_SLOTS_MAX);
	for (size_t i = 0; sure && i < sorted; i++) {
		peers->list[i].listed &= ~bit;
	}
	while (text_next_line(&text, &line)) {
		struct slice id = slice_word(&line);
		int64_t deadline_us = line_next_number(&line);
		if (!is_daemon_id(id) || deadline_us <= answer->time_us) {
			continue;
		}
		struct fleet_peers known = {.list = peers->list, .n = sorted};
		struct fleet_peer *peer = peers_find(&known, id);
		peer = peer || peers->n >= FLEET_PEERS_MAX ? peer : peers_add(peers, id);
		if (!peer) {
			continue;
		}
		slice_word(&line); /* the format */
		peer->listed |= bit;
		peer->expires_ms = peer->expires_ms == INT64_MAX
					   ? INT64_MAX
					   : now_ms + (deadline_us - answer->time_us) / 1000 + 1;
		peer_registered(peer, line, answer->time_us / 1000, now_ms);
	}
	peers_forget(peers, now_ms);
	if (peers->n > 0) {
		qsort(peers->list, peers->n, sizeof *peers->list, peer_compare);
	}
	peers->refreshed_ms = now_ms;
}

bool
peer_is_asked(const struct fleet_peer *peer, enum verb verb, int64_t now_ms)
{
	return !peer->silent || verb == VERB_BREAK || now_ms - peer->sent_ms >= FLEET_FRESH_MS;
}

int64_t
peer_until_ms(const struct fleet_peer *peer, int64_t now_ms)
{
	int64_t more_ms = 8 * peer->took_ms;
	if (peer->silent) {
		return now_ms + FLEET_AGAIN_MS + more_ms;
	}
	return (peer->asked_ms > 0 ? peer->asked_ms : now_ms) + FLEET_WAIT_MS + more_ms;
}

void
peer_answered(struct fleet_peer *peer, int64_t asked_ms, int64_t now_ms)
{
	int64_t took_ms = asked_ms > 0 ? now_ms - asked_ms : 0;
	peer->took_ms = (3 * peer->took_ms + (took_ms < FLEET_SAMPLE_MS ? took_ms : FLEET_SAMPLE_MS) + 3) / 4;
	peer->asked_ms = 0;
	peer->silent = false;
}

/* ---- one is asked ---- */

static void
put_number(struct buffer *b, int64_t n)
{
	char text[NUMBER_TEXT_MAX];
	reply_write_bulk(b, (struct slice){text, number_print(text, n)});
}

static void
write_whose(const struct fleet_open *open, struct buffer *b)
{
	char digest[17];
	snprintf(digest, sizeof digest, "%016llx",
		(unsigned long long)core_id_digest(open->id, open->user, open->command.as));
	reply_write_array(b, 3);
	reply_write_text(b, "WHOSE");
	reply_write_bulk(b, open->command.name);
	reply_write_text(b, digest);
}

/* The client that asked for the BREAK, for the audit log and the history of the daemon that gets it. */
static void
write_who(const struct context *context, struct connection *c, struct buffer *b)
{
	char who[BREAKER_MAX + 1];
	audit_who(context, connection_identity(c), who, sizeof who);
	reply_write_array(b, 2);
	reply_write_text(b, "BY");
	reply_write_text(b, who);
}

/* The request as another daemon gets it. */
static void
write_request(const struct command *command, uint64_t cursor, struct buffer *b)
{
	int64_t count = command->count > 0 ? command->count : COMMAND_COUNT_MAX;
	size_t words = 5 + (command->match.n > 0 ? 2U : 0U) + (command->rows ? 1U : 0U);
	switch (command->verb) {
	case VERB_INSPECT:
		reply_write_array(b, 2);
		reply_write_text(b, "INSPECT");
		reply_write_bulk(b, command->name);
		return;
	case VERB_HISTORY:
		reply_write_array(b, 4);
		reply_write_text(b, "HISTORY");
		reply_write_bulk(b, command->name);
		reply_write_text(b, "COUNT");
		put_number(b, count);
		return;
	case VERB_HOUR:
		reply_write_array(b, 1);
		reply_write_text(b, "HOUR");
		return;
	case VERB_TOP:
		reply_write_array(b, command->match.n > 0 ? 5 : 3);
		reply_write_text(b, "TOP");
		reply_write_text(b, "COUNT");
		put_number(b, command->count > 0 ? command->count : TOP_COUNT);
		if (command->match.n > 0) {
			reply_write_text(b, "MATCH");
			reply_write_bulk(b, command->match);
		}
		return;
	case VERB_BREAK:
		reply_write_array(b, 4);
		reply_write_text(b, "BREAK");
		reply_write_bulk(b, command->name);
		reply_write_text(b, "TOKEN");
		put_number(b, command->token);
		return;
	case VERB_LOCKS:
	case VERB_SESSIONS:
		reply_write_array(b, words);
		reply_write_bulk(b, command_info(command->verb)->word);
		reply_write_text(b, "CURSOR");
		put_number(b, (int64_t)cursor);
		reply_write_text(b, "COUNT");
		put_number(b, count);
		if (command->match.n > 0) {
			reply_write_text(b, "MATCH");
			reply_write_bulk(b, command->match);
		}
		if (command->rows) {
			reply_write_text(b, "ROWS");
		}
		return;
	default:
		reply_write_array(b, 1);
		reply_write_text(b, "PING");
	}
}

size_t
peer_answer_bytes(const struct fleet *fleet, const struct command *command)
{
	size_t page = connections_limits(fleet->context->connections)->output_bytes / 2;
	size_t most = is_list(command) ? FLEET_PAGE_BYTES : FLEET_NAME_BYTES;
	if (command->verb == VERB_HISTORY) {
		/* The holds that are merged are kept all at once. */
		size_t share = FLEET_STORED_BYTES / 4 / fleet->peers.n;
		most = share > FLEET_PAGE_BYTES ? FLEET_PAGE_BYTES : share > most ? share : most;
	}
	if (command->verb == VERB_TOP) {
		size_t share = FLEET_STORED_BYTES / 4 / fleet->peers.n;
		most = share > FLEET_PAGE_BYTES / 2 ? FLEET_PAGE_BYTES / 2 : share;
	}
	return page < most ? page : most;
}

bool
peer_ask(struct fleet *fleet, struct fleet_peer *peer, const struct fleet_open *open,
	const struct command *command, int64_t now_ms)
{
	struct context *context = fleet->context;
	struct connection *c = connections_find(context->connections, open->conn);
	struct master_view view;
	struct buffer b;
	char head[128];
	bool asked = false;
	if (peer->secret[0] == '\0') {
		return false;
	}
	buffer_init(&b, FLEET_ASK_MAX);
	message_begin(&b, "ask");
	int n = snprintf(head, sizeof head, "%s %016llx %d %zu ", context->facts.daemon_id,
		(unsigned long long)open->id, c ? connection_identity(c)->protocol : 3, open->bytes);
	buffer_put(&b, head, (size_t)n);
	if (is_of_id(command)) {
		write_whose(open, &b);
	} else {
		write_request(command, open->cursor, &b);
		if (command->verb == VERB_BREAK && c) {
			write_who(context, c, &b);
		}
	}
	bool sealed = message_seal(&b, "ask", peer->secret);
	for (unsigned i = 0; sealed && i < core_members(context->core); i++) {
		struct slice text = {buffer_bytes(&b), buffer_length(&b)};
		core_view_master(context->core, now_ms, i, &view);
		asked |= masters_publish(context->masters, i, peer->id, text) && !view.down;
	}
	if (asked) {
		peer->asked_ms = peer->asked_ms == 0 ? now_ms : peer->asked_ms;
		peer->sent_ms = now_ms;
	}
	buffer_done(&b);
	return asked;
}
