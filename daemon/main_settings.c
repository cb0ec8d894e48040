/*
 * main_settings: see main_settings.h.
 */
#include "daemon/main_settings.h"

#include <stdio.h>
#include <stdlib.h>

/* How many rules, from the first on, decide which key a name has: up to the last one with a key of its own.
 */
static size_t
layout_count(const struct conf *conf)
{
	size_t n = conf->rule_count;
	while (n > 0 && conf->rules[n - 1].key[0] == '\0') {
		n--;
	}
	return n;
}

/*
 * The rules of the configuration, and one for every other name. Key templates are boot's, and so is which
 * names have them: the daemons of a namespace have agreed on that.
 */
struct rule *
settings_rules(const struct conf *conf, const struct conf *boot)
{
	size_t layout = layout_count(boot);
	struct rule *rules = calloc(conf->rule_count + 1, sizeof *rules);
	if (!rules) {
		return NULL;
	}
	for (size_t i = 0; i < conf->rule_count; i++) {
		const struct conf_rule *from = &conf->rules[i];
		const char *key = boot->rules[i].key;
		rules[i] = (struct rule){
			.match = i < layout ? boot->rules[i].match : from->match,
			.key = key[0] != '\0' ? key : NULL,
			.lease_ms = from->lease_ms,
			.wait_ms = from->wait_ms,
			.max_hold_ms = from->max_hold_ms,
		};
	}
	rules[conf->rule_count] = (struct rule){.match = "*", .lease_ms = conf->lease_ms, .wait_ms = -1};
	return rules;
}

/* What all daemons of a namespace must agree on besides its times: which names have keys of another layout,
 * and whether a master that forgot is guarded, since one daemon that does not would admit it for all. */
char *
settings_layout(const struct conf *conf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to) {
		return NULL;
	}
	if (conf->restart_guard == CONF_GUARD_OFF) {
		fputs("restart-guard=off;", to);
	}
	for (size_t i = 0; i < layout_count(conf); i++) {
		fprintf(to, "%s=%s;", conf->rules[i].match, conf->rules[i].key);
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

struct driver_limits
settings_limits(const struct conf *conf, int64_t descriptors)
{
	int64_t bound = conf->limits.bound_sessions;
	return (struct driver_limits){
		.connections.request.bytes = (size_t)conf->limits.request_bytes,
		.connections.request.arguments = (size_t)conf->limits.arguments,
		.connections.output_bytes = (size_t)conf->limits.output_bytes,
		.clients = (size_t)conf->limits.clients,
		.per_user = (size_t)conf->limits.sessions_per_user,
		.processes.most = (size_t)(bound < descriptors / 4 ? bound : descriptors / 4),
		.processes.per_user = (size_t)conf->limits.sessions_per_user,
	};
}

int
settings_users(struct driver *driver, const struct conf *conf)
{
	struct access_user *users = calloc(conf->user_count + 1, sizeof *users);
	if (!users) {
		return -1;
	}
	for (size_t i = 0; i < conf->user_count; i++) {
		users[i] = (struct access_user){
			.name = conf->users[i].name,
			.password = conf->users[i].password,
			.admin = conf->users[i].admin,
		};
	}
	int failed = driver_set_users(driver, users, conf->user_count);
	free(users);
	return failed;
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
		const struct conf_listener *from = &conf->listeners[i];
		bool local = from->path[0] != '\0';
		settings[i] = (struct socket_settings){
			.path = local ? from->path : NULL,
			.mode = (unsigned)from->mode,
			.group = from->group,
			.gid = (gid_t)from->gid,
			.host = local ? NULL : from->tcp.host,
			.port = (uint16_t)from->tcp.port,
			.release = from->on_close == CONF_ON_CLOSE_RELEASE,
		};
	}
	int failed = driver_listen(driver, settings, conf->listener_count, error, SETTINGS_ERROR_MAX);
	free(settings);
	return failed;
}
