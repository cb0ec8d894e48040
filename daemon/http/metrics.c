/*
 * metrics: the numbers, in the format of OpenMetrics, or in the older text format of Prometheus. Each family
 * of metrics is written as a whole: its type, its unit, its help, its samples.
 *
 * The formats differ in the name that type and help are given for: of a counter, OpenMetrics has it without
 * _total, and the text format with it. Only OpenMetrics has units, the type info, and an end.
 */
#include "daemon/http/metrics.h"

#include "daemon/admin/fleet.h"
#include "daemon/admin/fleet_lookup.h"
#include "daemon/base/clock.h"
#include "daemon/base/memory.h"
#include "daemon/base/open_files.h"
#include "daemon/base/stats.h"
#include "daemon/base/tls.h"
#include "daemon/base/tls_dates.h"
#include "daemon/core/view.h"
#include "daemon/http/contents.h"
#include "daemon/http/named.h"
#include "daemon/net/admission.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A name with every byte escaped, its key and its quotes; and a line with it. */
#define METRICS_LABEL_MAX 1056
#define METRICS_LINE_MAX  1280

struct metrics {
	const struct context *context;
	struct buffer *out;
	bool openmetrics;
	struct master_view masters[CORE_SLOTS_MAX];
	struct pool_view pools[CORE_SLOTS_MAX];
	char labels[CORE_SLOTS_MAX][METRICS_LABEL_MAX]; /* master="..." */
	unsigned count;
};

__attribute__((format(printf, 2, 3))) static void
put(const struct metrics *m, const char *format, ...)
{
	char line[METRICS_LINE_MAX];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	assert(n >= 0);
	buffer_put(m->out, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

/* key="value", with the value escaped. A value that does not fit is cut. */
static void
label_make(char out[METRICS_LABEL_MAX], const char *key, struct slice value)
{
	size_t n = (size_t)snprintf(out, METRICS_LABEL_MAX, "%s=\"", key);
	for (size_t i = 0; i < value.n && n < METRICS_LABEL_MAX - 4; i++) {
		char c = value.p[i];
		if (c == '\\' || c == '"' || c == '\n') {
			out[n++] = '\\';
		}
		out[n++] = c == '\n' ? 'n' : c;
	}
	out[n++] = '"';
	out[n] = '\0';
}

/* The unit that the name of a family ends with, or NULL. */
static const char *
unit_of(const char *family)
{
	static const char *const units[] = {"seconds", "bytes"};
	size_t n = strlen(family);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t k = strlen(units[i]);
		if (n > k && family[n - k - 1] == '_' && strcmp(family + n - k, units[i]) == 0) {
			return units[i];
		}
	}
	return NULL;
}

/* name: with its prefix, without _total. */
static void
begin(const struct metrics *m, const char *name, const char *type, const char *help)
{
	bool counter = strcmp(type, "counter") == 0;
	const char *total = counter && !m->openmetrics ? "_total" : "";
	put(m, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total, help, name, total, type);
	if (m->openmetrics && unit_of(name)) {
		put(m, "# UNIT %s %s\n", name, unit_of(name));
	}
}

static void
gauge(const struct metrics *m, const char *name, const char *help, int64_t value)
{
	begin(m, name, "gauge", help);
	put(m, "%s %" PRId64 "\n", name, value);
}

static void
put_seconds(const struct metrics *m, const char *name, const char *labels, int64_t us)
{
	int64_t size_us = us < 0 ? -us : us;
	put(m, "%s%s%s%s %s%" PRId64 ".%06" PRId64 "\n", name, labels[0] ? "{" : "", labels,
		labels[0] ? "}" : "", us < 0 ? "-" : "", size_us / 1000000, size_us % 1000000);
}

/* A time in a gauge of its own; ms >= 0. */
static void
gauge_ms(const struct metrics *m, const char *name, const char *help, int64_t ms)
{
	begin(m, name, "gauge", help);
	put_seconds(m, name, "", ms * 1000);
}

/* In seconds, in the shortest form, but with a digit behind the point. */
static void
bound_print(char out[32], int64_t us)
{
	int n = snprintf(out, 32, "%" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
	while (out[n - 1] == '0' && out[n - 2] != '.') {
		out[--n] = '\0';
	}
}

static void
put_histogram(const struct metrics *m, const char *name, const char *labels, const struct buckets *histogram)
{
	char text[METRICS_LINE_MAX];
	const char *comma = labels[0] ? "," : "";
	uint64_t count = 0;
	for (size_t i = 0; i < BUCKETS_BOUNDS; i++) {
		char bound[32];
		bound_print(bound, buckets_bound_us(i));
		count += histogram->counts[i];
		put(m, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels, comma, bound, count);
	}
	count += histogram->counts[BUCKETS_BOUNDS];
	put(m, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, count);
	snprintf(text, sizeof text, "%s_sum", name);
	put_seconds(m, text, labels, histogram->sum_us);
	put(m, "%s_count%s%s%s %" PRIu64 "\n", name, labels[0] ? "{" : "", labels, labels[0] ? "}" : "",
		count);
}

/* ---- the table of counters ---- */

static void
write_plain(const struct metrics *m, const struct stat_info *info, int64_t value)
{
	static const char ms[] = "_ms";
	char name[128];
	size_t n = strlen(info->name), k = sizeof ms - 1;
	bool time = n > k && strcmp(info->name + n - k, ms) == 0;
	snprintf(name, sizeof name, "holdfast_%.*s%s", (int)(time ? n - k : n), info->name,
		time ? "_seconds" : "");
	begin(m, name, info->kind == STAT_COUNTER ? "counter" : "gauge", info->help);
	if (time) {
		put_seconds(m, name, "", value * 1000);
	} else {
		put(m, "%s%s %" PRId64 "\n", name, info->kind == STAT_COUNTER ? "_total" : "", value);
	}
}

/* What a family of stats.def is about, for people. */
static const struct {
	const char *family;
	const char *help;
} families[] = {
	{"grants", "grants to sessions, by the kind of the lock"},
	{"losses", "holds that ended otherwise than by their holder, by the reason"},
	{"refusals", "LOCK and MLOCK refused with an error, by its code"},
};

static const char *
family_help(const char *family)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		if (strcmp(families[i].family, family) == 0) {
			return families[i].help;
		}
	}
	return family;
}

static void
write_stats(const struct metrics *m)
{
	const char *family = "";
	char name[128];
	for (size_t i = 0; i < stats_count(); i++) {
		const struct stat_info *info = stats_info(i);
		int64_t value = stats_value(m->context->stats, i);
		if (!info->family) {
			write_plain(m, info, value);
			continue;
		}
		snprintf(name, sizeof name, "holdfast_%s", info->family);
		if (strcmp(family, info->family) != 0) {
			begin(m, name, "counter", family_help(info->family));
			family = info->family;
		}
		put(m, "%s_total{%s=\"%s\"} %" PRId64 "\n", name, info->label, info->value, value);
	}
}

static void
write_histograms(const struct metrics *m)
{
	const char *family = "";
	char name[128], label[METRICS_LABEL_MAX];
	for (size_t i = 0; i < stats_histograms(); i++) {
		const struct histogram_info *info = stats_histogram_info(i);
		snprintf(name, sizeof name, "holdfast_%s", info->family);
		if (strcmp(family, info->family) != 0) {
			begin(m, name, "histogram", info->help);
			family = info->family;
		}
		label[0] = '\0';
		if (info->label[0] != '\0') {
			label_make(label, info->label, slice_of(info->value));
		}
		put_histogram(m, name, label, stats_histogram(m->context->stats, i));
	}
}

static void
write_commands(const struct metrics *m)
{
	begin(m, "holdfast_requests", "counter",
		"requests by verb; a verb that was never requested is not listed");
	for (enum verb v = 0; v < VERB_COUNT; v++) {
		char name[COMMAND_NAME_MAX];
		command_name(v, name);
		if (m->context->calls[v] > 0) {
			put(m, "holdfast_requests_total{verb=\"%s\"} %" PRIu64 "\n", name,
				m->context->calls[v]);
		}
	}
}

/* ---- the core ---- */

static void
write_counts(const struct metrics *m)
{
	struct core_counts c;
	struct longest_view longest;
	struct service_view service;
	core_view_counts(m->context->core, &c);
	core_view_longest(m->context->core, clock_ms(), &longest);
	core_view_service(m->context->core, &service);
	gauge(m, "holdfast_available", "1: a new lock can be had; 0: /readyz says why not",
		service.available && !core_draining(m->context->core) && !m->context->memory->full);
	gauge(m, "holdfast_draining", "1: the daemon is ending, and takes no new locks",
		core_draining(m->context->core));
	gauge(m, "holdfast_sessions", "sessions", (int64_t)c.sessions);
	gauge(m, "holdfast_sessions_with_grace", "sessions that outlive a lost connection",
		(int64_t)c.graces);
	gauge(m, "holdfast_names", "names with a holder, a waiter or a lease here", (int64_t)c.resources);
	gauge(m, "holdfast_leases", "leases at the masters", (int64_t)c.leases);
	gauge(m, "holdfast_locks_held", "holds of sessions", (int64_t)c.grants);
	gauge(m, "holdfast_locks_withheld", "abandoned holds that wait for their announced deadline",
		(int64_t)c.withheld);
	gauge(m, "holdfast_waiters", "waits for a lock", (int64_t)c.waiters);
	gauge_ms(m, "holdfast_longest_wait_seconds",
		"how long the oldest LOCK or MLOCK that waits has waited by now; 0: none waits",
		longest.wait_ms);
	gauge_ms(m, "holdfast_longest_hold_seconds",
		"how long the oldest hold of a session has lasted by now; 0: there is none", longest.hold_ms);
	gauge(m, "holdfast_leases_releasing", "leases given up, and not yet confirmed by the masters",
		(int64_t)c.releasing);
	gauge(m, "holdfast_latches", "latches that were asked about here", (int64_t)c.latches);
	gauge(m, "holdfast_latch_requests", "LATCH requests without an answer", (int64_t)c.requests);
}

/* ---- the masters ---- */

static void
see_masters(struct metrics *m)
{
	m->count = core_masters(m->context->core);
	for (unsigned i = 0; i < m->count; i++) {
		core_view_master(m->context->core, clock_ms(), i, &m->masters[i]);
		masters_see_pool(m->context->masters, i, &m->pools[i]);
		label_make(m->labels[i], "master", slice_of(masters_where(m->context->masters, i)));
	}
}

static void
write_master_states(const struct metrics *m)
{
	static const char *const words[] = {
#define MASTER_STATE(name, word) word,
		MASTER_STATES(MASTER_STATE)
#undef MASTER_STATE
	};
	begin(m, "holdfast_master_state", "gauge", "1: the master is in this state, as INFO shows it");
	for (unsigned i = 0; i < m->count; i++) {
		for (unsigned s = 0; s < MASTER_STATE_COUNT; s++) {
			put(m, "holdfast_master_state{%s,state=\"%s\"} %d\n", m->labels[i], words[s],
				m->masters[i].state == s);
		}
	}
	begin(m, "holdfast_master_silent", "gauge",
		"1: it has not answered for too long, and is not waited for");
	for (unsigned i = 0; i < m->count; i++) {
		put(m, "holdfast_master_silent{%s} %d\n", m->labels[i], m->masters[i].silent);
	}
	begin(m, "holdfast_master_failing", "gauge", "1: it answers with an error, and takes no leases now");
	for (unsigned i = 0; i < m->count; i++) {
		put(m, "holdfast_master_failing{%s} %d\n", m->labels[i], m->masters[i].failing);
	}
	begin(m, "holdfast_master_refused_daemons", "gauge",
		"other daemons that it refused lately for their settings, format or set of masters");
	for (unsigned i = 0; i < m->count; i++) {
		put(m, "holdfast_master_refused_daemons{%s} %u\n", m->labels[i], m->masters[i].refused_count);
	}
	begin(m, "holdfast_master_guard_seconds", "gauge", "time left in which it grants nothing new");
	for (unsigned i = 0; i < m->count; i++) {
		int64_t left_ms = m->masters[i].guard_ms > 0 ? m->masters[i].guard_ms : 0;
		put_seconds(m, "holdfast_master_guard_seconds", m->labels[i], left_ms * 1000);
	}
}

static void
write_master_links(const struct metrics *m)
{
	begin(m, "holdfast_master_links_up", "gauge", "connections to the master in use");
	for (unsigned i = 0; i < m->count; i++) {
		put(m, "holdfast_master_links_up{%s} %u\n", m->labels[i], m->masters[i].links_up);
	}
	begin(m, "holdfast_master_queue", "gauge", "calls to the master without an answer yet");
	for (unsigned i = 0; i < m->count; i++) {
		put(m, "holdfast_master_queue{%s} %zu\n", m->labels[i], m->pools[i].calls);
	}
	begin(m, "holdfast_master_clock_offset_seconds", "gauge",
		"how far its clock was ahead of that of this host at the latest HELLO");
	for (unsigned i = 0; i < m->count; i++) {
		put_seconds(
			m, "holdfast_master_clock_offset_seconds", m->labels[i], m->pools[i].clock_ms * 1000);
	}
	begin(m, "holdfast_master_round_trip_seconds", "histogram",
		"from a command to the answer of the master");
	for (unsigned i = 0; i < m->count; i++) {
		static const struct buckets none = {0};
		const struct buckets *trips = m->pools[i].round_trip;
		put_histogram(m, "holdfast_master_round_trip_seconds", m->labels[i], trips ? trips : &none);
	}
}

static void
write_replicas(const struct metrics *m)
{
	begin(m, "holdfast_master_replicated", "gauge",
		"of a master of Sentinel or a cluster: 0: too few replicas acknowledge, and it grants "
		"nothing "
		"new");
	for (unsigned i = 0; i < m->count; i++) {
		if (m->pools[i].finder.name) {
			put(m, "holdfast_master_replicated{%s} %d\n", m->labels[i], m->pools[i].replicated);
		}
	}
}

static void
write_masters(struct metrics *m)
{
	struct masters_sum sum;
	masters_see(m->context->core, clock_ms(), &sum);
	see_masters(m);
	gauge(m, "holdfast_masters", "masters of the set", sum.count);
	gauge(m, "holdfast_masters_usable", "masters that can be asked for leases", sum.usable);
	gauge(m, "holdfast_masters_majority", "masters that have to grant a lease", sum.majority);
	write_master_states(m);
	write_master_links(m);
	write_replicas(m);
}

static void
write_fleet(const struct metrics *m)
{
	struct fleet_versions versions;
	char label[METRICS_LABEL_MAX];
	fleet_see(m->context->fleet, clock_ms(), &versions);
	begin(m, "holdfast_fleet_daemons", "gauge",
		"daemons that share the masters, by version, as these said within the last minutes");
	for (size_t i = 0; i < versions.n; i++) {
		label_make(label, "version", slice_of(versions.list[i].version));
		put(m, "holdfast_fleet_daemons{%s} %zu\n", label, versions.list[i].daemons);
	}
}

/* ---- names that are counted one by one ---- */

/* How many hold the name now, or wait for it. */
static int64_t
name_has(const struct metrics *m, const struct named_entry *entry, bool waiters)
{
	struct resource_view view;
	if (!core_view_resource(m->context->core, clock_ms(), (struct slice){entry->name, entry->n}, &view)) {
		return 0;
	}
	return (int64_t)(waiters ? view.waiters : view.holds);
}

enum named_value {
	NAMED_GRANTED,
	NAMED_LOST,
	NAMED_TIMED_OUT,
	NAMED_WAITED,
	NAMED_HELD,
	NAMED_HOLDERS,
	NAMED_WAITERS
};

static const struct {
	const char *name;
	const char *type;
	const char *help;
} named_families[] = {
	[NAMED_GRANTED] = {"holdfast_name_grants", "counter", "grants of this name"},
	[NAMED_LOST] = {"holdfast_name_losses", "counter",
		"holds of this name that ended otherwise than by their holder"},
	[NAMED_TIMED_OUT] = {"holdfast_name_timeouts", "counter",
		"waits for this name that ended without a grant"},
	[NAMED_WAITED] = {"holdfast_name_wait_seconds", "counter", "all waits for this name together"},
	[NAMED_HELD] = {"holdfast_name_hold_seconds", "counter", "all holds of this name together"},
	[NAMED_HOLDERS] = {"holdfast_name_holders", "gauge", "holds of this name now"},
	[NAMED_WAITERS] = {"holdfast_name_waiters", "gauge", "waits for this name now"},
};

static void
write_named_value(const struct metrics *m, enum named_value value, const struct named_entry *entry)
{
	const int64_t values[] = {[NAMED_GRANTED] = entry->granted,
		[NAMED_LOST] = entry->lost,
		[NAMED_TIMED_OUT] = entry->timed_out,
		[NAMED_WAITED] = entry->waited_ms,
		[NAMED_HELD] = entry->held_ms};
	char label[METRICS_LABEL_MAX], text[64];
	bool gauge = value == NAMED_HOLDERS || value == NAMED_WAITERS;
	label_make(label, "name", (struct slice){entry->name, entry->n});
	snprintf(text, sizeof text, "%s%s", named_families[value].name, gauge ? "" : "_total");
	if (value == NAMED_WAITED || value == NAMED_HELD) {
		put_seconds(m, text, label, values[value] * 1000);
	} else {
		put(m, "%s{%s} %" PRId64 "\n", text, label,
			gauge ? name_has(m, entry, value == NAMED_WAITERS) : values[value]);
	}
}

static void
write_named(const struct metrics *m, const struct named *named)
{
	if (named->match_count == 0) {
		return;
	}
	for (enum named_value v = NAMED_GRANTED; v <= NAMED_WAITERS; v++) {
		begin(m, named_families[v].name, named_families[v].type, named_families[v].help);
		for (size_t i = 0; i < named->count; i++) {
			write_named_value(m, v, &named->entries[i]);
		}
	}
	begin(m, "holdfast_names_uncounted", "counter",
		"grants, ends and waits of names with metrics: yes for which there was no room");
	put(m, "holdfast_names_uncounted_total %" PRId64 "\n", named->uncounted);
}

/* ---- the configuration ---- */

static void
write_certificates(const struct metrics *m)
{
	struct tls_dates *dates = m->context->facts.dates;
	char label[METRICS_LABEL_MAX];
	const char *file;
	int64_t ends_s;
	begin(m, "holdfast_certificate_end_timestamp_seconds", "gauge",
		"when the first certificate of the file ends, since 1970");
	if (!dates) {
		return;
	}
	tls_dates_refresh(dates, clock_ms(), false);
	for (size_t at = 0; (at = tls_dates_next(dates, at, &file, &ends_s)) > 0;) {
		label_make(label, "file", slice_of(file));
		put(m, "holdfast_certificate_end_timestamp_seconds{%s} %" PRId64 "\n", label, ends_s);
	}
}

static void
write_config(const struct metrics *m)
{
	const struct context_facts *facts = &m->context->facts;
	if (facts->loaded) {
		gauge(m, "holdfast_config_last_reload_successful",
			"1: the latest configuration that was read is in use; 0: it was refused",
			!facts->loaded->failed);
		gauge(m, "holdfast_config_last_reload_success_timestamp_seconds",
			"when a configuration was last taken up, at the start or by a reload, since 1970",
			facts->loaded->good_s);
	}
	gauge(m, "holdfast_config_pending", "1: keys of the configuration need a restart, as INFO has them",
		facts->pending[0] != '\0');
	write_certificates(m);
}

/* ---- the process ---- */

/* The names that all exporters have. */
static void
write_descriptors(const struct metrics *m)
{
	int64_t open = open_files_read(m->context->open_files), most = open_files_limit();
	begin(m, "process_open_fds", "gauge", "descriptors that the daemon has open");
	if (open >= 0) {
		put(m, "process_open_fds %" PRId64 "\n", open);
	}
	begin(m, "process_max_fds", "gauge", "descriptors that it may have; absent: any number");
	if (most >= 0) {
		put(m, "process_max_fds %" PRId64 "\n", most);
	}
}

static void
write_process(const struct metrics *m)
{
	const struct context *context = m->context;
	int64_t age_ms = clock_ms() - context->facts.started_ms;
	gauge(m, "holdfast_clients_limit", "limits.clients", (int64_t)context->facts.clients_max);
	gauge(m, "holdfast_clients_unauthenticated", "client connections without the login that they need",
		(int64_t)context->admission->unauthenticated_count);
	gauge(m, "holdfast_memory_limit_bytes", "limits.memory; 0: no limit",
		(int64_t)context->memory->limit);
	gauge(m, "holdfast_memory_full", "1: nothing new is begun for want of memory", context->memory->full);
	gauge(m, "process_resident_memory_bytes", "resident memory of the daemon",
		(int64_t)context->memory->resident);
	write_descriptors(m);
	begin(m, "process_cpu_seconds", "counter", "CPU time of the daemon, in user and kernel mode");
	put_seconds(m, "process_cpu_seconds_total", "", clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
	begin(m, "process_start_time_seconds", "gauge",
		"when the daemon started, since 1970; a hand-over is no start");
	put_seconds(m, "process_start_time_seconds", "", clock_wall_us() - age_ms * 1000);
}

static void
write_build(const struct metrics *m)
{
	char version[METRICS_LABEL_MAX];
	label_make(version, "version", slice_of(m->context->facts.version));
	begin(m, m->openmetrics ? "holdfast_build" : "holdfast_build_info", m->openmetrics ? "info" : "gauge",
		"the version of the daemon");
	put(m, "holdfast_build_info{%s} 1\n", version);
}

void
metrics_write(const struct context *context, const struct named *named, struct buffer *out, bool openmetrics)
{
	struct metrics m = {.context = context, .out = out, .openmetrics = openmetrics};
	write_build(&m);
	write_stats(&m);
	write_histograms(&m);
	write_commands(&m);
	write_counts(&m);
	write_masters(&m);
	write_fleet(&m);
	write_named(&m, named);
	write_config(&m);
	write_process(&m);
	if (openmetrics) {
		put(&m, "# EOF\n");
	}
}
