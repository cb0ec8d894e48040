/*
 * main_settings: the configuration as the settings of the other rooms. A part of main, which alone sees
 * conf/.
 */
#ifndef DAEMON_MAIN_SETTINGS_H
#define DAEMON_MAIN_SETTINGS_H

#include "conf/conf.h"
#include "daemon/driver.h"
#include "daemon/sentinel.h"

#define MAIN_WHERE_MAX (CONF_HOST_MAX + 16)

/*
 * The rules of the configuration, and one for every other name; the caller frees them. Key templates are
 * boot's, and so is which names have them: the daemons of a namespace have agreed on that. NULL: out of
 * memory.
 */
struct rule *rules_make(const struct conf *conf, const struct conf *boot);

/* What all daemons of a namespace must agree on besides its times; the caller frees it. NULL: out of memory.
 */
char *layout_make(const struct conf *conf);

struct driver_limits limits_of(const struct conf *conf);

/* How many masters there are, the embedded one included. */
unsigned masters_of(const struct conf *conf);

/* Room for what a pool_settings points to. */
struct main_sentinel {
	struct sentinel_settings settings;
	struct sentinel_place places[SENTINELS_MAX];
};

/* Where a master of the configuration is, or who knows it; texts stay conf's. where: the same for people. */
void master_place(const struct conf_master *master, struct pool_settings *pool,
	struct main_sentinel *sentinel, char where[MAIN_WHERE_MAX]);

#endif
