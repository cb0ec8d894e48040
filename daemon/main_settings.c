/*
 * main_settings: see main_settings.h.
 */
#include "daemon/main_settings.h"

#include "conf/loader.h"
#include "conf/tls.h"
#include "conf/url.h"
#include "conf/value.h"
#include "daemon/core/masterset/members.h"
#include "daemon/driver_context.h"
#include "daemon/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The rule with exactly this match; NULL: none. */
static const struct conf_rule *
rule_find(const struct conf *conf, size_t count, const char *match)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(conf->rules[i].match, match) == 0) {
			return &conf->rules[i];
		}
	}
	return NULL;
}

static enum interop
interop_of(const struct conf_rule *rule)
{
	switch (rule->interop) {
	case CONF_INTEROP_STRING:
		return INTEROP_STRING;
	case CONF_INTEROP_REDISSON:
		return INTEROP_REDISSON;
	case CONF_INTEROP_PYTHON_REDIS_LOCK:
		return INTEROP_PYTHON_REDIS_LOCK;
	default:
		return INTEROP_NONE;
	}
}

/* One value, in the type that the room has for it. */
#define PASS(from, to) (to) = (__typeof__(to))(from)

/* The keys of rules that schema.def sends to struct rule. */
static void
rule_pass(const struct conf_rule *conf, struct rule *rule)
{
#define KEY_TO(scope, name, type, field, low, high, fallback, change, to, help) PASS_##scope(field, to)
#define PASS_RULE(field, to)                                                    PASS(conf->field, rule->to);
#define PASS_ROOT(field, to)
#define PASS_HANDOFF(field, to)
#define PASS_LIMITS(field, to)
#include "conf/schema.def"
#undef PASS_RULE
#undef PASS_ROOT
#undef PASS_HANDOFF
#undef PASS_LIMITS
}

/* from NULL: the values for names without a rule. */
static struct rule
rule_make(const struct conf *conf, const struct conf_rule *from, const char *match)
{
	struct rule rule = {.match = match, .lease_ms = conf->lease_ms, .wait_ms = CONF_WAIT_FOREVER};
	if (from) {
		rule_pass(from, &rule);
	}
	return rule;
}

/*
 * First come the rules of boot that decide which key a name has, with the other values as configured now.
 * Then the other rules. The rest of the list is for all other names.
 */
struct rule *
settings_rules(const struct conf *conf, const struct conf *boot)
{
	size_t layout = conf_layout_rules(boot);
	size_t n = 0;
	struct rule *rules = calloc(SETTINGS_RULES, sizeof *rules);
	if (!rules) {
		return NULL;
	}
	for (; n < layout; n++) {
		const struct conf_rule *at = &boot->rules[n];
		const char *key = conf_rule_key(at);
		rules[n] = rule_make(conf, rule_find(conf, conf->rule_count, at->match), at->match);
		rules[n].interop = interop_of(at);
		/* Redisson's scripts take the bare name. */
		rules[n].key = key[0] != '\0' && rules[n].interop != INTEROP_REDISSON ? key : NULL;
	}
	for (size_t i = 0; i < conf->rule_count; i++) {
		const struct conf_rule *from = &conf->rules[i];
		if (!rule_find(boot, layout, from->match)) {
			rules[n++] = rule_make(conf, from, from->match);
		}
	}
	while (n < SETTINGS_RULES) {
		rules[n++] = rule_make(conf, NULL, "*");
	}
	return rules;
}

/* Escapes the characters that separate the parts of a layout, so that two layouts never have the same
 * text. */
static void
put_plain(const char *before, const char *text, FILE *to)
{
	fputs(before, to);
	for (; *text != '\0'; text++) {
		if (strchr(";=,\\", *text)) {
			putc('\\', to);
		}
		putc(*text, to);
	}
}

/* First whether a master that forgot is guarded, since one daemon without a guard would admit it for all;
 * then which names have keys of another layout. */
char *
settings_layout(const struct conf *conf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to) {
		return NULL;
	}
	fputs("default", to);
	if (conf->restart_guard == CONF_GUARD_OFF) {
		fputs(";restart-guard=off", to);
	}
	for (size_t i = 0; i < conf_layout_rules(conf); i++) {
		put_plain(";", conf->rules[i].match, to);
		put_plain("=", conf->rules[i].key, to);
		if (conf->rules[i].interop != CONF_INTEROP_OFF) {
			fprintf(to, ",interop=%d", conf->rules[i].interop);
		}
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* One user gets at most three quarters, so that others find something left. */
static int64_t
user_share(int64_t all, int64_t per_user)
{
	int64_t share = all - all / 4;
	return share < per_user ? share : per_user;
}

/* Descriptors that the daemon needs besides one for each client and each bound session. */
#define DESCRIPTORS_SPARE                                                                                    \
	(128 + CONNECTION_HELD_FDS + ADMISSION_ADMIN_ROOM + HTTP_CLIENTS_MAX + HTTP_HEALTH_CLIENTS)

static int64_t
descriptors_wanted(const struct conf *conf)
{
	return conf->limits.clients + conf->limits.bound_sessions + DESCRIPTORS_SPARE;
}

void
settings_pass(const struct conf *conf, int64_t descriptors, struct driver_settings *settings)
{
#define KEY_TO(scope, name, type, field, low, high, fallback, change, to, help) PASS_##scope(field, to)
#define PASS_RULE(field, to)
#define PASS_ROOT(field, to)    PASS(conf->field, settings->to);
#define PASS_HANDOFF(field, to) PASS(conf->handoff.field, settings->to);
#define PASS_LIMITS(field, to)  PASS(conf->limits.field, settings->to);
#include "conf/schema.def"
	struct driver_limits *limits = &settings->limits;
	const int64_t quarter = descriptors / 4;
	int64_t bound = conf->limits.bound_sessions < quarter ? conf->limits.bound_sessions : quarter;
	limits->descriptors = (size_t)descriptors_wanted(conf);
	limits->processes.most = (size_t)bound;
	const int64_t own = conf->limits.sessions_per_user;
	const int64_t per_user = own > 0 ? own : INT64_MAX;
	limits->admission.per_user = (size_t)(own > 0 ? own : user_share(conf->limits.clients, per_user));
	limits->processes.per_user = (size_t)user_share(bound, per_user);
	limits->grace.per_user = user_share(conf->limits.grace_sessions, per_user);
}

unsigned
settings_masters(const struct conf *conf)
{
	return conf->master_count > 0 ? (unsigned)conf->master_count : 1;
}

static const char *
text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

struct tls_settings
settings_tls(const struct conf_tls *from, bool on)
{
	return (struct tls_settings){
		.on = on,
		.certificate = from->certificate,
		.key = from->key,
		.ca = from->ca,
		.name = from->name,
	};
}

static bool
is_cluster(const struct conf_master *master)
{
	return master->cluster.nodes.count > 0;
}

/* Sentinels have a login and TLS of their own; the nodes of a cluster have those of the master. */
static void
settings_finder(const struct conf_master *master, struct pool_settings *pool, struct main_finder *out,
	char where[SETTINGS_WHERE_MAX])
{
	const struct conf_sentinel *sentinel = &master->sentinel;
	const bool cluster = is_cluster(master);
	const struct conf_addresses *addresses = cluster ? &master->cluster.nodes : &sentinel->sentinels;
	const struct conf_tls *tls = cluster ? &master->tls : &sentinel->tls;
	for (size_t i = 0; i < addresses->count; i++) {
		out->addresses[i] = (struct finder_address){
			.host = addresses->list[i].host,
			.port = (uint16_t)addresses->list[i].port,
		};
	}
	out->settings = (struct finder_settings){
		.kind = cluster ? FINDER_CLUSTER : FINDER_SENTINEL,
		.name = cluster ? master->cluster.name : sentinel->name,
		.addresses = out->addresses,
		.count = addresses->count,
		.user = text_or_null(cluster ? master->user : sentinel->user),
		.password = text_or_null(cluster ? master->password : sentinel->password),
		.tls = settings_tls(tls, conf_tls_on(tls)),
	};
	pool->finder = &out->settings;
	pool->replicas_ack = cluster ? master->cluster.replicas_ack : sentinel->replicas_ack;
	pool->tls = settings_tls(&master->tls, conf_tls_on(&master->tls));
	pool->user = text_or_null(master->user);
	pool->password = text_or_null(master->password);
	pool->db = cluster ? 0 : (int)master->database;
	snprintf(where, SETTINGS_WHERE_MAX, "%s", out->settings.name);
}

void
settings_address(const struct conf_master *master, struct pool_settings *pool, struct main_finder *finder,
	char where[SETTINGS_WHERE_MAX])
{
	if (master->url.kind == CONF_URL_NONE) {
		settings_finder(master, pool, finder, where);
		return;
	}
	if (master->url.kind == CONF_URL_UNIX) {
		pool->path = master->url.path;
		snprintf(where, SETTINGS_WHERE_MAX, "%s", pool->path);
	} else {
		pool->host = master->url.address.host;
		pool->port = (uint16_t)master->url.address.port;
		pool->tls = settings_tls(&master->tls, master->url.tls);
		address_format(where, &master->url.address);
	}
	pool->user = text_or_null(master->url.user);
	pool->password = text_or_null(master->password);
	pool->db = master->url.database;
}

/* Another database is another memory. The name by which sentinels know a master is not a part of the way:
 * with replicas-ack it does not matter which sentinels a daemon follows. The keys in a cluster have another
 * namespace, so a node of it by its URL is another master. */
void
settings_way(const struct conf_master *master, char way[MASTERSET_WAY_MAX])
{
	bool found = master->url.kind == CONF_URL_NONE, cluster = is_cluster(master);
	bool acked = cluster ? master->cluster.replicas_ack : master->sentinel.replicas_ack;
	long long database = cluster ? 0 : found ? (long long)master->database : master->url.database;
	char number[32] = "";
	if (database != 0) {
		snprintf(number, sizeof number, ",database=%lld", database);
	}
	snprintf(way, MASTERSET_WAY_MAX, "%s%s%s",
		cluster ? "cluster"
		: found ? "sentinel"
			: "url",
		number, found && !acked ? ",replicas-ack=no" : "");
}

/* Whether this name names the master; if so, *out is its address. */
static bool
master_named(const struct conf_master *master, struct slice name, struct master_address *out)
{
	struct pool_settings pool = {0};
	struct main_finder finder;
	char where[SETTINGS_WHERE_MAX];
	settings_address(master, &pool, &finder, where);
	members_place(out->address, where);
	settings_way(master, out->way);
	return slice_equal(slice_of(where), name) || slice_equal(slice_of(out->address), name);
}

bool
settings_only_master(const struct conf *conf, struct master_address *out)
{
	*out = (struct master_address){0};
	return conf->master_count == 1 && (master_named(&conf->masters[0], SLICE(""), out), true);
}

static bool
conf_names(const struct conf *conf, struct slice name, struct master_address *out)
{
	for (size_t i = 0; i < conf->master_count; i++) {
		if (master_named(&conf->masters[i], name, out)) {
			return true;
		}
	}
	return false;
}

/* Copies the address of a server that no configuration has: host:port or an absolute path, nothing else. */
static bool
address_written(struct slice name, char where[SETTINGS_WHERE_MAX])
{
	char text[SETTINGS_WHERE_MAX];
	struct conf_address address;
	if (name.n == 0 || name.n >= sizeof text || memchr(name.p, '\0', name.n)) {
		return false;
	}
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	if (text[0] == '/') {
		memcpy(where, text, sizeof text);
		return true;
	}
	if (!server_parse(text, 0, &address) || address.port == 0) {
		return false;
	}
	address_format(where, &address);
	return true;
}

/* NULL: no master has a URL. */
static const struct conf_master *
first_with_url(const struct conf *conf)
{
	for (size_t i = 0; i < conf->master_count; i++) {
		if (conf->masters[i].url.kind != CONF_URL_NONE) {
			return &conf->masters[i];
		}
	}
	return NULL;
}

/* The way to the first master with a URL: other servers use the same database. */
static void
url_way(const struct conf *conf, char way[MASTERSET_WAY_MAX])
{
	const struct conf_master *first = first_with_url(conf);
	if (first) {
		settings_way(first, way);
	} else {
		snprintf(way, MASTERSET_WAY_MAX, "url");
	}
}

int
settings_find_master(const struct conf *conf, const struct conf *boot, struct slice name,
	struct master_address *out, char *why, size_t room)
{
	char where[SETTINGS_WHERE_MAX];
	if (conf_names(conf, name, out) || conf_names(boot, name, out)) {
		return 0;
	}
	if (!address_written(name, where)) {
		snprintf(why, room,
			"%.*s: host:port, the absolute path of a socket, or the name of a Sentinel master or "
			"cluster in `masters:` of this host is allowed; RELOAD takes up a changed file",
			(int)(name.n < 80 ? name.n : 80), name.p);
		return -1;
	}
	members_place(out->address, where);
	url_way(conf, out->way);
	return 0;
}

static const struct conf_master *
conf_master_at(const struct conf *conf, const struct master_address *at)
{
	struct master_address found;
	for (size_t i = 0; i < conf->master_count; i++) {
		if (master_named(&conf->masters[i], slice_of(at->address), &found) &&
			strcmp(found.way, at->way) == 0) {
			return &conf->masters[i];
		}
	}
	return NULL;
}

/* Decodes the address of a member of a set: the inverse of members_place(). */
static void
address_decode(const char *address, char text[MASTERSET_PLACE_MAX])
{
	size_t n = 0;
	for (const char *p = address; *p != '\0'; p++) {
		unsigned code = 0;
		if (*p == '%' && sscanf(p + 1, "%2x", &code) == 1) {
			text[n++] = (char)code;
			p += 2;
		} else {
			text[n++] = *p;
		}
	}
	text[n] = '\0';
}

/* Reads "url" or "url,database=N". */
static bool
way_read(const char *way, int *database)
{
	char end = '\0';
	*database = 0;
	return strcmp(way, "url") == 0 ||
	       (sscanf(way, "url,database=%d%c", database, &end) == 1 && *database > 0);
}

static bool
reach_url(const struct master_address *at, const struct conf_master *like, struct pool_settings *pool,
	struct main_reach *reach)
{
	char text[MASTERSET_PLACE_MAX];
	if (!way_read(at->way, &pool->db)) {
		return false;
	}
	address_decode(at->address, text);
	if (!address_written(slice_of(text), reach->path)) {
		return false;
	}
	if (reach->path[0] == '/') {
		pool->path = reach->path;
	} else if (server_parse(reach->path, 0, &reach->address)) {
		pool->host = reach->address.host;
		pool->port = (uint16_t)reach->address.port;
	}
	if (like) {
		pool->tls = settings_tls(&like->tls, like->url.tls && pool->host);
		pool->user = text_or_null(like->url.user);
		pool->password = text_or_null(like->password);
	}
	return true;
}

bool
settings_reach(const struct conf *conf, const struct conf *boot, const struct master_address *at,
	struct pool_settings *pool, struct main_reach *reach, char *why, size_t room)
{
	const struct conf_master *master = conf_master_at(conf, at), *like = first_with_url(conf);
	char where[SETTINGS_WHERE_MAX];
	if (!master) {
		master = conf_master_at(boot, at);
	}
	if (master) {
		settings_address(master, pool, &reach->finder, where);
		return true;
	}
	if (reach_url(at, like ? like : first_with_url(boot), pool, reach)) {
		return true;
	}
	snprintf(why, room, "is not named in `masters:` of this host: add it there, and RELOAD");
	return false;
}

#define SAME(right)                                                                                          \
	_Static_assert((int)CONF_MAY_##right == (int)RIGHT_##right, "the bits of conf are those of access")
SAME(LOCK);
SAME(SHARED);
SAME(SEE);
SAME(BREAK);
SAME(ADMIN);
/* Two headers that may not include each other define the same numbers.
 * NOLINTNEXTLINE(misc-redundant-expression) */
_Static_assert(CONF_ID_NONE == ACCESS_NOBODY && CONF_ID_ANY == ACCESS_ANYONE, "likewise");

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
			.hashed = conf->users[i].hashed,
			.rights = conf->users[i].may,
			.uid = conf->users[i].uid,
			.gid = conf->users[i].gid,
			.names = (const char *const *)conf->users[i].names.list,
			.name_count = conf->users[i].names.count,
			.connections = (size_t)conf->users[i].connections,
			.sessions = conf->users[i].sessions,
			.locks = conf->users[i].locks,
		};
	}
	int failed = driver_set_users(driver, users, conf->user_count);
	free(users);
	return failed;
}

/* ---- limits of the process ---- */

int64_t
settings_descriptors(const struct conf *conf, struct log *log)
{
	struct rlimit limit;
	int64_t wanted = descriptors_wanted(conf);
	int64_t descriptors = INT64_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
		return descriptors;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != RLIM_INFINITY) {
		descriptors = (int64_t)limit.rlim_cur;
	}
	if (descriptors < wanted) {
		LOG_EVENT(log, LOG_WARNING_LEVEL, "daemon.few_descriptors", log_number("limit", descriptors),
			log_number("wanted", wanted),
			log_text("text",
				"raise LimitNOFILE= or lower limits.clients and limits.bound-sessions"));
	}
	return descriptors;
}

/*
 * A core dump would contain the passwords. With a limit of 1 byte the kernel writes none and starts no
 * program that takes one. PR_SET_DUMPABLE is not used: it would hide /proc/self/fdinfo, which identifies the
 * processes of bound sessions, and keep debuggers from a daemon that an ordinary user runs.
 */
void
settings_forbid_cores(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max < 1 ? 0 : 1;
		setrlimit(RLIMIT_CORE, &limit);
	}
}
