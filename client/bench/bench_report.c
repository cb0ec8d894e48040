/*
 * bench_report: the loads of `holdfast bench`, and the report on them.
 */
#include "client/bench/bench.h"

#include "client/message.h"
#include "client/options.h"
#include "client/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL_BYTES 32

/* How many clients share a name of a mixed load, without --names. */
#define CLIENTS_PER_NAME 4

static struct load_plan
plan_of(const struct options *o, enum load_kind kind)
{
	struct load_plan plan = {.kind = kind,
		.clients = (size_t)o->clients,
		.names = (size_t)o->names,
		.run_ms = o->bench_ms,
		.durable = o->durable,
		.quiet = o->quiet};

	if (kind == LOAD_UNCONTENDED) {
		plan.names = 0;
	} else if (plan.names == 0) {
		plan.names = kind == LOAD_CONTENDED ? 1 : (plan.clients - 1) / CLIENTS_PER_NAME + 1;
	}
	return plan;
}

static void
table_number(struct table *t, const char *format, double n)
{
	char text[CELL_BYTES];

	(void)snprintf(text, sizeof(text), format, n);
	table_text(t, slice_of(text));
}

static void
table_row(struct table *t, const struct load_plan *plan, const struct load_result *r)
{
	table_text(t, slice_of(load_word(plan->kind)));
	table_int(t, (int64_t)plan->clients);
	table_int(t, plan->kind == LOAD_UNCONTENDED ? (int64_t)plan->clients : (int64_t)plan->names);
	table_number(t, "%.0f", (double)r->pairs / r->seconds);
	table_int(t, histogram_percentile_us(&r->waits, 50));
	table_int(t, histogram_percentile_us(&r->waits, 99));
	table_int(t, r->waits.longest_us);
	table_number(t, "%.2f", r->least_share);
}

static json_t *
result_json(const struct load_plan *plan, const struct load_result *r)
{
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I}",
		"kind", load_word(plan->kind), "clients", (json_int_t)plan->clients, "names",
		(json_int_t)(plan->kind == LOAD_UNCONTENDED ? plan->clients : plan->names), "seconds",
		r->seconds, "pairs", (json_int_t)r->pairs, "changes", (json_int_t)r->changes,
		"pairs_per_second", (double)r->pairs / r->seconds, "wait_p50_us",
		(json_int_t)histogram_percentile_us(&r->waits, 50), "wait_p99_us",
		(json_int_t)histogram_percentile_us(&r->waits, 99), "wait_max_us",
		(json_int_t)r->waits.longest_us, "pair_p50_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 50), "pair_p99_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 99), "least_share", r->least_share,
		"interruptions", (json_int_t)r->interruptions, "lost", (json_int_t)r->lost);
}

/* The results of the kinds so far. */
struct report {
	struct table table;
	json_t *list;
	uint64_t grants, interruptions, lost;
};

static int
load_add(const struct load_plan *plan, const struct address *a, struct report *report)
{
	struct load_result result;
	int status = load_run(plan, a, &result);

	if (status != STATUS_DONE) {
		return status;
	}
	report->grants += result.pairs;
	report->interruptions += result.interruptions;
	report->lost += result.lost;
	table_row(&report->table, plan, &result);
	if (json_array_append_new(report->list, result_json(plan, &result)) != 0) {
		message("no memory for the result");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

static int
report_print(const struct options *o, struct report *report)
{
	bool printed;

	if (o->json) {
		return json_output_print_json(json_incref(report->list));
	}
	if (o->quiet) {
		return STATUS_DONE;
	}
	printed = table_print(&report->table);
	(void)printf("%" PRIu64
		     " grants: nobody held a lock beside an exclusive holder, and every token grew\n",
		report->grants);
	if (report->interruptions > 0) {
		(void)printf("%" PRIu64 " connections ended and came back, %" PRIu64
			     " holds were lost by that\n",
			report->interruptions, report->lost);
	}
	if (!printed || fflush(stdout) != 0) {
		message("cannot print: no memory, or standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

/* The requested kind as a bit, or all kinds; 0: an unknown kind. */
static unsigned
kinds_of(const char *word)
{
	for (unsigned i = 0; i < LOAD_COUNT; i++) {
		if (word != NULL && strcmp(word, load_word((enum load_kind)i)) == 0) {
			return 1u << i;
		}
	}
	return word == NULL ? (1u << LOAD_COUNT) - 1 : 0;
}

int
task_bench(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {
		"KIND", "CLIENTS", "NAMES", "PAIRS/S", "WAIT P50 US", "P99", "MAX", "LEAST SHARE", NULL};
	unsigned kinds = kinds_of(o->name);
	struct report report = {.grants = 0};
	int status = STATUS_DONE;

	if (kinds == 0) {
		message("holdfast bench %s: uncontended, contended or mixed is allowed", o->name);
		return STATUS_USAGE;
	}
	report.list = json_array();
	table_init(&report.table, heads);
	for (unsigned i = 0; i < LOAD_COUNT && status == STATUS_DONE; i++) {
		struct load_plan plan = plan_of(o, (enum load_kind)i);

		if ((kinds & (1u << i)) != 0) {
			status = load_add(&plan, a, &report);
		}
	}
	if (status == STATUS_DONE) {
		status = report_print(o, &report);
	}
	table_done(&report.table);
	json_decref(report.list);
	return status;
}
