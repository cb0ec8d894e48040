/*
 * Tests of daemon/main_settings: what the configuration says reaches the rooms as it is meant.
 */
#include "conf/loader.h"
#include "daemon/main_settings.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct conf *
load(const char *text)
{
	static struct conf_errors errors;
	struct conf *conf = conf_parse("f.yml", text, strlen(text), &errors);
	ck_assert_msg(conf != NULL, "%s", errors.text[0]);
	return conf;
}

static void
layout_is(const char *text, const char *expected)
{
	struct conf *conf = load(text);
	char *layout = settings_layout(conf);
	ck_assert_str_eq(layout, expected);
	free(layout);
	conf_free(conf);
}

START_TEST(daemons_agree_on_the_guard_and_the_keys)
{
	layout_is("", "default");
	layout_is("masters: [ 'redis://a', 'redis://b', 'redis://c' ]\n", "default");
	layout_is("restart-guard: off\nrules: [ { match: a }, { match: b, key: 'k:%' }, { match: c } ]\n",
		"default;restart-guard=off;a=;b=k:%");
	/* Each of these is another layout than the one above it. */
	layout_is("rules: [ { match: 'a=b', key: 'c%' } ]\n", "default;a\\=b=c%");
	layout_is("rules: [ { match: a, key: 'b=c%' } ]\n", "default;a=b\\=c%");
	layout_is("rules: [ { match: a, key: 'x%;b=' }, { match: c, key: 'z%' } ]\n",
		"default;a=x%\\;b\\=;c=z%");
	layout_is("rules: [ { match: a, key: 'x%' }, { match: b }, { match: c, key: 'z%' } ]\n",
		"default;a=x%;b=;c=z%");
}
END_TEST

static void
way_is(const char *text, const char *expected)
{
	struct conf *conf = load(text);
	char way[MASTERSET_WAY_MAX];
	settings_way(&conf->masters[0], way);
	ck_assert_str_eq(way, expected);
	conf_free(conf);
}

START_TEST(the_way_to_a_master_tells_what_changes_its_meaning)
{
	way_is("masters: [ 'redis://u:p@a:7000' ]\n", "url");
	way_is("masters: [ 'redis://a/3' ]\n", "url,database=3");
	way_is("masters: [ 'unix:///run/r' ]\n", "url");
	way_is("masters: [ sentinel: { name: m, sentinels: [ a ] } ]\n", "sentinel");
	way_is("masters: [ { sentinel: { name: m, sentinels: [ a ], replicas-ack: no }, database: 2 } ]\n",
		"sentinel,database=2,replicas-ack=no");
	way_is("masters: [ cluster: { nodes: [ a ] } ]\n", "cluster");
	way_is("masters: [ cluster: { nodes: [ a ], replicas-ack: no } ]\n", "cluster,replicas-ack=no");
}
END_TEST

START_TEST(each_master_has_its_place)
{
	struct conf *conf = load("masters: [ 'redis://u:p@h:7000/3', 'redis://[fd00::1]', "
				 "'unix:///run/r?user=v' ]\n");
	struct pool_settings pool = {0};
	struct main_finder finder;
	char where[SETTINGS_WHERE_MAX];

	ck_assert_uint_eq(settings_masters(conf), 3);
	settings_address(&conf->masters[0], &pool, &finder, where);
	ck_assert_str_eq(where, "h:7000");
	ck_assert_str_eq(pool.host, "h");
	ck_assert_uint_eq(pool.port, 7000);
	ck_assert_str_eq(pool.user, "u");
	ck_assert_str_eq(pool.password, "p");
	ck_assert_int_eq(pool.db, 3);
	pool = (struct pool_settings){0};
	settings_address(&conf->masters[1], &pool, &finder, where);
	ck_assert_str_eq(where, "[fd00::1]:6379");
	ck_assert_ptr_null(pool.user);
	ck_assert_ptr_null(pool.password);
	pool = (struct pool_settings){0};
	settings_address(&conf->masters[2], &pool, &finder, where);
	ck_assert_str_eq(where, "/run/r");
	ck_assert_str_eq(pool.path, "/run/r");
	ck_assert_str_eq(pool.user, "v");
	ck_assert_ptr_null(pool.host);
	conf_free(conf);
}
END_TEST

START_TEST(a_cluster_has_the_login_of_the_master)
{
	struct conf *conf = load("masters:\n  - cluster: { name: c, nodes: [ 10.0.0.7, 'h:1' ] }\n"
				 "    user: u\n    tls: { ca: /ca.pem }\n");
	struct pool_settings pool = {0};
	struct main_finder finder;
	char where[SETTINGS_WHERE_MAX];

	settings_address(&conf->masters[0], &pool, &finder, where);
	ck_assert_str_eq(where, "c");
	ck_assert_ptr_null(pool.host);
	ck_assert_ptr_eq(pool.finder, &finder.settings);
	ck_assert_int_eq(finder.settings.kind, FINDER_CLUSTER);
	ck_assert_uint_eq(finder.settings.count, 2);
	ck_assert_uint_eq(finder.settings.addresses[0].port, 6379);
	ck_assert_str_eq(finder.settings.user, "u");
	ck_assert(finder.settings.tls.on && pool.tls.on);
	ck_assert_str_eq(pool.user, "u");
	ck_assert(pool.replicas_ack);
	conf_free(conf);
}
END_TEST

START_TEST(a_master_behind_sentinel_has_those_who_know_it)
{
	struct conf *conf =
		load("masters:\n  - sentinel: { name: m, sentinels: [ 10.0.0.7, 'h:1' ], user: w }\n"
		     "    user: u\n    database: 4\n");
	struct pool_settings pool = {0};
	struct main_finder finder;
	char where[SETTINGS_WHERE_MAX];

	settings_address(&conf->masters[0], &pool, &finder, where);
	ck_assert_str_eq(where, "m");
	ck_assert_ptr_null(pool.host);
	ck_assert_ptr_null(pool.path);
	ck_assert_ptr_eq(pool.finder, &finder.settings);
	ck_assert(pool.replicas_ack);
	ck_assert_str_eq(pool.user, "u");
	ck_assert_int_eq(pool.db, 4);
	ck_assert_str_eq(finder.settings.name, "m");
	ck_assert_str_eq(finder.settings.user, "w");
	ck_assert_ptr_null(finder.settings.password);
	ck_assert_uint_eq(finder.settings.count, 2);
	ck_assert_str_eq(finder.settings.addresses[0].host, "10.0.0.7");
	ck_assert_uint_eq(finder.settings.addresses[0].port, 26379);
	ck_assert_uint_eq(finder.settings.addresses[1].port, 1);
	conf_free(conf);
}
END_TEST

/* As "address way", or why it is refused. */
static void
found_is(const char *boot_text, const char *text, const char *name, const char *wanted)
{
	struct conf *boot = load(boot_text), *conf = load(text);
	struct master_address found = {.address = ""};
	char got[MASTERSET_PLACE_MAX + MASTERSET_WAY_MAX + 1], why[256];

	if (settings_find_master(conf, boot, slice_of(name), &found, why, sizeof why) == 0)
		snprintf(got, sizeof got, "%s %s", found.address, found.way);
	else
		snprintf(got, sizeof got, "%.*s", (int)strcspn(why, ","), why);
	ck_assert_str_eq(got, wanted);
	conf_free(boot);
	conf_free(conf);
}

START_TEST(a_new_master_is_found_as_the_configuration_names_it)
{
	const char *boot = "masters: [ 'redis://h:7000/3' ]\n";
	const char *known = "masters:\n  - sentinel: { name: m, sentinels: [ a ] }\n    database: 4\n";

	found_is(boot, known, "m", "m sentinel,database=4");
	found_is(boot, known, "h:7000", "h:7000 url,database=3");
	found_is(known, boot, "m", "m sentinel,database=4");
	found_is(boot, "masters: [ 'unix:///a b?db=1' ]\n", "/a b", "/a%20b url,database=1");
	found_is(boot, "masters: [ 'unix:///a b?db=1' ]\n", "/a%20b", "/a%20b url,database=1");
}
END_TEST

START_TEST(a_new_master_that_no_configuration_names_is_found_as_the_first_with_a_url)
{
	const char *boot = "masters: [ 'redis://h:7000/3' ]\n";

	found_is(boot, boot, "h:7001", "h:7001 url,database=3");
	found_is(boot, boot, "[fd00::1]:1", "[fd00::1]:1 url,database=3");
	found_is(boot, boot, "/run/r", "/run/r url,database=3");
	found_is("masters: [ 'redis://h' ]\n", boot, "h:6379", "h:6379 url");
	found_is("masters: [ 'redis://h' ]\n", "masters: [ 'redis://h' ]\n", "g:1", "g:1 url");
}
END_TEST

START_TEST(a_new_master_that_is_no_place_is_refused)
{
	const char *boot = "masters: [ 'redis://h:7000/3' ]\n";

	found_is(boot, boot, "h", "h: host:port");
	found_is(boot, boot, "m", "m: host:port");
	found_is(boot, boot, "", ": host:port");
	found_is(boot, boot, "redis://g:1", "redis://g:1: host:port");
	found_is(boot, boot, "g:0", "g:0: host:port");
	found_is(boot, boot, "g:65536", "g:65536: host:port");
}
END_TEST

/* Where it is, and who logs in there. */
static void
reached(const char *now, const char *at_start, const char *address, const char *way, const char *wanted)
{
	struct conf *conf = load(now), *boot = load(at_start);
	struct master_address at;
	struct pool_settings pool = {.links = 4};
	struct main_reach reach;
	char got[512], why[256] = "";

	snprintf(at.address, sizeof at.address, "%s", address);
	snprintf(at.way, sizeof at.way, "%s", way);
	if (!settings_reach(conf, boot, &at, &pool, &reach, why, sizeof why))
		snprintf(got, sizeof got, "%s", why);
	else
		snprintf(got, sizeof got, "%s%s:%u %s:%s db%d", pool.finder ? "sentinel " : "",
			pool.finder ? pool.finder->name
			: pool.path ? pool.path
				    : pool.host,
			pool.port, pool.user ? pool.user : "-", pool.password ? pool.password : "-", pool.db);
	ck_assert_str_eq(got, wanted);
	ck_assert_uint_eq(pool.links, 4);
	conf_free(boot);
	conf_free(conf);
}

START_TEST(a_master_of_a_set_is_reached_as_the_configuration_says)
{
	const char *first = "masters: [ 'redis://u:p@h:7000/3' ]\n",
		   *second = "masters: [ 'redis://v:q@g:1' ]\n";
	const char *known =
		"masters:\n  - sentinel: { name: m, sentinels: [ a ] }\n    database: 4\n    user: w\n";

	reached(second, first, "g:1", "url", "g:1 v:q db0");
	reached(second, first, "h:7000", "url,database=3", "h:7000 u:p db3");
	reached(known, first, "m", "sentinel,database=4", "sentinel m:0 w:- db4");
	reached(first, known, "m", "sentinel,database=4", "sentinel m:0 w:- db4");
	reached("masters: [ 'unix:///a b?db=1' ]\n", first, "/a%20b", "url,database=1", "/a b:0 -:- db1");
}
END_TEST

START_TEST(a_master_of_a_set_that_no_configuration_names_is_reached_as_the_first_with_a_url)
{
	const char *first = "masters: [ 'redis://u:p@h:7000/3' ]\n";
	const char *known = "masters: [ sentinel: { name: m, sentinels: [ a ] } ]\n";
	const char *no = "is not named in `masters:` of this host: add it there, and RELOAD";

	reached(first, first, "x:1", "url,database=3", "x:1 u:p db3");
	reached(known, first, "x:1", "url", "x:1 u:p db0");
	reached(known, known, "[fd00::1]:2", "url", "fd00::1:2 -:- db0");
	reached(first, first, "/run/a%25b", "url,database=12", "/run/a%b:0 u:p db12");
	/* Only a configuration knows the sentinels. */
	reached(first, first, "m", "sentinel", no);
	reached(known, known, "m", "sentinel,replicas-ack=no", no);
	reached(first, first, "h:7000", "embedded", no);
	reached(first, first, "nowhere", "url", no);
	reached(first, first, "x:1", "url,database=3x", no);
	reached(first, first, "x:1", "url,database=-3", no);
}
END_TEST

START_TEST(the_embedded_master_counts_as_one)
{
	struct conf *conf = load("");
	ck_assert_uint_eq(settings_masters(conf), 1);
	conf_free(conf);
}
END_TEST

START_TEST(keys_and_the_names_that_have_them_stay_as_they_were)
{
	struct conf *boot = load("rules: [ { match: a, key: 'k:%' }, { match: b } ]\n");
	struct conf *conf = load("lease: 5s\nrules: [ { match: a, key: 'y:%', lease: 2s, crash-delay: 3s }, "
				 "{ match: z } ]\n");
	struct rule *rules = settings_rules(conf, boot);

	ck_assert_str_eq(rules[0].match, "a");
	ck_assert_str_eq(rules[0].key, "k:%");
	ck_assert_int_eq(rules[0].lease_ms, 2000);
	ck_assert_int_eq(rules[0].crash_delay_ms, 3000);
	ck_assert_int_eq(rules[1].crash_delay_ms, 0);
	ck_assert_str_eq(rules[1].match, "z");
	ck_assert_ptr_null(rules[1].key);
	ck_assert_str_eq(rules[2].match, "*");
	ck_assert_int_eq(rules[2].lease_ms, 5000);
	free(rules);
	conf_free(boot);
	conf_free(conf);
}
END_TEST

/* Values that a room takes as they are, of each scope and of each C type; and those that follow from several.
 */
START_TEST(the_table_says_where_a_value_goes)
{
	struct conf *conf =
		load("masters-follow: no\nretain: 7s\nhandoff: { streak: 9, time: 8s }\n"
		     "limits: { clients: 77, login-time: 3s, grace-sessions: 400, sessions-per-user: 350, "
		     "bound-sessions: 1000, name-bytes: 99, request-bytes: 5k, memory: 64m }\n");
	struct driver_settings to = {.core.follow = true, .core.margin_ms = 1234};

	settings_pass(conf, 800, &to);
	ck_assert(!to.core.follow);
	ck_assert_int_eq(to.core.retain_ms, 7000);
	ck_assert_int_eq(to.core.streak, 9);
	ck_assert_int_eq(to.core.streak_ms, 8000);
	ck_assert_uint_eq(to.core.name_bytes, 99);
	ck_assert_int_eq(to.core.margin_ms, 1234);
	ck_assert_uint_eq(to.limits.admission.clients, 77);
	ck_assert_int_eq(to.limits.admission.login_ms, 3000);
	ck_assert_uint_eq(to.limits.connections.request.bytes, 5 * 1024);
	ck_assert_uint_eq(to.limits.memory, 64 << 20);
	ck_assert_int_eq(to.limits.grace.sessions, 400);
	ck_assert_int_eq(to.limits.grace.per_user, 300);
	ck_assert_uint_eq(to.limits.processes.most, 200);
	ck_assert_uint_eq(to.limits.processes.per_user, 150);
	conf_free(conf);
}
END_TEST

int
main(void)
{
	unsetenv("HOLDFAST_MASTER_PASSWORD");
	return SUITE_RUN("main_settings", NULL, NULL, daemons_agree_on_the_guard_and_the_keys,
		the_way_to_a_master_tells_what_changes_its_meaning, each_master_has_its_place,
		a_master_behind_sentinel_has_those_who_know_it, a_cluster_has_the_login_of_the_master,
		a_new_master_is_found_as_the_configuration_names_it,
		a_new_master_that_no_configuration_names_is_found_as_the_first_with_a_url,
		a_master_of_a_set_is_reached_as_the_configuration_says,
		a_master_of_a_set_that_no_configuration_names_is_reached_as_the_first_with_a_url,
		a_new_master_that_is_no_place_is_refused, the_embedded_master_counts_as_one,
		keys_and_the_names_that_have_them_stay_as_they_were, the_table_says_where_a_value_goes);
}
