/*
 * log: one event per line, in logfmt.
 *
 *     2026-01-31T12:00:00.123456Z warning master.away name="10.0.0.1:6379" why="connection refused"
 *
 * Adapters and main log; proto, conf and the core never do. Writing never waits and never raises a signal. A
 * line that the descriptor does not take (full disk, closed or slow pipe) is dropped and counted; the next
 * line that is written is preceded by `log.dropped lines=N`.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* LOG_LEVEL(id, name, journal priority) */
#define LOG_LEVELS(LOG_LEVEL)                                                                                \
	LOG_LEVEL(ERROR, "error", 3)                                                                         \
	LOG_LEVEL(WARNING, "warning", 4)                                                                     \
	LOG_LEVEL(INFO, "info", 6)                                                                           \
	LOG_LEVEL(DEBUG, "debug", 7)

enum log_level {
#define LOG_LEVEL(id, name, priority) LOG_##id##_LEVEL,
	LOG_LEVELS(LOG_LEVEL)
#undef LOG_LEVEL
		LOG_LEVEL_COUNT
};

/* One key=value; made by the inline functions below. */
struct log_field {
	const char *key; /* NULL: the field is left out */
	const char *text;
	size_t length;
	int64_t number;
	bool is_number;
};

#define LOG_LINE_MAX                                                                                         \
	4096 /* longer lines end in "...": a journal would split them, and names are bounded anyway */

struct log {
	int fd; /* -1: nowhere, every line counts as dropped */
	enum log_level level;
	bool journal;       /* lines begin with <priority> instead of time and level */
	bool socket;        /* fd is a socket: send() writes to it */
	bool torn;          /* the last line was written in part: a line feed is due */
	int64_t per_second; /* lines below LOG_ERROR_LEVEL per second; 0: no limit */
	int64_t window_ms;  /* start of the second that is counted */
	int64_t window_lines;
	uint64_t written;            /* lines written */
	uint64_t dropped;            /* lines dropped, since the start */
	uint64_t dropped_unreported; /* lines dropped and not yet reported in the log */
};

/* The caller keeps fd, which is not changed. The journal is recognised by JOURNAL_STREAM. */
void log_init(struct log *log, int fd, enum log_level level, int64_t per_second);

/* false: no such level. */
bool log_level_parse(const char *name, enum log_level *level) __attribute__((warn_unused_result));
const char *log_level_name(enum log_level level);

static inline bool
log_wants(const struct log *log, enum log_level level)
{
	return level <= log->level;
}

/* value NULL: the field is left out. */
static inline struct log_field
log_text(const char *key, const char *value)
{
	return (struct log_field){
		.key = value ? key : NULL, .text = value, .length = value ? strlen(value) : 0};
}

static inline struct log_field
log_bytes(const char *key, const char *bytes, size_t length)
{
	return (struct log_field){.key = key, .text = bytes, .length = length};
}

static inline struct log_field
log_number(const char *key, int64_t value)
{
	return (struct log_field){.key = key, .number = value, .is_number = true};
}

/* event: a constant of the daemon, such as "master.away"; the fields follow in order. A value may have any
 * byte. */
void log_event(struct log *log, enum log_level level, const char *event, const struct log_field *fields,
	size_t count) __attribute__((cold));

/*
 * Thins out an event that can come in any number. LOG_GATE_LINES lines of it pass in a second. The next line
 * that passes is preceded by `log.thinned event=EVENT lines=N` with the number of lines left out, unless
 * log_gate_tell() has said so before. At level debug all lines pass. All zero at first.
 */
#define LOG_GATE_LINES 50

struct log_gate {
	int64_t window_ms; /* start of the second that is counted */
	int64_t lines;     /* in that second */
	int64_t left_out;  /* and not yet reported */
};

/* Whether to write a line of this event now. */
bool log_gate(struct log *log, struct log_gate *gate, enum log_level level, const char *event)
	__attribute__((warn_unused_result));
/* Says how many lines were left out, if their second is over at now_ms (boot-time clock). Returns when it has
 * to be called again, ms; INT64_MAX: no line is left out. */
int64_t log_gate_tell(
	struct log *log, struct log_gate *gate, enum log_level level, const char *event, int64_t now_ms);

/* LOG_EVENT(log, LOG_INFO_LEVEL, "link.up", log_number("link", 0), log_text("master", where)) */
#define LOG_EVENT(log, level, event, ...)                                                                    \
	do {                                                                                                 \
		if (log_wants((log), (level))) {                                                             \
			const struct log_field log_fields_[] = {__VA_ARGS__};                                \
			log_event((log), (level), (event), log_fields_,                                      \
				sizeof log_fields_ / sizeof *log_fields_);                                   \
		}                                                                                            \
	} while (0)

#endif
