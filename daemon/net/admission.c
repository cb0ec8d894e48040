/*
 * admission: see admission.h. It never waits for a client: a refused client gets one line, if the socket
 * takes it.
 */
#include "daemon/net/admission.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/net/connection_tls.h"
#include "daemon/net/connections.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The limits of connections of one user, in refusals. */
#define PER_USER        "limits.sessions-per-user"
#define OWN_CONNECTIONS "connections: of users"

/* A client that was accepted and has no connection yet. */
struct arrived {
	int fd;
	const struct listener *listener;
	bool local;
	struct tls_context *tls; /* NULL: plain */
};

void
admission_init(struct admission *admission, struct connections *connections, struct access *const *access,
	struct stats *stats, struct log *log, void (*opened)(void *arg, struct connection *connection),
	void *arg)
{
	*admission = (struct admission){.connections = connections,
		.access = access,
		.stats = stats,
		.log = log,
		.opened = opened,
		.arg = arg};
	TAILQ_INIT(&admission->unauthenticated);
}

void
admission_done(struct admission *admission)
{
	quota_done(&admission->quota);
}

void
admission_set_limits(struct admission *admission, const struct admission_limits *limits)
{
	admission->limits = *limits;
	admission->quota.most = limits->per_user;
}

void
admission_set_short_of_memory(struct admission *admission, bool short_of_memory)
{
	admission->short_of_memory = short_of_memory;
}

/* Writes at most one line per ADMISSION_TELL_MS, however many clients are refused. */
static void
admission_tell(struct admission *admission, const char *why)
{
	int64_t now_ms = clock_ms();
	admission->stats->connections_rejected++;
	admission->turned_away++;
	if (now_ms >= admission->tell_at_ms) {
		LOG_EVENT(admission->log, LOG_WARNING_LEVEL, "clients.turned_away", log_text("why", why),
			log_number("count", admission->turned_away));
		admission->turned_away = 0;
		admission->tell_at_ms = now_ms + ADMISSION_TELL_MS;
	}
}

/* A client that speaks TLS could not read the text: its connection just ends. */
static void
admission_refuse(struct admission *admission, const struct arrived *client, const char *why, const char *text)
{
	admission_tell(admission, why);
	if (!client->tls) {
		send(client->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	listener_end_client(client->listener, client->fd);
}

/* ---- clients that have to log in ---- */

static size_t
unauthenticated_most(const struct admission *admission)
{
	size_t share = admission->limits.clients / ADMISSION_UNAUTHENTICATED_SHARE;
	return share > 0 ? share : 1;
}

static void
unauthenticated_enter(struct admission *admission, struct identity *who)
{
	who->unauthenticated = true;
	who->unauthenticated_ms = clock_ms();
	TAILQ_INSERT_TAIL(&admission->unauthenticated, who, unauthenticated_entry);
	admission->unauthenticated_count++;
}

static void
unauthenticated_leave(struct admission *admission, struct identity *who)
{
	if (who->unauthenticated) {
		who->unauthenticated = false;
		TAILQ_REMOVE(&admission->unauthenticated, who, unauthenticated_entry);
		admission->unauthenticated_count--;
	}
}

/* Closes the oldest unauthenticated client at once, without waiting for it to read. False: there is none. */
static bool
unauthenticated_evict(struct admission *admission)
{
	struct identity *who = TAILQ_FIRST(&admission->unauthenticated);
	if (!who) {
		return false;
	}
	struct connection *c = connections_find(admission->connections, who->id);
	unauthenticated_leave(admission, who);
	if (c && who->handshaking) {
		admission_tell(admission, "too many TLS handshakes");
		connection_cut(c, END_ABANDONED, "made way");
	} else if (c) {
		admission_tell(admission, "too many have not logged in");
		connection_error(c, CODE_LIMIT,
			"more clients than have room wait to log in: connect again, and begin with AUTH");
		connection_close(c, END_ABANDONED, "made way");
		connections_flush(admission->connections);
		connection_cut(c, END_ABANDONED, "made way");
	}
	return true;
}

/* Closes unauthenticated clients if one more would exceed their share. */
static void
unauthenticated_make_room(struct admission *admission)
{
	while (admission->unauthenticated_count >= unauthenticated_most(admission)) {
		unauthenticated_evict(admission);
	}
}

static bool
admission_sort(void *arg, struct connection *c)
{
	struct admission *admission = arg;
	struct identity *who = connection_identity(c);
	bool unauthenticated = (admission->guarded && !who->local && !who->user) || who->handshaking;
	if (unauthenticated && !who->unauthenticated) {
		unauthenticated_enter(admission, who);
	} else if (!unauthenticated) {
		unauthenticated_leave(admission, who);
	}
	return true;
}

void
admission_secured(struct admission *admission, struct connection *c)
{
	connection_identity(c)->handshaking = false;
	(void)admission_sort(admission, c);
}

void
admission_set_guarded(struct admission *admission, bool guarded)
{
	admission->guarded = guarded;
	connections_each(admission->connections, admission_sort, admission);
}

int64_t
admission_wake_at(const struct admission *admission)
{
	const struct identity *who = TAILQ_FIRST(&admission->unauthenticated);
	return who ? who->unauthenticated_ms + admission->limits.login_ms : INT64_MAX;
}

void
admission_unread(struct admission *admission, int64_t ms)
{
	struct identity *who;
	TAILQ_FOREACH (who, &admission->unauthenticated, unauthenticated_entry) {
		who->unauthenticated_ms += ms;
	}
}

void
admission_turn(struct admission *admission)
{
	while (!TAILQ_EMPTY(&admission->unauthenticated) && admission_wake_at(admission) <= clock_ms()) {
		struct identity *who = TAILQ_FIRST(&admission->unauthenticated);
		struct connection *c = connections_find(admission->connections, who->id);
		unauthenticated_leave(admission, who);
		if (c && who->handshaking) {
			admission_tell(admission, "no TLS handshake within limits.login-time");
			connection_cut(c, END_ABANDONED, "no TLS handshake");
		} else if (c) {
			admission_tell(admission, "not logged in within limits.login-time");
			connection_error(c, CODE_NOAUTH,
				"nobody logged in for %" PRId64 " ms: connect again, and begin with AUTH",
				admission->limits.login_ms);
			connection_close(c, END_ABANDONED, "no login");
		}
	}
}

/* ---- coming and going ---- */

/* A connection beyond the limits that has ended is in extra_count until it is freed, but connections_count()
 * leaves it out. */
static bool
admission_full(const struct admission *admission)
{
	return connections_count(admission->connections) >=
	       admission->limits.clients + admission->extra_count;
}

/* How many connections of a user the quota may count; own: the limit of this user, or 0: that of all. Those
 * that have ended leave the quota when they are freed, and make room before: a program that is started anew
 * comes with all its connections while the old ones end. So there are at most twice the limit. */
static size_t
admission_most(const struct admission *admission, uint64_t user, size_t own)
{
	size_t most = own > 0 ? own : admission->quota.most;
	size_t ended = connections_ended_of(admission->connections, user);
	return most + (ended < most ? ended : most);
}

/* Whether there is room, and for whom the client counts: *counted is set for a local user, and NULL for an
 * administrator beyond the limits. False: refused. */
static bool
admission_count_user(struct admission *admission, const struct arrived *client, const struct peer *peer,
	struct quota_user **counted)
{
	bool local = client->local;
	bool spare = peer->admin && admission->extra_count < ADMISSION_ADMIN_ROOM;
	*counted = NULL;
	while (admission_full(admission) && unauthenticated_evict(admission)) {
	}
	if (admission->short_of_memory || admission_full(admission)) {
		if (!spare && admission->short_of_memory) {
			admission_refuse(admission, client, "memory",
				"-LIMIT this daemon has as much memory as limits.memory or the system "
				"allows\r\n");
		} else if (!spare) {
			admission_refuse(admission, client, "limits.clients",
				"-LIMIT this daemon serves as many clients as limits.clients allows\r\n");
		}
		return spare;
	}
	size_t own = 0;
	if (local) {
		const struct access_user *user = access_of_socket(*admission->access, client->fd, peer->uid);
		own = user ? user->connections : 0;
		*counted = quota_enter_uid(&admission->quota, peer->uid,
			admission_most(admission, quota_uid_number(peer->uid), own));
	}
	if (local && !*counted && !spare) {
		admission_refuse(admission, client, own > 0 ? OWN_CONNECTIONS : PER_USER,
			own > 0 ? "-LIMIT this user has as many clients as " OWN_CONNECTIONS " allows\r\n"
				: "-LIMIT this user has as many clients as " PER_USER " allows\r\n");
		return false;
	}
	return true;
}

void
admission_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer)
{
	struct admission *admission = arg;
	struct quota_user *counted;
	bool local = listener_local(listener);
	const struct arrived client = {
		.fd = fd, .listener = listener, .local = local, .tls = listener_tls(listener)};
	connections_saw(admission->connections, fd);
	bool unauthenticated = (admission->guarded && !local) || client.tls;
	if (unauthenticated) {
		unauthenticated_make_room(admission);
	}
	if (!admission_count_user(admission, &client, peer, &counted)) {
		return;
	}
	struct connection *c =
		connections_add(admission->connections, fd, peer, local, listener_releases(listener));
	if (!c) {
		quota_leave(&admission->quota, counted);
		admission_tell(admission, "out of memory");
		return;
	}
	struct identity *who = connection_identity(c);
	who->counted = counted;
	who->extra = local && !counted;
	connection_belongs(c, local ? quota_uid_number(peer->uid) : 0);
	admission->extra_count += who->extra;
	if (unauthenticated) {
		unauthenticated_enter(admission, who);
	}
	LOG_EVENT(admission->log, LOG_DEBUG_LEVEL, "client.open", log_number("connection", (int64_t)who->id),
		log_text("address", peer->address), log_number("uid", peer->uid),
		log_number("pid", peer->pid));
	admission->opened(admission->arg, c);
	if (client.tls && !connection_begin_tls(c, client.tls, listener_logs_in(listener))) {
		connection_cut(c, END_ABANDONED, "out of memory");
	}
}

void
admission_paused(void *arg, struct listener *listener, int error)
{
	struct admission *admission = arg;
	admission->stats->connections_rejected++;
	connections_saw(admission->connections, -1);
	LOG_EVENT(admission->log, LOG_WARNING_LEVEL, "listener.paused",
		log_text("address", listener_address(listener)), log_text("why", strerror(error)),
		log_text("text",
			"new clients wait; if this comes again, see daemon.few_descriptors and LimitNOFILE"));
}

bool
admission_login(struct admission *admission, struct connection *c, const struct access_user *user)
{
	struct identity *who = connection_identity(c);
	if (who->local) {
		return true; /* counted for its uid */
	}
	quota_leave(&admission->quota, who->counted);
	uint64_t number = quota_name_number(user->name);
	who->counted = quota_enter_name(
		&admission->quota, user->name, admission_most(admission, number, user->connections));
	if (!who->counted) {
		const char *limit = user->connections > 0 ? OWN_CONNECTIONS : PER_USER;
		connection_belongs(c, 0); /* it does not count, so its end makes no room */
		admission_tell(admission, limit);
		connection_error(c, CODE_LIMIT, "this user has as many clients as %s allows", limit);
		connection_close(c, END_ABANDONED, "sessions-per-user");
		return false;
	}
	connection_belongs(c, number);
	unauthenticated_leave(admission, who);
	return true;
}

void
admission_logout(struct admission *admission, struct connection *c)
{
	struct identity *who = connection_identity(c);
	if (who->local) {
		return;
	}
	quota_leave(&admission->quota, who->counted);
	who->counted = NULL;
	connection_belongs(c, 0);
	if (admission->guarded && !who->unauthenticated) {
		unauthenticated_make_room(admission);
		unauthenticated_enter(admission, who);
	}
}

void
admission_left(struct admission *admission, struct connection *c)
{
	struct identity *who = connection_identity(c);
	unauthenticated_leave(admission, who);
	quota_leave(&admission->quota, who->counted);
	who->counted = NULL;
	admission->extra_count -= who->extra;
	who->extra = false;
}

void
admission_restore(struct admission *admission, struct connection *c)
{
	struct identity *who = connection_identity(c);
	bool unauthenticated = who->unauthenticated;
	if (who->local && !who->extra) {
		who->counted = quota_enter_uid(&admission->quota, who->peer.uid, SIZE_MAX);
	} else if (!who->local && who->user) {
		who->counted = quota_enter_name(&admission->quota, who->user->name, SIZE_MAX);
	}
	admission->extra_count += who->extra;
	who->unauthenticated = false;
	if (unauthenticated) {
		int64_t since_ms = who->unauthenticated_ms;
		unauthenticated_enter(admission, who);
		who->unauthenticated_ms = since_ms;
	}
}
