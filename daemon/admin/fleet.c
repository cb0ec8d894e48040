/*
 * fleet: see fleet.h. This file has the requests of clients, from their first question to their answer; what
 * the masters are asked for is in fleet_lookup.c.
 *
 *     request ──▶ LOOKUP ──▶ ASKS ──▶ answer        LOOKUP is left out if the daemons are known well enough
 */
#include "daemon/admin/fleet.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_lookup.h"
#include "daemon/admin/fleet_page.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/admin/fleet_serve.h"
#include "daemon/admin/fleet_share.h"
#include "daemon/admin/fleet_sign.h"
#include "daemon/admin/fleet_write.h"
#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/request/audit.h"
#include "proto/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This daemon is known whether a master names it or not. */
#define LISTED_SELF (1U << 31)

/* ---- begin and end ---- */

/* This daemon as it is now: a master that has refused it, or was away since, tells nothing or what was. */
static void
fleet_know_self(struct fleet *fleet)
{
	struct slice about = slice_of(fleet->context->facts.about ? fleet->context->facts.about : "");
	struct fleet_peer *self = peers_find(&fleet->peers, slice_of(fleet->context->facts.daemon_id));
	if (self && about.n > 0) {
		peer_describe(self, &about);
	}
}

struct fleet *
fleet_new(struct context *context)
{
	struct fleet *fleet = calloc(1, sizeof *fleet);
	if (!fleet) {
		return NULL;
	}
	fleet->context = context;
	fleet->longest = longest_new();
	fleet->peers.refreshed_ms = fleet->peers.asked_ms = INT64_MIN / 2;
	TAILQ_INIT(&fleet->opens);
	random_init(&fleet->random);
	struct fleet_peer *self = peers_add(&fleet->peers, slice_of(context->facts.daemon_id));
	if (!self || !fleet->longest) {
		fleet_free(fleet);
		return NULL;
	}
	self->listed = LISTED_SELF;
	self->expires_ms = INT64_MAX;
	self->pid = getpid();
	slice_text(self->host, sizeof self->host, slice_of(context->facts.host));
	slice_text(self->version, sizeof self->version, slice_of(context->facts.version));
	fleet_know_self(fleet);
	return fleet;
}

static void
part_done(struct fleet *fleet, struct fleet_part *part)
{
	fleet->stored_bytes -= buffer_length(&part->answer);
	answer_done(&part->parser);
	buffer_done(&part->answer);
}

static void
open_free(struct fleet *fleet, struct fleet_open *open)
{
	TAILQ_REMOVE(&fleet->opens, open, next);
	fleet->open_count--;
	for (size_t i = 0; i < open->part_count; i++) {
		part_done(fleet, &open->parts[i]);
	}
	for (size_t i = 0; i < CORE_SLOTS_MAX; i++) {
		free(open->sights[i].text);
	}
	free(open->parts);
	free(open->text);
	free(open);
}

void
fleet_free(struct fleet *fleet)
{
	struct fleet_open *open;
	if (!fleet) {
		return;
	}
	while ((open = TAILQ_FIRST(&fleet->opens))) {
		open_free(fleet, open);
	}
	senders_done(&fleet->senders);
	seen_done(fleet);
	longest_free(fleet->longest);
	free(fleet->peers.list);
	free(fleet->asks);
	free(fleet);
}

const struct fleet_part *
part_holding(const struct fleet_open *open)
{
	assert(open->part_count == 0 || open->parts);
	for (size_t i = 0; i < open->part_count; i++) {
		const struct fleet_part *part = &open->parts[i];
		if (part->valid && part->tree && part->tree->type == ANSWER_INT && part->tree->n > 0) {
			return part;
		}
	}
	return NULL;
}

/* What waits in the core goes on waiting, unless a daemon says that it has the name. */
static void
whose_finish(const struct context *context, const struct fleet_open *open)
{
	const struct whose whose = {open->user, open->command.name, open->command.as};
	const struct fleet_part *holding = part_holding(open);
	char text[CONTEXT_TEXT_MAX];
	if (holding) {
		part_describe(holding, text);
		context->hooks->elsewhere(context->arg, &whose, slice_of(text));
	}
}

static void
open_finish(struct fleet *fleet, struct fleet_open *open, int64_t now_ms)
{
	struct context *context = fleet->context;
	struct connection *c = connections_find(context->connections, open->conn);
	bool waits = c && connection_waits(c);
	if (open->conn == 0 && is_of_id(&open->command)) {
		whose_finish(context, open);
	} else if (open->conn == 0) {
		seen_take(fleet, open, now_ms);
	} else if (waits && is_of_id(&open->command) && !part_holding(open)) {
		context->hooks->command(context->arg, c, &open->command);
	} else if (waits) {
		connection_answered(c);
		fleet_write(fleet, open, c, now_ms);
	}
	open_free(fleet, open);
}

/* ---- other daemons are asked ---- */

static bool
is_self(const struct fleet *fleet, const char *id)
{
	return strcmp(id, fleet->context->facts.daemon_id) == 0;
}

/* By how much the clock in the answer to PING is ahead, as if it had been read in the middle of the way.
 */
static int64_t
pong_clock_ms(const struct fleet_part *part)
{
	static const size_t n = sizeof FLEET_PONG - 1;
	struct slice text = part->tree ? part->tree->text : (struct slice){0};
	int64_t wall_ms;
	bool pong = text.n > n && memcmp(text.p, FLEET_PONG, n) == 0 &&
		    number_parse((struct slice){text.p + n, text.n - n}, 0, INT64_MAX / 2, &wall_ms);
	return pong ? wall_ms - (clock_wall_us() / 1000 - (part->answered_ms - part->asked_ms) / 2) : 0;
}

/* Takes the bytes of an answer for what they are: a daemon whose answer does not fit the request is silent. A
 * page of a list is passed on as it is, so it is only checked. */
static void
part_read(struct fleet *fleet, struct fleet_part *part, const struct fleet_open *open)
{
	bool list = is_list(&open->command);
	const struct answer_limits limits = {.bytes = FLEET_PAGE_BYTES * 2, .elements = 65536};
	const char *fault;
	size_t n = buffer_length(&part->answer);
	ssize_t used = part->answer.failed ? -1
					   : answer_parse(&part->parser, buffer_bytes(&part->answer), n,
						     &limits, list ? NULL : &part->tree, &fault);
	part->valid = used > 0 && (size_t)used == n && part_fits(part, open);
	part->answered_ms = clock_ms();
	part->clock_ms = part->valid && open->command.verb == VERB_FLEET ? pong_clock_ms(part) : 0;
	if (part->tree && part->tree->type == ANSWER_ERROR) {
		slice_text(part->why, sizeof part->why, part->tree->text);
	}
	if (is_merged(&open->command)) {
		part->tree = NULL; /* the bytes are read when the answer is written */
		answer_done(&part->parser);
	}
	if (!part->valid) {
		fleet->context->stats->inbox_ignored++;
		part->tree = NULL;
	}
}

/* This daemon answers as the others do. */
static void
part_serve(struct fleet *fleet, struct fleet_part *part, const struct fleet_open *open)
{
	struct connection *c = connections_find(fleet->context->connections, open->conn);
	struct command command = open->command;
	command.cursor = (int64_t)open->cursor;
	char who[BREAKER_MAX + 1] = "";
	if (c && command.verb == VERB_BREAK) {
		audit_who(fleet->context, connection_identity(c), who, sizeof who);
	}
	struct asker asker = {.daemon = fleet->context->facts.daemon_id, .who = slice_of(who)};
	serve_command(fleet, &asker, &command, c ? connection_identity(c)->protocol : 3, open->bytes,
		&part->answer);
	fleet->stored_bytes += buffer_length(&part->answer);
	part_read(fleet, part, open);
}

/* Whether a message was sent. */
static bool
open_add_part(struct fleet *fleet, struct fleet_open *open, struct fleet_peer *peer, int64_t now_ms)
{
	struct fleet_part *part = &open->parts[open->part_count++];
	*part = (struct fleet_part){
		.seen_ms = peer->seen_ms, .asked_ms = now_ms, .until_ms = peer_until_ms(peer, now_ms)};
	slice_text(part->id, sizeof part->id, slice_of(peer->id));
	slice_text(part->host, sizeof part->host, slice_of(peer->host));
	buffer_init(&part->answer, open->bytes * 2 + 8192);
	if (is_self(fleet, peer->id)) {
		part->asked = true;
		part_serve(fleet, part, open);
		return false;
	}
	bool asks = peer_is_asked(peer, open->command.verb, now_ms);
	if (asks) {
		part->asked = peer_ask(fleet, peer, open, &open->command, now_ms);
	} else {
		part->asked = true;
		part->until_ms = peer->sent_ms + FLEET_AGAIN_MS;
	}
	open->wake_ms = part->asked && part->until_ms > open->wake_ms ? part->until_ms : open->wake_ms;
	return asks;
}

/* The daemons that have the name, by the masters. */
static void
open_ask_owners(struct fleet *fleet, struct fleet_open *open, int64_t now_ms)
{
	for (size_t i = 0; i < CORE_SLOTS_MAX; i++) {
		struct slice lines = open->sights[i].holders, line;
		while (open->part_count < FLEET_OWNERS_MAX && text_next_line(&lines, &line)) {
			struct slice id = line_daemon(line);
			struct fleet_peer *peer = peers_find(&fleet->peers, id);
			if (open->part_count < open->part_room && peer && !is_self(fleet, peer->id) &&
				!part_of(open, id)) {
				(void)open_add_part(fleet, open, peer, now_ms);
			}
		}
	}
}

/* The daemon that a cursor names is the only one that is asked. With the first page others are asked
 * whether they answer: so those that do not are waited for together. */
static void
open_ask_list(struct fleet *fleet, struct fleet_open *open, int64_t now_ms)
{
	const struct command ping = {.verb = VERB_PING};
	uint64_t cursor = (uint64_t)open->command.cursor, digits = cursor >> FLEET_CURSOR_BITS;
	struct fleet_peer *peer = peers_from(&fleet->peers, digits > 0 ? digits - 1 : 0);
	for (size_t i = 0, asked = 0; cursor == 0 && i < fleet->peers.n && asked < FLEET_AT_ONCE; i++) {
		struct fleet_peer *other = &fleet->peers.list[i];
		if (!is_self(fleet, other->id) && other != peer && peer_is_asked(other, VERB_PING, now_ms)) {
			asked += peer_ask(fleet, other, open, &ping, now_ms);
		}
	}
	if (peer && digits > 0 && peer_digits(peer->id) == digits - 1) {
		open->cursor = cursor & ((UINT64_C(1) << FLEET_CURSOR_BITS) - 1);
	}
	if (peer) {
		(void)open_add_part(fleet, open, peer, now_ms);
	}
}

static bool
open_waits(struct fleet_open *open, int64_t now_ms)
{
	bool broken = open->command.verb == VERB_BREAK;
	bool waits = open->asking;
	if (is_of_id(&open->command) && part_holding(open)) {
		return false;
	}
	for (size_t i = 0; i < open->part_count; i++) {
		struct fleet_part *part = &open->parts[i];
		if (!part->valid && !part->late && part->until_ms <= now_ms && part->answered_ms == 0) {
			part->late = true;
			part->until_ms = now_ms + FLEET_READ_MS;
			open->wake_ms = part->until_ms > open->wake_ms ? part->until_ms : open->wake_ms;
		}
		if (broken && part->valid && part->tree && part->tree->type == ANSWER_INT) {
			return false;
		}
		waits |= part->asked && part->answered_ms == 0 && part->until_ms > now_ms;
	}
	return waits;
}

/* Daemons whose time is over are not waited for so long the next time. */
static void
open_turn(struct fleet *fleet, struct fleet_open *open, int64_t now_ms)
{
	if (open_waits(open, now_ms)) {
		return;
	}
	for (size_t i = 0; i < open->part_count; i++) {
		struct fleet_peer *peer = peers_find(&fleet->peers, slice_of(open->parts[i].id));
		/* One that has answered with an error lives. */
		if (peer && open->parts[i].asked && open->parts[i].answered_ms == 0 &&
			open->parts[i].until_ms <= now_ms) {
			peer->silent = true;
		}
	}
	open_finish(fleet, open, now_ms);
}

/* Asks further daemons, `most` at most, and until the time is over. Returns how many. */
static size_t
open_ask_some(struct fleet *fleet, struct fleet_open *open, size_t most, int64_t until_ns, int64_t now_ms)
{
	bool all = open->command.verb == VERB_INSPECT || is_merged(&open->command);
	struct fleet_peer *peer;
	size_t n = 0;
	open->asking = false;
	while ((peer = peers_after(&fleet->peers, open->asked)) && open->part_count < open->part_room) {
		if (n >= most || clock_ns() >= until_ns) {
			open->asking = true;
			break;
		}
		slice_text(open->asked, sizeof open->asked, slice_of(peer->id));
		if (all || !is_self(fleet, peer->id)) {
			n += open_add_part(fleet, open, peer, now_ms);
		}
	}
	return n;
}

void
open_ask(struct fleet *fleet, struct fleet_open *open, int64_t now_ms)
{
	open->stage = FLEET_ASKS;
	open->bytes = peer_answer_bytes(fleet, &open->command);
	open->part_room = fleet->peers.n;
	open->parts = calloc(open->part_room, sizeof *open->parts);
	if (!open->parts) {
		open_finish(fleet, open, now_ms);
		return;
	}
	if (is_list(&open->command)) {
		open_ask_list(fleet, open, now_ms);
	} else if (is_of_id(&open->command)) {
		open_ask_owners(fleet, open, now_ms);
	} else {
		(void)open_ask_some(fleet, open, FLEET_AT_ONCE, clock_ns() + FLEET_TURN_NS / 8, now_ms);
	}
	open_turn(fleet, open, now_ms);
}

/* ---- requests and answers ---- */

/* Copies a text to where `to` points, which moves behind it. */
static struct slice
text_take(char **to, struct slice text)
{
	struct slice copy = {*to, text.n};
	memcpy(*to, text.n > 0 ? text.p : "", text.n);
	*to += text.n;
	return copy;
}

/* NULL: out of memory. */
static struct fleet_open *
open_new(struct fleet *fleet, conn_id conn, uint64_t user, const struct command *command)
{
	struct fleet_open *open = calloc(1, sizeof *open);
	char *text = malloc(command->name.n + command->match.n + command->as.n + command->owner.n + 1);
	if (!open || !text) {
		free(open);
		free(text);
		return NULL;
	}
	open->id = fleet_number(fleet);
	open->conn = conn;
	open->user = user;
	open->text = text;
	open->command = (struct command){.verb = command->verb,
		.token = command->token,
		.count = command->count,
		.cursor = command->cursor,
		.extend_ms = command->extend_ms,
		.rows = command->rows,
		.name = text_take(&text, command->name),
		.match = text_take(&text, command->match),
		.as = text_take(&text, command->as),
		.owner = text_take(&text, command->owner)};
	TAILQ_INSERT_TAIL(&fleet->opens, open, next);
	fleet->open_count++;
	fleet->context->fleet_works = true;
	return open;
}

void
fleet_request(struct context *context, struct connection *c, const struct command *command)
{
	struct fleet *fleet = context->fleet;
	const struct identity *who = connection_identity(c);
	int64_t now_ms = clock_ms();
	connections_strained(context->connections);
	struct fleet_open *open = fleet_allows(fleet, &who->peer, now_ms)
					  ? open_new(fleet, who->id, who->peer.user, command)
					  : NULL;
	if (!open) {
		if (connection_waits(c)) {
			connection_answered(c);
		}
		connection_error(c, CODE_LIMIT,
			"too many requests for the fleet at a time, or no memory: try again in a moment");
		return;
	}
	if (!connection_waits(c)) {
		connection_wait(c);
	}
	fleet_know_self(fleet);
	bool known = command->cursor != 0 || now_ms - fleet->peers.refreshed_ms < FLEET_FRESH_MS;
	if (known && (is_list(command) || is_merged(command))) {
		open_ask(fleet, open, now_ms);
	} else {
		open_lookup(fleet, open, FLEET_FRESH_MS, now_ms);
	}
}

/* Whether the verb releases a hold of a named session, or reads it. */
static bool
is_about_hold(const struct command *command)
{
	return command->verb == VERB_UNLOCK || command->verb == VERB_CHECK || command->verb == VERB_EXTEND ||
	       command->verb == VERB_DOWNGRADE;
}

bool
fleet_asks_owners(struct context *context, struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	/* A mistake of a program takes no more of the fleet than a user that is no administrator has. */
	const struct peer share = {.user = who->peer.user};
	int64_t now_ms;
	if (!is_about_hold(command) || core_knows_id(context->core, who->peer.user, command->as) ||
		core_draining(context->core)) {
		return false;
	}
	now_ms = clock_ms();
	struct fleet_open *open = fleet_allows(context->fleet, &share, now_ms)
					  ? open_new(context->fleet, who->id, who->peer.user, command)
					  : NULL;
	if (open) {
		open_lookup(context->fleet, open, FLEET_FRESH_MS, now_ms);
	}
	return open;
}

void
fleet_ask_whose(struct fleet *fleet, const struct whose *whose)
{
	const struct command command = {.verb = VERB_LOCK, .name = whose->name, .as = whose->as};
	const struct peer share = {.user = whose->user};
	int64_t now_ms = clock_ms();
	struct fleet_open *open =
		fleet_allows(fleet, &share, now_ms) ? open_new(fleet, 0, whose->user, &command) : NULL;
	if (open) {
		open_lookup(fleet, open, FLEET_FRESH_MS, now_ms);
	}
}

uint64_t
fleet_ask_page(struct fleet *fleet, const struct command *command, int64_t now_ms)
{
	const struct peer admin = {.admin = true};
	struct fleet_open *open = fleet_allows(fleet, &admin, now_ms) ? open_new(fleet, 0, 0, command) : NULL;
	uint64_t id = open ? open->id : 0;
	if (open) {
		fleet_know_self(fleet);
		open_lookup(fleet, open, FLEET_FRESH_MS, now_ms);
	}
	return id;
}

static void
fleet_take_answer(struct fleet *fleet, struct slice text)
{
	struct slice from, rest = text;
	uint64_t number;
	slice_word(&rest); /* the code */
	if (!message_head(&rest, &from, &number)) {
		fleet->context->stats->inbox_ignored++;
		return;
	}
	struct fleet_peer *peer = peers_find(&fleet->peers, from);
	struct fleet_open *open = open_find(fleet, number);
	if (!peer || !message_open(&text, "told", peer->secret)) {
		fleet->context->stats->inbox_forged++;
		return;
	}
	text = rest;
	peer_answered(peer, peer->asked_ms, clock_ms());
	for (size_t i = 0; open && i < open->part_count; i++) {
		struct fleet_part *part = &open->parts[i];
		if (part->answered_ms != 0 || !slice_equal(slice_of(part->id), from)) {
			continue;
		}
		if (fleet->stored_bytes + text.n <= FLEET_STORED_BYTES) {
			buffer_put(&part->answer, text.p, text.n);
			fleet->stored_bytes += buffer_length(&part->answer);
		}
		part_read(fleet, part, open);
		open_turn(fleet, open, part->answered_ms);
		return;
	}
}

void
fleet_asked(struct fleet *fleet, unsigned master, bool answer, struct slice text)
{
	if (answer) {
		fleet_take_answer(fleet, text);
	} else {
		serve_queue(fleet, master, text);
	}
}

/* ---- turns ---- */

bool
fleet_busy(const struct fleet *fleet)
{
	return fleet->ask_count > 0;
}

/* When it needs its next turn. */
static int64_t
open_wake_at(const struct fleet *fleet, const struct fleet_open *open)
{
	if (open->asking) {
		return fleet->spare > 0 ? 0 : fleet->spared_ms + 1;
	}
	return open->stage == FLEET_LOOKUP ? open->until_ms : open->wake_ms;
}

int64_t
fleet_turn(struct fleet *fleet, int64_t now_ms)
{
	int64_t wake_at = longest_turn(fleet->longest, fleet->context, now_ms);
	struct fleet_open *open, *next;
	fleet->context->fleet_works = false;
	if (fleet->ask_count > 0) {
		serve_turn(fleet, clock_ns() + FLEET_TURN_NS);
		wake_at = fleet->ask_count > 0 ? now_ms : wake_at;
	}
	int64_t until_ns = TAILQ_EMPTY(&fleet->opens) ? 0 : clock_ns() + FLEET_TURN_NS;
	if (fleet->spared_ms < now_ms) {
		fleet->spared_ms = now_ms;
		fleet->spare = FLEET_PER_MS;
	}
	for (open = TAILQ_FIRST(&fleet->opens); open; open = next) {
		next = TAILQ_NEXT(open, next);
		int64_t at = open_wake_at(fleet, open);
		wake_at = at < wake_at ? at : wake_at;
		if (at > now_ms) {
			continue;
		}
		if (clock_ns() >= until_ns) {
			break;
		}
		if (open->asking) {
			fleet->spare -= open_ask_some(fleet, open, fleet->spare, until_ns, now_ms);
			open_turn(fleet, open, now_ms);
		} else if (open->stage == FLEET_LOOKUP) {
			open_ask(fleet, open, now_ms);
		} else {
			open_turn(fleet, open, now_ms);
		}
	}
	fleet->context->fleet_works |= fleet->open_count > 0 || wake_at != INT64_MAX;
	return wake_at;
}

void
fleet_rest(struct fleet *fleet)
{
	struct fleet_open *open;
	while ((open = TAILQ_FIRST(&fleet->opens))) {
		open_finish(fleet, open, clock_ms());
	}
	fleet->ask_count = 0;
}
