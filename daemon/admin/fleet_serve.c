/*
 * fleet_serve: what other daemons ask this one for: pages of what it shows, and a BREAK. Called by fleet.c.
 * Whoever may read the registrations can send such a message (fleet_sign.c), so it may ask for nothing that
 * costs more than a page, and requests wait in a short queue for their part of a turn.
 */
#include "daemon/admin/fleet_serve.h"

#include "daemon/admin/fleet.h"
#include "daemon/admin/fleet_hour.h"
#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/admin/fleet_sign.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/admin/report.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/masters.h"
#include "proto/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
message_digits(struct slice digits, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < digits.n; i++) {
		int digit = number_hex(digits.p[i]);
		if (digit < 0) {
			return false;
		}
		*out = *out << 4 | (uint64_t)digit;
	}
	return digits.n == 16;
}

bool
message_head(struct slice *text, struct slice *from, uint64_t *number)
{
	*from = slice_word(text);
	if (!message_digits(slice_word(text), number) || from->n != DAEMON_ID_MAX - 1) {
		return false;
	}
	for (size_t i = 0; i < from->n; i++) {
		if (number_hex(from->p[i]) < 0) {
			return false;
		}
	}
	return true;
}

/* Whether it waits already: with several masters it comes more than once. */
static bool
serve_knows(const struct fleet *fleet, struct slice from, uint64_t number)
{
	for (size_t i = 0; i < FLEET_QUEUE_MAX; i++) {
		const struct fleet_ask *ask = &fleet->asks[i];
		if (ask->number == number && slice_equal(slice_of(ask->from), from)) {
			return true;
		}
	}
	return false;
}

void
serve_queue(struct fleet *fleet, unsigned master, struct slice text)
{
	struct slice from;
	int64_t protocol, bytes;
	uint64_t number;
	if (!fleet->asks) {
		fleet->asks = calloc(FLEET_QUEUE_MAX, sizeof *fleet->asks);
	}
	if (text.n > FLEET_ASK_MAX) {
		fleet->context->stats->inbox_ignored++;
		return;
	}
	if (!message_open(&text, "ask", fleet->context->facts.secret)) {
		fleet->context->stats->inbox_forged++;
		return;
	}
	if (!message_head(&text, &from, &number) || !number_parse(slice_word(&text), 2, 3, &protocol) ||
		!number_parse(slice_word(&text), 1, FLEET_PAGE_BYTES, &bytes)) {
		fleet->context->stats->inbox_ignored++;
		return;
	}
	if (!fleet->asks || (fleet->ask_count == FLEET_QUEUE_MAX && !serve_knows(fleet, from, number))) {
		fleet->context->stats->inbox_unserved++;
		return;
	}
	/* By several masters it comes several times. */
	if (!senders_take(&fleet->senders, from, number)) {
		return;
	}
	struct fleet_ask *ask = &fleet->asks[(fleet->ask_first + fleet->ask_count++) % FLEET_QUEUE_MAX];
	fleet->context->fleet_works = true;
	ask->master = master;
	ask->number = number;
	ask->protocol = (int)protocol;
	ask->bytes = (size_t)bytes;
	ask->n = text.n;
	slice_text(ask->from, sizeof ask->from, from);
	memcpy(ask->request, text.p, text.n);
}

/* The hold with a token. */
struct token_search {
	int64_t token;
	bool found;
	int64_t valid_ms;
};

static bool
token_visit(void *arg, const struct hold_view *hold)
{
	struct token_search *search = arg;
	search->found = hold->token == search->token;
	search->valid_ms = hold->valid_ms;
	return !search->found;
}

static struct token_search
token_find(const struct context *context, const struct command *command)
{
	struct token_search search = {.token = command->token};
	core_each_hold(context->core, clock_ms(), command->name, token_visit, &search);
	return search;
}

bool
fleet_holds(const struct context *context, const struct command *command)
{
	return token_find(context, command).found;
}

/* The audit log of the daemon that asks has the client, too. */
static void
serve_break(struct fleet *fleet, const struct asker *asker, const struct command *command, struct buffer *out)
{
	struct context *context = fleet->context;
	const struct fleet_peer *peer = peers_find(&fleet->peers, slice_of(asker->daemon));
	const char *host = peer ? peer->host : "unknown";
	char breaker[BREAKER_MAX + 1];
	if (!fleet_holds(context, command)) {
		reply_write_error(out, CODE_NOTHELD, SLICE("this daemon has no such hold"));
		return;
	}
	LOG_EVENT(context->audit, LOG_WARNING_LEVEL, "lock.break",
		log_bytes("name", command->name.p, command->name.n), log_number("token", command->token),
		log_text("from", asker->daemon), log_text("host", host),
		asker->who.n > 0 ? log_bytes("asked_by", asker->who.p, asker->who.n) : log_text(NULL, NULL),
		log_text("text", "asked for through another daemon"));
	if (asker->who.n > 0) {
		slice_text(breaker, sizeof breaker, asker->who);
	} else {
		snprintf(breaker, sizeof breaker, "a client on %s", host);
	}
	history_breaker(context->history, breaker);
	context->hooks->broken(context->arg, command);
	history_breaker(context->history, NULL);
	struct token_search left = token_find(context, command);
	reply_write_int(out, left.found ? left.valid_ms : 0);
}

void
serve_command(struct fleet *fleet, const struct asker *asker, const struct command *command, int protocol,
	size_t bytes, struct buffer *out)
{
	char pong[sizeof FLEET_PONG + NUMBER_TEXT_MAX];
	switch (command->verb) {
	case VERB_PING:
		snprintf(pong, sizeof pong, FLEET_PONG "%lld", (long long)(clock_wall_us() / 1000));
		reply_write_simple(out, pong);
		return;
	case VERB_INSPECT:
	case VERB_LOCKS:
	case VERB_SESSIONS:
		report_asked(fleet->context, command, protocol, bytes, out);
		return;
	case VERB_TOP:
		top_asked(fleet, command, protocol, bytes, out);
		return;
	case VERB_HOUR:
		hour_here(fleet->context, out, protocol);
		return;
	case VERB_HISTORY:
		history_asked(fleet->context, command, protocol, bytes, out);
		return;
	case VERB_BREAK:
		serve_break(fleet, asker, command, out);
		return;
	default:
		reply_write_error(out, CODE_ERR, SLICE("no daemon asks another one for this"));
	}
}

/* False: it is another request. */
static bool
serve_whose(const struct fleet *fleet, const struct fleet_ask *ask, const struct request *request,
	struct buffer *out)
{
	uint64_t digest;
	if (request->argc != 3 || !slice_equal(request->argv[0], SLICE("WHOSE")) ||
		!message_digits(request->argv[2], &digest)) {
		return false;
	}
	reply_write_int(
		out, core_holds_by_digest(fleet->context->core, request->argv[1], ask->number, digest));
	return true;
}

/* A BREAK is followed by the client that asked for it: `BY text`. A neighbouring version does not send it, or
 * does not read it. n == 0: it is not there. */
static struct slice
ask_who(struct fleet_ask *ask, size_t at, struct request *room)
{
	const struct request_limits limits = {.bytes = FLEET_ASK_MAX, .arguments = 16};
	struct request_parser parser = {0};
	struct reply error;
	struct slice who = {0};
	if (at < ask->n &&
		request_parse(&parser, ask->request + at, ask->n - at, &limits, room, &error) > 0 &&
		room->argc == 2 && slice_equal(room->argv[0], SLICE("BY")) &&
		room->argv[1].n <= BREAKER_MAX) {
		who = room->argv[1];
	}
	return who;
}

/* Serves one request of another daemon; at: the offset in ask->request at which it ends. False: no daemon
 * sends this request. */
static bool
serve_request(struct fleet *fleet, struct fleet_ask *ask, size_t at, const struct request *request,
	struct buffer *out)
{
	struct command command;
	struct request rest;
	struct asker asker = {.daemon = ask->from};
	struct reply error;
	if (serve_whose(fleet, ask, request, out)) {
		return true;
	}
	if (request->argc == 0) {
		return false;
	}
	if (command_parse(request, &command, &error) != 0) {
		/* A daemon of a later version asks for more than this one knows. */
		reply_write_error(out, CODE_ERR,
			SLICE("this daemon is of another version: it does not know this request"));
		return true;
	}
	if (command.fleet) {
		return false;
	}
	asker.who = command.verb == VERB_BREAK ? ask_who(ask, at, &rest) : asker.who;
	serve_command(fleet, &asker, &command, ask->protocol, ask->bytes, out);
	return true;
}

static void
serve_one(struct fleet *fleet, struct fleet_ask *ask)
{
	const struct request_limits limits = {.bytes = FLEET_ASK_MAX, .arguments = 16};
	struct context *context = fleet->context;
	struct request_parser parser = {0};
	struct request request;
	struct reply error;
	struct buffer out;
	char head[80];
	buffer_init(&out, FLEET_PAGE_BYTES + (64 << 10));
	message_begin(&out, "told");
	int n = snprintf(
		head, sizeof head, "%s %016llx ", context->facts.daemon_id, (unsigned long long)ask->number);
	buffer_put(&out, head, (size_t)n);
	ssize_t end = request_parse(&parser, ask->request, ask->n, &limits, &request, &error);
	if (end <= 0 || !serve_request(fleet, ask, (size_t)end, &request, &out)) {
		context->stats->inbox_ignored++;
	} else {
		/* What does not leave is missed by the daemon that asked, after its time. */
		if (!message_seal(&out, "told", context->facts.secret) ||
			!masters_publish(context->masters, ask->master, ask->from,
				(struct slice){buffer_bytes(&out), buffer_length(&out)})) {
			context->stats->inbox_unserved++;
		}
	}
	buffer_done(&out);
}

void
serve_turn(struct fleet *fleet, int64_t until_ns)
{
	while (fleet->ask_count > 0) {
		struct fleet_ask *ask = &fleet->asks[fleet->ask_first];
		fleet->ask_first = (fleet->ask_first + 1) % FLEET_QUEUE_MAX;
		fleet->ask_count--;
		serve_one(fleet, ask);
		if (clock_ns() >= until_ns) {
			return;
		}
	}
}
