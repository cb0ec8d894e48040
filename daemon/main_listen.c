/*
 * main_listen: the sockets of the configuration, for lock clients and for HTTP. A part of main_settings.c.
 */
#include "daemon/http/http.h"
#include "daemon/http/named.h"
#include "daemon/main_settings.h"

#include <stdio.h>
#include <stdlib.h>

static struct socket_settings
socket_settings_of(const struct conf_listener *from)
{
	bool local = from->path[0] != '\0';
	return (struct socket_settings){
		.path = local ? from->path : NULL,
		.mode = (unsigned)from->mode,
		.group = from->group,
		.gid = (gid_t)from->gid,
		.host = local ? NULL : from->tcp.host,
		.port = (uint16_t)from->tcp.port,
		.release = from->on_close == CONF_ON_CLOSE_RELEASE ||
			   (from->on_close == CONF_ON_CLOSE_AUTO && local),
	};
}

static int
settings_listen_http(struct driver *driver, const struct conf *conf, char error[SETTINGS_ERROR_MAX])
{
	struct http_settings settings[CONF_HTTP_MAX];
	_Static_assert(CONF_HTTP_MAX <= HTTP_LISTENERS_MAX, "every address of the configuration has a place");
	for (size_t i = 0; i < conf->http_count; i++) {
		settings[i] = (struct http_settings){
			.socket = socket_settings_of(&conf->http[i]),
			.names = conf->http[i].names,
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
