/*
 * door: see door.h. Nobody here waits for a client: who is turned away gets one line, if it fits.
 */
#include "daemon/net/door.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void
door_init(struct door *door, struct connections *connections, struct stats *stats, struct log *log,
	void (*opened)(void *arg, struct connection *connection), void *arg)
{
	*door = (struct door){
		.connections = connections, .stats = stats, .log = log, .opened = opened, .arg = arg};
	TAILQ_INIT(&door->strangers);
}

void
door_done(struct door *door)
{
	quota_done(&door->quota);
}

void
door_set_limits(struct door *door, const struct door_limits *limits)
{
	door->limits = *limits;
	door->quota.most = limits->per_user;
}

void
door_set_short_of_memory(struct door *door, bool short_of_memory)
{
	door->short_of_memory = short_of_memory;
}

/* However many are turned away, it is one line in a while. */
static void
door_tell(struct door *door, const char *why)
{
	int64_t now_ms = clock_ms();
	door->stats->connections_rejected++;
	door->turned_away++;
	if (now_ms >= door->tell_at_ms) {
		LOG_EVENT(door->log, LOG_WARNING_LEVEL, "clients.turned_away", log_text("why", why),
			log_number("count", door->turned_away));
		door->turned_away = 0;
		door->tell_at_ms = now_ms + DOOR_TELL_MS;
	}
}

static void
door_refuse(struct door *door, int fd, const char *why, const char *text)
{
	door_tell(door, why);
	send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* ---- strangers ---- */

static size_t
strangers_most(const struct door *door)
{
	size_t share = door->limits.clients / DOOR_STRANGERS_SHARE;
	return share > 0 ? share : 1;
}

static void
stranger_enter(struct door *door, struct identity *who)
{
	who->stranger = true;
	who->stranger_ms = clock_ms();
	TAILQ_INSERT_TAIL(&door->strangers, who, strangers);
	door->stranger_count++;
}

static void
stranger_leave(struct door *door, struct identity *who)
{
	if (who->stranger) {
		who->stranger = false;
		TAILQ_REMOVE(&door->strangers, who, strangers);
		door->stranger_count--;
	}
}

/* The oldest stranger makes way at once: one that does not read must not linger. False: there is none. */
static bool
stranger_evict(struct door *door)
{
	struct identity *who = TAILQ_FIRST(&door->strangers);
	if (!who) {
		return false;
	}
	struct connection *c = connections_find(door->connections, who->id);
	stranger_leave(door, who);
	if (c) {
		door_tell(door, "too many have not logged in");
		connection_error(c, CODE_LIMIT,
			"more clients than have room wait to log in: connect again, and begin with AUTH");
		connection_close(c, END_ABANDONED, "made way");
		connections_flush(door->connections);
		connection_cut(c, END_ABANDONED, "made way");
	}
	return true;
}

/* One more is about to come. */
static void
strangers_make_room(struct door *door)
{
	while (door->stranger_count >= strangers_most(door)) {
		stranger_evict(door);
	}
}

static bool
door_sort(void *arg, struct connection *c)
{
	struct door *door = arg;
	struct identity *who = connection_identity(c);
	bool stranger = door->guarded && !who->local && !who->user;
	if (stranger && !who->stranger) {
		stranger_enter(door, who);
	} else if (!stranger) {
		stranger_leave(door, who);
	}
	return true;
}

void
door_set_guarded(struct door *door, bool guarded)
{
	door->guarded = guarded;
	connections_each(door->connections, door_sort, door);
}

int64_t
door_wake_at(const struct door *door)
{
	const struct identity *who = TAILQ_FIRST(&door->strangers);
	return who ? who->stranger_ms + door->limits.login_ms : INT64_MAX;
}

void
door_turn(struct door *door)
{
	while (!TAILQ_EMPTY(&door->strangers) && door_wake_at(door) <= clock_ms()) {
		struct identity *who = TAILQ_FIRST(&door->strangers);
		struct connection *c = connections_find(door->connections, who->id);
		stranger_leave(door, who);
		if (c) {
			door_tell(door, "not logged in within limits.login-time");
			connection_error(c, CODE_NOAUTH,
				"nobody logged in for %" PRId64 " ms: connect again, and begin with AUTH",
				door->limits.login_ms);
			connection_close(c, END_ABANDONED, "no login");
		}
	}
}

/* ---- coming and going ---- */

static bool
door_full(const struct door *door)
{
	return connections_count(door->connections) - door->extra_count >= door->limits.clients;
}

/* Whether there is room, and for whom it counts: a seat for a local user, none for an administrator beyond
 * the limits. False: refused. */
static bool
door_seat(struct door *door, int fd, bool local, const struct peer *peer, struct quota_seat **seat)
{
	bool spare = peer->admin && door->extra_count < DOOR_ADMIN_ROOM;
	*seat = NULL;
	while (door_full(door) && stranger_evict(door)) {
	}
	if (door->short_of_memory || door_full(door)) {
		if (!spare && door->short_of_memory) {
			door_refuse(door, fd, "memory",
				"-LIMIT this daemon has as much memory as limits.memory or the system "
				"allows\r\n");
		} else if (!spare) {
			door_refuse(door, fd, "limits.clients",
				"-LIMIT this daemon serves as many clients as limits.clients allows\r\n");
		}
		return spare;
	}
	if (local) {
		*seat = quota_enter_uid(&door->quota, peer->uid);
	}
	if (local && !*seat && !spare) {
		door_refuse(door, fd, "limits.sessions-per-user",
			"-LIMIT this user has as many clients as limits.sessions-per-user allows\r\n");
		return false;
	}
	return true;
}

void
door_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer)
{
	struct door *door = arg;
	struct quota_seat *seat;
	bool local = listener_local(listener);
	bool stranger = door->guarded && !local;
	if (stranger) {
		strangers_make_room(door);
	}
	if (!door_seat(door, fd, local, peer, &seat)) {
		return;
	}
	struct connection *c =
		connections_add(door->connections, fd, peer, local, listener_releases(listener));
	if (!c) {
		quota_leave(&door->quota, seat);
		door_tell(door, "out of memory");
		return;
	}
	struct identity *who = connection_identity(c);
	who->seat = seat;
	who->extra = local && !seat;
	connection_belongs(c, local ? quota_uid_number(peer->uid) : 0);
	door->extra_count += who->extra;
	if (stranger) {
		stranger_enter(door, who);
	}
	LOG_EVENT(door->log, LOG_DEBUG_LEVEL, "client.open", log_number("client", (int64_t)who->id),
		log_text("address", peer->address), log_number("uid", peer->uid),
		log_number("pid", peer->pid));
	door->opened(door->arg, c);
}

void
door_paused(void *arg, struct listener *listener, int error)
{
	struct door *door = arg;
	door->stats->connections_rejected++;
	LOG_EVENT(door->log, LOG_WARNING_LEVEL, "listener.paused",
		log_text("address", listener_address(listener)), log_text("why", strerror(error)));
}

bool
door_login(struct door *door, struct connection *c, const char *name)
{
	struct identity *who = connection_identity(c);
	if (who->local) {
		return true; /* counted for its uid */
	}
	quota_leave(&door->quota, who->seat);
	who->seat = quota_enter_name(&door->quota, name);
	if (!who->seat) {
		door_tell(door, "limits.sessions-per-user");
		connection_error(
			c, CODE_LIMIT, "this user has as many clients as limits.sessions-per-user allows");
		connection_close(c, END_ABANDONED, "sessions-per-user");
		return false;
	}
	connection_belongs(c, quota_name_number(name));
	stranger_leave(door, who);
	return true;
}

void
door_logout(struct door *door, struct connection *c)
{
	struct identity *who = connection_identity(c);
	if (who->local) {
		return;
	}
	quota_leave(&door->quota, who->seat);
	who->seat = NULL;
	connection_belongs(c, 0);
	if (door->guarded && !who->stranger) {
		strangers_make_room(door);
		stranger_enter(door, who);
	}
}

void
door_left(struct door *door, struct connection *c)
{
	struct identity *who = connection_identity(c);
	stranger_leave(door, who);
	quota_leave(&door->quota, who->seat);
	who->seat = NULL;
	door->extra_count -= who->extra;
	who->extra = false;
}
