/*
 * main_inner: what main.c and main_reload.c share; no other file includes it.
 */
#ifndef DAEMON_MAIN_INNER_H
#define DAEMON_MAIN_INNER_H

#include "conf/conf.h"
#include "daemon/base/log.h"
#include "daemon/base/mac.h"
#include "daemon/base/notify.h"
#include "daemon/base/random.h"
#include "daemon/base/secrets.h"
#include "daemon/base/stats.h"
#include "daemon/driver.h"
#include "daemon/handover.h"
#include "daemon/main_settings.h"
#include "daemon/redis/embedded.h"

#include <limits.h>

#define MAIN_ABOUT_MAX 768

struct main {
	struct options options;
	struct conf *boot; /* as at the start; it keeps the values that need a restart */
	struct conf *conf; /* the latest; may be the same as boot */
	struct rule *rules;
	struct log log;
	int log_fd;
	struct log audit_log; /* if it has a file of its own */
	int audit_fd;         /* -1: it has none */
	int64_t descriptors;  /* as many as the system allows */
	struct stats stats;
	struct notify notify;
	struct random random;
	char daemon_id[33];
	char secret[MAC_SECRET_SIZE]; /* what is in `about`, so that only who reads it can ask this daemon */
	char where[CORE_MASTERS_MAX][SETTINGS_WHERE_MAX];
	struct main_finder finders[CORE_MASTERS_MAX];
	const char *addresses[CORE_MASTERS_MAX]; /* of where, as the core takes them */
	struct main_reach reach;
	struct pool_settings pool; /* the settings that all masters share */
	char ways[CORE_MASTERS_MAX][MASTERSET_WAY_MAX];
	const char *way_texts[CORE_MASTERS_MAX]; /* of ways, as the core takes them */
	char *layout;
	char host[HOST_NAME_MAX + 1];
	char about[MAIN_ABOUT_MAX]; /* what this daemon writes about itself at its masters; see main_about.c
				     */
	struct driver *driver;
	struct embedded *embedded;
	struct reaper *reaper; /* NULL: this is not process 1 */
	char program_path[PATH_MAX];
	struct handover_program program;
	struct handed handed; /* by the process before */
	struct driver_settings settings;
	struct tls_dates dates; /* by the latest configuration */
	struct config_facts loaded;
	struct secrets secrets;             /* likewise: those that others may read */
	struct master_address only;         /* of the latest configuration; see context_facts */
	char pending[CONTEXT_TEXT_MAX / 2]; /* keys of the latest configuration that are not in effect */
	/* At the start: what a process that was killed may still have is waited for until then. */
	int64_t patient_until_ms;
	bool started;
};

#endif
