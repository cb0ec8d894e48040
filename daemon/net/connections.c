/*
 * connections: the set of all connections; see connections.h. connection.c is one of them.
 */
#include "daemon/net/connections.h"

#include "daemon/base/clock.h"
#include "daemon/base/closer.h"
#include "daemon/base/stats.h"
#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/connection_inner.h"
#include "daemon/net/socket.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARRIVED_ROOM_MIN 64
#define CACHE_LINE_BYTES 64
#define EXPECT_AHEAD     4
#define DISCARDS         4
#define DISCARDS_STORED  512 /* a socket holds fewer messages */
#define EXPECT_MIN       128 /* with fewer, what is needed is in a cache already */

/* The size that a buffer may reach at once: the bytes read beyond an incomplete request. */
static size_t
in_bytes_max(const struct connections *set)
{
	return set->limits.request.bytes + CONNECTION_IN_BYTES + CONNECTION_READ_BYTES;
}

void
connections_set_limits(struct connections *set, const struct connections_limits *limits)
{
	struct connection *c;
	set->limits = *limits;
	set->out_bytes = limits->output_bytes / 4;
	if (set->out_bytes > CONNECTION_OUT_BYTES) {
		set->out_bytes = CONNECTION_OUT_BYTES;
	}
	TAILQ_FOREACH (c, &set->all, entry) {
		/* A lower limit counts for new bytes: those that wait already may stay. */
		size_t in = buffer_length(&c->in);
		size_t out = buffer_length(&c->out);
		c->in.max = in_bytes_max(set) > in ? in_bytes_max(set) : in;
		c->out.max = limits->output_bytes > out ? limits->output_bytes : out;
	}
	/* A connection that is silent after half a request is checked by nothing else. */
	connections_make_room(set);
}

struct connections *
connections_new(struct event_base *base, const struct connections_limits *limits,
	const struct connections_hooks *hooks, void *arg, struct stats *stats)
{
	struct connections *set = calloc(1, sizeof *set);
	if (!set) {
		return NULL;
	}
	TAILQ_INIT(&set->all);
	TAILQ_INIT(&set->written);
	TAILQ_INIT(&set->held);
	TAILQ_INIT(&set->touched);
	TAILQ_INIT(&set->unsure);
	set->busy = set->own_busy;
	fair_queue_init(&set->fair_queue);
	set->base = base;
	set->hooks = hooks;
	set->arg = arg;
	set->stats = stats;
	connections_set_limits(set, limits);
	buffer_store_fill(&set->store);
	return set;
}

void
connections_close_by(struct connections *set, struct closer *closer)
{
	set->passing.closer = closer;
}

void
connections_saw(struct connections *set, int fd)
{
	passing_saw(&set->passing, fd);
}

/* Unread bytes would make the kernel send a reset, which can overtake the last answer. What the service
 * manager closes, too, must have nothing unread: it would wait for the descriptors in it. */
static void
connection_discard(struct connection *c)
{
	int most = c->store_slot != FDSTORE_NONE ? DISCARDS_STORED : DISCARDS;
	int passed = PASSING_NONE;
	ssize_t n = 1;
	while (n > 0 && most-- > 0) {
		n = c->identity.local ? passing_read(&c->set->passing, c->fd, c->set->scratch,
						sizeof c->set->scratch, &passed)
				      : recv(c->fd, c->set->scratch, sizeof c->set->scratch, MSG_DONTWAIT);
		if (passed >= 0) {
			close(passed);
		}
	}
}

static void
connection_close_socket(struct connection *c)
{
	if (c->fd < 0) {
		return;
	}
	if (c->store_slot != FDSTORE_NONE) {
		/* The service manager has the socket open, too. */
		(void)shutdown(c->fd, SHUT_RDWR);
	}
	if (!c->eof || c->store_slot != FDSTORE_NONE) {
		connection_discard(c);
	}
	connection_unstore(c);
	if (c->identity.local && c->set->leaving) {
		closer_put(c->set->passing.closer, c->fd);
	} else if (c->identity.local) {
		closer_end(c->set->passing.closer, c->fd);
	} else {
		close(c->fd);
	}
}

/* What has arrived is not served while the daemon rests or arrives in a hand-over, and the end of a process
 * may close the connection meanwhile. */
static void
connection_drop_arrived(const struct connection *c)
{
	struct connections *set = c->set;
	size_t n = 0;
	for (size_t i = 0; i < set->arrived_count; i++) {
		if (set->arrived[i].connection != c) {
			set->arrived[n++] = set->arrived[i];
		}
	}
	set->arrived_count = n;
}

static void
connection_free(struct connection *c)
{
	struct connections *set = c->set;
	event_del(&c->event);
	connection_drop_arrived(c);
	if (c->is_written) {
		TAILQ_REMOVE(&set->written, c, written);
		set->written_count--;
	}
	connection_drop_held(c);
	if (c->is_unsure) {
		TAILQ_REMOVE(&set->unsure, c, unsure);
	}
	connection_set_buffered(c, 0);
	fair_queue_leave(&set->fair_queue, &c->queued);
	TAILQ_REMOVE(&set->all, c, entry);
	map_remove(&set->by_id, c->identity.id, c);
	set->stats->clients_connected--;
	connection_drop_fd(c);
	tls_free(c->tls);
	connection_close_socket(c);
	buffer_done(&c->in);
	buffer_done(&c->out);
	free(c->identity.label);
	free(c->identity.lib_name);
	free(c->identity.lib_ver);
	free(c);
}

void
connections_free(struct connections *set)
{
	if (!set) {
		return;
	}
	set->leaving = true;
	while (!TAILQ_EMPTY(&set->all)) {
		connection_free(TAILQ_FIRST(&set->all));
	}
	fair_queue_done(&set->fair_queue);
	buffer_store_done(&set->store);
	map_done(&set->by_id);
	free(set->arrived);
	free(set);
}

const struct connections_limits *
connections_limits(const struct connections *set)
{
	return &set->limits;
}

/* Makes room for the arrivals of one more connection. */
static int
connections_widen(struct connections *set)
{
	if (set->by_id.count < set->arrived_room) {
		return 0;
	}
	size_t room = set->arrived_room ? set->arrived_room * 2 : ARRIVED_ROOM_MIN;
	struct arrival *wider = realloc(set->arrived, room * sizeof *wider);
	if (!wider) {
		return -1;
	}
	set->arrived = wider;
	set->arrived_room = room;
	return 0;
}

struct connection *
connections_put(struct connections *set, int fd, const struct identity *who)
{
	struct connection *c = calloc(1, sizeof *c);
	if (!c || connections_widen(set) != 0 || map_add(&set->by_id, who->id, c) != 0) {
		free(c);
		if (fd >= 0 && who->local) {
			closer_end(set->passing.closer, fd);
		} else if (fd >= 0) {
			close(fd);
		}
		return NULL;
	}
	c->set = set;
	c->fd = fd;
	c->passed_fd = PASSING_NONE;
	c->store_slot = FDSTORE_NONE;
	buffer_init(&c->in, in_bytes_max(set));
	buffer_init(&c->out, set->limits.output_bytes);
	c->identity = *who;
	set->last_id = who->id;
	if (who->local && fd >= 0) {
		passing_prepare(fd);
	}
	fair_queue_join(&set->fair_queue, &c->queued, who->peer.user);
	TAILQ_INSERT_TAIL(&set->all, c, entry);
	set->stats->clients_connected++;
	if (fd >= 0) {
		connection_arm(c);
	} else {
		event_assign(&c->event, set->base, fd, 0, NULL, NULL);
	}
	return c;
}

struct connection *
connections_add(struct connections *set, int fd, const struct peer *peer, bool local, bool release)
{
	const struct identity who = {
		.id = set->last_id + 1,
		.peer = *peer,
		.native_admin = peer->admin,
		.protocol = 2,
		.local = local,
		.release = release,
		.since_ms = clock_ms(),
		.last = VERB_COUNT,
	};
	struct connection *c = connections_put(set, fd, &who);
	if (c) {
		set->stats->connections_received++;
	}
	return c;
}

void
connection_wait(struct connection *c)
{
	assert(!c->waits);
	c->waits = true;
	if (!c->is_unsure) {
		c->is_unsure = true;
		TAILQ_INSERT_TAIL(&c->set->unsure, c, unsure);
	}
}

int64_t
connections_probe(struct connections *set, int64_t now_ms)
{
	struct connection *c = TAILQ_FIRST(&set->unsure);
	if (c && now_ms >= set->probed_ms + CONNECTION_PROBE_MS) {
		set->probed_ms = now_ms;
		for (int n = 0; c && n < CONNECTION_PROBES; n++) {
			TAILQ_REMOVE(&set->unsure, c, unsure);
			c->is_unsure = false;
			if (c->waits && c->state == CONNECTION_OPEN) {
				c->readable = true;
				connection_line_up(c);
			}
			c = TAILQ_FIRST(&set->unsure);
		}
	}
	return c ? set->probed_ms + CONNECTION_PROBE_MS : INT64_MAX;
}

void
connection_ask_again(struct connection *c, struct slice request)
{
	struct buffer in;
	assert(c->waits);
	c->waits = false;
	buffer_init(&in, request.n + buffer_length(&c->in));
	buffer_put(&in, request.p, request.n);
	buffer_put(&in, buffer_bytes(&c->in), buffer_length(&c->in));
	if (in.failed) {
		buffer_done(&in);
		connection_cut(c, END_ABANDONED, "out of memory");
		return;
	}
	in.max = c->in.max > in.max ? c->in.max : in.max;
	buffer_done(&c->in);
	c->in = in;
	if (c->state == CONNECTION_OPEN) {
		c->pending = true;
		connection_line_up(c);
	}
}

struct viewer
connection_viewer(const struct connection *c)
{
	const struct identity *who = &c->identity;
	return (struct viewer){.user = who->user, .admin = who->peer.admin, .number = who->peer.user};
}

void
connection_recognise(struct connection *c, const struct access *access)
{
	struct identity *who = &c->identity;
	if (!who->local || (who->user && !who->local_user)) {
		return;
	}
	who->user = access_of_socket(access, c->fd, who->peer.uid);
	who->local_user = who->user != NULL;
	who->peer.admin = who->native_admin || (who->user && who->user->rights & RIGHT_ADMIN);
}

uint64_t
connection_password_mark(const struct identity *who, const char *text)
{
	const uint64_t salt[2] = {who->id, (uint64_t)who->since_ms};
	return text ? access_text_mark(salt, slice_of(text)) : 0;
}

bool
connection_login_stands(const struct identity *who, const struct access_user *user)
{
	const uint64_t salt[2] = {who->id, (uint64_t)who->since_ms};
	return who->login == 0 || access_has(user, salt, who->login);
}

void
connection_belongs(struct connection *c, uint64_t user)
{
	c->identity.peer.user = user;
	fair_queue_change(&c->set->fair_queue, &c->queued, user);
}

int
connection_renumber(struct connection *c)
{
	struct connections *set = c->set;
	if (map_add(&set->by_id, set->last_id + 1, c) != 0) {
		return -1;
	}
	map_remove(&set->by_id, c->identity.id, c);
	c->identity.id = ++set->last_id;
	c->owed = 0; /* those were due to the old session */
	TAILQ_REMOVE(&set->all, c, entry);
	TAILQ_INSERT_TAIL(&set->all, c, entry);
	return 0;
}

struct connection *
connections_find(const struct connections *set, conn_id id)
{
	struct connection *c = map_find(&set->by_id, id);
	return c && c->state != CONNECTION_ENDED ? c : NULL;
}

size_t
connections_count(const struct connections *set)
{
	return set->by_id.count - set->fair_queue.counts[FAIR_QUEUE_ENDED];
}

size_t
connections_buffered(const struct connections *set)
{
	return set->buffered_bytes;
}

void
connections_each(struct connections *set, bool (*each)(void *arg, struct connection *connection), void *arg)
{
	struct connection *c;
	TAILQ_FOREACH (c, &set->all, entry) {
		if (c->state != CONNECTION_ENDED && !each(arg, c)) {
			return;
		}
	}
}

/* The part that each request reads and changes. */
static void
connection_prefetch(const struct connection *c)
{
	const char *p = (const char *)c;
	for (size_t at = 0; at <= offsetof(struct connection, identity.peer); at += CACHE_LINE_BYTES) {
		__builtin_prefetch(p + at, 1);
	}
}

/* Fetches the memory of the next connections while one is served. Each step finds the address for the one
 * after it. */
static void
connections_expect(const struct connections *set, size_t at)
{
	if (set->arrived_count >= EXPECT_MIN && at + EXPECT_AHEAD < set->arrived_count) {
		connection_prefetch(set->arrived[at + EXPECT_AHEAD].connection);
		set->hooks->expect(set->arg, set->arrived[at + 2].connection->identity.id, 2);
		set->hooks->expect(set->arg, set->arrived[at + 1].connection->identity.id, 1);
	}
}

bool
connections_late(struct connections *set)
{
	if (!set->late && set->spent >= CONNECTION_CLOCK_WORDS) {
		set->spent = 0;
		set->late = clock_ns() >= set->until_ns;
	}
	return set->late;
}

void
connections_strained(struct connections *set)
{
	set->spent += CONNECTION_CLOCK_WORDS;
}

/* If all are of one user, and no connection is left over from the turn before, the arrived ones are served in
 * order of arrival. */
static void
connections_take_arrived(struct connections *set)
{
	bool first = !fair_queue_is_shared(&set->fair_queue) && set->fair_queue.counts[FAIR_QUEUE_READY] == 0;
	for (size_t i = 0; i < set->arrived_count; i++) {
		struct connection *c = set->arrived[i].connection;
		c->events |= set->arrived[i].what;
		if (c->state == CONNECTION_ENDED) {
			continue;
		}
		if (first && c->queued.line == FAIR_QUEUE_NONE && !connections_late(set)) {
			connections_expect(set, i);
			connection_serve(c);
		} else {
			connection_line_up(c);
		}
	}
	set->arrived_count = 0;
}

/* Connections that become ready meanwhile have their turn in the next call. */
void
connections_serve(struct connections *set, int64_t until_ns)
{
	struct connection *c;
	set->until_ns = until_ns;
	set->served_ns = clock_ns();
	set->late = false;
	set->spent = 0;
	connections_take_arrived(set);
	for (size_t n = set->fair_queue.counts[FAIR_QUEUE_READY]; n > 0 && !connections_late(set); n--) {
		c = connection_at(fair_queue_next(&set->fair_queue, FAIR_QUEUE_READY));
		if (!c) {
			return;
		}
		connection_serve(c);
	}
}

static void
connections_end(struct connections *set, int64_t until_ns)
{
	struct connection *c;
	do {
		c = connection_at(fair_queue_next(&set->fair_queue, FAIR_QUEUE_ENDED));
		if (c) {
			set->hooks->closed(set->arg, c, c->end, c->why);
			connection_free(c);
		}
	} while (c && clock_ns() < until_ns);
}

bool
connections_turn(struct connections *set, int64_t until_ns)
{
	connections_flush(set);
	if (set->held_count > 0 && clock_ms() >= set->held_until_ms) {
		connections_release_held(set);
	}
	/* The store has more buffers than can wait to be written at a time, so a refusal still finds one if
	 * memory is short. */
	if (set->store.n < CONNECTION_WRITE_COUNT) {
		buffer_store_fill(&set->store);
	}
	bool ends = set->fair_queue.counts[FAIR_QUEUE_ENDED] > 0;
	if (ends) {
		connections_end(set, until_ns);
		connections_flush(set);
	}
	if (!TAILQ_EMPTY(&set->touched)) {
		connections_settle(set);
	}
	return ends;
}

int64_t
connections_held_until(const struct connections *set)
{
	return set->held_count > 0 ? set->held_until_ms : INT64_MAX;
}

size_t
connections_arrived(const struct connections *set)
{
	return set->arrived_count;
}

bool
connections_busy(const struct connections *set)
{
	return set->fair_queue.counts[FAIR_QUEUE_READY] + set->fair_queue.counts[FAIR_QUEUE_ENDED] +
		       set->written_count >
	       0;
}

bool
connections_unwritten(const struct connections *set)
{
	const struct connection *c;
	TAILQ_FOREACH (c, &set->all, entry) {
		if (buffer_length(&c->out) > 0 || c->state == CONNECTION_CLOSING) {
			return true;
		}
	}
	return false;
}

bool
connections_ending(const struct connections *set)
{
	return set->fair_queue.counts[FAIR_QUEUE_ENDED] > 0;
}

size_t
connections_ended_of(const struct connections *set, uint64_t user)
{
	return fair_queue_count_of(&set->fair_queue, FAIR_QUEUE_ENDED, user);
}
