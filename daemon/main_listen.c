/*
 * main_listen: the sockets of the configuration, for lock clients and for HTTP. A part of main_settings.c.
 */
#include "daemon/main_listen.h"

#include "conf/tls.h"
#include "daemon/base/secrets.h"
#include "daemon/base/tls_dates.h"
#include "daemon/driver_context.h"
#include "daemon/http/http.h"
#include "daemon/http/named.h"
#include "daemon/main_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct socket_settings
socket_settings_of(const struct conf_listener *from)
{
	bool local = from->path[0] != '\0';
	const struct conf_listen_tls *tls = &from->tls;
	return (struct socket_settings){
		.path = local ? from->path : NULL,
		.mode = (unsigned)from->mode,
		.group = from->group,
		.gid = (gid_t)from->gid,
		.host = local ? NULL : from->tcp.host,
		.port = (uint16_t)from->tcp.port,
		.tls =
			{
				.on = tls->certificate && tls->certificate[0] != '\0',
				.certificate = tls->certificate,
				.key = tls->key,
				.ca = tls->client_ca,
				.crl = tls->client_crl,
			},
		.certificate_logs_in = tls->client_login,
		.release = from->on_close == CONF_ON_CLOSE_RELEASE ||
			   (from->on_close == CONF_ON_CLOSE_AUTO && local),
	};
}

/* Checks TLS of a list of the configuration. False ends the walk. */
typedef bool tls_check(void *arg, enum tls_side side, const struct tls_settings *settings, const char *list);

static bool
tls_each(const struct conf *conf, tls_check *check, void *arg)
{
	bool good = true;
	for (size_t i = 0; i < conf->listener_count && good; i++) {
		const struct socket_settings socket = socket_settings_of(&conf->listeners[i]);
		good = !socket.tls.on || check(arg, TLS_SERVER, &socket.tls, "listen");
	}
	for (size_t i = 0; i < conf->http_count && good; i++) {
		const struct socket_settings socket = socket_settings_of(&conf->http[i]);
		good = !socket.tls.on || check(arg, TLS_SERVER, &socket.tls, "http");
	}
	for (size_t i = 0; i < conf->master_count && good; i++) {
		const struct conf_master *master = &conf->masters[i];
		const struct tls_settings to[] = {
			settings_tls(&master->tls, master->url.tls || conf_tls_on(&master->tls)),
			settings_tls(&master->sentinel.tls, conf_tls_on(&master->sentinel.tls)),
		};
		good = (!to[0].on || check(arg, TLS_CLIENT, &to[0], "masters")) &&
		       (!to[1].on || check(arg, TLS_CLIENT, &to[1], "masters"));
	}
	return good;
}

/* arg: the text of the error, SETTINGS_ERROR_MAX */
static bool
tls_loads(void *arg, enum tls_side side, const struct tls_settings *settings, const char *list)
{
	char why[TLS_WHY_MAX] = "out of memory";
	struct tls_context *context = tls_context_new(side, settings);
	bool good = context && tls_context_load(context, why);
	tls_context_free(context);
	if (!good) {
		snprintf(arg, SETTINGS_ERROR_MAX, "%s: tls: %s", list, why);
	}
	return good;
}

bool
settings_check_tls(const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	return tls_each(conf, tls_loads, error);
}

static bool
tls_reads_dates(void *arg, enum tls_side side, const struct tls_settings *settings, const char *list)
{
	(void)list;
	tls_dates_add(arg, side, settings->certificate);
	tls_dates_add(arg, side, settings->ca);
	return true;
}

void
settings_tls_dates(const struct conf *conf, struct tls_dates *dates)
{
	dates->n = 0;
	(void)tls_each(conf, tls_reads_dates, dates);
}

static bool
tls_key_is_secret(void *arg, enum tls_side side, const struct tls_settings *settings, const char *list)
{
	(void)side;
	(void)list;
	secrets_add(arg, settings->key);
	return true;
}

/* A password in the URL of a master: any of the files may have it. */
static void
files_are_secret(const struct conf *conf, struct secrets *secrets)
{
	bool password = false;
	for (size_t i = 0; i < conf->master_count; i++) {
		const char *text = conf->masters[i].url.password;
		password = password || (text && text[0] != '\0');
	}
	char path[PATH_MAX];
	const char *at = password ? conf->files : "";
	while (*at != '\0') {
		const char *end = strstr(at, ", ");
		size_t n = end ? (size_t)(end - at) : strlen(at);
		if (n < sizeof path) {
			memcpy(path, at, n);
			path[n] = '\0';
			secrets_add(secrets, path);
		}
		at += n + (end ? 2 : 0);
	}
}

void
settings_secrets(const struct conf *conf, struct secrets *secrets)
{
	secrets->n = 0;
	for (size_t i = 0; i < conf->master_count; i++) {
		secrets_add(secrets, conf->masters[i].password_file);
		secrets_add(secrets, conf->masters[i].sentinel.password_file);
	}
	for (size_t i = 0; i < conf->user_count; i++) {
		secrets_add(secrets, conf->users[i].password_file);
	}
	(void)tls_each(conf, tls_key_is_secret, secrets);
	files_are_secret(conf, secrets);
}

static int
settings_listen_http(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	struct http_settings settings[CONF_HTTP_MAX];
	_Static_assert(CONF_HTTP_MAX <= HTTP_LISTENERS_MAX,
		"there is a listener for every address of the configuration");
	for (size_t i = 0; i < conf->http_count; i++) {
		settings[i] = (struct http_settings){
			.socket = socket_settings_of(&conf->http[i]),
			.names = conf->http[i].names,
			.fleet = conf->http[i].fleet,
		};
	}
	return driver_listen_http(driver, settings, conf->http_count, error, SETTINGS_ERROR_MAX);
}

/* Which names /metrics counts one by one. */
static int
settings_count_names(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	struct named_rule rules[CONF_RULES_MAX];
	for (size_t i = 0; i < conf->rule_count; i++) {
		rules[i] = (struct named_rule){conf->rules[i].match, conf->rules[i].metrics};
	}
	if (!driver_count_names(driver, rules, conf->rule_count)) {
		snprintf(error, SETTINGS_ERROR_MAX, "out of memory");
		return SOCKET_MEMORY;
	}
	return 0;
}

int
settings_listen(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	struct socket_settings *settings = calloc(conf->listener_count, sizeof *settings);
	if (!settings) {
		snprintf(error, SETTINGS_ERROR_MAX, "out of memory");
		return SOCKET_MEMORY;
	}
	for (size_t i = 0; i < conf->listener_count; i++) {
		settings[i] = socket_settings_of(&conf->listeners[i]);
	}
	int failed = driver_listen(driver, settings, conf->listener_count, error, SETTINGS_ERROR_MAX);
	free(settings);
	return failed;
}

int
settings_http(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	int failed = settings_listen_http(driver, conf, error);
	return failed ? failed : settings_count_names(driver, conf, error);
}
