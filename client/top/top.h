/*
 * top: the verb top, a live screen of all daemons, or of one. Private to its five files.
 *
 *     top_data.c    asks the daemon: INFO, LOCKS, INSPECT, BREAK
 *     top_fleet.c   asks it for all daemons: TOP
 *     top_hour.c    asks it for the latest hour: HOUR; and makes its line
 *     top_lines.c   makes lines of it, and prints them in batches
 *     top.c         draws them on a terminal, and does what the keys say
 */
#ifndef CLIENT_TOP_H
#define CLIENT_TOP_H

#include "client/options.h"
#include "client/process.h"
#include "client/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_NAME_MAX 513 /* bytes of a name, NUL included */
#define TOP_TEXT_MAX 512

enum top_sort {
	TOP_LONGEST, /* longest wait first */
	TOP_WAITERS, /* most waiters first */
	TOP_HELD,    /* longest hold first */
	TOP_NAME
};

struct top_row {
	char *texts; /* the next five, each with a NUL */
	const char *name, *state, *holder, *why, *host;
	int64_t token; /* of the oldest hold; 0: none */
	int64_t held_ms;
	int64_t waiters;
	int64_t longest_ms; /* of the waits; 0: none */
};

/* What INFO said. */
struct top_info {
	int64_t at_ms; /* CLOCK_BOOTTIME; 0: not asked yet */
	int64_t requests, granted, timed_out, lost;
	int64_t clients, sessions, held, withheld, waiters, up_s;
	int64_t busiest_session, busiest_requests_s, busiest_busy_us_s; /* of this daemon */
	char version[32];
	char masters[TOP_TEXT_MAX];
};

/* What a daemon said of itself (PROTOCOL.md 6.27). */
struct top_host {
	char host[65], daemon[33];
	char health[TOP_TEXT_MAX];
	int64_t clients, sessions, held, withheld, waiters, longest_ms;
	int64_t requests, granted, timed_out, lost;
	int64_t masters, usable;
	bool available;
	bool complete; /* it has gone through all its names */
	bool cut;      /* locks are missing, for want of room */
};

/* The latest hour (PROTOCOL.md 6.28), the oldest minute first. */
#define TOP_MINUTES 60
struct top_hour {
	int64_t at_ms; /* asked: CLOCK_BOOTTIME; 0: not yet */
	bool all;      /* of all daemons */
	size_t n;      /* 0: unknown */
	int64_t granted[TOP_MINUTES], lost[TOP_MINUTES], wait_us[TOP_MINUTES];
};

struct top {
	const struct options *o;
	const struct address *a;
	struct wire wire;
	enum top_sort sort;
	char filter[TOP_NAME_MAX]; /* a glob; "": every name */
	char detail[TOP_NAME_MAX]; /* the name that is shown alone; "": the list */
	bool here;                 /* this daemon alone is shown */
	/* Of all daemons that are shown together; version, up_s and masters of this one. last: of the screen
	 * before; before: of one that is old enough for rates. */
	struct top_info info, last, before;
	struct top_host *hosts; /* all that answered, the longest wait first; NULL: this daemon alone */
	size_t host_count;
	char silent[TOP_TEXT_MAX]; /* hosts whose daemons did not answer, with commas between */
	size_t silent_count;
	struct top_hour hour;
	bool asked;           /* an answer has come: what was not whole then is not waited for again */
	struct top_row *rows; /* sorted */
	size_t count, room;
	char **lines; /* of the detail */
	size_t line_count;
	int64_t detail_token;       /* of its oldest hold; 0: none */
	char message[TOP_TEXT_MAX]; /* for the next screen; "": none */
	int refused; /* the exit code of the error with which the latest request was answered; 0: none */
};

/* A line under construction: characters, not bytes, count for its width. */
#define TOP_LINE_BYTES 4096
struct top_line {
	char bytes[TOP_LINE_BYTES];
	size_t n;
	size_t width; /* of what is in it */
};

#endif
