/*
 * main_reload: reads the configuration, opens the log, and applies a changed configuration to a daemon that
 * runs. A part of main.c.
 */
#include "daemon/main_reload.h"

#include "conf/loader.h"
#include "conf/printer.h"
#include "daemon/base/clock.h"
#include "daemon/driver_context.h"
#include "daemon/main_about.h"
#include "daemon/main_inner.h"
#include "daemon/main_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits the lines below error; a busy daemon at level debug may write many. */
#define MAIN_LOG_PER_SECOND 20000

/* The answer of a reload: "reloaded: a, b; needs a restart: c". */
struct change_list {
	struct log *audit;
	bool masters_change; /* the set can change without a restart, so other masters need none */
	bool masters;        /* the masters differ */
	char applied[CONTEXT_TEXT_MAX / 2];
	char restart[CONTEXT_TEXT_MAX / 2];
};

#define MASTERS_TEXT "; the new addresses of masters are in effect, MASTERS REPLACE or ADD changes the set"
#define ONLY_TEXT                                                                                            \
	"; masters is not in effect: the only master stays the server before, also after a hand-over: if "   \
	"that has another address, MASTERS REPLACE; for another server stop all daemons, then start them"

bool
only_master_tell(struct main *m)
{
	const char *used = driver_other_master(m->driver, &m->only);
	if (!used) {
		return false;
	}
	LOG_EVENT(&m->log, LOG_WARNING_LEVEL, "config.not_in_effect", log_text("key", "masters"),
		log_text("used", used), log_text("configured", m->only.address),
		log_text("text", "if it is the same server, MASTERS REPLACE; for another server stop all "
				 "daemons, then start them"));
	return true;
}

/* What a list of other masters means for the set, which no reload changes. */
static const char *
masters_text(struct main *m, bool differ)
{
	if (only_master_tell(m)) {
		return ONLY_TEXT;
	}
	return differ && (m->conf->master_count != 1 || m->boot->master_count != 1) ? MASTERS_TEXT : "";
}

/* ---- configuration ---- */

struct conf *
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

struct log *
audit_of(struct main *m)
{
	return m->audit_fd < 0 ? &m->log : &m->audit_log;
}

/* -1: errno says why. A pipe without a reader is not waited for. */
static int
log_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (flags >= 0) {
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	}
	return fd;
}

/* After log_open() has failed. Returns -1. */
static int
log_refuse(char *error, const char *what, const char *path)
{
	snprintf(error, SETTINGS_ERROR_MAX,
		"cannot open %s %s: %s: its directory has to exist, and uid %u, which the daemon runs as, "
		"has to be allowed to write there",
		what, path, strerror(errno), (unsigned)geteuid());
	return -1;
}

static bool
no_room(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

/* Of the audit log every line is wanted, whatever the level of the log. If the disk has no room for its file,
 * the lines go to the log. */
static int
audit_set(struct main *m, const struct conf *conf, char *error)
{
	bool apart = strcmp(conf->audit, CONF_AUDIT_LOG) != 0;
	int fd = apart ? log_open(conf->audit) : -1;
	if (apart && fd < 0 && !no_room(errno)) {
		return log_refuse(error, "the audit log", conf->audit);
	}
	if (m->audit_fd >= 0) {
		close(m->audit_fd);
	}
	m->audit_fd = fd;
	if (fd >= 0) {
		log_init(&m->audit_log, fd, LOG_INFO_LEVEL, MAIN_LOG_PER_SECOND);
	}
	return 0;
}

int
log_set(struct main *m, const struct conf *conf, char *error)
{
	int fd = STDERR_FILENO;
	int full = 0;
	if (strcmp(conf->log.to, "stderr") != 0) {
		fd = log_open(conf->log.to);
		full = fd < 0 && no_room(errno) ? errno : 0;
	}
	if (fd < 0 && !full) {
		return log_refuse(error, "the log", conf->log.to);
	}
	if (audit_set(m, conf, error) != 0) {
		if (fd > STDERR_FILENO) {
			close(fd);
		}
		return -1;
	}
	int before = m->log_fd;
	uint64_t unreported = m->log.dropped_unreported;
	m->log_fd = full ? STDERR_FILENO : fd;
	log_init(&m->log, m->log_fd, log_level_of(m, conf), MAIN_LOG_PER_SECOND);
	m->log.dropped_unreported = unreported;
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
	LOG_EVENT(list->audit, restart ? LOG_WARNING_LEVEL : LOG_INFO_LEVEL,
		restart ? "config.needs_restart" : "config.changed", log_text("key", change->path),
		log_text("from", change->from), log_text("to", change->to));
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
		settings_http(m->driver, conf, error) != 0 || settings_users(m->driver, conf) != 0 ||
		!driver_set_rules(m->driver, rules, SETTINGS_RULES)) {
		free(rules);
		return -1;
	}
	list->audit = audit_of(m);
	driver_set_audit(m->driver, list->audit);
	struct driver_settings settings = {0};
	settings_pass(conf, m->descriptors, &settings);
	driver_set_limits(m->driver, &settings.limits);
	if (conf_diff(m->boot, m->conf, conf, change_note, list) < 0) {
		list_add(list->applied, "no memory to say what");
	}
	conf_replace(m, conf, rules);
	(void)settings_only_master(conf, &m->only);
	memcpy(m->pending, list->restart, sizeof m->pending);
	about_make(m);
	dates_make(m);
	secrets_make(m);
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
reload(struct main *m, char *text, size_t room)
{
	struct conf_errors errors = {0};
	struct change_list list = {.masters_change = !m->embedded};
	char error[SETTINGS_ERROR_MAX] = "out of memory";
	/* Also if the configuration is refused: the file of the log may have been rotated away. */
	(void)log_set(m, m->conf, error);
	driver_set_audit(m->driver, audit_of(m));
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
		list.restart[0] ? "; needs a restart: " : "", list.restart, masters_text(m, list.masters));
	return 0;
}

int
main_reload(void *arg, char *text, size_t room)
{
	struct main *m = arg;
	m->loaded.failed = reload(m, text, room) != 0;
	if (m->loaded.failed) {
		return -1;
	}
	m->loaded.good_s = clock_wall_us() / 1000000;
	return 0;
}

/* ---- before a hand-over ---- */

/* What of the configuration a state cannot be taken along to; NULL: nothing. */
static const char *
state_hindrance(const struct main *m, const char *layout)
{
	const struct conf *to = m->conf;
	if (strcmp(to->namespace, m->boot->namespace) != 0) {
		return "namespace";
	}
	if ((to->master_count == 0) != (m->boot->master_count == 0)) {
		return "masters";
	}
	if (m->embedded && strcmp(to->embedded.directory, m->boot->embedded.directory) != 0) {
		return "embedded.directory";
	}
	return strcmp(layout, m->layout) != 0 ? "restart-guard, or key or interop of a rule" : NULL;
}

/* The next process goes on with the server that runs, but only if it could start another one. */
static bool
private_program(const struct conf *conf, char *why, size_t room)
{
	const char *program = conf->embedded.redis_server;
	char text[EMBEDDED_WHY_MAX];
	bool there = embedded_has_program(program[0] != '\0' ? program : NULL, text);
	if (!there) {
		snprintf(why, room, "%s", text);
	}
	return there;
}

/* The next process would end, or begin with nothing, if the configuration had an error, or if the state could
 * not be used with it. So this process tries it first: after a reload all that can fail has been done. */
bool
main_prepare(void *arg, char *why, size_t room)
{
	struct main *m = arg;
	if (main_reload(m, why, room) != 0) {
		return false;
	}
	char *layout = settings_layout(m->conf);
	const char *other = layout ? state_hindrance(m, layout) : NULL;
	if (!layout) {
		snprintf(why, room, "out of memory");
	} else if (other) {
		snprintf(why, room,
			"the configuration has another %s, to which locks cannot be taken along: stop the "
			"daemon "
			"and start it",
			other);
	}
	bool good = layout && !other;
	free(layout);
	return good && (!m->embedded || private_program(m->conf, why, room));
}
