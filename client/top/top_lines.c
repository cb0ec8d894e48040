/*
 * top_lines: makes lines of what the daemon said, and prints them in batches. See top.h.
 */
#include "client/top/top_lines.h"

#include "client/message.h"
#include "client/top/top.h"
#include "client/top/top_data.h"
#include "client/top/top_hour.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BUSIEST_LEAST_S 1000 /* requests a second of a client that is shown */
#define WIDTH_BATCH     160  /* of a page that is printed */
#define WIDTH_WHY       99   /* from this width on there is room for WHY */

/* Columns of fixed width, in characters. */
#define STATE_WIDTH   9
#define FOR_WIDTH     9
#define WAITING_WIDTH 7
#define LONGEST_WIDTH 9
#define HOST_WIDTH    10 /* at least, if there is more than one */

void
top_cell(struct top_line *line, const char *from, size_t wide)
{
	char cell[1024];
	size_t n = escape_text(cell, sizeof(cell), slice_of(from), ESCAPE_PLAIN), used = 0, count = 0;

	while (used < n && (wide == 0 || count < wide)) {
		uint32_t character;
		size_t step = utf8_next(cell + used, n - used, &character);

		used += step == 0 ? 1 : step;
		count++;
	}
	if (used < n && count > 1) {
		/* The last character gives way to a sign that something is missing. */
		do {
			used--;
		} while (used > 0 && ((unsigned char)cell[used] & 0xc0) == 0x80);
		cell[used++] = '+';
	}
	if (line->n + used + wide + 2 > sizeof(line->bytes)) {
		return;
	}
	memcpy(line->bytes + line->n, cell, used);
	line->n += used;
	line->width += count;
	for (; count < wide; count++) {
		line->bytes[line->n++] = ' ';
		line->width++;
	}
	line->bytes[line->n] = '\0';
}

__attribute__((format(printf, 2, 3))) static void
text_print(struct top_line *line, const char *format, ...)
{
	char whole[1024];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(whole, sizeof(whole), format, list);
	va_end(list);
	top_cell(line, whole, 0);
}

static double
rate(int64_t now, int64_t before, int64_t ms)
{
	return ms > 0 && now >= before ? (double)(now - before) * 1000.0 / (double)ms : 0.0;
}

/* Whether rows say of which host they are. */
static bool
shows_hosts(const struct top *t)
{
	return t->host_count + t->silent_count > 1;
}

enum head { HEAD_DAEMON, HEAD_COUNTS, HEAD_RATES, HEAD_BUSIEST, HEAD_HOUR, HEAD_MASTERS, HEAD_HOSTS, HEADS };

static bool
head_is_shown(const struct top *t, enum head head)
{
	switch (head) {
	case HEAD_BUSIEST:
		return t->info.busiest_requests_s >= BUSIEST_LEAST_S;
	case HEAD_HOUR:
		return t->hour.n > 0;
	case HEAD_HOSTS:
		return shows_hosts(t);
	default:
		return true;
	}
}

size_t
top_head_count(const struct top *t)
{
	size_t n = 0;

	for (int head = 0; head < HEADS; head++) {
		n += head_is_shown(t, (enum head)head) ? 1 : 0;
	}
	return n;
}

/* The one that is shown as line i. */
static enum head
head_at(const struct top *t, size_t i)
{
	int head = 0;

	while (head + 1 < HEADS && (!head_is_shown(t, (enum head)head) || i-- > 0)) {
		head++;
	}
	return (enum head)head;
}

/* "3 hosts: app-2 waits 40s, 12 waiting; app-1; no answer from app-3". Each with what needs attention. */
static void
hosts_line(const struct top *t, struct top_line *line)
{
	char longest[DURATION_TEXT_MAX];

	text_print(line, "%zu hosts", t->host_count + t->silent_count);
	if (t->silent_count > 0) {
		text_print(line, ", no answer from %s", t->silent);
	}
	for (size_t i = 0; i < t->host_count && line->n < sizeof(line->bytes) / 2; i++) {
		const struct top_host *host = &t->hosts[i];

		text_print(line, "%s%s", i == 0 ? ": " : "; ", host->host);
		if (host->waiters > 0) {
			text_print(line, " %" PRId64 " waiting for %s", host->waiters,
				duration_text(longest, host->longest_ms));
		}
		if (!host->available) {
			text_print(line, "%s", " grants no locks");
		} else if (host->usable < host->masters) {
			text_print(line, " %" PRId64 " of %" PRId64 " masters", host->usable, host->masters);
		}
		if (!host->complete) {
			text_print(line, "%s", " searches");
		}
	}
}

void
top_head(const struct top *t, size_t i, size_t width, struct top_line *line)
{
	const struct top_info *now = &t->info, *before = &t->before;
	int64_t ms = before->at_ms > 0 ? now->at_ms - before->at_ms : 0;
	char up[DURATION_TEXT_MAX];

	*line = (struct top_line){.n = 0};
	switch (head_at(t, i)) {
	case HEAD_DAEMON:
		text_print(line, "holdfastd %s at %s, up %s", now->version, t->a->text,
			duration_text(up, now->up_s * 1000));
		break;
	case HEAD_COUNTS:
		text_print(line,
			"clients %" PRId64 "  sessions %" PRId64 "  held %" PRId64 "  withheld %" PRId64
			"  waiting %" PRId64,
			now->clients, now->sessions, now->held, now->withheld, now->waiters);
		break;
	case HEAD_RATES:
		if (ms == 0) {
			text_print(line, "%s", "per second: known from the second page on");
			break;
		}
		text_print(line, "per second: %.1f requests, %.1f grants, %.1f time-outs, %.1f losses",
			rate(now->requests, before->requests, ms), rate(now->granted, before->granted, ms),
			rate(now->timed_out, before->timed_out, ms), rate(now->lost, before->lost, ms));
		break;
	case HEAD_BUSIEST:
		text_print(line,
			"busiest here: session %" PRId64 ", %" PRId64 " requests/s, %" PRId64
			" %% of the time of the daemon",
			now->busiest_session, now->busiest_requests_s, now->busiest_busy_us_s / 10000);
		break;
	case HEAD_HOUR:
		top_hour_line(t, width, line);
		break;
	case HEAD_MASTERS:
		text_print(line, "masters %s", now->masters);
		break;
	default:
		hosts_line(t, line);
		break;
	}
}

#define CELLS 8

struct widths {
	size_t name, host, holder, why; /* 0: not shown */
};

static struct widths
widths_of(const struct top *t, size_t width)
{
	size_t fixed = STATE_WIDTH + FOR_WIDTH + WAITING_WIDTH + LONGEST_WIDTH + 5, rest;
	struct widths w = {0};

	if (shows_hosts(t)) {
		w.host = width >= WIDTH_WHY ? 2 * HOST_WIDTH : HOST_WIDTH;
		fixed += w.host + 1;
	}
	rest = width > fixed + 20 ? width - fixed : 20;
	if (width >= WIDTH_WHY) {
		w.why = rest / 4;
		rest -= w.why + 1;
	}
	w.name = rest * 3 / 5;
	w.holder = rest - w.name;
	return w;
}

static void
row_cells(struct top_line *line, const struct widths *w, const char *const cells[CELLS])
{
	const size_t wide[CELLS] = {
		w->name, w->host, STATE_WIDTH, FOR_WIDTH, WAITING_WIDTH, LONGEST_WIDTH, w->holder, w->why};

	*line = (struct top_line){.n = 0};
	for (size_t i = 0; i < CELLS; i++) {
		if (wide[i] == 0) {
			continue;
		}
		if (i > 0) {
			top_cell(line, " ", 1);
		}
		top_cell(line, cells[i], wide[i]);
	}
	/* The last cell is not filled up. */
	while (line->n > 0 && line->bytes[line->n - 1] == ' ') {
		line->n--;
	}
	line->bytes[line->n] = '\0';
}

void
top_heads(const struct top *t, size_t width, struct top_line *line)
{
	static const char *const heads[CELLS] = {
		"NAME", "HOST", "STATE", "FOR", "WAITING", "LONGEST", "HOLDER", "WHY"};
	struct widths w = widths_of(t, width);

	row_cells(line, &w, heads);
}

void
top_row_line(const struct top *t, const struct top_row *row, size_t width, struct top_line *line)
{
	char held[DURATION_TEXT_MAX], longest[DURATION_TEXT_MAX], waiters[NUMBER_TEXT_MAX];
	struct widths w = widths_of(t, width);

	row_cells(line, &w,
		(const char *const[CELLS]){row->name, row->host, row->state,
			row->token > 0 ? duration_text(held, row->held_ms) : "-",
			number_text(waiters, row->waiters),
			row->waiters > 0 ? duration_text(longest, row->longest_ms) : "-", row->holder,
			row->why});
}

/* ---- batches ---- */

static bool
print_page(const struct top *t)
{
	struct top_line line;

	for (size_t i = 0; i < top_head_count(t); i++) {
		top_head(t, i, WIDTH_BATCH, &line);
		(void)puts(line.bytes);
	}
	(void)putchar('\n');
	if (t->detail[0] != '\0') {
		for (size_t i = 0; i < t->line_count; i++) {
			line = (struct top_line){.n = 0};
			top_cell(&line, t->lines[i], 0);
			(void)puts(line.bytes);
		}
		return fflush(stdout) == 0;
	}
	top_heads(t, WIDTH_BATCH, &line);
	(void)puts(line.bytes);
	for (size_t i = 0; i < t->count; i++) {
		top_row_line(t, &t->rows[i], WIDTH_BATCH, &line);
		(void)puts(line.bytes);
	}
	return fflush(stdout) == 0;
}

int
top_batch(struct top *t, int64_t delay_ms, int64_t iterations)
{
	for (int64_t i = 0; iterations == 0 || i < iterations; i++) {
		if (i > 0) {
			(void)poll(NULL, 0, (int)delay_ms);
			(void)putchar('\n');
		}
		if (!top_ask(t)) {
			message("%s", t->message);
			return t->refused != 0 ? t->refused : STATUS_UNAVAILABLE;
		}
		if (t->refused != 0) {
			message("cannot list the locks: %s", t->message);
			return t->refused;
		}
		if (t->message[0] != '\0' && !t->o->quiet) {
			message("%s", t->message);
			t->message[0] = '\0';
		}
		if (!print_page(t)) {
			return STATUS_INTERNAL;
		}
	}
	return STATUS_DONE;
}
