/*
 * driver: see driver.h.
 */
#include "daemon/driver_inner.h"

#include "daemon/admin/events.h"
#include "daemon/admin/fleet.h"
#include "daemon/admin/health.h"
#include "daemon/admin/history.h"
#include "daemon/admin/info.h"
#include "daemon/base/clock.h"
#include "daemon/base/closer.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/driver_context.h"
#include "daemon/driver_handover.h"
#include "daemon/driver_ledger.h"
#include "daemon/driver_stored.h"
#include "daemon/driver_trial.h"
#include "daemon/http/http.h"
#include "daemon/net/connection_stored.h"
#include "daemon/net/connections.h"
#include "daemon/net/listeners.h"
#include "daemon/net/passwords.h"
#include "daemon/net/process.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"
#include "daemon/request/dispatch.h"
#include "daemon/request/handshake.h"
#include "proto/catalog.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- events for the core ---- */

void
driver_draw(struct driver *d, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		d->now.random[i] = random_next(&d->random);
	}
}

/*
 * A copy of this process, made while it runs (the image of a machine, CRIU), has the same random state, in
 * the process and in its kernel. So the clock is mixed in: two processes rarely step in the same nanosecond.
 */
struct now
driver_now(struct driver *d)
{
	int64_t now_ns = clock_ns();
	if (now_ns / 1000000 != d->now.ms) {
		d->now.ms = now_ns / 1000000;
		d->now.wall_us = clock_wall_us();
	}
	struct now now = d->now;
	now.random[0] ^= (uint64_t)now_ns;
	now.full = d->memory.full;
	return now;
}

/* The daemon ends by itself, with an error status. Its clients are notified first. */
static void
driver_fail(struct driver *d)
{
	d->failed = true;
	d->drain_until_ms = d->now.ms + DRIVER_DRAIN_MS;
}

static void
driver_step(struct driver *d, struct now now, const struct event *event)
{
	assert(!d->stepping);
	d->stepping = true;
	int64_t granted = d->stats->locks_granted;
	d->apply.wall_ms = now.wall_us / 1000;
	core_step(d->core, now, event, &d->actions);
	driver_draw(d, core_drew(d->core));
	bool ended = core_ended(d->core);
	/* A process that goes on from the ledger tells of what it has: the guard has to wait for that. */
	if (ledger_has_entries(&d->ledger)) {
		driver_rely(d);
		driver_touch_pushed(d);
	}
	if (ledger_has_entries(&d->ledger) || ended) {
		driver_write_ledger(d);
	}
	apply_actions(&d->apply, &d->actions);
	if (ended && !d->failed) {
		driver_fail(d);
	}
	if (event->type != EVENT_VOTE) {
		d->stats->locks_handed_off += d->stats->locks_granted - granted;
	}
	d->stepping = false;
}

/*
 * What is due comes first, however late the turn is: expired leases are noticed and losses are reported
 * before any other event is handled (R3).
 */
static void
driver_timer(struct driver *d, struct now now)
{
	driver_step(d, now, &(struct event){.type = EVENT_TIMER});
	connections_flush(d->connections);
}

void
driver_event(struct driver *d, const struct event *event)
{
	struct now now = driver_now(d);
	if (core_wake_at(d->core) <= now.ms) {
		driver_timer(d, now);
		now = driver_now(d);
	}
	if (event->type != EVENT_TIMER) {
		driver_step(d, now, event);
	}
}

static void
driver_on_master(void *arg, const struct event *event)
{
	struct driver *d = arg;
	if (event->type == EVENT_VOTE) {
		assert(d->apply.calls_out > 0);
		d->apply.calls_out--;
		d->rest_calls -= d->rest_calls > 0;
	}
	driver_event(d, event);
}

static bool
driver_on_find(void *arg, struct slice address, struct slice way, struct pool_settings *settings, char *why,
	size_t room)
{
	const struct driver *d = arg;
	return d->reach_master(d->main_arg, address, way, settings, why, room);
}

static const struct masters_hooks driver_masters_hooks = {
	.event = driver_on_master,
	.find = driver_on_find,
	.asked = driver_asked,
	.lookup_answered = driver_lookup_answered,
};

/* ---- connections ---- */

static const struct listener_hooks driver_listener_hooks = {
	.accepted = admission_accepted,
	.paused = admission_paused,
};

static void
driver_on_request(void *arg, struct connection *c, const struct request *request)
{
	struct driver *d = arg;
	dispatch_request(&d->context, c, request);
	if (d->stats->clients_kept > 0) {
		driver_served(d, c);
	}
}

static void
driver_on_expected(void *arg, conn_id id, unsigned ahead)
{
	const struct driver *d = arg;
	core_expect(d->core, id, ahead);
}

static void
driver_on_finished(void *arg, struct connection *c)
{
	driver_event(arg, &(struct event){.type = EVENT_FINISH, .conn = connection_identity(c)->id});
}

static void
driver_on_secured(void *arg, struct connection *c)
{
	struct driver *d = arg;
	handshake_secured(&d->context, c);
}

static void
driver_on_closed(void *arg, struct connection *c, enum end end, const char *why)
{
	static const char *const ends[] = {
		[END_CLEAN] = "clean", [END_GONE] = "gone", [END_ABANDONED] = "abandoned"};
	struct driver *d = arg;
	const struct identity *who = connection_identity(c);
	events_leave(d->context.events, c);
	admission_left(&d->admission, c);
	handshake_ended(&d->context, c, why);
	LOG_EVENT(d->log, LOG_DEBUG_LEVEL, "client.closed", log_number("connection", (int64_t)who->id),
		log_text("why", why), log_text("end", ends[end]));
	driver_keep_label(d, who->id, who->label);
	driver_event(d, &(struct event){.type = EVENT_CLOSE, .conn = who->id, .end = end});
}

static const struct connections_hooks driver_connections_hooks = {
	.request = driver_on_request,
	.expect = driver_on_expected,
	.secured = driver_on_secured,
	.finished = driver_on_finished,
	.closed = driver_on_closed,
	.rests = driver_rests,
};

/* ---- the loop ---- */

static void
driver_on_alarm(void *arg)
{
	driver_event(arg, &(struct event){.type = EVENT_TIMER});
}

static void
driver_on_signal(void *arg, int number)
{
	struct driver *d = arg;
	char text[CONTEXT_TEXT_MAX];
	if (!d->core) {
		d->stopped = true;
	} else if (number == SIGHUP) {
		LOG_EVENT(d->context.audit, LOG_INFO_LEVEL, "daemon.reload", log_text("why", "SIGHUP"));
		driver_reload(d, text, sizeof text);
	} else if (number == SIGUSR2) {
		driver_hand_over(d, NULL);
	} else if (d->draining) {
		d->stopped = true; /* a second signal: end at once */
	} else if (!driver_hand_to_manager(d)) {
		driver_drain(d, NULL, 0);
	}
}

static void
driver_on_tick(void *arg)
{
	const struct driver *d = arg;
	notify_watchdog(d->notify);
}

static const struct loop_hooks driver_loop_hooks = {
	.alarm = driver_on_alarm,
	.signal = driver_on_signal,
	.tick = driver_on_tick,
};

int64_t
driver_end_ms(const struct driver *d)
{
	return d->linger_until_ms > d->drain_until_ms ? d->linger_until_ms : d->drain_until_ms;
}

/* Whether the drain is complete: everything that can be given back has been, and each client has been
 * notified. */
static bool
driver_is_done(const struct driver *d)
{
	if (d->stopped) {
		return true;
	}
	if (!d->draining && !d->failed) {
		return false;
	}
	if (core_ended(d->core)) {
		return !connections_unwritten(d->connections) || clock_ms() >= d->drain_until_ms;
	}
	if (!d->draining || clock_ms() < d->linger_until_ms) {
		return false;
	}
	return (d->apply.calls_out == 0 && !connections_unwritten(d->connections)) ||
	       clock_ms() >= d->drain_until_ms;
}

/* If clients reach a successor at the socket of this daemon, this daemon must not hold locks: both may have
 * private masters. */
static void
driver_check_sockets(struct driver *d, int64_t now_ms)
{
	const char *why;
	const struct listener *lost = listeners_lost(&d->listeners, now_ms, &why);
	if (!lost || d->draining || d->failed || d->rests || d->returns) {
		return;
	}
	LOG_EVENT(d->log, LOG_ERROR_LEVEL, "daemon.displaced", log_text("socket", listener_address(lost)),
		log_text("why", why), log_text("text", "its locks are given up, and it ends"));
	driver_fail(d);
	if (d->lingers && !driver_is_clean(d)) {
		struct terms_view terms;
		core_view_terms(d->core, &terms);
		d->linger_until_ms = clock_ms() + terms.wanted_lease_ms;
	}
	driver_drain(d, NULL, 0);
}

/*
 * Notes what has happened meanwhile. libevent first asks the kernel for few events at once. So if that many
 * come, the loop is turned again: clients behind these few must not wait for several turns to be noticed.
 */
static void
driver_listen_up(struct driver *d)
{
	bool still = driver_hands_over(d);
	loop_turn(d->loop, !still && (connections_busy(d->connections) || http_busy(d->http) ||
					     (d->context.fleet_works && fleet_busy(d->context.fleet))));
	size_t before = 0, noted = still ? 0 : connections_arrived(d->connections);
	int64_t until_ns = noted >= LOOP_EVENTS_MIN ? clock_ns() + DRIVER_LISTEN_NS : 0;
	while (noted >= before + LOOP_EVENTS_MIN && clock_ns() < until_ns) {
		loop_turn(d->loop, true);
		before = noted;
		noted = connections_arrived(d->connections);
	}
}

/* Rough numbers of bytes: for a lease or a wait; for a client besides its buffers; and for a lease while many
 * are renewed, lost or released in one step, with a bound for the whole step. */
#define LEASE_BYTES  256
#define CLIENT_BYTES 1024
#define RISE_BYTES   4096
#define RISE_MOST    ((size_t)64 << 20)

/* What changes slowly is checked in the first turn after so long, and by then at the latest if there is no
 * other turn. */
#define CHECK_MS        10
#define CHECK_LATEST_MS 100

/* Returns when it has to be called again even if nothing happens. */
static int64_t
driver_check_memory(struct driver *d, int64_t now_ms)
{
	struct core_counts counts;
	core_view_counts(d->core, &counts);
	size_t many = counts.leases + counts.waiters + counts.releasing;
	size_t rise = many * RISE_BYTES < RISE_MOST ? many * RISE_BYTES : RISE_MOST;
	size_t load = many * LEASE_BYTES + connections_buffered(d->connections) +
		      connections_count(d->connections) * CLIENT_BYTES;
	int64_t again_ms = memory_turn(&d->memory, now_ms, load, rise);
	admission_set_short_of_memory(&d->admission, d->memory.full);
	return again_ms;
}

static int64_t
earlier(int64_t one_ms, int64_t other_ms)
{
	return one_ms < other_ms ? one_ms : other_ms;
}

/* Returns when it has to be called again even if nothing happens. */
static int64_t
driver_check_all(struct driver *d, int64_t now_ms)
{
	int64_t again_ms = driver_check_memory(d, now_ms);
	driver_ledger_check(d);
	/* The links that a hand-over takes down for a moment are no news for people, nor for the service
	 * manager. */
	if (driver_hands_over(d)) {
		return again_ms;
	}
	health_refresh(&d->context, now_ms);
	return d->draining ? again_ms : earlier(again_ms, service_turn(&d->service, now_ms));
}

/* The end of a turn. What changes slowly is checked a moment later, once for all turns until then: a client
 * that sends one request after the other makes 500 turns in that time. If nothing happened since the last
 * check, none is due. */
static void
driver_check_later(struct driver *d, int64_t now_ms)
{
	if (now_ms >= d->check_at_ms || now_ms >= d->check_by_ms || service_starts(&d->service)) {
		d->check_by_ms = driver_check_all(d, now_ms);
		d->check_at_ms = INT64_MAX;
	} else if (d->check_at_ms == INT64_MAX) {
		d->check_at_ms = now_ms + CHECK_MS;
		d->check_by_ms = earlier(d->check_by_ms, now_ms + CHECK_LATEST_MS);
	}
}

/* The time of the next turn if nothing happens before. A part that has nothing to do is not asked. */
static int64_t
driver_wake_at(struct driver *d, int64_t now_ms)
{
	int64_t wake_at = core_wake_at(d->core);
	wake_at = d->check_by_ms < wake_at ? d->check_by_ms : wake_at;
	wake_at = d->hour.ends_ms < wake_at ? d->hour.ends_ms : wake_at;
	wake_at = earlier(wake_at, connections_held_until(d->connections));
	if (driver_hands_over(d)) {
		wake_at = earlier(wake_at, now_ms + 1);
	} else {
		int64_t probe_at = connections_probe(d->connections, now_ms);
		wake_at = probe_at < wake_at ? probe_at : wake_at;
	}
	if (d->context.fleet_works && !driver_hands_over(d)) {
		wake_at = d->fleet_wake_ms < wake_at ? d->fleet_wake_ms : wake_at;
	}
	if (admission_waits(&d->admission)) {
		wake_at = earlier(wake_at, admission_wake_at(&d->admission));
	}
	if (d->apply.gates.left_out) {
		wake_at = earlier(wake_at, note_gates_tell(&d->apply.gates, d->log, now_ms));
	}
	if (driver_has_store_turn(d)) {
		wake_at = earlier(wake_at, driver_stored_turn(d, now_ms));
	}
	if (ledger_works(&d->ledger) && !driver_hands_over(d)) {
		wake_at = earlier(wake_at, driver_ledger_wake_at(d, now_ms));
	}
	if (d->draining || d->failed) {
		wake_at = earlier(wake_at, driver_end_ms(d));
	}
	/* A connection that ended may have had the last hold. */
	if (d->waits) {
		wake_at = earlier(wake_at, core_drained(d->core) ? now_ms : d->waits_until_ms);
	}
	return wake_at;
}

/* Serves clients, and what else asks for something. */
static void
driver_serve(struct driver *d, int64_t begun_ns)
{
	if (admission_waits(&d->admission)) {
		admission_turn(&d->admission);
	}
	connections_serve(d->connections, begun_ns + DRIVER_TURN_NS);
	if (http_busy(d->http)) {
		http_turn(d->http, clock_ns() + DRIVER_HTTP_NS);
	}
	if (d->rests) {
		fleet_rest(d->context.fleet); /* requests that came behind a RESTART in this turn */
	} else if (d->context.fleet_works) {
		d->fleet_wake_ms = fleet_turn(d->context.fleet, begun_ns / 1000000);
	}
}

void
driver_turn(struct driver *d)
{
	driver_listen_up(d);
	if (d->stats->clients_kept > 0) {
		driver_ledger_check(d); /* the marks of these are written without another check */
	}
	int64_t begun_ns = clock_ns(), now_ms = begun_ns / 1000000;
	d->now.wall_us = clock_wall_us(); /* no turn proposes tokens of the last one */
	if (listeners_due(&d->listeners, now_ms)) {
		driver_check_sockets(d, now_ms);
	}
	if (now_ms >= d->hour.ends_ms) {
		hour_sample(&d->hour, d->stats, now_ms);
	}
	if (d->waits) {
		driver_drain_turn(d);
	}
	if (!driver_hands_over(d) || !driver_is_still(d, now_ms)) {
		driver_serve(d, begun_ns);
	} else if (d->handed_over) {
		return; /* what is written now would be written twice */
	}
	if (d->relied_on) {
		driver_rely(d);
	}
	masters_flush(d->masters); /* before the answers: the masters work while these are written */
	if (connections_turn(d->connections, begun_ns + DRIVER_TURN_NS + DRIVER_ENDS_NS)) {
		masters_flush(d->masters); /* calls that follow from the ends of connections */
	}
	if (ledger_works(&d->ledger)) {
		driver_ledger_turn(d, now_ms);
	}
	driver_check_later(d, now_ms);
	loop_alarm_at(d->loop, driver_wake_at(d, now_ms));
	d->stats->turns++;
}

int
driver_run(struct driver *d)
{
	while (!driver_is_done(d)) {
		driver_turn(d);
	}
	return d->failed ? -1 : 0;
}

struct driver *
driver_new(struct log *log, struct stats *stats, const struct notify *notify)
{
	struct driver *d = calloc(1, sizeof *d);
	if (!d) {
		return NULL;
	}
	d->log = log;
	d->context.audit = log;
	d->stats = stats;
	d->notify = notify;
	random_init(&d->random);
	driver_draw(d, 2);
	actions_init(&d->actions);
	d->actions.tell = apply_note;
	d->actions.arg = &d->apply;
	memory_init(&d->memory, log);
	buffer_init(&d->ledger.entries, SIZE_MAX / 4);
	buffer_init(&d->returning, SIZE_MAX / 4);
	fdstore_init(&d->fdstore, notify);
	/* Twice as often as the service manager requires. */
	d->loop = loop_new(&driver_loop_hooks, d, notify->watchdog_ms / 2);
	d->closer = closer_new();
	d->http = d->loop && d->closer
			  ? http_new(loop_base(d->loop), &d->context, d->closer, driver_page_entered, d)
			  : NULL;
	if (!d->http) {
		int why = errno;
		driver_free(d);
		errno = why;
		return NULL;
	}
	d->listeners = (struct listeners){.base = loop_base(d->loop),
		.hooks = &driver_listener_hooks,
		.arg = &d->admission,
		.closer = d->closer};
	return d;
}

void
driver_free(struct driver *d)
{
	if (!d) {
		return;
	}
	driver_stop_trial(d);
	listeners_close(&d->listeners);
	http_free(d->http);
	connections_free(d->connections);
	d->connections = NULL;
	processes_free(d->processes);
	masters_free(d->masters);
	core_free(d->core);
	driver_leave_ledger(d);
	buffer_done(&d->ledger.entries);
	buffer_done(&d->returning);
	fdstore_done(&d->fdstore);
	events_free(d->context.events);
	history_free(d->context.history);
	passwords_free(d->context.passwords);
	access_free(d->context.access);
	catalog_done(&d->context.catalog);
	admission_done(&d->admission);
	fleet_free(d->context.fleet);
	free(d->context.health);
	actions_done(&d->actions);
	memory_done(&d->memory);
	closer_free(d->closer);
	loop_free(d->loop);
	free(d);
}

struct event_base *
driver_base(struct driver *d)
{
	return loop_base(d->loop);
}

bool
driver_prepare(struct driver *d, const struct driver_settings *settings)
{
	struct event_base *base = loop_base(d->loop);
	d->reload = settings->reload;
	d->prepare = settings->prepare;
	d->relied_on = settings->relied_on;
	d->find_master = settings->find_master;
	d->reach_master = settings->reach_master;
	d->save_master = settings->save_master;
	d->load_master = settings->load_master;
	d->program = settings->program;
	d->main_arg = settings->arg;
	d->lingers = settings->lingers;
	d->context.access = access_new(NULL, 0);
	d->context.events = events_new();
	d->context.history = history_new(settings->limits.history);
	d->connections =
		connections_new(base, &settings->limits.connections, &driver_connections_hooks, d, d->stats);
	d->processes = processes_new(base, &settings->limits.processes, driver_on_exit, d);
	d->context.passwords =
		d->connections ? passwords_new(base, d->connections, &d->context.access, &d->context.guesses)
			       : NULL;
	if (!d->context.access || !d->context.events || !d->context.history || !d->context.passwords ||
		!d->processes) {
		return false;
	}
	connections_close_by(d->connections, d->closer);
	connections_store_in(d->connections, &d->fdstore);
	admission_init(&d->admission, d->connections, &d->context.access, d->stats, d->log, driver_open, d);
	return true;
}

/* False: out of memory. */
static bool
driver_open_masters(struct driver *d, const struct driver_settings *settings)
{
	unsigned count = settings->core.masters;
	d->masters = masters_new(
		loop_base(d->loop), settings->pools, count, &driver_masters_hooks, d, d->log, d->stats);
	for (unsigned i = 0; d->masters && settings->core.where && settings->core.ways && i < count; i++) {
		if (!masters_known_as(d->masters, i, settings->core.where[i], settings->core.ways[i])) {
			return false;
		}
	}
	return d->masters;
}

/* Goes on from a ledger, or begins with nothing. */
static bool
driver_begin(struct driver *d, const struct driver_settings *settings)
{
	if (!driver_prepare(d, settings)) {
		return false;
	}
	d->core = driver_recover(d, settings);
	if (!d->core) {
		d->core = core_new(&settings->core, driver_now(d));
		driver_draw(d, 2);
	}
	return d->core;
}

int
driver_start(struct driver *d, const struct driver_settings *settings)
{
	bool taken_over = d->core;
	bool recovers = !taken_over && d->ledger.file;
	if ((!taken_over && !driver_begin(d, settings)) || !driver_open_masters(d, settings)) {
		return -1;
	}
	driver_set_context(d, &settings->facts);
	if (d->hour.known > 0) {
		hour_go_on(&d->hour, d->stats);
	} else {
		hour_begin(&d->hour, d->stats, clock_ms(), clock_wall_us() / 1000);
	}
	d->context.fleet = fleet_new(&d->context);
	d->context.health = health_new();
	if (!d->context.fleet || !d->context.health) {
		return -1;
	}
	driver_set_limits(d, &settings->limits);
	d->apply = (struct apply){
		.connections = d->connections,
		.masters = d->masters,
		.events = d->context.events,
		.history = d->context.history,
		.log = d->log,
		.stats = d->stats,
		.http = d->http,
		.keep = driver_keep,
		.whose = driver_whose,
		.arg = d,
	};
	if (recovers && !driver_watch_again(d)) {
		return -1;
	}
	driver_keep_ledger(d);
	if (taken_over || recovers) {
		driver_timer(d, driver_now(d)); /* the core tells which masters it has, and what is over */
	}
	service_start(&d->service, d->notify, d->core, clock_ms());
	d->check_at_ms = d->check_by_ms = clock_ms();
	return listeners_start(&d->listeners) == 0 && http_start(d->http) == 0 ? 0 : -1;
}

/* ---- the sockets that clients connect to ---- */

int
driver_adopt(struct driver *d, int fd, char *error, size_t error_room)
{
	return listeners_adopt(&d->listeners, fd, error, error_room);
}

int
driver_listen(struct driver *d, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room)
{
	return listeners_set(&d->listeners, settings, count, error, error_room);
}

const char *
driver_other_master(const struct driver *d, const struct master_address *only)
{
	return master_aside(d->core, only->address, only->way);
}

const char *
driver_known_before(const struct driver *d)
{
	return listeners_known_before(&d->listeners);
}
