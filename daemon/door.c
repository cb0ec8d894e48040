/*
 * door: see door.h.
 */
#include "daemon/door.h"

#include "daemon/base/log.h"
#include "daemon/base/stats.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
door_refuse(struct door *door, int fd, const char *text)
{
	door->stats->connections_rejected++;
	send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* A local client is counted for its uid. False: its user has as many as allowed. */
static bool
door_seat(
	struct door *door, const struct listener *listener, const struct peer *peer, struct quota_seat **seat)
{
	*seat = NULL;
	if (listener_local(listener)) {
		*seat = quota_enter_uid(&door->quota, peer->uid);
		return *seat != NULL;
	}
	return true;
}

void
door_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer)
{
	struct door *door = arg;
	struct quota_seat *seat;
	if (connections_count(door->connections) >= door->most) {
		door_refuse(
			door, fd, "-LIMIT this daemon serves as many clients as limits.clients allows\r\n");
		return;
	}
	if (!door_seat(door, listener, peer, &seat)) {
		door_refuse(door, fd,
			"-LIMIT this user has as many clients as limits.sessions-per-user allows\r\n");
		return;
	}
	struct connection *c = connections_add(
		door->connections, fd, peer, listener_local(listener), listener_releases(listener));
	if (!c) {
		quota_leave(&door->quota, seat);
		door->stats->connections_rejected++;
		return;
	}
	connection_identity(c)->seat = seat;
	LOG_EVENT(door->log, LOG_DEBUG_LEVEL, "client.open",
		log_number("client", (int64_t)connection_identity(c)->id), log_text("address", peer->address),
		log_number("uid", peer->uid), log_number("pid", peer->pid));
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

void
door_left(struct door *door, struct connection *c)
{
	quota_leave(&door->quota, connection_identity(c)->seat);
	connection_identity(c)->seat = NULL;
}
