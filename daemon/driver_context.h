/*
 * driver_context: the hooks by which the handlers of verbs call the driver (admin.h), and what main sets and
 * sees while the daemon runs. A part of driver.c.
 */
#ifndef DAEMON_DRIVER_CONTEXT_H
#define DAEMON_DRIVER_CONTEXT_H

#include "daemon/core/base/peer.h"
#include "daemon/net/process.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access_user;
struct connection;
struct context_hooks;
struct context_facts;
struct driver;
struct driver_limits;
struct http_settings;
struct log;
struct lookup_answer;
struct named_rule;
struct rule;

/* For the handlers of verbs; arg is the driver. */
extern const struct context_hooks driver_context_hooks;

/* Serves HTTP at these addresses and no others; as driver_listen(). */
int driver_listen_http(struct driver *driver, const struct http_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

/* Which names the metrics count one by one; see named.h. False: out of memory, nothing has changed. */
bool driver_count_names(struct driver *driver, const struct named_rule *rules, size_t count)
	__attribute__((warn_unused_result));

/* The limits count from now on. */
void driver_set_limits(struct driver *driver, const struct driver_limits *limits);
/* False: out of memory, nothing has changed. */
bool driver_set_rules(struct driver *driver, const struct rule *rules, size_t count)
	__attribute__((warn_unused_result));
/* Logins, and what administrators do, are logged there from now on; held by reference. */
void driver_set_audit(struct driver *driver, struct log *audit);
/* Clients that are logged in as a user that is gone are cut off. -1: out of memory, nothing has changed. */
int driver_set_users(struct driver *driver, const struct access_user *users, size_t count)
	__attribute__((warn_unused_result));

/* True if no lock is held or withheld, no lease is left, and the master was in full use: no client relies on
 * the memory of the master. */
bool driver_is_clean(const struct driver *driver);

/* Until when clients may rely on locks, by the deadlines that were announced to them (CLOCK_BOOTTIME, ms). */
int64_t driver_relied_until(const struct driver *driver);

/* A session begins. arg is the driver. */
void driver_open(void *arg, struct connection *connection);

/* The user of the connection has limits of its own from now on, or has none any more. */
void driver_limit_user(struct driver *driver, struct connection *connection);

/* See masters_hooks: for the fleet. arg is the driver. */
void driver_asked(void *arg, unsigned master, bool answer, struct slice text);
void driver_lookup_answered(void *arg, unsigned master, uint64_t id, const struct lookup_answer *answer);
/* ACTION_WHOSE. */
void driver_whose(void *arg, const struct whose *whose);

/* An http_entered. */
void driver_page_entered(void *arg, const struct peer *peer, const char *user);
/* A process that a session is bound to has ended, or cannot be seen (process_gone). */
void driver_on_exit(void *arg, struct process process, enum process_sight sight);
void driver_set_context(struct driver *driver, const struct context_facts *facts);
/* For the verb DRAIN, with the driver as arg, and for signals. */
void driver_drain(void *arg, struct connection *c, int64_t wait_ms);
/* As long as a drain waits: ends the wait if no lock is held any more, or if the time is over. */
void driver_drain_turn(struct driver *driver);
int driver_reload(void *arg, char *text, size_t room);
/* The connection of this number ends, or leaves its session. A session that is bound to a process goes on
 * without it, and reports show this label as its owner. NULL: the connection had no label. */
void driver_keep_label(struct driver *driver, conn_id id, const char *label);

#endif
