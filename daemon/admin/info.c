/*
 * info: the verb INFO. Each section has a function; one table lists the sections.
 */
#include "daemon/admin/info.h"

#include "daemon/admin/clients.h"
#include "daemon/admin/events.h"
#include "daemon/admin/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/open_files.h"
#include "daemon/base/secrets.h"
#include "daemon/base/stats.h"
#include "daemon/base/tls.h"
#include "daemon/base/tls_dates.h"
#include "daemon/core/view.h"
#include "daemon/net/admission.h"
#include "daemon/net/connections.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"
#include "proto/reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The version that libraries see: they choose features by it. */
#define INFO_REDIS_VERSION "7.0.0"
/* All sections together take a tenth of it. */
#define INFO_BYTES_MAX     65536

__attribute__((format(printf, 2, 3))) static void
info_line(struct buffer *text, const char *format, ...)
{
	char line[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	buffer_put(text, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
	buffer_put(text, "\r\n", 2);
}

static void
info_certificates(struct tls_dates *dates, struct buffer *text)
{
	char first[TLS_DATES_TEXT_MAX];
	int64_t now_s = clock_wall_us() / 1000000, ends_s, first_s = INT64_MAX;
	const char *file;
	/* The files may have been replaced since. */
	tls_dates_refresh(dates, clock_ms(), tls_dates_faults(dates, now_s, first) > 0);
	size_t faults = tls_dates_faults(dates, now_s, first);
	for (size_t at = 0; (at = tls_dates_next(dates, at, &file, &ends_s)) > 0;) {
		first_s = ends_s < first_s ? ends_s : first_s;
	}
	info_line(text, "certificates:%zu", dates->n);
	info_line(text, "certificates_end_in_s:%" PRId64, dates->n > 0 ? first_s - now_s : -1);
	info_line(text, "certificate_faults:%zu", faults);
	info_line(text, "certificate_fault:%s", first);
}

static void
info_secrets(struct secrets *secrets, struct buffer *text)
{
	secrets_refresh(secrets);
	info_line(text, "open_secrets:%zu", secrets->n);
	info_line(text, "open_secret_mode:%04o", secrets->n > 0 ? secrets->list[0].mode : 0);
	info_line(text, "open_secret:%s", secrets->n > 0 ? secrets->list[0].path : "");
}

const char *
master_aside(const struct core *core, const char *only_address, const char *only_way)
{
	struct master_view master;
	if (only_address[0] == '\0' || core_members(core) != 1) {
		return NULL;
	}
	core_view_master(core, clock_ms(), 0, &master);
	return strcmp(master.place, only_address) != 0 || strcmp(master.way, only_way) != 0 ? master.place
											    : NULL;
}

static void
info_server(const struct context *context, struct buffer *text)
{
	const struct context_facts *facts = &context->facts;
	int64_t up_s = (clock_ms() - facts->started_ms) / 1000;
	info_line(text, "redis_version:" INFO_REDIS_VERSION);
	info_line(text, "redis_mode:standalone");
	info_line(text, "loading:0");
	info_line(text, "holdfast_version:%s", facts->version);
	info_line(text, "process_id:%ld", (long)getpid());
	info_line(text, "run_id:%s", facts->daemon_id);
	info_line(text, "uptime_in_seconds:%" PRId64, up_s);
	info_line(text, "uptime_in_days:%" PRId64, up_s / 86400);
	info_line(text, "config_file:%s", facts->config);
	info_line(text, "config_pending:%s", facts->pending);
	if (facts->loaded) {
		info_line(text, "config_loaded_s:%" PRId64, facts->loaded->good_s);
		info_line(text, "config_refused:%d", facts->loaded->failed);
	}
	info_line(text, "ledger_file:%s", facts->ledger);
	info_line(text, "log_level:%s", log_level_name(context->log->level));
	info_line(text, "log_dropped:%" PRIu64, context->log->dropped);
	info_line(text, "descriptors:%" PRId64, open_files_limit());
	info_line(text, "descriptors_used:%" PRId64, open_files_read(context->open_files));
	info_line(text, "descriptors_wanted:%zu", facts->descriptors);
	if (facts->dates) {
		info_certificates(facts->dates, text);
	}
	if (facts->secrets) {
		info_secrets(facts->secrets, text);
	}
}

static void
info_clients(const struct context *context, struct buffer *text)
{
	struct core_counts counts;
	struct busiest busiest;
	core_view_counts(context->core, &counts);
	clients_busiest(context, &busiest);
	info_line(text, "connected_clients:%zu", connections_count(context->connections));
	info_line(text, "maxclients:%zu", context->facts.clients_max);
	info_line(text, "unauthenticated_clients:%zu", context->admission->unauthenticated_count);
	info_line(text, "blocked_clients:%zu", counts.waiters);
	info_line(text, "event_streams:%zu", events_streams(context->events));
	info_line(text, "busiest_session:%" PRId64, busiest.session);
	info_line(text, "busiest_requests_s:%" PRId64, busiest.requests_s);
	info_line(text, "busiest_busy_us_s:%" PRId64, busiest.busy_us_s);
}

static void
info_locks(const struct context *context, struct buffer *text)
{
	struct core_counts counts;
	struct longest_view longest;
	struct terms_view terms;
	core_view_counts(context->core, &counts);
	core_view_longest(context->core, clock_ms(), &longest);
	core_view_terms(context->core, &terms);
	info_line(text, "sessions:%zu", counts.sessions);
	info_line(text, "sessions_with_grace:%zu", counts.graces);
	info_line(text, "names:%zu", counts.resources);
	info_line(text, "leases:%zu", counts.leases);
	info_line(text, "grants:%zu", counts.grants);
	info_line(text, "withheld:%zu", counts.withheld);
	info_line(text, "waiters:%zu", counts.waiters);
	info_line(text, "longest_wait_ms:%" PRId64, longest.wait_ms);
	info_line(text, "longest_hold_ms:%" PRId64, longest.hold_ms);
	info_line(text, "draining:%d", core_draining(context->core));
	info_line(text, "locks_per_user:%" PRId64, context->facts.locks_per_user);
	info_line(text, "grants_per_session:%" PRId64, context->facts.grants_per_session);
	info_line(text, "latches:%zu", counts.latches);
	info_line(text, "latch_requests:%zu", counts.requests);
	info_line(text, "lease_max_ms:%" PRId64, terms.wanted_lease_ms);
	info_line(text, "lease_limit_ms:%" PRId64, terms.longest_ms);
	info_line(text, "lease_guarded_ms:%" PRId64, terms.guarded_lease_ms);
	info_line(text, "clock_margin_ms:%" PRId64, context->facts.margin_ms);
	info_line(text, "namespace:%s", context->facts.namespace);
}

/* Where a master that moves was found, since when, and why it is not where it was. */
static void
info_found(struct buffer *text, unsigned i, const struct finder_view *finder)
{
	bool cluster = finder->kind == FINDER_CLUSTER;
	info_line(text, "master%u_%s:%s", i, cluster ? "cluster" : "sentinel", finder->name);
	if (cluster) {
		info_line(text, "master%u_slot:%u", i, finder->slot);
		info_line(text, "master%u_node:%s", i, finder->node);
	}
	info_line(text, "master%u_found_ms:%" PRId64, i, finder->since_ms);
	info_line(text, "master%u_found_why:%s", i, finder->cause);
}

static void
info_tls(struct buffer *text, unsigned i, const struct tls_settings *tls)
{
	info_line(text, "master%u_tls:%d", i, tls->on);
	if (tls->on) {
		info_line(text, "master%u_tls_ca:%s", i, tls->ca ? tls->ca : "");
		info_line(text, "master%u_tls_certificate:%s", i, tls->certificate ? tls->certificate : "");
		info_line(text, "master%u_tls_key:%s", i, tls->key ? tls->key : "");
	}
}

static void
info_master(const struct context *context, struct buffer *text, unsigned i)
{
	struct master_view master;
	struct pool_view pool;
	core_view_master(context->core, clock_ms(), i, &master);
	masters_see_pool(context->masters, i, &pool);
	info_line(text, "master%u_address:%s", i, masters_where(context->masters, i));
	info_line(text, "master%u_user:%s", i, pool.user ? pool.user : "");
	info_line(text, "master%u_state:%s", i, master.word);
	info_line(text, "master%u_reason:%s", i, master.reason);
	info_line(text, "master%u_guard_ms:%" PRId64, i, master.guard_ms);
	info_line(text, "master%u_incarnation:%" PRIu64, i, master.incarnation);
	info_line(text, "master%u_links_up:%u", i, master.links_up);
	info_line(text, "master%u_down:%d", i, master.down);
	info_line(text, "master%u_failing:%d", i, master.failing);
	info_line(text, "master%u_refused_daemons:%u", i, master.refused_count);
	info_line(text, "master%u_refused:%s", i, master.refused);
	info_line(text, "master%u_round_trip_us:%" PRId64, i, pool.round_trip_us);
	info_line(text, "master%u_clock_ms:%" PRId64, i, pool.clock_ms);
	info_line(text, "master%u_inbox:%d", i, pool.inbox);
	info_line(text, "master%u_inbox_reason:%s", i, pool.inbox_why);
	info_tls(text, i, pool.tls);
	if (pool.finder.name) {
		info_found(text, i, &pool.finder);
		info_line(text, "master%u_replicas:%u", i, pool.replicas);
		info_line(text, "master%u_replicas_needed:%u", i, pool.needed);
		info_line(text, "master%u_replicated:%d", i, pool.replicated);
		info_line(text, "master%u_group:%.*s", i, SLICE_ARG(pool.group));
		info_line(text, "master%u_joining:%.*s", i, SLICE_ARG(pool.joining));
	}
}

static void
info_masters(const struct context *context, struct buffer *text)
{
	struct masters_sum sum;
	struct masterset_view set;
	char health[HEALTH_TEXT_MAX];
	masters_see(context->core, clock_ms(), &sum);
	info_line(text, "masters:%u", sum.count);
	info_line(text, "masters_usable:%u/%u", sum.usable, sum.majority);
	info_line(text, "masters_state:%s", sum.word);
	health_text(context, clock_ms(), health);
	info_line(text, "masters_missing:%s", health);
	core_view_masterset(context->core, &set);
	info_line(text, "masters_agreement:%s", set.word);
	info_line(text, "masters_generation:%" PRId64, set.generation);
	info_line(text, "masters_set:%s", set.set);
	info_line(text, "masters_set_places:%s", set.places);
	info_line(text, "masters_aside:%s",
		master_aside(context->core, context->facts.only_address, context->facts.only_way)
			? context->facts.only_address
			: "");
	info_line(text, "masters_change:%s", set.change);
	info_line(text, "masters_next:%s", set.next);
	info_line(text, "masters_next_places:%s", set.next_places);
	for (unsigned i = 0; i < sum.count; i++) {
		info_master(context, text, i);
	}
}

static void
info_stats(const struct context *context, struct buffer *text)
{
	for (size_t i = 0; i < stats_count(); i++) {
		info_line(text, "%s:%" PRId64, stats_info(i)->name, stats_value(context->stats, i));
	}
}

/* The names are those of Redis, where it has one. */
static void
info_memory(const struct context *context, struct buffer *text)
{
	info_line(text, "used_memory_rss:%zu", context->memory->resident);
	info_line(text, "maxmemory:%zu", context->memory->limit);
	info_line(text, "maxmemory_policy:noeviction");
	info_line(text, "memory_full:%d", context->memory->full);
}

static void
info_commandstats(const struct context *context, struct buffer *text)
{
	for (enum verb v = 0; v < VERB_COUNT; v++) {
		char name[COMMAND_NAME_MAX];
		command_name(v, name);
		if (context->calls[v] > 0) {
			info_line(text, "cmdstat_%s:calls=%" PRIu64, name, context->calls[v]);
		}
	}
}

/* What a Redis master without replicas answers: libraries look for a master here before they send anything
 * else. */
static void
info_replication(const struct context *context, struct buffer *text)
{
	(void)context;
	info_line(text, "role:master");
	info_line(text, "connected_slaves:0");
	info_line(text, "master_failover_state:no-failover");
	info_line(text, "master_repl_offset:0");
	info_line(text, "repl_backlog_active:0");
}

/* Sections without a writer are those of Redis, and empty: programs made for Redis ask for them, and some
 * would stop at an error. */
static const struct {
	const char *name;
	void (*write)(const struct context *context, struct buffer *text);
} info_sections[] = {
	{"Server", info_server},
	{"Clients", info_clients},
	{"Locks", info_locks},
	{"Masters", info_masters},
	{"Stats", info_stats},
	{"Replication", info_replication},
	{"Commandstats", info_commandstats},
	{"Memory", info_memory},
	{"Persistence", NULL},
	{"CPU", NULL},
	{"Modules", NULL},
	{"Errorstats", NULL},
	{"Latencystats", NULL},
	{"Sentinel", NULL},
	{"Cluster", NULL},
	{"Keyspace", NULL},
};
#define INFO_SECTIONS (sizeof info_sections / sizeof *info_sections)

static bool
word_is(struct slice word, const char *name)
{
	struct slice other = slice_of(name);
	return word.n == other.n && strncasecmp(word.p, other.p, word.n) == 0;
}

static bool
word_is_all(struct slice word)
{
	return word_is(word, "default") || word_is(word, "all") || word_is(word, "everything");
}

static bool
word_is_section(struct slice word)
{
	for (size_t i = 0; i < INFO_SECTIONS; i++) {
		if (word_is(word, info_sections[i].name)) {
			return true;
		}
	}
	return false;
}

static bool
info_wants(const struct command *command, const char *section)
{
	for (size_t i = 0; i < command->argc; i++) {
		if (word_is(command->argv[i], section) || word_is_all(command->argv[i])) {
			return true;
		}
	}
	return command->argc == 0;
}

static void
info_refuse(struct connection *c, struct slice word)
{
	char names[128] = "";
	for (size_t i = 0; i < INFO_SECTIONS && info_sections[i].write; i++) {
		size_t n = strlen(names);
		snprintf(names + n, sizeof names - n, "%s, ", info_sections[i].name);
	}
	connection_error(c, CODE_ERR, "INFO: there is no section '%.*s': %sor all",
		(int)(word.n < 64 ? word.n : 64), word.p, names);
}

void
info_verb(struct context *context, struct connection *c, const struct command *command)
{
	struct buffer text;
	for (size_t i = 0; i < command->argc; i++) {
		if (!word_is_all(command->argv[i]) && !word_is_section(command->argv[i])) {
			info_refuse(c, command->argv[i]);
			return;
		}
	}
	const struct viewer viewer = connection_viewer(c);
	bool shut_out = !viewer_may(&viewer, RIGHTS_ALL);
	buffer_init(&text, INFO_BYTES_MAX);
	for (size_t i = 0; i < INFO_SECTIONS; i++) {
		if (info_sections[i].write == info_masters && shut_out) {
			continue;
		}
		if (info_sections[i].write && info_wants(command, info_sections[i].name)) {
			if (buffer_length(&text) > 0) {
				info_line(&text, "%s", "");
			}
			info_line(&text, "# %s", info_sections[i].name);
			info_sections[i].write(context, &text);
		}
	}
	reply_write_bulk(connection_out(c), (struct slice){buffer_bytes(&text), buffer_length(&text)});
	connection_written(c);
	buffer_done(&text);
}
