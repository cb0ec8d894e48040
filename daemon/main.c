/*
 * main: reads the command line and the configuration, hands each room its settings, and runs the driver.
 *
 * The only room besides main_settings that reads conf/. It decides nothing about locks.
 */
#include "conf/conf.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/random.h"
#include "daemon/base/stats.h"
#include "daemon/core/timers.h"
#include "daemon/driver.h"
#include "daemon/main_settings.h"
#include "daemon/redis/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

/* Limits the lines below error; a busy daemon at level debug may write many. */
#define MAIN_LOG_PER_SECOND 20000
/* Descriptors that the daemon needs besides one for each client and each bound session. */
#define MAIN_DESCRIPTORS    (128 + CONNECTION_KEPT_FDS + ADMISSION_ADMIN_ROOM)

struct main {
	struct options options;
	struct conf *boot; /* as at the start; it keeps the values that need a restart */
	struct conf *conf; /* the latest; may be the same as boot */
	struct rule *rules;
	struct log log;
	int log_fd;
	int64_t descriptors; /* as many as the system allows */
	struct stats stats;
	struct notify notify;
	struct random random;
	char daemon_id[33];
	char where[CORE_MASTERS_MAX][SETTINGS_WHERE_MAX];
	struct main_sentinel sentinels[CORE_MASTERS_MAX];
	const char *addresses[CORE_MASTERS_MAX]; /* of where, as the core takes them */
	struct main_reach reach;
	struct pool_settings pool; /* the settings that all masters share */
	char ways[CORE_MASTERS_MAX][MASTERSET_WAY_MAX];
	const char *way_texts[CORE_MASTERS_MAX]; /* of ways, as the core takes them */
	char *layout;
	char about[HOST_NAME_MAX + 32]; /* host and version of this daemon, for people */
	struct driver *driver;
	struct embedded *embedded;
	struct reaper *reaper; /* NULL: this is not process 1 */
	bool started;
};

/* The answer of a reload: "reloaded: a, b; needs a restart: c". */
struct change_list {
	struct log *log;
	bool masters_change; /* the set can change without a restart, so other masters need none */
	bool masters;        /* the masters differ */
	char applied[CONTEXT_TEXT_MAX / 2];
	char restart[CONTEXT_TEXT_MAX / 2];
};

#define MASTERS_TEXT "; masters are found by the new list from now on, MASTERS changes the set that they are"

/* ---- configuration ---- */

static void
errors_print(const struct conf_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++) {
		fprintf(stderr, "holdfastd: %s\n", errors->text[i]);
	}
	if (errors->dropped > 0) {
		fprintf(stderr, "holdfastd: and %zu more\n", errors->dropped);
	}
}

static struct conf *
config_load(const struct options *options, struct conf_errors *errors)
{
	const char *file = options->config ? options->config : CONF_FILE_DEFAULT;
	return conf_load(file, options->config, errors);
}

/* ---- log ---- */

static enum log_level
log_level_of(const struct main *m, const struct conf *conf)
{
	static const enum log_level levels[] = {
		[CONF_LEVEL_DEBUG] = LOG_DEBUG_LEVEL,
		[CONF_LEVEL_INFO] = LOG_INFO_LEVEL,
		[CONF_LEVEL_WARNING] = LOG_WARNING_LEVEL,
		[CONF_LEVEL_ERROR] = LOG_ERROR_LEVEL,
	};
	enum log_level level = levels[conf->log.level];
	if (m->options.log_level && !log_level_parse(m->options.log_level, &level)) {
		level = levels[conf->log.level]; /* cannot fail: main() has checked it */
	}
	return level;
}

/* Opens the log, again at each reload, so that files can be rotated. If the disk has no room for the file,
 * locks are served all the same. */
static int
log_set(struct main *m, const struct conf *conf, char *error)
{
	int fd = STDERR_FILENO;
	int full = 0;
	if (strcmp(conf->log.to, "stderr") != 0) {
		fd = open(conf->log.to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
		full = fd < 0 && (errno == ENOSPC || errno == EDQUOT) ? errno : 0;
	}
	if (fd < 0 && !full) {
		snprintf(error, SETTINGS_ERROR_MAX, "cannot open the log %s: %s", conf->log.to,
			strerror(errno));
		return -1;
	}
	int before = m->log_fd;
	uint64_t untold = m->log.dropped_untold;
	m->log_fd = full ? STDERR_FILENO : fd;
	log_init(&m->log, m->log_fd, log_level_of(m, conf), MAIN_LOG_PER_SECOND);
	m->log.dropped_untold = untold;
	if (before > STDERR_FILENO) {
		close(before);
	}
	if (full) {
		LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "log.no_room", log_text("file", conf->log.to),
			log_text("why", strerror(full)),
			log_text("text", "the log goes to standard error until the next reload"));
	}
	return 0;
}

/* ---- reload ---- */

static void
list_add(char *list, const char *path)
{
	size_t n = strlen(list);
	size_t room = CONTEXT_TEXT_MAX / 2;
	if (n + strlen(path) + sizeof ", , ..." <= room) {
		snprintf(list + n, room - n, "%s%s", n > 0 ? ", " : "", path);
	} else if (list[n - 1] != '.') {
		snprintf(list + n, room - n, ", ...");
	}
}

static void
change_note(void *arg, const struct conf_change *change)
{
	struct change_list *list = arg;
	/* Passwords take effect at once. */
	bool masters = list->masters_change && change->restart && strncmp(change->path, "masters", 7) == 0 &&
		       change->path[7] != '-';
	bool restart = change->restart && !masters;
	list->masters |= masters;
	if (!masters) {
		list_add(restart ? list->restart : list->applied, change->path);
	}
	LOG_EVENT(list->log, LOG_INFO_LEVEL, restart ? "config.needs_restart" : "config.changed",
		log_text("key", change->path), log_text("from", change->from), log_text("to", change->to));
}

static void
conf_replace(struct main *m, struct conf *conf, struct rule *rules)
{
	free(m->rules);
	m->rules = rules;
	if (m->conf != m->boot) {
		conf_free(m->conf);
	}
	m->conf = conf;
}

/* Everything that can fail comes first, and after each step the daemon is consistent. Changes are reported
 * once they have taken effect. */
static int
conf_apply(struct main *m, struct conf *conf, struct change_list *list, char *error)
{
	struct rule *rules = settings_rules(conf, m->boot);
	if (!rules || log_set(m, conf, error) != 0 || settings_listen(m->driver, conf, error) != 0 ||
		settings_users(m->driver, conf) != 0 || !driver_set_rules(m->driver, rules, SETTINGS_RULES)) {
		free(rules);
		return -1;
	}
	struct driver_limits limits = settings_limits(conf, m->descriptors);
	driver_set_limits(m->driver, &limits);
	if (conf_diff(m->boot, m->conf, conf, change_note, list) < 0) {
		list_add(list->applied, "no memory to say what");
	}
	conf_replace(m, conf, rules);
	return 0;
}

/* For a file that was refused: logs each error, and answers with the first error and their number. */
static void
errors_log(struct log *log, const struct conf_errors *errors, char *text, size_t room)
{
	size_t others = errors->count + errors->dropped - (errors->count > 0);
	for (size_t i = 0; i < errors->count; i++) {
		LOG_EVENT(log, LOG_ERROR_LEVEL, "config.wrong", log_text("text", errors->text[i]));
	}
	int n = snprintf(text, room, "%s", errors->count > 0 ? errors->text[0] : "out of memory");
	if (others > 0 && n > 0 && (size_t)n < room) {
		snprintf(text + n, room - (size_t)n, "; and %zu more%s", others,
			errors->dropped > 0 ? ", the first of them in the log" : " in the log");
	}
}

static int
main_find_master(void *arg, struct slice name, struct master_place *out, char *why, size_t room)
{
	const struct main *m = arg;
	return settings_find_master(m->conf, m->boot, name, out, why, room);
}

static bool
main_reach_master(void *arg, struct slice place, struct slice way, struct pool_settings *settings, char *why,
	size_t room)
{
	struct main *m = arg;
	struct master_place at;
	snprintf(at.place, sizeof at.place, "%.*s", (int)place.n, place.p);
	snprintf(at.way, sizeof at.way, "%.*s", (int)way.n, way.p);
	*settings = m->pool;
	return settings_reach(m->conf, m->boot, &at, settings, &m->reach, why, room);
}

static int
main_reload(void *arg, char *text, size_t room)
{
	struct main *m = arg;
	struct conf_errors errors = {0};
	struct change_list list = {.log = &m->log, .masters_change = !m->embedded};
	char error[SETTINGS_ERROR_MAX] = "out of memory";
	/* Also if the configuration is refused: the file of the log may have been rotated away. */
	(void)log_set(m, m->conf, error);
	struct conf *conf = config_load(&m->options, &errors);
	if (!conf) {
		errors_log(&m->log, &errors, text, room);
		return -1;
	}
	if (conf_apply(m, conf, &list, error) != 0) {
		snprintf(text, room, "%s", error);
		conf_free(conf);
		return -1;
	}
	snprintf(text, room, "%s%s%s%s%s%s", "reloaded", list.applied[0] ? ": " : "", list.applied,
		list.restart[0] ? "; needs a restart: " : "", list.restart, list.masters ? MASTERS_TEXT : "");
	return 0;
}

/* ---- start ---- */

/* One pool for each master, the embedded one included. */
static void
pools_make(struct main *m, struct pool_settings *pools)
{
	const struct conf *conf = m->boot;
	pools[0] = m->pool;
	for (size_t i = 0; i < conf->master_count; i++) {
		pools[i] = m->pool;
		settings_place(&conf->masters[i], &pools[i], &m->sentinels[i], m->where[i]);
		settings_way(&conf->masters[i], m->ways[i]);
	}
	if (conf->master_count == 0) {
		pools->path = embedded_path(m->embedded);
		pools->trusted = embedded_trusted(m->embedded);
		pools->title = "embedded";
		snprintf(m->where[0], sizeof m->where[0], "%s %s", pools->title, pools->path);
		snprintf(m->ways[0], sizeof m->ways[0], "embedded");
	}
}

static struct core_settings
core_settings_of(struct main *m)
{
	for (unsigned i = 0; i < CORE_MASTERS_MAX; i++) {
		m->addresses[i] = m->where[i];
		m->way_texts[i] = m->ways[i];
	}
	const struct conf *conf = m->boot;
	return (struct core_settings){
		.rules = m->rules,
		.rule_count = SETTINGS_RULES,
		.namespace_ = conf->namespace,
		.lease_max_ms = conf_longest_lease_ms(conf),
		.relied_until_ms = m->embedded ? embedded_doubted_until(m->embedded) : 0,
		.margin_ms = conf->margin_ms,
		.masters = settings_masters(conf),
		.where = m->addresses,
		.ways = m->way_texts,
		.follow = conf->masters_follow,
		.links = (unsigned)conf->pool,
		.streak = conf->handoff.streak,
		.retain_ms = conf->retain_ms,
		.streak_ms = conf->handoff.time_ms,
		.grants_per_session = conf->limits.grants_per_session,
		.waiters_per_session = conf->limits.waiters_per_session,
		.lost_per_session = conf->limits.lost_per_session,
		.name_bytes = (size_t)conf->limits.name_bytes,
	};
}

static void
main_relied_on(void *arg, int64_t until_ms)
{
	struct main *m = arg;
	embedded_relied_on(m->embedded, until_ms);
}

static int
driver_begin(struct main *m)
{
	const struct conf *conf = m->boot;
	struct driver_settings settings = {
		.core = core_settings_of(m),
		.limits = settings_limits(conf, m->descriptors),
		.facts =
			{
				.version = HOLDFAST_VERSION,
				.daemon_id = m->daemon_id,
				.config = conf->files,
				.namespace = conf->namespace,
				.started_ms = clock_ms(),
				.margin_ms = conf->margin_ms,
			},
		/* A successor that sees this daemon guards its own master until the leases have ended. */
		.lingers = m->embedded != NULL,
		.find_master = main_find_master,
		.reach_master = main_reach_master,
		.reload = main_reload,
		.relied_on = m->embedded ? main_relied_on : NULL,
		.arg = m,
	};
	struct pool_settings *pool = &m->pool;
	*pool = (struct pool_settings)POOL_SETTINGS_DEFAULT;
	pool->links = settings.core.links;
	pool->namespace = conf->namespace;
	pool->daemon_id = m->daemon_id;
	pool->layout = m->layout;
	pool->about = m->about;
	pool->lease_max_ms = settings.core.lease_max_ms;
	pool->margin_ms = conf->margin_ms;
	pool->unguarded = conf->restart_guard == CONF_GUARD_OFF;
	pools_make(m, settings.pools);
	if (driver_start(m->driver, &settings) != 0 || settings_users(m->driver, conf) != 0) {
		LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "daemon.failed", log_text("why", "out of memory"));
		return EX_SOFTWARE;
	}
	m->started = true;
	return EX_OK;
}

static int
fail(struct main *m, int status, const char *why)
{
	LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "daemon.failed", log_text("why", why));
	return status;
}

static int
sockets_begin(struct main *m)
{
	struct notify_fd fds[NOTIFY_FDS_MAX];
	char error[SETTINGS_ERROR_MAX];
	size_t n = notify_take_fds(fds, NOTIFY_FDS_MAX);
	int failed = 0;
	for (size_t i = 0; i < n && !failed; i++) {
		failed = driver_adopt(m->driver, fds[i].fd, error, sizeof error);
	}
	if (!failed) {
		failed = settings_listen(m->driver, m->boot, error);
	}
	if (!failed) {
		return EX_OK;
	}
	return fail(m,
		failed == SOCKET_BUSY     ? EX_UNAVAILABLE
		: failed == SOCKET_DENIED ? EX_CONFIG
					  : EX_SOFTWARE,
		error);
}

/* Not shorter than the guard of the core. */
static int64_t
main_guard_ms(const struct conf *conf)
{
	int64_t lease_ms = conf_longest_lease_ms(conf);
	return lease_ms + drift_ms(lease_ms) + conf->margin_ms;
}

static int
embedded_begin(struct main *m)
{
	char why[EMBEDDED_WHY_MAX];
	const struct embedded_settings settings = {
		.directory = m->boot->embedded.directory,
		.program = m->boot->embedded.redis_server[0] ? m->boot->embedded.redis_server : NULL,
		.doubt = driver_known_before(m->driver),
		.guard_ms = main_guard_ms(m->boot),
	};
	if (m->boot->master_count > 0) {
		return EX_OK;
	}
	m->embedded = embedded_new(driver_base(m->driver), &settings, &m->log, &m->stats, why);
	return m->embedded ? EX_OK : fail(m, EX_UNAVAILABLE, why);
}

/* Clients and bound sessions are descriptors: raises the limit as far as the system allows, and logs if it
 * stays too low. */
static void
descriptors_raise(struct main *m)
{
	struct rlimit limit;
	int64_t wanted = m->boot->limits.clients + m->boot->limits.bound_sessions + MAIN_DESCRIPTORS;
	m->descriptors = INT64_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
		return;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != RLIM_INFINITY) {
		m->descriptors = (int64_t)limit.rlim_cur;
	}
	if (m->descriptors < wanted) {
		LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "daemon.few_descriptors",
			log_number("limit", m->descriptors), log_number("wanted", wanted),
			log_text("text",
				"raise LimitNOFILE= or lower limits.clients and limits.bound-sessions"));
	}
}

/*
 * A core dump would contain the passwords. With a limit of 1 byte the kernel writes none and starts no
 * program that takes one. PR_SET_DUMPABLE is not used: it would hide /proc/self/fdinfo, which identifies the
 * processes of bound sessions, and keep debuggers from a daemon that an ordinary user runs.
 */
static void
cores_forbid(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max < 1 ? 0 : 1;
		setrlimit(RLIMIT_CORE, &limit);
	}
}

/* Writes the name of the host and the version. */
static void
about_make(struct main *m)
{
	char host[HOST_NAME_MAX + 1] = "";
	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') {
		snprintf(host, sizeof(host), "?");
	}
	snprintf(m->about, sizeof(m->about), "%s %s", host, HOLDFAST_VERSION);
}

static int
main_begin(struct main *m)
{
	char error[SETTINGS_ERROR_MAX];
	m->log_fd = -1;
	if (log_set(m, m->boot, error) != 0) {
		fprintf(stderr, "holdfastd: %s\n", error);
		return EX_CONFIG;
	}
	descriptors_raise(m);
	stats_init(&m->stats);
	random_init(&m->random);
	random_hex32(&m->random, m->daemon_id);
	if (notify_init(&m->notify) != 0) {
		LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "notify.failed", log_text("why", strerror(errno)));
	}
	m->rules = settings_rules(m->boot, m->boot);
	m->layout = settings_layout(m->boot);
	about_make(m);
	m->driver = driver_new(&m->log, &m->stats, &m->notify);
	if (!m->rules || !m->layout || !m->driver) {
		return fail(m, EX_SOFTWARE, "out of memory or descriptors");
	}
	int failed = sockets_begin(m);
	if (!failed) {
		failed = embedded_begin(m);
	}
	if (!failed && getpid() == 1) {
		m->reaper = reaper_new(driver_base(m->driver), m->embedded, &m->log);
		failed = m->reaper ? EX_OK : fail(m, EX_SOFTWARE, "out of memory");
	}
	return failed ? failed : driver_begin(m);
}

static void
main_end(struct main *m)
{
	bool clean = m->started ? driver_is_clean(m->driver) : m->embedded && embedded_trusted(m->embedded);
	int64_t until_ms = m->started ? driver_relied_until(m->driver) : INT64_MAX;
	reaper_free(m->reaper);
	driver_free(m->driver);
	embedded_free(m->embedded, clean, until_ms);
	notify_done(&m->notify);
	free(m->rules);
	free(m->layout);
	if (m->conf != m->boot) {
		conf_free(m->conf);
	}
	conf_free(m->boot);
	if (m->log_fd > STDERR_FILENO) {
		close(m->log_fd);
	}
}

static void
where_list(const struct main *m, char *text, size_t room)
{
	size_t n = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < settings_masters(m->boot) && n < room; i++) {
		n += (size_t)snprintf(text + n, room - n, "%s%s", i > 0 ? ", " : "", m->where[i]);
	}
}

static int
main_serve(struct main *m)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a log file at its size limit must not end the daemon */
	cores_forbid();
	int failed = main_begin(m);
	if (!failed) {
		char masters[CORE_MASTERS_MAX * (SETTINGS_WHERE_MAX + 2)];
		where_list(m, masters, sizeof masters);
		LOG_EVENT(&m->log, LOG_INFO_LEVEL, "daemon.started", log_text("version", HOLDFAST_VERSION),
			log_text("id", m->daemon_id), log_text("masters", masters),
			log_text("config", m->boot->files));
		failed = driver_run(m->driver) != 0 ? EX_UNAVAILABLE : EX_OK;
		LOG_EVENT(&m->log, LOG_INFO_LEVEL, "daemon.stopped", log_text("id", m->daemon_id));
	}
	main_end(m);
	return failed;
}

int
main(int argc, char **argv)
{
	struct main m = {.notify.fd = -1};
	struct conf_errors errors = {0};
	enum log_level level;
	if (options_parse(&m.options, argc, argv) != 0) {
		return EX_USAGE;
	}
	if (m.options.help || m.options.version) {
		puts("holdfastd " HOLDFAST_VERSION);
		if (m.options.help) {
			options_help(stdout);
		}
		return EX_OK;
	}
	if (m.options.log_level && !log_level_parse(m.options.log_level, &level)) {
		fprintf(stderr, "holdfastd: --log-level %s: is error, warning, info or debug\n",
			m.options.log_level);
		return EX_USAGE;
	}
	m.boot = m.conf = config_load(&m.options, &errors);
	if (!m.boot) {
		errors_print(&errors);
		return EX_CONFIG;
	}
	if (!m.options.test && !m.options.print_config) {
		return main_serve(&m);
	}
	int failed = m.options.print_config && conf_print(m.boot, stdout) != 0;
	if (m.options.test && !failed) {
		fprintf(stderr, "holdfastd: the configuration is fine: %s\n",
			m.boot->files[0] ? m.boot->files : "(defaults)");
	}
	conf_free(m.boot);
	return failed ? EX_SOFTWARE : EX_OK;
}
