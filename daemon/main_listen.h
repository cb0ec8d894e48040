/*
 * main_listen: the sockets of the configuration, for lock clients and for HTTP. A part of main_settings.c.
 */
#ifndef DAEMON_MAIN_LISTEN_H
#define DAEMON_MAIN_LISTEN_H

#include "daemon/main_settings.h"

#include <stdbool.h>

struct conf;
struct driver;
struct secrets;
struct tls_dates;

/* See driver_listen_http() and driver_count_names(). */
int settings_http(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
	__attribute__((warn_unused_result));
/* Whether the files of TLS can be used, of listeners, masters and sentinels, for holdfastd -t.
 */
bool settings_check_tls(const struct conf *conf, char error[SETTINGS_ERROR_MAX])
	__attribute__((warn_unused_result));
/* Reads the dates of the certificates of the same. */
void settings_tls_dates(const struct conf *conf, struct tls_dates *dates);
/* Finds the files with secrets that others may read: passwords, keys, and the configuration if
 * the URL of a master has a password. */
void settings_secrets(const struct conf *conf, struct secrets *secrets);
/* See driver_listen(). */
int settings_listen(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
	__attribute__((warn_unused_result));

#endif
