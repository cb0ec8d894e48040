/*
 * fleet_write: the answers of the fleet to clients. Called by fleet.c when all daemons have answered, or
 * their time is over. Bytes of other daemons are passed on as they came; they are one well-formed RESP value
 * each.
 */
#include "daemon/admin/fleet_write.h"

#include "daemon/admin/fleet_hour.h"
#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_merge.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/admin/fleet_refused.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/admin/shown.h"
#include "daemon/base/clock.h"
#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/redis/call.h"
#include "daemon/request/audit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDERS_MAX 1024 /* owners that masters name */

/* An owner of a lease, as the masters name it. */
struct owner {
	struct slice daemon;
	struct slice attempt;
	unsigned votes; /* masters that name it */
	int64_t left_ms;
	int64_t permits;
};

/* What the masters say of the name, together. */
struct picture {
	unsigned majority;
	unsigned none, foreign;
	struct slice foreign_line; /* of a master that has something foreign; n == 0: none has */
	struct slice kind;
	struct owner *owners;
	size_t n;
	struct slice queue;
};

/* ---- daemons ---- */

static const char *
host_of(const struct fleet *fleet, struct slice id)
{
	const struct fleet_peer *peer = peers_find(&fleet->peers, id);
	if (peer) {
		return peer->host;
	}
	return slice_equal(id, slice_of(fleet->context->facts.daemon_id)) ? fleet->context->facts.host : "?";
}

/* host, daemon: two pairs */
static void
write_daemon(const struct fleet *fleet, struct buffer *out, struct slice id)
{
	reply_write_pair_text(out, "host", host_of(fleet, id));
	reply_write_pair_bulk(out, "daemon", id);
}

static size_t
count_silent(const struct fleet_open *open)
{
	size_t n = 0;
	assert(open->part_count == 0 || open->parts);
	for (size_t i = 0; i < open->part_count; i++) {
		n += !open->parts[i].valid;
	}
	return n;
}

void
write_silent(const struct fleet_open *open, struct buffer *out, int protocol, int64_t now_ms)
{
	reply_write_array(out, count_silent(open));
	for (size_t i = 0; i < open->part_count; i++) {
		const struct fleet_part *part = &open->parts[i];
		if (part->valid) {
			continue;
		}
		reply_write_map(out, protocol, 5);
		reply_write_pair_text(out, "host", part->host);
		reply_write_pair_text(out, "daemon", part->id);
		reply_write_pair_int(out, "seen_ms", part->seen_ms > 0 ? now_ms - part->seen_ms : -1);
		reply_write_pair_int(out, "asked", part->asked);
		reply_write_pair_text(out, "error", part->why);
	}
}

/* ---- FLEET ---- */

/* Appends the keys whose values differ: of "lease=10s,rules=1a2b3c4d" and such a text. */
static void
settings_compare(struct buffer *out, const char *ours, const char *theirs)
{
	char differs[256] = "";
	size_t n = 0;
	for (const char *at = theirs; *at != '\0'; at += strcspn(at, ",") + (strchr(at, ',') != NULL)) {
		size_t whole = strcspn(at, ","), key = strcspn(at, "=,");
		const char *same = ours;
		while (*same != '\0' && (strcspn(same, "=,") != key || memcmp(same, at, key) != 0)) {
			same += strcspn(same, ",");
			same += *same == ',';
		}
		if ((strcspn(same, ",") != whole || memcmp(same, at, whole) != 0) &&
			n + key + 2 < sizeof differs) {
			n += (size_t)snprintf(
				differs + n, sizeof differs - n, "%s%.*s", n > 0 ? "," : "", (int)key, at);
		}
	}
	reply_write_pair_text(out, "differs", differs);
}

const struct fleet_part *
part_of(const struct fleet_open *open, struct slice id)
{
	for (size_t i = 0; i < open->part_count; i++) {
		if (slice_equal(slice_of(open->parts[i].id), id)) {
			return &open->parts[i];
		}
	}
	return NULL;
}

static void
write_peer(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int protocol,
	const struct fleet_peer *peer, int64_t now_ms)
{
	const struct fleet_peer *self = peers_find(&fleet->peers, slice_of(fleet->context->facts.daemon_id));
	const struct fleet_part *part = part_of(open, slice_of(peer->id));
	const struct fleet_refusal *refusal = refusals_find(&fleet->refusals, peer->id, now_ms);
	bool answers = peer == self || (part && part->valid);
	int64_t up_ms = clock_wall_us() / 1000 - peer->begun_s * 1000;
	reply_write_map(out, protocol, shown_keys(SHOWN_PEER));
	reply_write_pair_text(out, "host", peer->host);
	reply_write_pair_text(out, "daemon", peer->id);
	reply_write_pair_text(out, "address", peer->address);
	reply_write_pair_int(out, "pid", peer->pid);
	reply_write_pair_text(out, "version", peer->version);
	reply_write_pair_int(out, "uptime_ms", peer->begun_s == 0 ? -1 : up_ms > 0 ? up_ms : 0);
	reply_write_pair_int(out, "seen_ms", peer->seen_ms > 0 ? now_ms - peer->seen_ms : -1);
	reply_write_pair_int(out, "asked", peer == self ? open->answered : part && part->asked);
	reply_write_pair_int(out, "answers", answers);
	reply_write_pair_int(out, "answer_ms",
		part && answers ? part->answered_ms - part->asked_ms
		: answers       ? 0
				: -1);
	reply_write_pair_text(out, "settings", peer->settings);
	settings_compare(out, self ? self->settings : peer->settings, peer->settings);
	reply_write_pair_int(out, "here", peer == self);
	reply_write_pair_int(out, "clock_ms", part && answers ? part->clock_ms : 0);
	reply_write_pair_text(out, "refused", refusal ? refusal->why : "");
}

/* Whether it is no peer, and not in the list with them. */
static bool
is_stranger(const struct fleet *fleet, const struct fleet_refusal *refusal, int64_t now_ms)
{
	return refusal->who.expires_ms > now_ms && !peers_find(&fleet->peers, slice_of(refusal->who.id));
}

static void
write_fleet(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int protocol,
	int64_t now_ms)
{
	const struct fleet_refusals *refusals = &fleet->refusals;
	size_t n = fleet->peers.n;
	for (size_t i = 0; i < refusals->n; i++) {
		n += is_stranger(fleet, &refusals->list[i], now_ms);
	}
	reply_write_array(out, n);
	for (size_t i = 0; i < fleet->peers.n; i++) {
		write_peer(fleet, open, out, protocol, &fleet->peers.list[i], now_ms);
	}
	for (size_t i = 0; i < refusals->n; i++) {
		if (is_stranger(fleet, &refusals->list[i], now_ms)) {
			write_peer(fleet, open, out, protocol, &refusals->list[i].who, now_ms);
		}
	}
}

/* ---- INSPECT ---- */

int64_t
fleet_guard_ms(const struct fleet *fleet, unsigned master, int64_t now_ms)
{
	struct master_view view;
	if (master >= core_members(fleet->context->core)) {
		return -1;
	}
	core_view_master(fleet->context->core, now_ms, master, &view);
	return view.state == MASTER_ADMITTED || view.guard_ms > 0 ? view.guard_ms : -1;
}

/* Time until the last guard of a master is over; 0: there is none. */
static int64_t
guard_longest_ms(const struct fleet *fleet, int64_t now_ms)
{
	int64_t longest_ms = 0;
	for (unsigned i = 0; i < core_members(fleet->context->core); i++) {
		int64_t ms = fleet_guard_ms(fleet, i, now_ms);
		longest_ms = ms > longest_ms ? ms : longest_ms;
	}
	return longest_ms;
}

static void
picture_owner(struct picture *picture, struct slice line)
{
	struct slice owner = slice_word(&line);
	struct slice left = slice_word(&line), permits = slice_word(&line);
	const char *colon = memchr(owner.p, ':', owner.n);
	struct owner one = {.votes = 1};
	if (!colon || !number_parse(left, 0, INT64_MAX, &one.left_ms) ||
		!number_parse(permits, 1, COMMAND_LIMIT_MAX, &one.permits)) {
		return;
	}
	one.daemon = (struct slice){owner.p, (size_t)(colon - owner.p)};
	one.attempt = (struct slice){colon + 1, owner.n - one.daemon.n - 1};
	for (size_t i = 0; i < picture->n; i++) {
		struct owner *known = &picture->owners[i];
		if (slice_equal(known->daemon, one.daemon) && slice_equal(known->attempt, one.attempt)) {
			known->votes++;
			known->left_ms = one.left_ms > known->left_ms ? one.left_ms : known->left_ms;
			return;
		}
	}
	if (picture->n < HOLDERS_MAX) {
		picture->owners[picture->n++] = one;
	}
}

/* Puts together what the masters say; an owner that a majority does not name has nothing. Only a master that
 * remembers all leases counts for a name that has none. */
static bool
picture_make(struct picture *picture, const struct fleet *fleet, const struct fleet_open *open)
{
	size_t n = 0;
	*picture = (struct picture){.majority = core_members(fleet->context->core) / 2 + 1};
	picture->owners = calloc(HOLDERS_MAX, sizeof *picture->owners);
	for (unsigned i = 0; picture->owners && i < CORE_SLOTS_MAX; i++) {
		const struct fleet_sight *sight = &open->sights[i];
		struct slice lines = sight->holders, line;
		if (!sight->answered) {
			continue;
		}
		picture->none += sight->sure && slice_equal(sight->kind, SLICE("none"));
		picture->foreign += sight->sure && slice_equal(sight->kind, SLICE("foreign"));
		if (!slice_equal(sight->kind, SLICE("none"))) {
			picture->kind = sight->kind;
		}
		if (sight->queue.n > picture->queue.n) {
			picture->queue = sight->queue;
		}
		while (text_next_line(&lines, &line)) {
			if (slice_equal(sight->kind, SLICE("foreign"))) {
				picture->foreign_line = line;
			}
			picture_owner(picture, line);
		}
	}
	for (size_t i = 0; i < picture->n; i++) {
		if (picture->owners[i].votes >= picture->majority) {
			picture->owners[n++] = picture->owners[i];
		}
	}
	picture->n = n;
	return picture->owners;
}

/* Whether a daemon shows something of the name. */
static bool
part_knows(const struct fleet_part *part)
{
	return part->valid && part->tree &&
	       (answer_get_int(part->tree, "holder_count", 0) > 0 ||
		       answer_get_int(part->tree, "waiter_count", 0) > 0 ||
		       (slice_equal(answer_get_text(part->tree, "kind"), SLICE("latch")) &&
			       !slice_equal(answer_get_text(part->tree, "state"), SLICE("unset"))));
}

static bool
part_is(const struct fleet_part *part, const char *key, const char *word)
{
	return part->valid && part->tree && slice_equal(answer_get_text(part->tree, key), slice_of(word));
}

/* Whether each lease that the masters report is one that its daemon retains without a hold. */
static bool
only_retained(const struct fleet_open *open, const struct picture *picture)
{
	bool retained = picture->n > 0;
	for (size_t i = 0; i < picture->n && retained; i++) {
		const struct fleet_part *part = part_of(open, picture->owners[i].daemon);
		retained = part && part_is(part, "state", "leased");
	}
	return retained;
}

/* Permits that are held: each daemon tells how many are through it, and for a silent one the masters do. */
static int64_t
permits_taken(const struct fleet_open *open, const struct picture *picture)
{
	int64_t taken = 0;
	for (size_t i = 0; i < open->part_count; i++) {
		taken += open->parts[i].tree ? answer_get_int(open->parts[i].tree, "taken", 0) : 0;
	}
	for (size_t i = 0; i < picture->n; i++) {
		const struct fleet_part *part = part_of(open, picture->owners[i].daemon);
		taken += part && part->tree ? 0 : picture->owners[i].permits;
	}
	return taken;
}

/* A name is free only if a majority of the masters that remember all leases says so. */
static struct slice
state_of(const struct fleet_open *open, const struct picture *picture)
{
	bool withheld = false, waiting = false;
	for (size_t i = 0; i < open->part_count; i++) {
		const struct fleet_part *part = &open->parts[i];
		if (part_knows(part) && part_is(part, "kind", "latch")) {
			return answer_get_text(part->tree, "state");
		}
		if (part_is(part, "state", "held")) {
			return SLICE("held");
		}
		withheld |= part_is(part, "state", "withheld");
		waiting |= part_is(part, "state", "waiting");
	}
	if (withheld) {
		return SLICE("withheld");
	}
	if (picture->n > 0 || picture->foreign >= picture->majority) {
		return only_retained(open, picture) ? SLICE("leased") : SLICE("held");
	}
	if (picture->none < picture->majority) {
		return SLICE("unknown");
	}
	return waiting || picture->queue.n > 0 ? SLICE("waiting") : SLICE("free");
}

/* name, kind, limit, taken: four pairs. */
static void
write_name(const struct fleet_open *open, struct buffer *out, const struct picture *picture)
{
	struct slice kind = picture->kind;
	int64_t limit = 0;
	for (size_t i = 0; i < open->part_count; i++) {
		if (part_knows(&open->parts[i])) {
			kind = answer_get_text(open->parts[i].tree, "kind");
			limit = answer_get_int(open->parts[i].tree, "limit", 0);
		}
	}
	if (kind.n > 8 && memcmp(kind.p, "permits ", 8) == 0) {
		if (!number_parse((struct slice){kind.p + 8, kind.n - 8}, 1, COMMAND_LIMIT_MAX, &limit)) {
			limit = 0;
		}
		kind = SLICE("permits");
	}
	reply_write_pair_bulk(out, "name", open->command.name);
	reply_write_pair_bulk(out, "kind", kind.n > 0 ? kind : SLICE("exclusive"));
	reply_write_pair_int(out, "limit", limit);
	reply_write_pair_int(out, "taken", limit > 0 ? permits_taken(open, picture) : 0);
}

static void
write_owners(const struct fleet *fleet, struct buffer *out, int protocol, const struct picture *picture)
{
	reply_write_text(out, "holders");
	reply_write_array(out, picture->n);
	for (size_t i = 0; i < picture->n; i++) {
		reply_write_map(out, protocol, 4);
		write_daemon(fleet, out, picture->owners[i].daemon);
		reply_write_pair_int(out, "permits", picture->owners[i].permits);
		reply_write_pair_int(out, "left_ms", picture->owners[i].left_ms);
	}
}

/* Where this daemon's rules put the lease: key, interop: two pairs. */
static void
write_rule(const struct fleet *fleet, struct buffer *out, struct slice name)
{
	static const char *const words[] = {[INTEROP_NONE] = "off",
		[INTEROP_STRING] = "string",
		[INTEROP_REDISSON] = "redisson",
		[INTEROP_PYTHON_REDIS_LOCK] = "python-redis-lock"};
	const char *key;
	enum interop interop;
	core_view_key(fleet->context->core, name, &key, &interop);
	reply_write_pair_text(out, "key", key ? key : "");
	reply_write_pair_text(out, "interop", words[interop]);
}

/* What the key of the name has that holdfast did not write. */
static void
write_foreign(struct buffer *out, int protocol, const struct picture *picture)
{
	struct slice line = picture->foreign_line;
	int64_t left_ms = -1;
	reply_write_text(out, "foreign");
	if (line.n == 0) {
		reply_write_null(out, protocol);
		return;
	}
	slice_word(&line);
	if (!number_parse(slice_word(&line), -2, INT64_MAX, &left_ms)) {
		left_ms = -1;
	}
	slice_word(&line);
	struct slice type = slice_word(&line);
	reply_write_map(out, protocol, 3);
	reply_write_pair_bulk(out, "key", line);
	reply_write_pair_bulk(out, "type", type);
	reply_write_pair_int(out, "left_ms", left_ms);
}

static void
write_queue(const struct fleet *fleet, struct buffer *out, int protocol, struct slice queue)
{
	struct slice lines = queue, line;
	size_t n = 0;
	while (text_next_line(&lines, &line)) {
		n++;
	}
	reply_write_text(out, "queue");
	reply_write_array(out, n);
	while (text_next_line(&queue, &line)) {
		reply_write_map(out, protocol, 3);
		write_daemon(fleet, out, slice_word(&line));
		reply_write_pair_bulk(out, "form", line);
	}
}

static void
write_hosts(const struct fleet_open *open, struct buffer *out, size_t room)
{
	size_t n = 0, bytes = 0;
	for (size_t i = 0; i < open->part_count; i++) {
		bytes += part_knows(&open->parts[i]) ? buffer_length(&open->parts[i].answer) : 0;
		n += part_knows(&open->parts[i]) && bytes <= room;
	}
	reply_write_text(out, "hosts");
	reply_write_array(out, n);
	bytes = 0;
	for (size_t i = 0; i < open->part_count; i++) {
		const struct fleet_part *part = &open->parts[i];
		if (!part_knows(part)) {
			continue;
		}
		bytes += buffer_length(&part->answer);
		if (bytes <= room) {
			buffer_put(out, buffer_bytes(&part->answer), buffer_length(&part->answer));
		}
	}
}

bool
write_inspect(const struct fleet *fleet, const struct fleet_open *open, size_t room, struct buffer *out,
	int protocol, int64_t now_ms)
{
	struct picture picture;
	if (!picture_make(&picture, fleet, open)) {
		return false;
	}
	reply_write_map(out, protocol, shown_keys(SHOWN_LOCK_OF_FLEET));
	write_daemon(fleet, out, slice_of(fleet->context->facts.daemon_id));
	write_name(open, out, &picture);
	reply_write_pair_bulk(out, "state", state_of(open, &picture));
	reply_write_pair_int(out, "guard_ms", guard_longest_ms(fleet, now_ms));
	write_owners(fleet, out, protocol, &picture);
	write_rule(fleet, out, open->command.name);
	write_foreign(out, protocol, &picture);
	write_queue(fleet, out, protocol, picture.queue);
	write_hosts(open, out, room);
	reply_write_text(out, "silent");
	write_silent(open, out, protocol, now_ms);
	free(picture.owners);
	return true;
}

/* ---- lists ---- */

uint64_t
fleet_cursor(uint64_t digits, uint64_t inner)
{
	return (digits + 1) << FLEET_CURSOR_BITS | inner;
}

/* The text of a bulk string at the head of the bytes, which is taken off. The bytes are one well-formed
 * value.
 */
static struct slice
bulk_take(struct slice *bytes)
{
	const char *end = memchr(bytes->p, '\n', bytes->n);
	int64_t n = 0;
	if (!end || bytes->p[0] != '$' ||
		!number_parse((struct slice){bytes->p + 1, (size_t)(end - bytes->p) - 2}, 0, FLEET_PAGE_BYTES,
			&n)) {
		return (struct slice){0};
	}
	struct slice text = {end + 1, (size_t)n};
	*bytes = (struct slice){text.p + n + 2, bytes->n - (size_t)(text.p + n + 2 - bytes->p)};
	return text;
}

/* The cursor of the next page, and the elements as they are in the answer of the daemon, "*2 $n CURSOR *m
 * ...". False: it is not the answer to a request with this cursor. The cursor of a next page is greater, so a
 * list ends. */
static bool
part_page(const struct fleet_part *part, uint64_t asked, uint64_t *inner, struct slice *elements)
{
	struct slice bytes = {buffer_bytes(&part->answer), buffer_length(&part->answer)};
	int64_t cursor;
	if (!bytes.p || bytes.n < 8 || memcmp(bytes.p, "*2\r\n", 4) != 0) {
		return false;
	}
	bytes = (struct slice){bytes.p + 4, bytes.n - 4};
	if (!number_parse(bulk_take(&bytes), 0, (INT64_C(1) << FLEET_CURSOR_BITS) - 1, &cursor) ||
		bytes.p[0] != '*' || (cursor != 0 && (uint64_t)cursor <= asked)) {
		return false;
	}
	*inner = (uint64_t)cursor;
	*elements = bytes;
	return true;
}

bool
part_fits(const struct fleet_part *part, const struct fleet_open *open)
{
	const struct answer *tree = part->tree;
	struct slice elements, rest;
	uint64_t inner;
	if (is_of_id(&open->command)) {
		return tree && tree->type == ANSWER_INT;
	}
	switch (open->command.verb) {
	case VERB_INSPECT:
		return tree && (tree->type == ANSWER_MAP || tree->type == ANSWER_ARRAY) &&
		       answer_get_text(tree, "state").n > 0;
	case VERB_BREAK:
		return tree &&
		       (tree->type == ANSWER_INT ||
			       (tree->type == ANSWER_ERROR && answer_code(tree, &rest) == CODE_NOTHELD));
	case VERB_HISTORY:
		return part_is_history(tree);
	case VERB_TOP:
		return part_is_top(tree);
	case VERB_HOUR:
		return part_is_hour(tree);
	case VERB_LOCKS:
	case VERB_SESSIONS:
		return part_page(part, open->cursor, &inner, &elements);
	default:
		return tree && tree->type == ANSWER_STATUS;
	}
}

static void
write_list(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int protocol,
	int64_t now_ms)
{
	const struct fleet_part *part = open->part_count > 0 ? &open->parts[0] : NULL;
	struct slice elements = {0};
	uint64_t inner = 0, next = 0;
	char text[NUMBER_TEXT_MAX];
	bool page = part && part->valid && part_page(part, open->cursor, &inner, &elements);
	if (part && page && inner != 0) {
		next = fleet_cursor(peer_digits(part->id), inner);
	} else if (part) {
		const struct fleet_peer *peer = peers_from(&fleet->peers, peer_digits(part->id) + 1);
		next = peer ? fleet_cursor(peer_digits(peer->id), 0) : 0;
	}
	reply_write_array(out, 3);
	reply_write_bulk(out, (struct slice){text, number_print(text, (int64_t)next)});
	if (page) {
		buffer_put(out, elements.p, elements.n);
	} else {
		reply_write_array(out, 0);
	}
	write_silent(open, out, protocol, now_ms);
}

/* ---- BREAK ---- */

static void
write_break(const struct fleet_open *open, struct connection *c)
{
	const struct fleet_part *silent = NULL;
	for (size_t i = 0; i < open->part_count; i++) {
		const struct fleet_part *part = &open->parts[i];
		if (part->valid && part->tree && part->tree->type == ANSWER_INT) {
			reply_write_int(connection_out(c), part->tree->n);
			connection_written(c);
			return;
		}
		silent = part->valid || (silent && silent->asked) ? silent : part;
	}
	if (!silent) {
		connection_error(
			c, CODE_NOTHELD, "no daemon that shares the masters has this hold: INSPECT it again");
	} else if (!silent->asked) {
		connection_error(c, CODE_NOMASTER,
			"not broken: no master carries messages to the daemon of %s: try again when one does",
			silent->host);
	} else {
		connection_error(c, CODE_NOMASTER,
			"not broken yet: the daemon of %s does not answer: it breaks the hold when it goes "
			"on, "
			"and if it is gone, the hold ends with its lease; daemons without an answer: %zu",
			silent->host, count_silent(open));
	}
}

/* ---- the session of an id ---- */

void
part_describe(const struct fleet_part *holding, char out[CONTEXT_TEXT_MAX])
{
	snprintf(out, CONTEXT_TEXT_MAX,
		"the session of this id holds it at the daemon of %s (%s): an id belongs to one host",
		holding->host, holding->id);
}

static void
write_holding(const struct fleet_open *open, struct connection *c)
{
	const struct fleet_part *part = part_holding(open);
	char text[CONTEXT_TEXT_MAX];
	assert(part);
	part_describe(part, text);
	connection_error(c, CODE_NOTHELD, "%s", text);
}

static void
write_all(const struct fleet_open *open, struct connection *c, size_t room, int protocol, int64_t now_ms)
{
	struct buffer text;
	buffer_init(&text, room * 2);
	if (write_top(open, room, &text, protocol, now_ms) && !text.failed) {
		buffer_put(connection_out(c), buffer_bytes(&text), buffer_length(&text));
		connection_written(c);
	} else {
		connection_error(
			c, CODE_LIMIT, "no memory, or limits.output-bytes is too small for so many daemons");
	}
	buffer_done(&text);
}

void
fleet_write(const struct fleet *fleet, const struct fleet_open *open, struct connection *c, int64_t now_ms)
{
	struct buffer *out = connection_out(c);
	int protocol = connection_identity(c)->protocol;
	size_t room = connections_limits(fleet->context->connections)->output_bytes / 2;
	if (is_of_id(&open->command)) {
		write_holding(open, c);
		return;
	}
	switch (open->command.verb) {
	case VERB_FLEET:
		write_fleet(fleet, open, out, protocol, now_ms);
		break;
	case VERB_INSPECT:
	case VERB_HISTORY:
		if (open->command.verb == VERB_INSPECT
				? !write_inspect(fleet, open, room, out, protocol, now_ms)
				: !write_history(open, room, out, protocol, now_ms)) {
			connection_error(c, CODE_LIMIT, "out of memory: try again later");
			return;
		}
		break;
	case VERB_TOP:
		write_all(open, c, room, protocol, now_ms);
		return;
	case VERB_HOUR:
		write_hours(fleet, open, out, protocol, now_ms);
		break;
	case VERB_BREAK:
		write_break(open, c);
		audit_request(fleet->context, c, &open->command);
		return;
	default:
		write_list(fleet, open, out, protocol, now_ms);
	}
	connection_written(c);
}
