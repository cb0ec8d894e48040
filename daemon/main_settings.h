/*
 * main_settings: what the configuration says, as the settings of each room.
 *
 * A part of main, which calls it at the start and at a reload. It reads a struct conf and decides nothing.
 */
#ifndef DAEMON_MAIN_SETTINGS_H
#define DAEMON_MAIN_SETTINGS_H

#include "conf/conf.h"
#include "daemon/driver.h"
#include "daemon/redis/sentinel.h"

#define SETTINGS_WHERE_MAX (CONF_HOST_MAX + 16)
#define SETTINGS_ERROR_MAX 512

/* How many rules settings_rules() makes: as many as there can be, since a reload may bring more. */
#define SETTINGS_RULES (2 * CONF_RULES_MAX + 1)

/*
 * What the configuration says of names. Which names have keys of their own stays as at boot, since the
 * daemons of a namespace have agreed on it, and no lease is longer than the longest was then, since the
 * master's guard lasts that long. To be freed; the texts stay those of conf and boot. NULL: out of memory.
 */
struct rule *settings_rules(const struct conf *conf, const struct conf *boot)
	__attribute__((warn_unused_result));

/*
 * What all daemons of a namespace must agree on besides its times: which names have keys of another layout,
 * and whether a master that forgot is guarded, since one daemon that does not would admit it for all. To be
 * freed. NULL: out of memory.
 */
char *settings_layout(const struct conf *conf) __attribute__((warn_unused_result));

/* descriptors: as many as the process may have; bound sessions get a quarter of them at most, so that clients
 * find some when there are few. */
struct driver_limits settings_limits(const struct conf *conf, int64_t descriptors);

/* -1: out of memory, and nothing has changed. */
int settings_users(struct driver *driver, const struct conf *conf) __attribute__((warn_unused_result));

/* As driver_listen(). */
int settings_listen(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
	__attribute__((warn_unused_result));

/* How many masters there are, the embedded one included. */
unsigned settings_masters(const struct conf *conf);

/* Room for what a pool_settings points to. */
struct main_sentinel {
	struct sentinel_settings settings;
	struct sentinel_place places[SENTINELS_MAX];
};

/* Where a master of the configuration is, or who knows it; texts stay conf's. where: the same for people. */
void settings_place(const struct conf_master *master, struct pool_settings *pool,
	struct main_sentinel *sentinel, char where[SETTINGS_WHERE_MAX]);

/* The way to it as the set of masters names it (core.h). */
void settings_way(const struct conf_master *master, char way[MASTERSET_WAY_MAX]);

/*
 * The master that an administrator names for a change of the set: one of conf, else of boot, by its address
 * or by the name that sentinels know it by; else another address, reached as the first master with a URL is.
 * -1: why says what is allowed.
 */
int settings_find_master(const struct conf *conf, const struct conf *boot, struct slice name,
	struct master_place *out, char *why, size_t room) __attribute__((warn_unused_result));

/* Room for what a pool_settings points to whose master no configuration names. */
struct main_reach {
	struct main_sentinel sentinel;
	struct conf_address address;
	char path[SETTINGS_WHERE_MAX];
};

/*
 * How the master at this place of a set is reached, in this way: *pool gets where it is and what logs in
 * there. It is one of conf, else of boot; or, at a URL, it is another address, and takes what the first one
 * with a URL takes. False: why is a clause that follows its name. Texts stay those of conf, boot and room.
 */
bool settings_reach(const struct conf *conf, const struct conf *boot, const struct master_place *at,
	struct pool_settings *pool, struct main_reach *reach, char *why, size_t room)
	__attribute__((warn_unused_result));

#endif
