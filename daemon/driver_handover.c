/*
 * driver_handover: hands this daemon to the next process, and takes it over there. A part of driver.c.
 *
 *     serving ──▶ resting ──▶ links down ──▶ state ──▶ exec, or the service manager ──▶ arriving ──▶ serving
 *        ▲           │             │           │                  │
 *        └───────────┴─────────────┴───────────┴─────failed───────┘
 *
 * A daemon that rests serves no client and waits until no call is under way at its masters, so that no answer
 * is lost. It ends only after the next process has everything; if anything fails before, it goes on. A daemon
 * that arrives serves clients once a majority of its masters can be used again, so that no request finds them
 * missing, or once it is known of each master whether it can be used.
 */
#include "daemon/driver_handover.h"

#include "daemon/admin/admin.h"
#include "daemon/admin/events.h"
#include "daemon/admin/fleet.h"
#include "daemon/admin/history.h"
#include "daemon/base/clock.h"
#include "daemon/base/closer.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/driver_context.h"
#include "daemon/driver_inner.h"
#include "daemon/driver_ledger.h"
#include "daemon/driver_trial.h"
#include "daemon/http/http.h"
#include "daemon/net/connection_state.h"
#include "daemon/net/connections.h"
#include "daemon/net/listeners.h"
#include "daemon/net/passwords.h"
#include "daemon/net/process.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define STAT_NAME_MAX      64
#define DRIVER_UNREAD_MS   30000 /* far more than a hand-over takes: what no client is read for */
/* Calls that follow from each other before the answer to a request that waits for nothing: an MLOCK with WAIT
 * 0 asks for one name after the other. */
#define DRIVER_REST_ROUNDS 8
#define DRIVER_FORGET_MS   100 /* for the service manager to listen, which forgets what has ended */
#define DRIVER_CLOSE_MS    200 /* for descriptors that clients have passed to be closed */
#define DRIVER_LAST_MS     50  /* for the core to come to rest once all links are down */

/* ---- fields ---- */

static void
user_fields(struct record *r, struct slice *name, struct slice *password, bool *admin)
{
	record_bytes(r, name, CREDENTIAL_BYTES_MAX);
	record_bytes(r, password, CREDENTIAL_BYTES_MAX);
	record_flag(r, admin);
}

static void
stat_fields(struct record *r, struct slice *name, int64_t *value)
{
	record_bytes(r, name, STAT_NAME_MAX);
	record_number(r, value);
}

static void
minute_fields(struct record *r, struct hour_minute *minute)
{
	minute->granted = record_range(r, minute->granted, 0, HOUR_COUNT_MAX);
	minute->timed_out = record_range(r, minute->timed_out, 0, HOUR_COUNT_MAX);
	minute->lost = record_range(r, minute->lost, 0, HOUR_COUNT_MAX);
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		minute->waits[i] = (uint64_t)record_range(r, (int64_t)minute->waits[i], 0, HOUR_COUNT_MAX);
	}
}

/* buckets: of a minute; ends_ms: of the one that runs. */
static void
hour_fields(struct record *r, int64_t *buckets, int64_t *known, int64_t *ends_ms)
{
	*buckets = record_range(r, *buckets, 0, INT64_MAX);
	*known = record_range(r, *known, 0, HOUR_MINUTES);
	*ends_ms = record_range(r, *ends_ms, 0, INT64_MAX);
}

/* ---- saved ---- */

static bool
save_connection(void *arg, struct connection *c)
{
	struct handover *h = arg;
	connection_save(c, &h->record, &h->given);
	return true;
}

/* The first password goes along for a process that knows no mark of the one by which a connection has logged
 * in (connection_login_stands). */
static void
save_users(const struct access *access, struct record *r)
{
	const struct access_user *user;
	for (size_t i = 0; (user = access_at(access, i)); i++) {
		struct slice name = slice_of(user->name);
		struct slice password = slice_of(user->passwords[0].text ? user->passwords[0].text : "");
		bool admin = user->rights & RIGHT_ADMIN;
		record_begin(r, RECORD_USER);
		user_fields(r, &name, &password, &admin);
		record_end(r);
	}
}

static void
save_stats(const struct stats *stats, struct record *r)
{
	record_begin(r, RECORD_STATS);
	for (size_t i = 0; i < stats_count(); i++) {
		struct slice name = slice_of(stats_info(i)->name);
		int64_t value = stats_value(stats, i);
		if (stats_info(i)->kind == STAT_COUNTER) {
			stat_fields(r, &name, &value);
		}
	}
	record_end(r);
}

/* The oldest minute first. */
static void
save_hour(const struct hour *hour, struct record *r)
{
	int64_t buckets = BUCKETS_BOUNDS, known = (int64_t)hour->known, ends_ms = hour->ends_ms;
	record_begin(r, RECORD_HOUR);
	hour_fields(r, &buckets, &known, &ends_ms);
	for (size_t ago = hour->known; ago-- > 0;) {
		struct hour_minute minute = *hour_minute(hour, ago);
		minute_fields(r, &minute);
	}
	record_end(r);
}

struct handover_daemon
driver_daemon(const struct driver *d)
{
	struct handover_daemon daemon = {
		.started_ms = d->context.facts.started_ms,
		.silent_ms = d->silent_ms,
		.asked_by = d->asked_by,
		.last_conn = connections_last_id(d->connections),
		.private_master = d->save_master != NULL,
	};
	snprintf(daemon.version, sizeof daemon.version, "%s", d->context.facts.version);
	snprintf(daemon.id, sizeof daemon.id, "%s", d->context.facts.daemon_id);
	return daemon;
}

/* False: out of memory. */
static bool
driver_save(struct driver *d, struct handover *h)
{
	struct record *r = &h->record;
	struct handover_daemon daemon = driver_daemon(d);
	handover_begin(h, &daemon);
	passwords_give_back(d->context.passwords);
	core_save(d->core, r);
	save_users(d->context.access, r);
	listeners_save(&d->listeners, r, RECORD_LISTENER, &h->given, !d->to_manager);
	http_save(d->http, r, &h->given);
	connections_each(d->connections, save_connection, h);
	events_save(d->context.events, r);
	history_save(d->context.history, r);
	processes_save(d->processes, r);
	driver_save_ledger(d, r, &h->given);
	h->child = d->save_master ? d->save_master(d->main_arg, r, &h->given) : 0;
	save_stats(d->stats, r);
	hour_sample(&d->hour, d->stats, clock_ms());
	save_hour(&d->hour, r);
	record_begin(r, RECORD_END);
	record_end(r);
	return !r->failed && !h->given.failed;
}

/* ---- handing over ---- */

void
driver_log_failed(struct driver *d, struct refusal refusal)
{
	LOG_EVENT(d->log, LOG_ERROR_LEVEL, "handover.failed", log_text("why", refusal.why),
		log_text("text",
			refusal.code == CODE_DRAINING ? "this process ends" : "this process goes on"));
}

void
driver_not_handed_over(struct driver *d, conn_id asked_by, struct refusal refusal)
{
	struct connection *c = connections_find(d->connections, asked_by);
	if (c && connection_waits(c)) {
		admin_not_restarted(c, refusal.code, refusal.why);
	}
}

/* This process does not become another, and says why. */
static void
driver_go_on(struct driver *d, struct refusal refusal)
{
	driver_log_failed(d, refusal);
	driver_not_handed_over(d, d->asked_by, refusal);
	bool to_manager = d->to_manager;
	d->rests = d->to_manager = false;
	d->asked_by = 0;
	core_unread(d->core, clock_ms());
	admission_unread(&d->admission, clock_ms() - d->silent_ms);
	masters_come_back(d->masters);
	if (listeners_resume(&d->listeners) != 0 || http_resume(d->http) != 0) {
		LOG_EVENT(d->log, LOG_ERROR_LEVEL, "daemon.failed", log_text("why", "out of memory"));
		d->failed = true;
		d->drain_until_ms = clock_ms();
	}
	d->returns = to_manager;
	d->rests_until_ms = clock_ms() + DRIVER_ARRIVE_MS;
	if (!to_manager) {
		service_reloaded(&d->service, false);
	}
}

/* An acquire that has lost its last master ends with a timer, within a millisecond. */
static void
driver_await_rest(struct driver *d)
{
	int64_t until_ms = clock_ms() + DRIVER_LAST_MS;
	while (!core_rests(d->core) && clock_ms() < until_ms) {
		const struct timespec moment = {.tv_nsec = 100000};
		nanosleep(&moment, NULL);
		driver_event(d, &(struct event){.type = EVENT_TIMER});
	}
}

static bool
driver_is_ending(const struct driver *d)
{
	return d->failed || core_ended(d->core) || core_draining(d->core);
}

/* No round is under way and no link is up, and no connection is ending. Else why it cannot be; NULL: it is
 * so. */
static const char *
driver_come_to_rest(struct driver *d)
{
	masters_leave(d->masters, "this daemon is being handed over");
	driver_await_rest(d);
	do {
		connections_turn(d->connections, INT64_MAX);
	} while (connections_ending(d->connections));
	if (driver_is_ending(d)) {
		return DRIVER_ENDING;
	}
	/* exec would close them here, and wait for the threads. */
	if (!closer_settle(d->closer, DRIVER_CLOSE_MS)) {
		return "a descriptor that a client passed cannot be closed yet";
	}
	return d->apply.calls_out > 0 || !core_rests(d->core) ? "calls are under way" : NULL;
}

/* Signals that were caught are still in the loop, behind what else has happened. */
static void
driver_hear_signals(struct driver *d)
{
	size_t noted = connections_arrived(d->connections);
	size_t before;
	int64_t until_ns = clock_ns() + DRIVER_LISTEN_NS;
	loop_block_signals(true);
	do {
		before = noted;
		loop_turn(d->loop, true);
		noted = connections_arrived(d->connections);
	} while (noted >= before + LOOP_EVENTS_MIN && clock_ns() < until_ns);
}

static void
driver_pass_on(struct driver *d)
{
	struct handover h = {0};
	char text[HANDOVER_WHY_MAX] = "";
	driver_hear_signals(d);
	const char *why = d->rests ? driver_come_to_rest(d) : NULL;
	if (d->rests && !why) {
		fdstore_flush(&d->fdstore, DRIVER_FORGET_MS);
		if (!driver_save(d, &h)) {
			snprintf(text, sizeof text, "%s", h.record.failed ? h.record.why : "out of memory");
		} else if (!d->to_manager) {
			handover_exec(&h, d->program, d->notify, text);
		} else if (handover_store(&h, d->notify, text)) {
			d->handed_over = d->stopped = true;
		}
	}
	handover_done(&h);
	loop_block_signals(false);
	if (d->rests && !d->handed_over) {
		enum code code = d->to_manager || driver_is_ending(d) ? CODE_DRAINING : CODE_ERR;
		driver_go_on(d, (struct refusal){code, why ? why : text});
	}
}

struct refusal
driver_refusal(const struct driver *d)
{
	if (d->draining || d->waits || d->failed || d->stopped || core_draining(d->core)) {
		return (struct refusal){CODE_DRAINING, DRIVER_ENDING};
	}
	if (d->rests || d->arrives || d->returns) {
		return (struct refusal){CODE_ERR, "this daemon is being handed over"};
	}
	return (struct refusal){CODE_ERR, d->program ? NULL : "the program of this daemon is not known"};
}

void
driver_rest(struct driver *d, bool to_manager, conn_id asked_by)
{
	d->rests = true;
	d->to_manager = to_manager;
	d->asked_by = asked_by;
	d->silent_ms = clock_ms();
	d->rests_until_ms = d->silent_ms + DRIVER_REST_MS;
	d->rest_calls = 0;
	d->rest_rounds = DRIVER_REST_ROUNDS;
	LOG_EVENT(d->log, LOG_INFO_LEVEL, "handover.begun",
		log_text("way", to_manager ? "service manager" : "exec"),
		log_number("connections", (int64_t)connections_count(d->connections)));
	if (to_manager) {
		notify_stopping(
			d->notify, "handing over", DRIVER_REST_MS + DRIVER_ARRIVE_MS + DRIVER_DRAIN_MS);
	} else {
		notify_reloading(d->notify);
	}
	listeners_rest(&d->listeners);
	http_rest(d->http);
	fleet_rest(d->context.fleet);
	core_unread(d->core, d->silent_ms + DRIVER_UNREAD_MS);
}

/*
 * With a private master it would not be enough: systemd ends the redis-server with the service, and the next
 * process would have to begin with an empty one. What the state knows are the leases of this daemon, so their
 * holds could be claimed again; but latches are in the memory of the master only. So the daemon ends as
 * without a service manager, and SIGUSR2 is the way to restart it.
 */
bool
driver_hand_to_manager(struct driver *d)
{
	size_t most = d->notify->store_max;
	size_t count =
		connections_count(d->connections) + 2 * d->listeners.count + http_descriptors(d->http) + 2;
	char why[HANDOVER_WHY_MAX];
	driver_stop_trial(d);
	if (d->rests && !d->to_manager) {
		driver_go_on(d, (struct refusal){CODE_DRAINING, DRIVER_ENDING});
	}
	if (most == 0 || d->save_master || driver_refusal(d).why) {
		return false;
	}
	if (count > most) {
		snprintf(why, sizeof why,
			"the service manager keeps %zu descriptors (FileDescriptorStoreMax=), and there are "
			"%zu",
			most, count);
		driver_log_failed(d, (struct refusal){CODE_DRAINING, why});
		return false;
	}
	driver_rest(d, true, 0);
	return true;
}

bool
driver_is_handed_over(const struct driver *d)
{
	return d->handed_over;
}

/* ---- loaded ---- */

static void
load_user(struct driver *d, struct record *r)
{
	struct slice name = {NULL, 0};
	struct slice password = {NULL, 0};
	bool admin = false;
	user_fields(r, &name, &password, &admin);
	if (connections_last_id(d->connections) > 0) {
		record_fail(r, "its users are out of order"); /* connections point to users */
	}
	if (!r->failed &&
		!access_add(&d->context.access, name, password, admin ? RIGHT_ADMIN : RIGHTS_USUAL)) {
		record_no_memory(r);
	}
}

static void
load_stats(struct stats *stats, struct record *r)
{
	while (r->body.n > 0 && !r->failed) {
		struct slice name = {NULL, 0};
		int64_t value = 0;
		stat_fields(r, &name, &value);
		stats_add(stats, name.p, name.n, value);
	}
}

/* Minutes with other buckets are forgotten. */
static void
load_hour(struct hour *hour, struct record *r)
{
	int64_t buckets = 0, known = 0;
	*hour = (struct hour){0};
	hour_fields(r, &buckets, &known, &hour->ends_ms);
	if (buckets != BUCKETS_BOUNDS || known == 0) {
		return;
	}
	hour->known = (size_t)known;
	hour->at = hour->known - 1;
	for (size_t i = 0; i < hour->known; i++) {
		minute_fields(r, &hour->minutes[i]);
	}
}

static void
load_record(struct driver *d, struct handed *handed)
{
	struct record *r = &handed->record;
	struct connection *c;
	switch (r->type) {
	case RECORD_USER:
		load_user(d, r);
		break;
	case RECORD_LISTENER:
		listeners_load(&d->listeners, r, &handed->given);
		break;
	case RECORD_HTTP_LISTENER:
		http_load(d->http, r, &handed->given);
		break;
	case RECORD_CONNECTION:
		c = connection_load(d->connections, r, &handed->given, d->context.access);
		if (c) {
			admission_restore(&d->admission, c);
		}
		break;
	case RECORD_STREAM:
		events_load(d->context.events, r, d->connections);
		break;
	case RECORD_HISTORY:
		history_load(d->context.history, r);
		break;
	case RECORD_PROCESS:
		processes_load(d->processes, r);
		break;
	case RECORD_PRIVATE_MASTER:
		d->load_master(d->main_arg, r, &handed->given);
		break;
	case RECORD_LEDGER_FILE:
		driver_load_ledger(d, r, &handed->given);
		break;
	case RECORD_STATS:
		load_stats(d->stats, r);
		break;
	case RECORD_HOUR:
		load_hour(&d->hour, r);
		break;
	default:
		record_unknown(r);
		break;
	}
}

/* Nothing is left of a state that cannot be used, but the sockets that the service manager passed. */
static void
driver_forget(struct driver *d)
{
	char error[SOCKET_ADDRESS_MAX];
	(void)!listeners_set(&d->listeners, NULL, 0, error, sizeof error);
	http_drain(d->http);
	connections_free(d->connections);
	d->connections = NULL;
	processes_free(d->processes);
	core_free(d->core);
	driver_leave_ledger(d);
	events_free(d->context.events);
	history_free(d->context.history);
	passwords_free(d->context.passwords);
	access_free(d->context.access);
	admission_done(&d->admission);
	stats_init(d->stats);
	d->hour = (struct hour){0};
	d->processes = NULL;
	d->core = NULL;
	d->context = (struct context){.audit = d->context.audit};
	d->admission = (struct admission){0};
}

bool
driver_take_over(struct driver *d, const struct driver_settings *settings, struct handed *handed)
{
	struct record *r = &handed->record;
	d->core = driver_prepare(d, settings) ? core_load(&settings->core, driver_now(d), r) : NULL;
	driver_draw(d, 2);
	while (d->core && !r->failed && r->type != RECORD_END) {
		load_record(d, handed);
		record_next(r);
	}
	if (!d->core || r->failed) {
		record_no_memory(r);
		driver_forget(d);
		return false;
	}
	connections_go_on_from(d->connections, handed->daemon.last_conn);
	d->asked_by = handed->daemon.asked_by;
	d->silent_ms = handed->daemon.silent_ms;
	d->arrives = true;
	d->rests_until_ms = clock_ms() + DRIVER_ARRIVE_MS;
	/* However late this process has come up, no client has been read yet. */
	core_unread(d->core, clock_ms() + DRIVER_UNREAD_MS);
	d->stats->handovers++;
	return true;
}

void
driver_rescue_sockets(struct driver *d, struct record *r, struct handed *handed)
{
	listeners_rescue(&d->listeners, r, &handed->given);
}

/* ---- turns ---- */

static void
driver_arrive(struct driver *d, int64_t now_ms)
{
	struct connection *c = connections_find(d->connections, d->asked_by);
	struct core_counts counts;
	int64_t silent_ms = now_ms - d->silent_ms;
	d->arrives = false;
	d->asked_by = 0;
	core_unread(d->core, now_ms);
	admission_unread(&d->admission, silent_ms);
	d->stats->handover_silent_ms = silent_ms;
	core_view_counts(d->core, &counts);
	LOG_EVENT(d->log, LOG_INFO_LEVEL, "handover.done",
		log_number("connections", (int64_t)connections_count(d->connections)),
		log_number("sessions", (int64_t)counts.sessions), log_number("locks", (int64_t)counts.grants),
		log_number("silent_ms", silent_ms));
	const struct note note = {.type = NOTE_HANDED_OVER, .master = -1, .ms = silent_ms};
	events_tell(d->context.events, &note, NULL);
	if (c && connection_waits(c)) {
		admin_restarted(&d->context, c, silent_ms);
	}
}

/* Whether a majority of the masters can be used, or enough time has gone by. A daemon that arrives has asked
 * none of them before, so what is known of all is an answer, a refusal or a timeout of now. */
static bool
driver_has_masters(const struct driver *d, int64_t now_ms)
{
	struct service_view view;
	core_view_service(d->core, &view);
	return view.available || (d->arrives && view.settled) || now_ms >= d->rests_until_ms;
}

/*
 * With many leases, or waits for other daemons, there may be no moment without a call: renewals and new
 * attempts follow each other. They lose nothing if their answers are lost. Calls that
 * must be answered were sent before, or follow from the answers to those: so the driver waits for the calls
 * that are under way, several times.
 */
static bool
driver_has_rested(struct driver *d, int64_t now_ms)
{
	if (d->apply.calls_out == 0 || now_ms >= d->rests_until_ms) {
		return true;
	}
	if (d->rest_calls == 0 && d->rest_rounds > 0) {
		d->rest_rounds--;
		d->rest_calls = d->apply.calls_out;
	}
	return d->rest_calls == 0;
}

bool
driver_is_still(struct driver *d, int64_t now_ms)
{
	if (d->rests && driver_has_rested(d, now_ms)) {
		driver_pass_on(d);
	}
	if (d->arrives && driver_has_masters(d, now_ms)) {
		driver_arrive(d, now_ms);
	}
	if (d->returns && driver_has_masters(d, now_ms)) {
		d->returns = false;
		driver_drain(d, NULL, 0); /* as without a service manager that keeps descriptors */
	}
	return d->rests || d->arrives || d->returns || d->handed_over;
}
