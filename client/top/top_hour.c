/*
 * top_hour: the latest hour as one line of top: grants and the longest waits as blocks, and losses. See
 * top.h.
 */
#include "client/top/top_hour.h"

#include "client/message.h"
#include "client/top/top.h"
#include "client/top/top_lines.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>

#define FRESH_MS 10000   /* a cell is a minute or more: it is not asked for with each screen */
#define SCALE_US 1000000 /* a wait of a second is a full block, unless there was a longer one */
#define LEAST_US 50      /* less than the shortest wait that is told */
#define LEVELS   8

static size_t
column(const struct answer *keys, const char *key)
{
	size_t i = 0;

	while (i < keys->count && !slice_equal(keys->items[i].text, slice_of(key))) {
		i++;
	}
	return i;
}

static int64_t
cell(const struct answer *row, size_t i)
{
	return row->type == ANSWER_ARRAY && i < row->count && row->items[i].type == ANSWER_INT
		       ? row->items[i].n
		       : 0;
}

static void
hour_read(struct top_hour *hour, const struct answer *rows)
{
	size_t granted = column(&rows->items[0], "granted"), lost = column(&rows->items[0], "lost"),
	       wait = column(&rows->items[0], "wait_p99_us");
	size_t skipped = rows->count > TOP_MINUTES + 1 ? rows->count - TOP_MINUTES - 1 : 0;

	hour->n = rows->count - 1 - skipped;
	for (size_t i = 0; i < hour->n; i++) {
		const struct answer *row = &rows->items[1 + skipped + i];

		hour->granted[i] = cell(row, granted);
		hour->lost[i] = cell(row, lost);
		hour->wait_us[i] = cell(row, wait);
	}
}

bool
top_ask_hour(struct top *t, int64_t until_ms)
{
	const struct answer *answer, *rows;
	bool all = !t->here && t->hosts != NULL;

	if (t->hour.at_ms > 0 && t->hour.all == all && clock_ms() - t->hour.at_ms < FRESH_MS) {
		return true;
	}
	if (all) {
		wire_ask(&t->wire, "HOUR", "FLEET");
	} else {
		wire_ask(&t->wire, "HOUR");
	}
	(void)wire_flush(&t->wire);
	answer = wire_wait(&t->wire, until_ms);
	if (answer == NULL) {
		return false;
	}
	t->hour = (struct top_hour){.at_ms = clock_ms(), .all = all};
	/* A daemon of an earlier version answers with an error. */
	rows = answer->type == ANSWER_ERROR ? NULL : answer_get(answer, "minutes");
	if (rows != NULL && rows->type == ANSWER_ARRAY && rows->count > 1) {
		hour_read(&t->hour, rows);
	}
	return true;
}

/* ---- drawn ---- */

/* 0: nothing; LEVELS: the greatest of the hour. */
static size_t
level(int64_t n, int64_t most)
{
	return n <= 0 ? 0 : 1 + (size_t)((double)(LEVELS - 1) * (double)n / (double)most);
}

/* How many times in tenths a wait can be doubled from the shortest one on: waits differ by powers of ten. */
static int64_t
doublings(int64_t us)
{
	int64_t n = 0;

	for (double at = LEAST_US; us > LEAST_US && at * 1.0718 <= (double)us; at *= 1.0718) {
		n++;
	}
	return n;
}

static int64_t
greatest(const int64_t *values, size_t n)
{
	int64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		most = values[i] > most ? values[i] : most;
	}
	return most;
}

static void
put_cells(struct top_line *line, const int64_t *values, size_t n, int64_t most)
{
	static const char *const blocks[] = {
		"\u00b7", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const signs[] = {".", "_", ",", "-", "~", "=", "+", "*", "#"};
	const char *const *levels = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : signs;

	for (size_t i = 0; i < n; i++) {
		top_cell(line, levels[level(values[i], most)], 0);
	}
}

static const char *
wait_text(char out[DURATION_TEXT_MAX], int64_t us)
{
	if (us < 1000) {
		(void)snprintf(out, DURATION_TEXT_MAX, "0.%" PRId64 "ms", us / 100);
		return out;
	}
	return duration_text(out, us / 1000);
}

/* Several minutes are one cell where there is no room for each: their grants together, their longest wait.
 * The latest minute is in the last cell. */
static size_t
squeeze(const struct top_hour *hour, size_t each, struct top_hour *out)
{
	size_t cells = (hour->n + each - 1) / each;

	*out = (struct top_hour){.n = cells};
	for (size_t i = 0; i < hour->n; i++) {
		size_t to = cells - 1 - (hour->n - 1 - i) / each;

		out->granted[to] += hour->granted[i];
		out->lost[to] += hour->lost[i];
		out->wait_us[to] = hour->wait_us[i] > out->wait_us[to] ? hour->wait_us[i] : out->wait_us[to];
	}
	return cells;
}

static size_t
minutes_each(size_t width)
{
	return width >= 200 ? 1 : width >= 120 ? 2 : width >= 100 ? 4 : width >= 80 ? 5 : 10;
}

void
top_hour_line(const struct top *t, size_t width, struct top_line *line)
{
	struct top_hour cells;
	size_t n = squeeze(&t->hour, minutes_each(width), &cells);
	int64_t most = greatest(t->hour.granted, t->hour.n), longest = greatest(t->hour.wait_us, t->hour.n),
		lost = 0;
	int64_t scale = doublings(longest > SCALE_US ? longest : SCALE_US);
	char text[96], wait[DURATION_TEXT_MAX];

	top_cell(line, "hour: grants ", 0);
	put_cells(line, cells.granted, n, greatest(cells.granted, n));
	(void)snprintf(text, sizeof(text), " %" PRId64 "/min  p99 ", most);
	top_cell(line, text, 0);
	for (size_t i = 0; i < n; i++) {
		cells.wait_us[i] = doublings(cells.wait_us[i]);
	}
	put_cells(line, cells.wait_us, n, scale);
	for (size_t i = 0; i < t->hour.n; i++) {
		lost += t->hour.lost[i];
	}
	(void)snprintf(text, sizeof(text), " %s  lost ", longest > 0 ? wait_text(wait, longest) : "no wait");
	top_cell(line, text, 0);
	if (lost > 0 && width >= 120) {
		put_cells(line, cells.lost, n, greatest(cells.lost, n));
		top_cell(line, " ", 0);
	}
	(void)snprintf(text, sizeof(text), "%" PRId64, lost);
	top_cell(line, text, 0);
}
