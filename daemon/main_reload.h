/*
 * main_reload: reads the configuration, opens the log, and applies a changed configuration to a daemon that
 * runs. A part of main.c.
 */
#ifndef DAEMON_MAIN_RELOAD_H
#define DAEMON_MAIN_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct conf_errors;
struct log;
struct main;
struct options;

/* Whether the only master of the configuration is not the one that the daemon uses; if so, logs it. */
bool only_master_tell(struct main *m);

/* The configuration of the options. NULL: errors says why. */
struct conf *config_load(const struct options *options, struct conf_errors *errors);

/* Opens the log, again at each reload, so that files can be rotated. If the disk has no room for the file,
 * locks are served all the same. */
int log_set(struct main *m, const struct conf *conf, char *error);
/* Where logins and what administrators do are logged, after log_set(). */
struct log *audit_of(struct main *m);

/* SIGHUP and RELOAD; arg is the struct main. See driver_settings. */
int main_reload(void *arg, char *text, size_t room);
/* Takes up the configuration as a reload does, and sees whether the next process can go on with it. */
bool main_prepare(void *arg, char *why, size_t room);

#endif
