/*
 * driver: turns the loop, and is the only caller of core_step().
 *
 *     connections ──┐                          ┌──▶ connections, events, log
 *     masters ──────┼──event──▶ core ──action──┼──▶ masters
 *     alarm, pidfd ─┘                          └──▶ processes
 *
 * It owns all parts of the daemon. main makes it, gives it the settings of the configuration, and runs it.
 * Other parts only read the core (core/view.h). What carries out an action may ask the driver something, as
 * how to reach a master, but it never begins a step: no step begins while another one is carried out.
 */
#ifndef DAEMON_DRIVER_H
#define DAEMON_DRIVER_H

#include "daemon/core/core.h"
#include "daemon/net/access.h"
#include "daemon/net/admission.h"
#include "daemon/net/connection.h"
#include "daemon/net/process.h"
#include "daemon/net/socket.h"
#include "daemon/redis/pool.h"
#include "daemon/request/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct descriptors;
struct driver;
struct event_base;
struct handed;
struct handover_program;
struct http_settings;
struct log;
struct named_rule;
struct notify;
struct notify_fd;
struct record;
struct stats;

/* After this time what could not be released or written is left as it is: leases expire by themselves. */
#define DRIVER_DRAIN_MS 3000

/* How long a turn serves clients, and how long it frees ended connections, before masters, timers and other
 * clients are served again, however much there is to do. */
#define DRIVER_TURN_NS   1000000
#define DRIVER_ENDS_NS   1000000
#define DRIVER_HTTP_NS   500000  /* and how long it makes pages, less the last piece */
#define DRIVER_LISTEN_NS 2000000 /* and how long it notes which connections have events */

struct driver_limits {
	struct connections_limits connections;
	struct admission_limits admission;
	struct processes_limits processes;
	struct core_grace grace;
	struct core_per_user per_user;
	size_t descriptors; /* that these limits may need, for reports */
	size_t memory;      /* bytes of the process; past it nothing new is accepted; 0: no limit */
	size_t history;     /* bytes for the holds that have ended; 0: none is remembered */
};

/* A master, as a set of masters names it (masterset.h). */
struct master_address {
	char address[MASTERSET_PLACE_MAX];
	char way[MASTERSET_WAY_MAX];
};

struct driver_settings {
	struct core_settings core;                    /* copied, see core.h */
	struct pool_settings pools[CORE_MASTERS_MAX]; /* one for each of core.masters */
	struct driver_limits limits;
	struct context_facts facts;
	/* If the socket of the daemon is removed or replaced while locks are held, the daemon stays until all
	 * leases have ended: its successor sees that clients may rely on these locks. */
	bool lingers;
	/* Finds the address of a master, and the way to it, by the name that an administrator gave. 0, or -1
	 * and why. */
	int (*find_master)(void *arg, struct slice name, struct master_address *out, char *why, size_t room);
	/* How to reach the master at this address by this way; see masters_find. */
	bool (*reach_master)(void *arg, struct slice address, struct slice way,
		struct pool_settings *settings, char *why, size_t room);
	/* SIGHUP and RELOAD: 0, or -1; text says what was done, or why not. */
	int (*reload)(void *arg, char *text, size_t room);
	/* SIGUSR2 and RESTART: takes up the configuration, and sees whether the next process can go on with
	 * it. Not called without a program. */
	bool (*prepare)(void *arg, char *why, size_t room);
	/* Clients may rely on locks until until_ms (CLOCK_BOOTTIME). Called in each turn with holds, before
	 * answers leave. NULL: not wanted. */
	void (*relied_on)(void *arg, int64_t until_ms);
	/* The record of the private master, and its pid, 0: it does not run now; and the reverse, with
	 * r->failed if it cannot be taken over. NULL: there is none. */
	pid_t (*save_master)(void *arg, struct record *r, struct descriptors *given);
	void (*load_master)(void *arg, struct record *r, struct descriptors *given);
	/* What this process becomes when the daemon is handed over. NULL: it cannot be. */
	const struct handover_program *program;
	void *arg;
};

/* How long a daemon that is handed over waits for calls under way at its masters, and how long the next
 * process waits for masters that neither answer nor refuse before it serves clients: less than clients have
 * patience for, and more than a busy machine takes to connect. */
#define DRIVER_REST_MS   500
#define DRIVER_ARRIVE_MS 2000

/* log, stats and notify are held by reference. NULL: errno says why. */
struct driver *driver_new(struct log *log, struct stats *stats, const struct notify *notify)
	__attribute__((warn_unused_result));
void driver_free(struct driver *driver);

/* The loop, for parts that have to be ready before driver_start(). */
struct event_base *driver_base(struct driver *driver);

/* The only master that this daemon uses if it is not this one of the configuration; NULL: it is, or there are
 * several, or only is empty. */
const char *driver_other_master(const struct driver *driver, const struct master_address *only);

/* Connects to the masters, and accepts clients at the open sockets. -1: out of memory. */
int driver_start(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));

/* Takes over an inherited socket that listens, before driver_start() and driver_listen(). The driver owns fd,
 * also on failure. */
int driver_adopt(struct driver *driver, int fd, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/*
 * Listens at the addresses of the settings and, inherited sockets apart, at no others: opens the new ones,
 * closes those that are gone, changes the rest. 0, or an enum socket_failure with *error; then nothing was
 * closed.
 */
int driver_listen(struct driver *driver, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

/* Why a client may have known an earlier daemon at the same addresses; NULL: no client can have. Call it
 * after driver_adopt() and driver_listen(). */
const char *driver_known_before(const struct driver *driver);

/* Runs until SIGTERM, SIGINT or DRAIN has been carried out. 0, or -1: the daemon had to end by itself, and
 * has logged why. */
int driver_run(struct driver *driver);
/* One turn; for tests. */
void driver_turn(struct driver *driver);

#endif
