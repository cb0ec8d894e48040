/*
 * fleet_hour: see fleet_hour.h. Called by the dispatch, by fleet.c and fleet_serve.c, and by the pages of
 * HTTP.
 *
 * A daemon tells another one what it tells a client. The daemon that asked adds up the minutes, the latest of
 * each first: their waits by how long they were, so that the percentiles are those of all waits.
 */
#include "daemon/admin/fleet_hour.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_write.h"
#include "daemon/base/clock.h"
#include "daemon/base/hour.h"
#include "daemon/net/connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The columns, in their order; a daemon of a later version may have more behind them. */
enum { COLUMN_GRANTED, COLUMN_TIMED_OUT, COLUMN_LOST, COLUMN_P50, COLUMN_P99, COLUMN_WAITS, COLUMNS };
static const char *const columns[COLUMNS] = {
	"granted", "timed_out", "lost", "wait_p50_us", "wait_p99_us", "waits"};

/* The latest minute first. */
struct minutes {
	size_t n;
	struct hour_minute list[HOUR_MINUTES];
};

static void
minutes_add(struct minutes *sum, const struct minutes *minutes)
{
	for (size_t i = 0; i < minutes->n; i++) {
		hour_minute_add(&sum->list[i], &minutes->list[i]);
	}
	sum->n = minutes->n > sum->n ? minutes->n : sum->n;
}

/* For how long the minute that runs has run, ms. */
static int64_t
minutes_here(const struct context *context, struct minutes *out)
{
	struct hour *hour = context->hour;
	int64_t now_ms = clock_ms();
	hour_sample(hour, context->stats, now_ms);
	*out = (struct minutes){.n = hour->known};
	for (size_t i = 0; i < out->n; i++) {
		out->list[i] = *hour_minute(hour, i);
	}
	return HOUR_MINUTE_MS - (hour->ends_ms - now_ms);
}

/* ---- written ---- */

/* "0:120 5:2": how many waits are in which bucket. */
static void
write_waits(const struct hour_minute *minute, struct buffer *out)
{
	char text[(BUCKETS_BOUNDS + 1) * (NUMBER_TEXT_MAX + 4)];
	size_t n = 0;
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		if (minute->waits[i] > 0) {
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%zu:%" PRIu64, n > 0 ? " " : "",
				i, minute->waits[i]);
		}
	}
	reply_write_bulk(out, (struct slice){text, n});
}

static void
write_minute(const struct hour_minute *minute, struct buffer *out)
{
	reply_write_array(out, COLUMNS);
	reply_write_int(out, minute->granted);
	reply_write_int(out, minute->timed_out);
	reply_write_int(out, minute->lost);
	reply_write_int(out, hour_minute_wait_us(minute, 50));
	reply_write_int(out, hour_minute_wait_us(minute, 99));
	write_waits(minute, out);
}

/* All but the silent daemons, which the caller writes. */
static void
write_hour(
	const struct minutes *minutes, size_t daemons, int64_t running_ms, struct buffer *out, int protocol)
{
	reply_write_map(out, protocol, 4);
	reply_write_pair_int(out, "daemons", (int64_t)daemons);
	reply_write_pair_int(out, "running_ms", running_ms);
	reply_write_text(out, "minutes");
	reply_write_array(out, minutes->n + 1);
	reply_write_array(out, COLUMNS);
	for (size_t i = 0; i < COLUMNS; i++) {
		reply_write_text(out, columns[i]);
	}
	for (size_t i = minutes->n; i-- > 0;) {
		write_minute(&minutes->list[i], out);
	}
	reply_write_text(out, "silent");
}

void
hour_here(const struct context *context, struct buffer *out, int protocol)
{
	struct minutes minutes;
	int64_t running_ms = minutes_here(context, &minutes);
	write_hour(&minutes, 1, running_ms, out, protocol);
	reply_write_array(out, 0); /* no other daemon was asked */
}

void
hour_verb(struct context *context, struct connection *c, const struct command *command)
{
	(void)command;
	hour_here(context, connection_out(c), connection_identity(c)->protocol);
	connection_written(c);
}

/* ---- what a daemon has answered ---- */

/* Takes "0:120" off the text. False: the text is another. */
static bool
wait_take(struct slice *text, struct hour_minute *out)
{
	struct slice one = slice_word(text);
	const char *colon = memchr(one.p, ':', one.n);
	int64_t bucket, count;
	if (!colon ||
		!number_parse((struct slice){one.p, (size_t)(colon - one.p)}, 0, BUCKETS_BOUNDS, &bucket) ||
		!number_parse((struct slice){colon + 1, one.n - (size_t)(colon + 1 - one.p)}, 0,
			HOUR_COUNT_MAX, &count)) {
		return false;
	}
	out->waits[bucket] += (uint64_t)count;
	return true;
}

static bool
minute_read(const struct answer *row, struct hour_minute *out)
{
	const struct answer *items = row->items;
	*out = (struct hour_minute){0};
	if (row->type != ANSWER_ARRAY || row->count < COLUMNS || items[COLUMN_WAITS].type != ANSWER_TEXT) {
		return false;
	}
	for (size_t i = 0; i < COLUMN_WAITS; i++) {
		if (items[i].type != ANSWER_INT || items[i].n < 0 ||
			(i <= COLUMN_LOST && items[i].n > HOUR_COUNT_MAX)) {
			return false;
		}
	}
	out->granted = items[COLUMN_GRANTED].n;
	out->timed_out = items[COLUMN_TIMED_OUT].n;
	out->lost = items[COLUMN_LOST].n;
	struct slice waits = items[COLUMN_WAITS].text;
	bool good = true;
	while (good && waits.n > 0) {
		good = wait_take(&waits, out);
	}
	return good;
}

static bool
columns_fit(const struct answer *row)
{
	bool good = row->type == ANSWER_ARRAY && row->count >= COLUMNS;
	for (size_t i = 0; good && i < COLUMNS; i++) {
		good = row->items[i].type == ANSWER_TEXT &&
		       slice_equal(row->items[i].text, slice_of(columns[i]));
	}
	return good;
}

/* False: it does not answer HOUR. */
static bool
minutes_read(const struct answer *tree, struct minutes *out)
{
	const struct answer *rows = tree ? answer_get(tree, "minutes") : NULL;
	*out = (struct minutes){0};
	if (!rows || rows->type != ANSWER_ARRAY || rows->count < 2 || rows->count > HOUR_MINUTES + 1 ||
		!columns_fit(&rows->items[0])) {
		return false;
	}
	out->n = rows->count - 1;
	bool good = true;
	for (size_t i = 0; good && i < out->n; i++) {
		good = minute_read(&rows->items[out->n - i], &out->list[i]);
	}
	return good;
}

bool
part_is_hour(const struct answer *tree)
{
	struct minutes minutes;
	return minutes_read(tree, &minutes);
}

/* ---- all daemons ---- */

/* The bytes have been checked: without memory there is no tree. */
static bool
part_minutes(const struct fleet_part *part, struct answer_parser *parser, struct minutes *out)
{
	const struct answer_limits limits = {.bytes = FLEET_PAGE_BYTES * 2, .elements = 65536};
	const struct answer *tree = NULL;
	const char *fault;
	return answer_parse(parser, buffer_bytes(&part->answer), buffer_length(&part->answer), &limits, &tree,
		       &fault) > 0 &&
	       minutes_read(tree, out);
}

void
write_hours(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int protocol,
	int64_t now_ms)
{
	struct minutes here, sum = {0}, one;
	struct answer_parser parser = {0};
	int64_t running_ms = minutes_here(fleet->context, &here);
	size_t daemons = 0;
	for (size_t i = 0; i < open->part_count; i++) {
		if (open->parts[i].valid && part_minutes(&open->parts[i], &parser, &one)) {
			minutes_add(&sum, &one);
			daemons++;
		}
	}
	answer_done(&parser);
	write_hour(&sum, daemons, running_ms, out, protocol);
	write_silent(open, out, protocol, now_ms);
}
