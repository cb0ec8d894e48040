/*
 * log: composes a line and offers it to the descriptor once. Adapters and main call it. It never waits, never
 * raises a signal, and never changes the flags of a descriptor that other programs share.
 */
#include "daemon/base/log.h"

#include "daemon/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name;
	int priority;
} levels[] = {
#define LOG_LEVEL(id, name, priority) {name, priority},
	LOG_LEVELS(LOG_LEVEL)
#undef LOG_LEVEL
};

/* A line under construction. What does not fit is cut; room is reserved for "..." and the line feed. */
struct line {
	char bytes[LOG_LINE_MAX];
	size_t n;
	bool cut;
};

#define LINE_TAIL 5 /* a closing quote, "..." and the line feed */

static void
line_put(struct line *line, const char *p, size_t n)
{
	/* Appended whole or not at all, so that no escape sequence and no character is cut in half. */
	if (line->cut || n > LOG_LINE_MAX - LINE_TAIL - line->n) {
		line->cut = true;
		return;
	}
	memcpy(line->bytes + line->n, p, n);
	line->n += n;
}

__attribute__((format(printf, 2, 3))) static void
line_print(struct line *line, const char *format, ...)
{
	char text[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	assert(n >= 0 && (size_t)n < sizeof text);
	line_put(line, text, (size_t)n);
}

/* The length of the well-formed, printable UTF-8 character at p; 0: this byte has to be escaped. */
static size_t
printable(const unsigned char *p, size_t n)
{
	unsigned long point;
	size_t length, i;

	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != 0x7f;
	length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || length > n)
		return 0;
	point = p[0] & (0xffu >> (length + 1));
	for (i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3f);
	}
	if (length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
		return 0;
	if (length == 4 && (point < 0x10000 || point > 0x10ffff))
		return 0;
	/* Control characters, line separators, and marks that change the direction of text. */
	if (point < 0xa0 || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
		point == 0x200e || point == 0x200f || point == 0x061c)
		return 0;
	return length;
}

static bool
needs_quotes(const char *value, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return true;
	}
	return n == 0;
}

static void
line_put_value(struct line *line, const char *value, size_t n)
{
	size_t i, length;

	if (!needs_quotes(value, n)) {
		line_put(line, value, n);
		return;
	}
	line_put(line, "\"", 1);
	if (line->cut)
		return;
	for (i = 0; i < n && !line->cut; i += length ? length : 1) {
		const unsigned char *p = (const unsigned char *)value + i;

		length = printable(p, n - i);
		if (*p == '"' || *p == '\\')
			line_print(line, "\\%c", *p);
		else if (*p == '\n')
			line_put(line, "\\n", 2);
		else if (*p == '\r')
			line_put(line, "\\r", 2);
		else if (length == 0)
			line_print(line, "\\x%02x", *p);
		else
			line_put(line, (const char *)p, length);
	}
	if (!line->cut)
		line_put(line, "\"", 1);
	if (line->cut)
		line->bytes[line->n++] = '"'; /* LINE_TAIL */
}

static void
line_begin(struct line *line, const struct log *log, enum log_level level, const char *event)
{
	int64_t wall_us;
	struct tm tm;
	time_t seconds;

	line->n = 0;
	line->cut = false;
	if (log->torn)
		line_put(line, "\n", 1);
	if (log->journal) {
		line_print(line, "<%d>%s", levels[level].priority, event);
		return;
	}
	wall_us = clock_wall_us();
	seconds = (time_t)(wall_us / 1000000);
	if (!gmtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof tm);
	line_print(line, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ %s %s", tm.tm_year + 1900, tm.tm_mon + 1,
		tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_us % 1000000), levels[level].name,
		event);
}

static void
line_end(struct line *line)
{
	if (line->cut) {
		memcpy(line->bytes + line->n, "...", 3);
		line->n += 3;
	}
	line->bytes[line->n++] = '\n';
}

/* Tries once. If the pipe or file is full, or its reader has gone or does not read, the line is dropped. */
static bool
log_offer(struct log *log, const struct line *line)
{
	struct pollfd poller = {.fd = log->fd, .events = POLLOUT};
	ssize_t n;

	/* LOG_LINE_MAX is PIPE_BUF: a pipe that polls as writable takes a whole line at once. */
	if (log->fd < 0 || poll(&poller, 1, 0) != 1 || !(poller.revents & POLLOUT) ||
		(poller.revents & (POLLERR | POLLNVAL)))
		return false;
	do {
		if (log->socket)
			n = send(log->fd, line->bytes, line->n, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			n = write(log->fd, line->bytes, line->n);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	log->torn = (size_t)n < line->n;
	return !log->torn;
}

static void
log_count(struct log *log, bool out)
{
	if (out) {
		log->written++;
	} else {
		log->dropped++;
		log->dropped_unreported++;
	}
}

/* Errors always pass: they are rare, and the limit must not hide them. */
static bool
log_admit(struct log *log, enum log_level level)
{
	int64_t now_ms;

	if (log->per_second == 0 || level == LOG_ERROR_LEVEL)
		return true;
	now_ms = clock_ms();
	if (now_ms - log->window_ms >= 1000) {
		log->window_ms = now_ms;
		log->window_lines = 0;
	}
	return log->window_lines++ < log->per_second;
}

static void
log_tell_dropped(struct log *log)
{
	struct line line;

	line_begin(&line, log, LOG_WARNING_LEVEL, "log.dropped");
	line_print(&line, " lines=%llu", (unsigned long long)log->dropped_unreported);
	line_end(&line);
	if (log_offer(log, &line))
		log->dropped_unreported = 0;
}

void
log_event(struct log *log, enum log_level level, const char *event, const struct log_field *fields,
	size_t count)
{
	struct line line;
	size_t i;

	if (!log_wants(log, level))
		return;
	if (!log_admit(log, level)) {
		log_count(log, false);
		return;
	}
	if (log->dropped_unreported > 0)
		log_tell_dropped(log);
	line_begin(&line, log, level, event);
	for (i = 0; i < count; i++) {
		if (!fields[i].key)
			continue;
		line_print(&line, " %s=", fields[i].key);
		if (fields[i].is_number)
			line_print(&line, "%lld", (long long)fields[i].number);
		else
			line_put_value(&line, fields[i].text, fields[i].length);
	}
	line_end(&line);
	log_count(log, log_offer(log, &line));
}

static void
gate_tell(struct log *log, struct log_gate *gate, enum log_level level, const char *event)
{
	if (gate->left_out > 0) {
		LOG_EVENT(log, level, "log.thinned", log_text("event", event),
			log_number("lines", gate->left_out));
	}
	gate->left_out = 0;
}

bool
log_gate(struct log *log, struct log_gate *gate, enum log_level level, const char *event)
{
	int64_t now_ms;

	if (!log_wants(log, level))
		return false;
	if (log->level == LOG_DEBUG_LEVEL)
		return true;
	now_ms = clock_ms();
	if (now_ms - gate->window_ms >= 1000) {
		gate->window_ms = now_ms;
		gate->lines = 0;
	}
	if (gate->lines >= LOG_GATE_LINES) {
		gate->left_out++;
		return false;
	}
	gate->lines++;
	gate_tell(log, gate, level, event);
	return true;
}

int64_t
log_gate_tell(struct log *log, struct log_gate *gate, enum log_level level, const char *event, int64_t now_ms)
{
	if (gate->left_out > 0 && now_ms - gate->window_ms >= 1000) {
		gate_tell(log, gate, level, event);
	}
	return gate->left_out > 0 ? gate->window_ms + 1000 : INT64_MAX;
}

static bool
is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
	       device == st.st_dev && inode == st.st_ino;
}

void
log_init(struct log *log, int fd, enum log_level level, int64_t per_second)
{
	struct stat st;

	memset(log, 0, sizeof *log);
	log->fd = fd;
	log->level = level;
	log->per_second = per_second;
	log->socket = fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
	log->journal = fd >= 0 && is_journal(fd);
}

bool
log_level_parse(const char *name, enum log_level *level)
{
	size_t i;

	for (i = 0; i < LOG_LEVEL_COUNT; i++) {
		if (strcmp(name, levels[i].name) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

const char *
log_level_name(enum log_level level)
{
	return levels[level].name;
}
