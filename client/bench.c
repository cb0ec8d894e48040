/*
 * bench: measures how fast this daemon hands out locks, while a checker verifies each grant.
 */
#include "client/json_output.h"
#include "client/load.h"
#include "client/message.h"
#include "client/status.h"
#include "client/table.h"
#include "client/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL_BYTES 32

/* How many clients share a name of a mixed load, without --names. */
#define CLIENTS_PER_NAME 4

static struct load_plan
plan_of(const struct options *o, enum load_kind kind)
{
	struct load_plan plan = {kind, (size_t)o->clients, (size_t)o->names, o->bench_ms};

	if (kind == LOAD_UNCONTENDED) {
		plan.names = 0;
	} else if (plan.names == 0) {
		plan.names = kind == LOAD_CONTENDED ? 1 : (plan.clients - 1) / CLIENTS_PER_NAME + 1;
	}
	return plan;
}

static void
table_number(struct table *g, const char *format, double n)
{
	char text[CELL_BYTES];

	(void)snprintf(text, sizeof(text), format, n);
	table_text(g, slice_of(text));
}

static void
table_row(struct table *g, const struct load_plan *plan, const struct load_result *r)
{
	table_text(g, slice_of(load_word(plan->kind)));
	table_int(g, (int64_t)plan->clients);
	table_int(g, plan->kind == LOAD_UNCONTENDED ? (int64_t)plan->clients : (int64_t)plan->names);
	table_number(g, "%.0f", (double)r->pairs / r->seconds);
	table_int(g, histogram_percentile_us(&r->waits, 50));
	table_int(g, histogram_percentile_us(&r->waits, 99));
	table_int(g, r->waits.longest_us);
	table_number(g, "%.2f", r->least_share);
}

static json_t *
result_json(const struct load_plan *plan, const struct load_result *r)
{
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:f}", "kind",
		load_word(plan->kind), "clients", (json_int_t)plan->clients, "names",
		(json_int_t)(plan->kind == LOAD_UNCONTENDED ? plan->clients : plan->names), "seconds",
		r->seconds, "pairs", (json_int_t)r->pairs, "changes", (json_int_t)r->changes,
		"pairs_per_second", (double)r->pairs / r->seconds, "wait_p50_us",
		(json_int_t)histogram_percentile_us(&r->waits, 50), "wait_p99_us",
		(json_int_t)histogram_percentile_us(&r->waits, 99), "wait_max_us",
		(json_int_t)r->waits.longest_us, "pair_p50_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 50), "pair_p99_us",
		(json_int_t)histogram_percentile_us(&r->rounds, 99), "least_share", r->least_share);
}

/* The results of the kinds so far. */
struct outcome {
	struct table table;
	json_t *list;
	uint64_t grants;
};

static int
load_add(const struct load_plan *plan, const struct address *a, struct outcome *outcome)
{
	struct load_result result;
	int status = load_run(plan, a, &result);

	if (status != STATUS_DONE) {
		return status;
	}
	outcome->grants += result.pairs;
	table_row(&outcome->table, plan, &result);
	if (json_array_append_new(outcome->list, result_json(plan, &result)) != 0) {
		message("no memory for the result");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

static int
outcome_print(const struct options *o, struct outcome *outcome)
{
	bool printed;

	if (o->json) {
		return json_output_print_json(json_incref(outcome->list));
	}
	if (o->quiet) {
		return STATUS_DONE;
	}
	printed = table_print(&outcome->table);
	(void)printf("%" PRIu64
		     " grants: nobody held a lock beside an exclusive holder, and every token grew\n",
		outcome->grants);
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
	struct outcome outcome = {.grants = 0};
	int status = STATUS_DONE;

	if (kinds == 0) {
		message("holdfast bench %s: uncontended, contended or mixed is allowed", o->name);
		return STATUS_USAGE;
	}
	outcome.list = json_array();
	table_init(&outcome.table, heads);
	for (unsigned i = 0; i < LOAD_COUNT && status == STATUS_DONE; i++) {
		struct load_plan plan = plan_of(o, (enum load_kind)i);

		if ((kinds & (1u << i)) != 0) {
			status = load_add(&plan, a, &outcome);
		}
	}
	if (status == STATUS_DONE) {
		status = outcome_print(o, &outcome);
	}
	table_done(&outcome.table);
	json_decref(outcome.list);
	return status;
}
