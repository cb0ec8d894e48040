/*
 * driver_context: the hooks by which the handlers of verbs call the driver (admin.h), and what main sets and
 * sees while the daemon runs. A part of driver.c.
 */
#include "daemon/driver_context.h"

#include "daemon/admin/admin.h"
#include "daemon/admin/fleet.h"
#include "daemon/admin/fleet_lookup.h"
#include "daemon/admin/history.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/core/view.h"
#include "daemon/driver_inner.h"
#include "daemon/driver_trial.h"
#include "daemon/http/http.h"
#include "daemon/net/connection_stored.h"
#include "daemon/net/connections.h"
#include "daemon/net/listeners.h"
#include "daemon/net/passing.h"
#include "daemon/net/process.h"
#include "daemon/net/socket.h"
#include "daemon/redis/masters.h"
#include "daemon/request/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A bound session goes on without its connections, and reports show which client it belongs to. */
void
driver_keep_label(struct driver *d, conn_id id, const char *label)
{
	if (label && processes_count(d->processes) > 0) {
		processes_keep_label(d->processes, core_session_of(d->core, id), label);
	}
}

static void
driver_on_command(void *arg, struct connection *c, const struct command *command)
{
	struct driver *d = arg;
	struct identity *who = connection_identity(c);
	driver_event(d, &(struct event){.type = EVENT_COMMAND, .conn = who->id, .command = command});
	who->last_ms = d->now.ms;
}

static void
driver_refuse(struct connection *c, const struct reply *error)
{
	connection_answered(c);
	connection_reply(c, error);
}

static void
driver_no_pidfd(struct reply *error, int fd, const struct identity *who, bool started)
{
	if (fd == PASSING_FOREIGN) {
		reply_error(error, CODE_ERR, "the descriptor passed with SESSION BIND is not a pidfd");
	} else if (fd == PASSING_LOST) {
		reply_error(error, CODE_LIMIT,
			"the descriptor that came with SESSION BIND could not be taken: several came at "
			"once, or this daemon has none left");
	} else if (!who->local) {
		reply_error(error, CODE_ERR,
			"SESSION BIND is for Unix sockets: over TCP the end of a process is not seen, and "
			"SESSION GRACE keeps the session when the connection is lost");
	} else if (started && who->peer.pid == 0) {
		reply_error(error, CODE_ERR, PROCESS_APART);
	} else if (started) {
		reply_error(error, CODE_ERR,
			"the process that connected has ended, or is not visible to this daemon: pass a "
			"pidfd "
			"of the process (SCM_RIGHTS)");
	} else {
		reply_error(error, CODE_ERR,
			"no descriptor came with SESSION BIND: pass a pidfd of the process (SCM_RIGHTS), or "
			"say "
			"when the process that connected began: the 22nd field of its /proc/PID/stat");
	}
}

/* The process is watched before the core learns of it: after the answer of the core nothing can fail. */
static void
driver_on_bind(void *arg, struct connection *c, const struct command *command)
{
	struct driver *d = arg;
	const struct identity *who = connection_identity(c);
	struct process process;
	struct reply error;
	int fd = connection_take_fd(c);
	if (fd == PASSING_NONE && who->local && command->started > 0) {
		fd = process_open_peer(who->peer.pid, who->since_ms);
	}
	if (fd < 0) {
		driver_no_pidfd(&error, fd, who, command->started > 0);
		driver_refuse(c, &error);
		return;
	}
	if (process_identify(fd, who->peer.uid, &process, &error) != 0) {
		close(fd);
		driver_refuse(c, &error);
		return;
	}
	/* Another process has connected, as a proxy. */
	if (command->started > 0 && process.started != (uint64_t)command->started) {
		close(fd);
		reply_error(&error, CODE_ERR,
			"the process that connected did not begin at tick %" PRId64 " but at %" PRIu64,
			command->started, process.started);
		driver_refuse(c, &error);
		return;
	}
	bool known = processes_has(d->processes, process);
	if (processes_watch(d->processes, process, fd, who->peer.uid, &error) != 0) {
		driver_refuse(c, &error);
		return;
	}
	d->apply.watch_wanted = false;
	driver_event(d, &(struct event){.type = EVENT_BIND, .conn = who->id, .process = process});
	if (d->apply.watch_wanted) {
		processes_bind(d->processes, process, core_session_of(d->core, who->id));
	} else if (!known) {
		processes_forget(d->processes, process);
	}
}

void
driver_on_exit(void *arg, struct process process, enum process_sight sight)
{
	struct driver *d = arg;
	if (sight == PROCESS_UNSEEN) {
		LOG_EVENT(d->log, LOG_WARNING_LEVEL, "process.unseen", log_number("pid", process.pid),
			log_text("text",
				"it is of another PID namespace, or /proc hides it: what it holds is left to "
				"its announced deadline"));
	}
	const enum event_type type = sight == PROCESS_UNSEEN ? EVENT_UNSEEN : EVENT_EXIT;
	driver_event(d, &(struct event){.type = type, .process = process});
}

/* A master is identified by its address and the way to it, which the configuration tells. */
static void
driver_on_masters(void *arg, struct connection *c, const struct command *command)
{
	static const enum masters_op ops[VERB_COUNT] = {
		[VERB_MASTERS_REPLACE] = MASTERS_REPLACE,
		[VERB_MASTERS_ADD] = MASTERS_ADD,
		[VERB_MASTERS_ABORT] = MASTERS_ABORT,
	};
	struct driver *d = arg;
	struct identity *who = connection_identity(c);
	struct masters_change change = {.op = ops[command->verb]};
	struct master_address found[MASTERS_NEW_MAX];
	struct reply error;
	char why[CONTEXT_TEXT_MAX];
	size_t first = change.op == MASTERS_REPLACE ? 1 : 0;
	if (first > 0) {
		change.old = command->argv[0];
	}
	for (size_t i = first; i < command->argc; i++) {
		struct master_address *one = &found[i - first];
		if (d->find_master(d->main_arg, command->argv[i], one, why, sizeof why) != 0) {
			reply_error(&error, CODE_ERR, "%s", why);
			driver_refuse(c, &error);
			return;
		}
		change.places[i - first] = slice_of(one->address);
		change.ways[i - first] = slice_of(one->way);
	}
	driver_event(d, &(struct event){.type = EVENT_MASTERS, .conn = who->id, .masters = &change});
	who->last_ms = d->now.ms;
}

static void
driver_on_broken(void *arg, const struct command *command)
{
	driver_event(arg, &(struct event){.type = EVENT_BREAK, .command = command});
}

static void
driver_on_elsewhere(void *arg, const struct whose *whose, struct slice text)
{
	driver_event(arg, &(struct event){.type = EVENT_ELSEWHERE, .whose = whose, .text = text});
}

static void
driver_on_alive(void *arg, struct connection *c)
{
	struct driver *d = arg;
	conn_id id = connection_identity(c)->id;
	if (core_wants_heartbeat(d->core, id)) {
		driver_event(d, &(struct event){.type = EVENT_ALIVE, .conn = id});
	}
}

/* A client that has logged in on a Unix socket counts for its uid: that keeps its limits. */
void
driver_limit_user(struct driver *d, struct connection *c)
{
	const struct identity *who = connection_identity(c);
	const struct access_user *user = who->user;
	struct core_user_limits limits = {0};
	if (who->peer.user == 0 || (who->local && user && !who->local_user)) {
		return;
	}
	if (user) {
		limits = (struct core_user_limits){.locks = user->locks, .graces = user->sessions};
	}
	core_limit_user(d->core, who->peer.user, &limits);
}

static void
driver_on_peer(void *arg, struct connection *c)
{
	const struct identity *who = connection_identity(c);
	driver_event(arg, &(struct event){.type = EVENT_PEER, .conn = who->id, .peer = &who->peer});
	if (who->user) {
		driver_limit_user(arg, c);
	}
}

static void
driver_on_no_push(void *arg, struct connection *c, bool no_push)
{
	const struct identity *who = connection_identity(c);
	driver_event(arg, &(struct event){.type = EVENT_NO_PUSH, .conn = who->id, .no_push = no_push});
}

void
driver_open(void *arg, struct connection *c)
{
	struct driver *d = arg;
	const struct identity *who = connection_identity(c);
	connection_recognise(c, d->context.access);
	driver_event(d, &(struct event){.type = EVENT_OPEN, .conn = who->id, .peer = &who->peer});
	if (who->user) {
		driver_limit_user(d, c);
	}
}

static void
driver_on_reset(void *arg, struct connection *c)
{
	struct driver *d = arg;
	conn_id before = connection_identity(c)->id;
	events_leave(d->context.events, c);
	connection_unstore(c); /* its session ends */
	if (connection_renumber(c) != 0) {
		connection_close(c, END_CLEAN, "out of memory");
		return;
	}
	driver_keep_label(arg, before, connection_identity(c)->label);
	driver_event(arg, &(struct event){.type = EVENT_CLOSE, .conn = before, .end = END_CLEAN});
	driver_open(arg, c);
}

void
driver_asked(void *arg, unsigned master, bool answer, struct slice text)
{
	struct driver *d = arg;
	if (d->context.fleet) {
		fleet_asked(d->context.fleet, master, answer, text);
	}
}

void
driver_lookup_answered(void *arg, unsigned master, uint64_t id, const struct lookup_answer *answer)
{
	struct driver *d = arg;
	if (d->context.fleet) {
		fleet_lookup_answered(d->context.fleet, master, id, answer);
	}
}

void
driver_whose(void *arg, const struct whose *whose)
{
	struct driver *d = arg;
	if (d->context.fleet) {
		fleet_ask_whose(d->context.fleet, whose);
		d->fleet_wake_ms = 0;
	}
}

/* A drain takes at most the time it tells; the service manager is asked to wait this much longer. */
#define NOTIFY_SPARE_MS 5000

/* Ends the wait for holders. */
static void
driver_end(struct driver *d)
{
	int64_t now_ms = clock_ms();
	d->waits = false;
	d->draining = true;
	d->drain_until_ms = now_ms + DRIVER_DRAIN_MS;
	LOG_EVENT(d->log, LOG_INFO_LEVEL, "daemon.draining",
		log_number("clients", (int64_t)connections_count(d->connections)));
	notify_stopping(d->notify, "draining", driver_end_ms(d) - now_ms + NOTIFY_SPARE_MS);
	listeners_close(&d->listeners);
	http_drain(d->http);
}

/* The sockets stay open: new clients are refused for the drain, and no other daemon is started for them
 * meanwhile. */
static void
driver_begin_wait(struct driver *d, int64_t wait_ms)
{
	int64_t until_ms = clock_ms() + wait_ms;
	if (!d->waits || until_ms < d->waits_until_ms) {
		d->waits_until_ms = until_ms;
	}
	d->waits = true;
	notify_stopping(d->notify, "draining", wait_ms + DRIVER_DRAIN_MS + NOTIFY_SPARE_MS);
}

void
driver_drain(void *arg, struct connection *c, int64_t wait_ms)
{
	struct driver *d = arg;
	bool waits = wait_ms > 0;
	driver_stop_trial(d);
	if (!d->draining && waits) {
		driver_begin_wait(d, wait_ms);
	} else if (!d->draining) {
		driver_end(d);
	}
	driver_event(
		d, &(struct event){
			   .type = EVENT_DRAIN, .conn = c ? connection_identity(c)->id : 0, .waits = waits});
}

void
driver_drain_turn(struct driver *d)
{
	if (d->waits && core_drained(d->core)) {
		driver_end(d);
	} else if (d->waits && clock_ms() >= d->waits_until_ms) {
		driver_drain(d, NULL, 0);
	}
}

int
driver_reload(void *arg, char *text, size_t room)
{
	struct driver *d = arg;
	/* A reload would open the sockets again. */
	if (d->draining) {
		snprintf(text, room, "the daemon is ending: reload the next one");
		return -1;
	}
	notify_reloading(d->notify);
	int failed = d->reload(d->main_arg, text, room);
	if (!failed) {
		masters_find_again(d->masters);
	}
	LOG_EVENT(d->log, failed ? LOG_ERROR_LEVEL : LOG_INFO_LEVEL,
		failed ? "daemon.reload_failed" : "daemon.reloaded", log_text("text", text));
	service_reloaded(&d->service, failed != 0);
	return failed;
}

const struct context_hooks driver_context_hooks = {
	.command = driver_on_command,
	.bind = driver_on_bind,
	.masters = driver_on_masters,
	.broken = driver_on_broken,
	.elsewhere = driver_on_elsewhere,
	.alive = driver_on_alive,
	.peer = driver_on_peer,
	.no_push = driver_on_no_push,
	.reset = driver_on_reset,
	.drain = driver_drain,
	.reload = driver_reload,
	.restart = driver_hand_over,
};

void
driver_set_context(struct driver *d, const struct context_facts *facts)
{
	d->context = (struct context){
		.connections = d->connections,
		.core = d->core,
		.processes = d->processes,
		.access = d->context.access,
		.passwords = d->context.passwords,
		.events = d->context.events,
		.hour = &d->hour,
		.history = d->context.history,
		.stats = d->stats,
		.log = d->log,
		.audit = d->context.audit,
		.admission = &d->admission,
		.memory = &d->memory,
		.open_files = &d->open_files,
		.facts = *facts,
		.masters = d->masters,
		.answers = &admin_answers,
		.hooks = &driver_context_hooks,
		.arg = d,
	};
}

/* ---- settings and views, for main ---- */

void
driver_set_limits(struct driver *d, const struct driver_limits *limits)
{
	core_set_limits(d->core, &limits->grace, &limits->per_user);
	admission_set_limits(&d->admission, &limits->admission);
	d->context.facts.clients_max = limits->admission.clients;
	d->context.facts.locks_per_user = limits->per_user.locks;
	d->context.facts.descriptors = limits->descriptors;
	processes_set_limits(d->processes, &limits->processes);
	connections_set_limits(d->connections, &limits->connections);
	memory_set_limit(&d->memory, limits->memory);
	d->check_at_ms = 0; /* it counts from this turn on */
	history_resize(d->context.history, limits->history);
}

int
driver_listen_http(
	struct driver *d, const struct http_settings *settings, size_t count, char *error, size_t error_room)
{
	return http_listen(d->http, settings, count, error, error_room);
}

bool
driver_count_names(struct driver *d, const struct named_rule *rules, size_t count)
{
	return http_count_names(d->http, rules, count);
}

bool
driver_set_rules(struct driver *d, const struct rule *rules, size_t count)
{
	return core_set_rules(d->core, rules, count);
}

struct recheck {
	struct driver *driver;
	const struct access *access; /* the new users */
};

/* What a client may do can change without a notice to it. A client that logged in with a password which its
 * user no longer has must log in again; one that needed none stays. */
static bool
driver_recheck_user(void *arg, struct connection *c)
{
	const struct recheck *recheck = arg;
	struct identity *who = connection_identity(c);
	bool admin = who->peer.admin;
	if (who->user && !who->local_user) {
		const struct access_user *user = access_find(recheck->access, slice_of(who->user->name));
		if (!user || !connection_login_stands(who, user)) {
			connection_cut(c, END_ABANDONED, "user changed");
		}
		who->user = user;
		who->peer.admin = who->native_admin || (user && user->rights & RIGHT_ADMIN);
	} else {
		connection_recognise(c, recheck->access);
	}
	if (who->peer.admin != admin) {
		driver_on_peer(recheck->driver, c);
	}
	driver_limit_user(recheck->driver, c);
	return true;
}

void
driver_set_audit(struct driver *d, struct log *audit)
{
	d->context.audit = audit;
}

int
driver_set_users(struct driver *d, const struct access_user *users, size_t count)
{
	struct access *access = access_new(users, count);
	if (!access) {
		return -1;
	}
	connections_each(d->connections, driver_recheck_user, &(struct recheck){d, access});
	http_recognise(d->http, access);
	access_free(d->context.access);
	d->context.access = access;
	admission_set_guarded(&d->admission, access_required(access));
	return 0;
}

void
driver_page_entered(void *arg, const struct peer *peer, const char *user)
{
	struct driver *d = arg;
	audit_page(&d->context, peer, user);
}

bool
driver_is_clean(const struct driver *d)
{
	struct core_counts counts;
	struct masters_sum masters;
	core_view_counts(d->core, &counts);
	masters_see(d->core, clock_ms(), &masters);
	return masters.usable == masters.count && counts.grants == 0 && counts.withheld == 0 &&
	       counts.leases == 0;
}

int64_t
driver_relied_until(const struct driver *d)
{
	return core_relied_until(d->core);
}
