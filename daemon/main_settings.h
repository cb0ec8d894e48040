/*
 * main_settings: reads the command line, and translates the configuration into the settings of each room.
 *
 * A part of main, which calls it at the start and at a reload. It only reads a struct conf.
 */
#ifndef DAEMON_MAIN_SETTINGS_H
#define DAEMON_MAIN_SETTINGS_H

#include "conf/conf.h"
#include "daemon/base/tls.h"
#include "daemon/driver.h"
#include "daemon/redis/finder.h"

#include <stdbool.h>
#include <stdio.h>

/* The command line of holdfastd. */
struct options {
	const char *config;    /* -c; NULL: the default file if it exists */
	const char *log_level; /* --log-level; NULL: as configured */
	bool test;             /* -t: check the configuration and stop */
	bool print_config;
	bool hash_password; /* read a password, print its hash and stop */
	bool version;
	bool help;
};

#define SETTINGS_WHERE_MAX (CONF_HOST_MAX + 16)
#define SETTINGS_ERROR_MAX 512

/* How many rules settings_rules() can make at most, after a reload, too. */
#define SETTINGS_RULES (2 * CONF_RULES_MAX + 1)

/*
 * The rules for names. Which names have keys of their own stays as at boot, since all daemons of a namespace
 * have agreed on it. No lease is longer than the longest one at boot, since the master's guard lasts that
 * long. The caller frees it; the texts stay those of conf and boot. NULL: out of memory.
 */
struct rule *settings_rules(const struct conf *conf, const struct conf *boot)
	__attribute__((warn_unused_result));

/*
 * What all daemons of a namespace must agree on besides the times: which names have keys of another layout,
 * and whether a master that forgot is guarded, since one daemon without a guard would admit it for all. The
 * caller frees it. NULL: out of memory.
 */
char *settings_layout(const struct conf *conf) __attribute__((warn_unused_result));

/* Clients and bound sessions are descriptors: raises the limit as far as the system allows, and logs if it
 * stays too low. Returns how many the process may have. */
int64_t settings_descriptors(const struct conf *conf, struct log *log);
void settings_forbid_cores(void);

/*
 * Sets each member of settings that schema.def names for a key (KEY_TO), and the limits of bound sessions and
 * of each user, which follow from several keys. descriptors: how many the process may have. Bound sessions
 * get at most a quarter of them, so that some are left for clients.
 */
void settings_pass(const struct conf *conf, int64_t descriptors, struct driver_settings *settings);

/* -1: out of memory, and nothing has changed. */
int settings_users(struct driver *driver, const struct conf *conf) __attribute__((warn_unused_result));

/* The number of masters, the embedded one included. */
unsigned settings_masters(const struct conf *conf);

/* The TLS of a master or of its sentinels. */
struct tls_settings settings_tls(const struct conf_tls *from, bool on);

/* Storage for what a pool_settings points to. */
struct main_finder {
	struct finder_settings settings;
	struct finder_address addresses[FINDER_ADDRESSES_MAX];
};

/* Sets where a master of the configuration is, or which sentinels or nodes know it. Texts stay those of conf.
 * where: the same for people. */
void settings_address(const struct conf_master *master, struct pool_settings *pool,
	struct main_finder *finder, char where[SETTINGS_WHERE_MAX]);

/* The only master of the configuration, as the set of masters names it. False: it has none, or several, and
 * out is empty. */
bool settings_only_master(const struct conf *conf, struct master_address *out);

/* The way to it, as the set of masters names it (core.h). */
void settings_way(const struct conf_master *master, char way[MASTERSET_WAY_MAX]);

/*
 * Finds the master that an administrator names for a change of the set: a master of conf, else of boot, by
 * its address or by the name of the Sentinel master or cluster; else another address, which is reached as the
 * first master with a URL is. -1: why says what is allowed.
 */
int settings_find_master(const struct conf *conf, const struct conf *boot, struct slice name,
	struct master_address *out, char *why, size_t room) __attribute__((warn_unused_result));

/* Storage for what a pool_settings points to if the master is not in the configuration. */
struct main_reach {
	struct main_finder finder;
	struct conf_address address;
	char path[SETTINGS_WHERE_MAX];
};

/*
 * How to reach the master at this address of a set, by this way: sets in *pool where it is and how to log in.
 * The master is one of conf, else of boot; or, for a URL, another address, which takes the settings of the
 * first master with a URL. False: why is a clause that follows its name. Texts stay those of conf, boot and
 * reach.
 */
bool settings_reach(const struct conf *conf, const struct conf *boot, const struct master_address *at,
	struct pool_settings *pool, struct main_reach *reach, char *why, size_t room)
	__attribute__((warn_unused_result));

#endif
