/*
 * main_settings: see main_settings.h.
 */
#include "daemon/main_settings.h"

#include "conf/url.h"

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

struct rule *
rules_make(const struct conf *conf, const struct conf *boot)
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

static bool
replicas_ack_off(const struct conf *conf)
{
	for (size_t i = 0; i < conf->master_count; i++) {
		const struct conf_sentinel *sentinel = &conf->masters[i].sentinel;
		if (sentinel->name[0] != '\0' && !sentinel->replicas_ack) {
			return true;
		}
	}
	return false;
}

/*
 * How many masters there are, since a majority of fewer is no majority of more; whether one that forgot is
 * guarded, since one daemon that does not would admit it for all; whether replicas have to acknowledge, since
 * one daemon that does not wait for them could go on at a master that was cut off; and which names have keys
 * of another layout.
 */
char *
layout_make(const struct conf *conf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to) {
		return NULL;
	}
	fprintf(to, "masters=%u", masters_of(conf));
	if (conf->restart_guard == CONF_GUARD_OFF) {
		fputs(";restart-guard=off", to);
	}
	if (replicas_ack_off(conf)) {
		fputs(";replicas-ack=off", to);
	}
	for (size_t i = 0; i < layout_count(conf); i++) {
		fprintf(to, ";%s=%s", conf->rules[i].match, conf->rules[i].key);
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

struct driver_limits
limits_of(const struct conf *conf)
{
	return (struct driver_limits){
		.connections.request.bytes = (size_t)conf->limits.request_bytes,
		.connections.request.arguments = (size_t)conf->limits.arguments,
		.connections.output_bytes = (size_t)conf->limits.output_bytes,
		.clients = (size_t)conf->limits.clients,
		.per_user = (size_t)conf->limits.sessions_per_user,
	};
}

unsigned
masters_of(const struct conf *conf)
{
	return conf->master_count > 0 ? (unsigned)conf->master_count : 1;
}

static const char *
text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void
sentinel_place(const struct conf_master *master, struct pool_settings *pool, struct main_sentinel *out,
	char where[MAIN_WHERE_MAX])
{
	const struct conf_sentinel *from = &master->sentinel;
	for (size_t i = 0; i < from->sentinels.count; i++) {
		out->places[i] = (struct sentinel_place){
			.host = from->sentinels.list[i].host,
			.port = (uint16_t)from->sentinels.list[i].port,
		};
	}
	out->settings = (struct sentinel_settings){
		.name = from->name,
		.places = out->places,
		.count = from->sentinels.count,
		.user = text_or_null(from->user),
		.password = text_or_null(from->password),
	};
	pool->sentinel = &out->settings;
	pool->replicas_ack = from->replicas_ack;
	pool->user = text_or_null(master->user);
	pool->password = text_or_null(master->password);
	pool->db = (int)master->database;
	snprintf(where, MAIN_WHERE_MAX, "%s", from->name);
}

void
master_place(const struct conf_master *master, struct pool_settings *pool, struct main_sentinel *sentinel,
	char where[MAIN_WHERE_MAX])
{
	if (master->url.kind == CONF_URL_NONE) {
		sentinel_place(master, pool, sentinel, where);
		return;
	}
	if (master->url.kind == CONF_URL_UNIX) {
		pool->path = master->url.path;
		snprintf(where, MAIN_WHERE_MAX, "%s", pool->path);
	} else {
		pool->host = master->url.address.host;
		pool->port = (uint16_t)master->url.address.port;
		address_format(where, &master->url.address);
	}
	pool->user = text_or_null(master->url.user);
	pool->password = text_or_null(master->password);
	pool->db = master->url.database;
}
