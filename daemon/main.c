/*
 * main: reads the command line and the configuration, hands each room its settings, and runs the driver.
 *
 * main_settings and main_reload are parts of it. No other room reads conf/. It decides nothing about locks.
 */
#include "daemon/main_inner.h"

#include "conf/loader.h"
#include "conf/printer.h"
#include "daemon/base/child.h"
#include "daemon/base/clock.h"
#include "daemon/base/tls_dates.h"
#include "daemon/core/base/timers.h"
#include "daemon/driver_context.h"
#include "daemon/driver_handover.h"
#include "daemon/driver_ledger.h"
#include "daemon/driver_stored.h"
#include "daemon/driver_trial.h"
#include "daemon/main_about.h"
#include "daemon/main_listen.h"
#include "daemon/main_options.h"
#include "daemon/main_password.h"
#include "daemon/main_reload.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* A process that was killed ends at once as a rule, and a child of it begins its program at once, which
 * closes what it had from its parent. On a loaded host, or from a slow disk, both take a while. */
#define PREDECESSOR_MS 3000

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

static int
main_find_master(void *arg, struct slice name, struct master_address *out, char *why, size_t room)
{
	const struct main *m = arg;
	return settings_find_master(m->conf, m->boot, name, out, why, room);
}

/* How the pool reaches the private master. */
static void
embedded_reach(const struct main *m, struct pool_settings *pool)
{
	*pool = m->pool;
	pool->path = embedded_path(m->embedded);
	pool->trusted = embedded_trusted(m->embedded);
	pool->title = "embedded";
}

static bool
main_reach_master(void *arg, struct slice address, struct slice way, struct pool_settings *settings,
	char *why, size_t room)
{
	struct main *m = arg;
	struct master_address at;
	if (m->embedded) {
		embedded_reach(m, settings);
		return true;
	}
	snprintf(at.address, sizeof at.address, "%.*s", (int)address.n, address.p);
	snprintf(at.way, sizeof at.way, "%.*s", (int)way.n, way.p);
	*settings = m->pool;
	return settings_reach(m->conf, m->boot, &at, settings, &m->reach, why, room);
}

/* ---- start ---- */

/* One pool for each master, the embedded one included. */
static void
pools_make(struct main *m, struct pool_settings *pools)
{
	const struct conf *conf = m->boot;
	for (size_t i = 0; i < conf->master_count; i++) {
		pools[i] = m->pool;
		settings_address(&conf->masters[i], &pools[i], &m->finders[i], m->where[i]);
		settings_way(&conf->masters[i], m->ways[i]);
	}
	if (conf->master_count == 0) {
		snprintf(m->ways[0], sizeof m->ways[0], "embedded");
	}
	if (conf->master_count == 0 && m->embedded) {
		embedded_reach(m, pools);
		snprintf(m->where[0], sizeof m->where[0], "%s %s", pools->title, pools->path);
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
		.daemon_id = m->daemon_id,
		.lease_max_ms = conf_longest_lease_ms(conf),
		.relied_until_ms = m->embedded ? embedded_doubted_until(m->embedded) : 0,
		.margin_ms = conf->margin_ms,
		.masters = settings_masters(conf),
		.where = m->addresses,
		.ways = m->way_texts,
		.links = (unsigned)conf->pool,
	};
}

static void
main_relied_on(void *arg, int64_t until_ms)
{
	struct main *m = arg;
	embedded_relied_on(m->embedded, until_ms);
}

static pid_t
main_save_master(void *arg, struct record *r, struct descriptors *given)
{
	const struct main *m = arg;
	embedded_save(m->embedded, r, given);
	return embedded_pid(m->embedded);
}

/* Not shorter than the guard of the core. */
static int64_t
main_guard_ms(const struct conf *conf)
{
	int64_t lease_ms = conf_longest_lease_ms(conf);
	return lease_ms + drift_ms(lease_ms) + conf->margin_ms;
}

static struct embedded_settings
embedded_settings_of(const struct main *m)
{
	return (struct embedded_settings){
		.directory = m->boot->embedded.directory,
		.program = m->boot->embedded.redis_server[0] ? m->boot->embedded.redis_server : NULL,
		.doubt = driver_known_before(m->driver),
		.guard_ms = main_guard_ms(m->boot),
		.patient_until_ms = m->patient_until_ms,
	};
}

static void
main_load_master(void *arg, struct record *r, struct descriptors *given)
{
	struct main *m = arg;
	const struct embedded_settings settings = embedded_settings_of(m);
	m->embedded = embedded_load(driver_base(m->driver), &settings, &m->log, &m->stats, r, given);
}

static void
pool_settings_make(struct main *m)
{
	const struct conf *conf = m->boot;
	m->pool = (struct pool_settings)POOL_SETTINGS_DEFAULT;
	m->pool.links = (unsigned)conf->pool;
	m->pool.namespace = conf->namespace;
	m->pool.daemon_id = m->daemon_id;
	m->pool.layout = m->layout;
	m->pool.about = m->about;
	m->pool.lease_max_ms = conf_longest_lease_ms(conf);
	m->pool.margin_ms = conf->margin_ms;
	m->pool.unguarded = conf->restart_guard == CONF_GUARD_OFF;
}

/* The settings that the driver goes on with, or starts with. */
static void
driver_settings_make(struct main *m)
{
	const struct conf *conf = m->boot;
	bool embedded = conf->master_count == 0;
	pool_settings_make(m);
	m->loaded = (struct config_facts){.good_s = clock_wall_us() / 1000000};
	m->settings = (struct driver_settings){
		.facts =
			{
				.version = HOLDFAST_VERSION,
				.daemon_id = m->daemon_id,
				.secret = m->secret,
				.config = conf->files,
				.pending = m->pending,
				.loaded = &m->loaded,
				.only_address = m->only.address,
				.only_way = m->only.way,
				.namespace = conf->namespace,
				.ledger = strcmp(conf->ledger, CONF_LEDGER_OFF) == 0 ? "" : conf->ledger,
				.started_ms = m->handed.there ? m->handed.daemon.started_ms : clock_ms(),
				.margin_ms = conf->margin_ms,
				.grants_per_session = conf->limits.grants_per_session,
				.host = m->host,
				.about = m->about,
				.dates = &m->dates,
				.secrets = &m->secrets,
			},
		/* A successor that sees this daemon guards its own master until the leases have ended. */
		.lingers = embedded,
		.find_master = main_find_master,
		.reach_master = main_reach_master,
		.reload = main_reload,
		.prepare = main_prepare,
		.relied_on = embedded ? main_relied_on : NULL,
		.save_master = embedded ? main_save_master : NULL,
		.load_master = main_load_master,
		.program = m->program.path ? &m->program : NULL,
		.arg = m,
	};
	(void)settings_only_master(conf, &m->only);
	about_make(m);
	pools_make(m, m->settings.pools);
	m->settings.core = core_settings_of(m);
	settings_pass(conf, m->descriptors, &m->settings);
}

static int
driver_begin(struct main *m)
{
	driver_settings_make(m);
	if (driver_start(m->driver, &m->settings) != 0 || settings_users(m->driver, m->boot) != 0) {
		LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "daemon.failed", log_text("why", "out of memory"));
		return EX_SOFTWARE;
	}
	m->started = true;
	driver_return(m->driver);
	handed_done(&m->handed);
	return EX_OK;
}

static int
fail(struct main *m, int status, const char *why)
{
	LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "daemon.failed", log_text("why", why));
	return status;
}

/* Of SOCKET_BUSY it is not known whether another daemon runs, or one that was killed just now. */
static int
listen_begin(const struct main *m, int (*listen)(struct driver *, const struct conf *, char *), char *error)
{
	int failed;
	do {
		failed = listen(m->driver, m->boot, error);
	} while (failed == SOCKET_BUSY && clock_nap(m->patient_until_ms));
	return failed;
}

static int
sockets_begin(struct main *m, const struct notify_fd *fds, size_t n)
{
	char error[SETTINGS_ERROR_MAX];
	int failed = 0;
	for (size_t i = 0; i < n && !failed; i++) {
		failed = driver_adopt(m->driver, fds[i].fd, error, sizeof error);
	}
	if (!failed) {
		failed = listen_begin(m, settings_listen, error);
	}
	if (!failed && listen_begin(m, settings_http, error) != 0) {
		/* Locks do not depend on it. */
		LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "http.failed", log_text("why", error),
			log_text("text", "locks are served without it; a reload tries again"));
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

/* Goes on with what the process before has left. If it cannot be used, this daemon begins as after a crash.
 */
static void
hand_over_take(struct main *m, struct notify_fd *fds, size_t *n)
{
	char why[HANDOVER_WHY_MAX];
	if (handed_take(&m->handed, &m->notify, fds, n, why)) {
		char fresh[sizeof m->daemon_id];
		memcpy(fresh, m->daemon_id, sizeof fresh);
		memcpy(m->daemon_id, m->handed.daemon.id, sizeof fresh);
		driver_settings_make(m);
		struct record from = m->handed.record;
		if (m->handed.daemon.private_master != (m->boot->master_count == 0)) {
			record_fail(&m->handed.record, "masters: was added to the configuration, or removed");
		} else if (driver_take_over(m->driver, &m->settings, &m->handed)) {
			return;
		}
		snprintf(why, sizeof why, "%s", m->handed.record.why);
		memcpy(m->daemon_id, fresh, sizeof fresh);
		embedded_free(m->embedded, false, INT64_MAX);
		m->handed.child = m->embedded ? 0 : m->handed.child;
		m->embedded = NULL;
		driver_rescue_sockets(m->driver, &from, &m->handed);
		handed_refuse(&m->handed);
	}
	if (why[0] != '\0') {
		LOG_EVENT(&m->log, LOG_ERROR_LEVEL, "handover.refused", log_text("why", why),
			log_text("text", "this daemon begins as after a crash"));
	}
}

static int
embedded_begin(struct main *m)
{
	char why[EMBEDDED_WHY_MAX];
	const struct embedded_settings settings = embedded_settings_of(m);
	if (m->boot->master_count > 0 || m->embedded) {
		return EX_OK;
	}
	m->embedded = embedded_new(driver_base(m->driver), &settings, &m->log, &m->stats, why);
	return m->embedded ? EX_OK : fail(m, EX_UNAVAILABLE, why);
}

static bool
main_knew_child(void *arg, pid_t pid, int status)
{
	const struct main *m = arg;
	return (m->embedded && embedded_reaped(m->embedded, pid, status)) ||
	       driver_reaped(m->driver, pid, status);
}

static int
main_begin(struct main *m)
{
	char error[SETTINGS_ERROR_MAX];
	m->log_fd = -1;
	m->audit_fd = -1;
	if (log_set(m, m->boot, error) != 0) {
		fprintf(stderr, "holdfastd: %s\n", error);
		return EX_CONFIG;
	}
	m->descriptors = settings_descriptors(m->boot, &m->log);
	stats_init(&m->stats);
	random_init(&m->random);
	random_hex32(&m->random, m->daemon_id);
	random_hex32(&m->random, m->secret);
	if (notify_init(&m->notify) != 0) {
		LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "notify.failed", log_text("why", strerror(errno)),
			log_text("text", "the service manager does not hear that this daemon serves"));
	}
	m->rules = settings_rules(m->boot, m->boot);
	m->layout = settings_layout(m->boot);
	m->driver = driver_new(&m->log, &m->stats, &m->notify);
	if (!m->rules || !m->layout || !m->driver) {
		return fail(m, EX_SOFTWARE, "out of memory or descriptors");
	}
	driver_set_audit(m->driver, audit_of(m));
	struct notify_fd *fds;
	size_t n = notify_take_fds(&fds);
	driver_take_descriptors(m->driver, fds, &n);
	hand_over_take(m, fds, &n);
	bool ledger = strcmp(m->boot->ledger, CONF_LEDGER_OFF) != 0;
	m->patient_until_ms = m->handed.there ? 0 : clock_ms() + PREDECESSOR_MS;
	driver_take_ledger(m->driver, ledger ? m->boot->ledger : NULL, m->patient_until_ms);
	int failed = sockets_begin(m, fds, n);
	free(fds);
	if (!failed) {
		failed = embedded_begin(m);
	}
	if (!failed && getpid() == 1) {
		m->reaper = reaper_new(driver_base(m->driver), main_knew_child, m, &m->log);
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
	if (m->started) {
		driver_end_ledger(m->driver);
	}
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
	if (m->audit_fd >= 0) {
		close(m->audit_fd);
	}
}

static void
where_list(const struct main *m, char *text, size_t room)
{
	/* A hand-over goes on with the server before, whatever the configuration says. */
	const char *other = driver_other_master(m->driver, &m->only);
	size_t n = (size_t)snprintf(text, room, "%s", other ? other : "");
	if (other) {
		return;
	}
	for (unsigned i = 0; i < settings_masters(m->boot) && n < room; i++) {
		n += (size_t)snprintf(text + n, room - n, "%s%s", i > 0 ? ", " : "", m->where[i]);
	}
}

/* For holdfastd -t. */
static void
dates_print(const struct conf *conf)
{
	struct tls_dates dates = {0};
	char text[TLS_DATES_TEXT_MAX];
	settings_tls_dates(conf, &dates);
	for (size_t i = 0; i < dates.n; i++) {
		if (tls_date_fault(&dates.list[i], clock_wall_us() / 1000000, text)) {
			fprintf(stderr, "holdfastd: warning: %s: %s\n", text, TLS_DATES_DO);
		}
	}
}

/* For holdfastd -t. */
static void
secrets_print(struct main *m)
{
	settings_secrets(m->boot, &m->secrets);
	for (size_t i = 0; i < m->secrets.n; i++) {
		const struct secret_file *file = &m->secrets.list[i];
		fprintf(stderr, "holdfastd: warning: " SECRETS_WHAT ": " SECRETS_DO "\n", file->path,
			file->mode, file->path);
	}
}

/* holdfastd -t. A daemon that is about to become this program passes a state, too. */
static int
main_test(struct main *m)
{
	char why[SETTINGS_ERROR_MAX], state[HANDOVER_WHY_MAX];
	if (!settings_check_tls(m->boot, why)) {
		fprintf(stderr, "holdfastd: %s\n", why);
		return EX_CONFIG;
	}
	if (!handed_try(state)) {
		fprintf(stderr,
			"holdfastd: version " HOLDFAST_VERSION " cannot read the state of the daemon: %s\n",
			state);
		return EX_DATAERR;
	}
	dates_print(m->boot);
	secrets_print(m);
	fprintf(stderr, "holdfastd: the configuration is fine: %s\n",
		m->boot->files[0] ? m->boot->files : "(defaults)");
	return EX_OK;
}

/* The ledger is cut at the very moment when it is used, or its file system fails. The access that failed is
 * made once more behind this, and ends the daemon, as after any crash. */
static void
on_bus_error(int number)
{
	static const char text[] = "holdfastd: SIGBUS: a file in memory, as the ledger, was cut by another "
				   "program, or its file system "
				   "failed: this daemon ends\n";
	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
}

static int
main_serve(struct main *m)
{
	const struct sigaction bus_error = {.sa_handler = on_bus_error, .sa_flags = (int)SA_RESETHAND};
	sigaction(SIGBUS, &bus_error, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* a parent that ignores it cannot read how a child ended */
	signal(SIGXFSZ, SIG_IGN); /* a log file at its size limit must not end the daemon */
	settings_forbid_cores();
	int failed = main_begin(m);
	if (!failed) {
		char masters[CORE_MASTERS_MAX * (SETTINGS_WHERE_MAX + 2)];
		where_list(m, masters, sizeof masters);
		LOG_EVENT(&m->log, LOG_INFO_LEVEL, "daemon.started", log_text("version", HOLDFAST_VERSION),
			log_text("id", m->daemon_id), log_text("masters", masters),
			log_text("config", m->boot->files));
		(void)only_master_tell(m);
		dates_make(m);
		secrets_make(m);
		failed = driver_run(m->driver) != 0 ? EX_UNAVAILABLE : EX_OK;
		LOG_EVENT(&m->log, LOG_INFO_LEVEL, "daemon.stopped", log_text("id", m->daemon_id));
		if (driver_is_handed_over(m->driver)) {
			_exit(EX_OK); /* the next process has all that would be closed and removed here */
		}
	}
	main_end(m);
	return failed;
}

int
main(int argc, char **argv)
{
	struct main m = {.notify.fd = -1, .handed.memfd = -1};
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
	if (m.options.hash_password) {
		return password_hash();
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
	if (handover_find_program(argv[0], m.program_path, sizeof m.program_path)) {
		m.program = (struct handover_program){m.program_path, argv};
	}
	if (!m.options.test && !m.options.print_config) {
		return main_serve(&m);
	}
	int failed = EX_OK;
	if (m.options.print_config && conf_print(m.boot, stdout) != 0) {
		failed = errno == ENOMEM ? EX_SOFTWARE : EX_IOERR;
		fprintf(stderr, "holdfastd: --print-config: %s\n", strerror(errno));
	}
	if (m.options.test && !failed) {
		failed = main_test(&m);
	}
	conf_free(m.boot);
	return failed;
}
