/*
 * state: the state of the daemon and its masters at a glance. One table has the numbers; the ids of elements
 * in the page are their keys.
 */
#include "daemon/http/state.h"

#include "daemon/admin/clients.h"
#include "daemon/admin/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/memory.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/http/contents.h"
#include "daemon/http/html.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"
#include "proto/json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct number {
	const char *key;
	const char *label;
	int64_t value;
};

#define NUMBERS          10
#define REASON_TEXT_MAX  768
#define BUSIEST_TEXT_MAX 160

static void
numbers_see(const struct context *context, struct number out[NUMBERS])
{
	const struct stats *stats = context->stats;
	struct core_counts c;
	core_view_counts(context->core, &c);
	const struct number numbers[NUMBERS] = {
		{"held", "locks held", (int64_t)c.grants},
		{"waiting", "waiting", (int64_t)c.waiters},
		{"withheld", "withheld", (int64_t)c.withheld},
		{"sessions", "sessions", (int64_t)c.sessions},
		{"clients", "clients", stats->clients_connected},
		{"latches", "latches", (int64_t)c.latches},
		{"granted", "granted", stats->locks_granted},
		{"timed_out", "timed out", stats->locks_timed_out},
		{"lost", "lost", stats->locks_lost},
		{"up_s", "seconds up", (clock_ms() - context->facts.started_ms) / 1000},
	};
	memcpy(out, numbers, sizeof numbers);
}

/* Whether a new lock can be had, and what there is to say about it. */
static bool
available_see(const struct context *context, char health[HEALTH_TEXT_MAX])
{
	struct service_view service;
	core_view_service(context->core, &service);
	health_text(context, clock_ms(), health);
	return service.available && !core_draining(context->core) && !context->memory->full;
}

static const char *
available_word(const struct context *context, bool available)
{
	if (core_draining(context->core)) {
		return "ending: no new locks";
	}
	if (context->memory->full) {
		return "limits.memory is reached: no new locks";
	}
	return available ? "serving" : "no new locks";
}

/* The client that sends most, if that is much; else "". The page is for all who see anything: no names. */
static const char *
busiest_see(const struct context *context, char out[BUSIEST_TEXT_MAX])
{
	struct busiest busiest;
	clients_busiest(context, &busiest);
	out[0] = '\0';
	if (busiest.requests_s >= BUSIEST_LEAST_S) {
		snprintf(out, BUSIEST_TEXT_MAX,
			"busiest client: session %" PRId64 ", %" PRId64 " requests a second, %" PRId64
			" %% of the time of the daemon",
			busiest.session, busiest.requests_s, busiest.busy_us_s / 10000);
	}
	return out;
}

static void
put_member(struct buffer *out, const char *key, const char *text)
{
	json_put_key(out, key, false);
	json_put_text(out, slice_of(text));
}

/* Why the master cannot be used; of one that can be, which daemons it refuses. */
static const char *
reason_see(const struct master_view *master, char out[REASON_TEXT_MAX])
{
	if (master->reason[0] != '\0' || master->refused_count == 0) {
		return master->reason;
	}
	snprintf(out, REASON_TEXT_MAX,
		"refuses %u other daemon%s: %s: make these settings agree, see holdfast fleet",
		master->refused_count, master->refused_count == 1 ? "" : "s", master->refused);
	return out;
}

static void
put_master(const struct context *context, struct buffer *out, unsigned i)
{
	struct master_view master;
	struct pool_view pool;
	char reason[REASON_TEXT_MAX];
	core_view_master(context->core, clock_ms(), i, &master);
	masters_see_pool(context->masters, i, &pool);
	buffer_put(out, i > 0 ? ",{" : "{", i > 0 ? 2 : 1);
	json_put_key(out, "address", true);
	json_put_text(out, slice_of(masters_where(context->masters, i)));
	put_member(out, "state", master.condition);
	put_member(out, "role", master.role);
	put_member(out, "reason", reason_see(&master, reason));
	json_put_key(out, "guard_ms", false);
	json_put_number(out, master.guard_ms);
	json_put_key(out, "calls", false);
	json_put_number(out, (int64_t)pool.calls);
	buffer_put(out, "}", 1);
}

/* host has HOST_NAME_MAX + 1 bytes. */
static const char *
host_name(char *host)
{
	if (gethostname(host, HOST_NAME_MAX) != 0) {
		host[0] = '\0';
	}
	host[HOST_NAME_MAX] = '\0';
	return host;
}

void
state_put_json(const struct context *context, struct buffer *out)
{
	struct number numbers[NUMBERS];
	char health[HEALTH_TEXT_MAX];
	bool available = available_see(context, health);
	char host[HOST_NAME_MAX + 1], busiest[BUSIEST_TEXT_MAX];
	numbers_see(context, numbers);
	buffer_put(out, "{", 1);
	json_put_key(out, "available", true);
	json_put_number(out, available);
	put_member(out, "service", available_word(context, available));
	put_member(out, "why", health);
	put_member(out, "host", host_name(host));
	put_member(out, "version", context->facts.version);
	put_member(out, "namespace", context->facts.namespace);
	put_member(out, "busiest", busiest_see(context, busiest));
	for (size_t i = 0; i < NUMBERS; i++) {
		json_put_key(out, numbers[i].key, false);
		json_put_number(out, numbers[i].value);
	}
	json_put_key(out, "masters", false);
	buffer_put(out, "[", 1);
	for (unsigned i = 0; i < core_masters(context->core); i++) {
		put_master(context, out, i);
	}
	buffer_put(out, "]}", 2);
}

/* ---- HTML ---- */

static void
put_master_row(const struct context *context, struct buffer *out, unsigned i)
{
	struct master_view master;
	struct pool_view pool;
	char reason[REASON_TEXT_MAX];
	core_view_master(context->core, clock_ms(), i, &master);
	masters_see_pool(context->masters, i, &pool);
	html_put(out, "<tr>");
	html_put_cell(out, "master", slice_of(masters_where(context->masters, i)));
	html_put_cell(out, "state", slice_of(master.condition));
	html_put_cell(out, "why", slice_of(reason_see(&master, reason)));
	html_put_cell_number(out, "guard s", (master.guard_ms + 999) / 1000);
	html_put_cell_number(out, "calls", (int64_t)pool.calls);
	html_put(out, "</tr>\n");
}

void
state_put_html(const struct context *context, struct buffer *out)
{
	struct number numbers[NUMBERS];
	char health[HEALTH_TEXT_MAX];
	bool available = available_see(context, health);
	char host[HOST_NAME_MAX + 1], busiest[BUSIEST_TEXT_MAX];
	numbers_see(context, numbers);
	html_put(out, "<span id=\"about\">");
	html_put_text(out, slice_of(host_name(host)));
	html_put(out, ", ");
	html_put_text(out, slice_of(context->facts.version));
	html_put(out, ", namespace ");
	html_put_text(out, slice_of(context->facts.namespace));
	html_put(out, "</span><span id=\"link\"></span></header>\n");
	html_put(out, available ? "<p id=\"service\" class=\"good\">" : "<p id=\"service\" class=\"bad\">");
	html_put(out, available_word(context, available));
	html_put(out, health[0] != '\0' ? ": " : "");
	html_put_text(out, slice_of(health));
	html_put(out, "</p>\n<ul id=\"numbers\">\n");
	for (size_t i = 0; i < NUMBERS; i++) {
		html_put(out, "<li><b id=\"");
		html_put(out, numbers[i].key);
		html_put(out, "\">");
		html_put_number(out, numbers[i].value);
		html_put(out, "</b> ");
		html_put(out, numbers[i].label);
		html_put(out, "</li>\n");
	}
	html_put(out, "</ul>\n<p id=\"busiest\">");
	html_put(out, busiest_see(context, busiest));
	html_put(out,
		"</p>\n<h2>Masters</h2>\n<table><thead><tr><th>master<th>state<th>why<th>guard s<th>calls"
		"</tr></thead>\n<tbody id=\"masters\">\n");
	for (unsigned i = 0; i < core_masters(context->core); i++) {
		put_master_row(context, out, i);
	}
	html_put(out, "</tbody></table>\n");
}
