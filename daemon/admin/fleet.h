/*
 * fleet: what people are shown of all daemons that share the masters (PROTOCOL.md 6.23 to 6.25).
 *
 *     client ── INSPECT a FLEET ──▶ fleet ── lookup ──▶ masters       which daemons exist, and which one has
 * the name │ ──── ask ──▶ other inboxes    what each daemon shows of it │ ◀── told ─── own inbox client ◀──
 * one answer ──────────┘
 *
 * The driver calls it. Nothing here decides about locks: what is asked of other daemons is what their own
 * clients may ask for, and a BREAK. A message may be lost, doubled, late or forged. So each has a code
 * by the secret in the registration of the daemon that is asked: a client that may only publish does not know
 * it (fleet_sign.c); an ask is served once, and an answer has to name the number of an open request, and
 * comes from a daemon that was asked. Its bytes are parsed as those of any stranger. A request ends after a
 * bounded time, with or without answers. Bounded are also the number of open requests, the number of those of
 * other daemons that wait, the part of a turn that they get, and the length of each text.
 *
 * The messages; the request and the answer are RESP:
 *
 *     ask <code> <daemon-id> <number> <2 or 3, of the answer> <bytes of the answer, about> <request>
 *     told <code> <daemon-id> <number> <answer>
 *
 * A request for the session of an id that this daemon does not know (PROTOCOL.md 5.11) is a question, too: do
 * the daemons that have the name hold it for that id? They are asked `WHOSE name digest`, which is no verb
 * for clients: an id is a secret, so the message has only a hash of it, which differs with the number.
 */
#ifndef ADMIN_FLEET_H
#define ADMIN_FLEET_H

#include "daemon/request/context.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct context;
struct fleet;
struct fleet_open;
struct fleet_part;
struct lookup_answer;
struct whose;

/* A daemon that has not answered after this time, and eight times what it took lately, is reported as silent,
 * and waited for no longer. */
#define FLEET_WAIT_MS     150
/* One that was silent the last time has less, so that one request after the other is not held up. */
#define FLEET_AGAIN_MS    30
/* An answer that took longer counts as this long. */
#define FLEET_SAMPLE_MS   250
/* A turn may be late, and the answer may be there unread: it is read before the time is over. */
#define FLEET_READ_MS     10
/* The masters are asked which daemons there are once in this time at most, and after FLEET_NEW_MS if the
 * owner of a name is not known. A silent daemon is asked nothing but a BREAK for FLEET_FRESH_MS. */
#define FLEET_FRESH_MS    1000
#define FLEET_NEW_MS      100
#define FLEET_PEERS_MAX   1000 /* daemons that are known */
/* Daemons that the masters refused lately, and how long a record of one counts (lua/hello.lua). */
#define FLEET_REFUSED_MAX 64
#define FLEET_REFUSED_MS  30000
#define FLEET_OPEN_MAX    32   /* requests of clients that wait */
#define FLEET_QUEUE_MAX   64   /* requests of other daemons that wait */
#define FLEET_ASK_MAX     2048 /* bytes of a request of another daemon */
/* Of an answer of another daemon: a page of a list, and a name. Redis limits what a subscriber may have
 * unread, and stream.h what a message may have. */
#define FLEET_PAGE_BYTES  (128 << 10)
#define FLEET_NAME_BYTES  (16 << 10)
/* How much of a turn goes to requests of other daemons, and how much to those of clients, less the last one.
 */
#define FLEET_TURN_NS     500000
/* The number of daemons that are asked at once for a request, and of further ones in a millisecond: calls of
 * locks wait behind the messages at the masters. */
#define FLEET_AT_ONCE     16
#define FLEET_PER_MS      50
/* Requests of one user that is no administrator: in a second, and at once; and how many may wait. */
#define FLEET_PER_SECOND  100
#define FLEET_USER_MAX    4
/* Users that are counted by themselves; if more ask within a second, the rest is refused. */
#define FLEET_USERS_MAX   64
/* How many of the daemons that have a name are asked whether it is held there for an id. */
#define FLEET_OWNERS_MAX  16

/* context is held by reference. NULL: out of memory. */
struct fleet *fleet_new(struct context *context) __attribute__((warn_unused_result));
void fleet_free(struct fleet *fleet);

void fleet_asked(struct fleet *fleet, unsigned master, bool answer, struct slice text);

/* Asks the daemons that have the name whether it is held there for the id. If one says so,
 * context_hooks.elsewhere follows, but not before this returns. */
void fleet_ask_whose(struct fleet *fleet, const struct whose *whose);

/* How many daemons share the masters, by version: for the metrics, which may be read once in days. */
#define FLEET_VERSIONS_MAX 8      /* further versions count together, as "other" */
#define FLEET_COUNT_MS     60000  /* the masters are asked anew, whichever request asked them last */
#define FLEET_KNOWN_MS     180000 /* what they said before is not known any more */
struct fleet_versions {
	size_t n;
	struct fleet_version {
		char version[17];
		size_t daemons;
	} list[FLEET_VERSIONS_MAX];
};

/* FLEET, and the verbs with the option FLEET (PROTOCOL.md 6.23). The connection waits for
 * other daemons. */
context_verb fleet_request;
/* A request for the session of an id (PROTOCOL.md 5.11) that this daemon does not know: whether the daemons
 * that have the name are asked first. Then the request is answered or passed on to the core later. */
bool fleet_asks_owners(struct context *context, struct connection *connection, const struct command *command);

/* Whether requests of other daemons wait to be served. */
bool fleet_busy(const struct fleet *fleet);
/* Once in a turn if context.fleet_works: serves other daemons, and ends requests whose time is over. Returns
 * when it has to be called again at the latest, CLOCK_BOOTTIME in ms. */
int64_t fleet_turn(struct fleet *fleet, int64_t now_ms);
/* Before a hand-over: answers all open requests with what there is. */
void fleet_rest(struct fleet *fleet);

/* ---- for the other files of the fleet ---- */

/* The masters have answered, or their time is over. It may end the request. */
void open_ask(struct fleet *fleet, struct fleet_open *open, int64_t now_ms);

/* Asks for a page of HTTP. The number of the request; 0: too many wait, or
 * there is no memory. */
uint64_t fleet_ask_page(struct fleet *fleet, const struct command *command, int64_t now_ms);

/* The part of a daemon that holds the name for the id; NULL: none says so. */
const struct fleet_part *part_holding(const struct fleet_open *open);

#endif
