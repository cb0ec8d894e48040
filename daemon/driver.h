/*
 * driver: turns the loop, and is the only caller of the core.
 *
 *     connections ──┐                          ┌──▶ connections, events, log
 *     masters ──────┼──event──▶ core ──action──┼──▶ masters
 *     alarm, pidfd ─┘                          └──▶ processes
 *
 * Everything of the daemon hangs from here. main makes it, gives it what the configuration says, and runs it.
 * Nothing below the driver calls the core, and nothing the driver does for the core calls the driver back.
 */
#ifndef DAEMON_DRIVER_H
#define DAEMON_DRIVER_H

#include "daemon/admin/context.h"
#include "daemon/core/core.h"
#include "daemon/net/access.h"
#include "daemon/net/admission.h"
#include "daemon/net/connections.h"
#include "daemon/net/process.h"
#include "daemon/net/socket.h"
#include "daemon/redis/pool.h"

#include <stdbool.h>
#include <stddef.h>

struct driver;
struct event_base;
struct log;
struct notify;
struct stats;

/* After this long what could not be released or written is left as it is: leases run out by themselves. */
#define DRIVER_DRAIN_MS 3000

/* How long clients are served, and how long ended connections are freed, before the masters, timers and other
 * clients are looked at again: however many have however much to do. */
#define DRIVER_TURN_NS   2000000
#define DRIVER_ENDS_NS   1000000
#define DRIVER_LISTEN_NS 1000000 /* and how long it is noted who has something to be looked at */

struct driver_limits {
	struct connections_limits connections;
	struct admission_limits admission;
	struct processes_limits processes;
	struct core_grace grace;
	struct core_per_user per_user;
	size_t memory; /* bytes of the process, past which nothing new is begun; 0: no limit */
};

/* A master as a set of masters names it (members.h). */
struct master_place {
	char place[MASTERSET_PLACE_MAX];
	char way[MASTERSET_WAY_MAX];
};

struct driver_settings {
	struct core_settings core;                    /* copied, as core.h says */
	struct pool_settings pools[CORE_MASTERS_MAX]; /* of each of core.masters */
	struct driver_limits limits;
	struct context_facts facts;
	/* If its socket is removed or replaced while locks are held, the daemon stays for as long as leases
	 * last: its successor sees that clients may rely on these locks. */
	bool lingers;
	/* Where a master is, and the way to it, as an administrator names it. 0, or -1 and why. */
	int (*find_master)(void *arg, struct slice name, struct master_place *out, char *why, size_t room);
	/* How a master at this place is reached, in this way; as masters_find. */
	bool (*reach_master)(void *arg, struct slice place, struct slice way, struct pool_settings *settings,
		char *why, size_t room);
	/* SIGHUP and RELOAD: 0, or -1; text says what was done, or why not. */
	int (*reload)(void *arg, char *text, size_t room);
	/* Clients may rely on locks until then (CLOCK_BOOTTIME, ms): in each turn with holds, before answers
	 * leave. NULL: nobody wants to know. */
	void (*relied_on)(void *arg, int64_t until_ms);
	void *arg;
};

/* log, stats and notify are kept by reference. NULL: errno says why. */
struct driver *driver_new(struct log *log, struct stats *stats, const struct notify *notify)
	__attribute__((warn_unused_result));
void driver_free(struct driver *driver);

/* The loop, for whoever has to be ready before driver_start(). */
struct event_base *driver_base(struct driver *driver);

/* Connects to the masters, and takes clients from the sockets that are open. -1: out of memory. */
int driver_start(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));

/* Takes over an inherited listening socket, before driver_start() and driver_listen(). fd is the driver's in
 * any case. */
int driver_adopt(struct driver *driver, int fd, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/*
 * Listens where the settings say and nowhere else, inherited sockets apart: opens what is new, closes what is
 * gone, changes the rest. 0, or an enum socket_failure with *error; then nothing was closed.
 */
int driver_listen(struct driver *driver, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

/* Why a client may have known an earlier daemon at the same addresses; NULL: none can have. After
 * driver_adopt() and driver_listen(). */
const char *driver_known_before(const struct driver *driver);

/* From now on. */
void driver_set_limits(struct driver *driver, const struct driver_limits *limits);
/* False: out of memory, nothing has changed. */
bool driver_set_rules(struct driver *driver, const struct rule *rules, size_t count)
	__attribute__((warn_unused_result));
/* Whoever is logged in and is no user any more is cut off. -1: out of memory, nothing has changed. */
int driver_set_users(struct driver *driver, const struct access_user *users, size_t count)
	__attribute__((warn_unused_result));

/* Until SIGTERM, SIGINT or DRAIN, and what that entails, are over. -1: it had to end by itself, and has said
 * why. */
int driver_run(struct driver *driver);
/* One turn; for tests. */
void driver_turn(struct driver *driver);

/* No lock is held or withheld, no lease is left, and the master was in full use: nobody relies on its memory.
 */
bool driver_is_clean(const struct driver *driver);

/* Until when clients may rely on locks, by what they have been told (CLOCK_BOOTTIME, ms). */
int64_t driver_relied_until(const struct driver *driver);

#endif
