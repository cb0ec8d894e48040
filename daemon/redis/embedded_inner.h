/*
 * embedded_inner: what the files of embedded share; no other file includes it.
 *
 *     embedded.c ──▶ embedded_directory.c     the server, its starts and ends; the directory and its record
 *                          └──▶ embedded_presence.c    whether an earlier daemon of the directory still runs
 */
#ifndef REDIS_EMBEDDED_INNER_H
#define REDIS_EMBEDDED_INNER_H

#include "daemon/base/clock.h"
#include "daemon/redis/embedded.h"

#include <sys/un.h>

#define ENDING_MARK_MAX 64
#define LINE_MAX_BYTES  512 /* of the server's output; the rest of a line is cut */
#define PATH_BYTES      4096

#define ENDING_BYTES   256 /* of the line, line feed included */
#define ENDING_STEP_MS 250 /* deadlines are rounded up to this, so that few are written */

enum ending_kind {
	ENDING_UNKNOWN, /* no record, or an unreadable one */
	ENDING_CLEAN,   /* no client relies on a lock */
	ENDING_HERE,    /* of this boot: see until_ms */
	ENDING_BEFORE,  /* of another boot, or another clock */
	ENDING_COPIED /* it may not be the latest: it was written to another file, or the mark says otherwise
		       */
};

/*
 * What the directory records of its last daemon: whether that daemon ended without locks, or else until when
 * clients may rely on its locks.
 *
 * The record is one line in the file `ending`. A daemon writes it when it begins, from time to time while
 * there are holds, and when it ends. So the record of a killed daemon is no earlier than the deadlines that
 * were announced to its clients. Deadlines are of CLOCK_BOOTTIME, and mean nothing in another boot.
 *
 * The directory may be a copy, of an image or a backup, or may have gone back to a snapshot: then the record
 * is that of an earlier daemon than the last one. So it counts in the file only that it was written to, and
 * only with its mark: the same line in a file system that is memory (MARKS), which no image has and no
 * snapshot takes back. Both have the turn, a random number of the daemon's start. Of two deadlines of one
 * turn the later one counts.
 */
struct ending {
	enum ending_kind kind; /* of the last daemon */
	int64_t until_ms;      /* HERE: from then on no client relies on its locks */
	int fd;                /* of the record, once this daemon has written it; -1: none */
	int mark_fd;           /* of its mark; -1: none */
	uint64_t turn;
	int64_t written_ms;         /* the deadline in the record */
	char clock[CLOCK_NAME_MAX]; /* clock_name() */
};

struct embedded {
	struct event_base *base;
	struct log *log;
	struct stats *stats;
	char program[PATH_BYTES];
	char called[PATH_BYTES]; /* the name by which the server is called */
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	char *directory;
	int directory_fd;
	int lock_fd;
	bool claimed;             /* the lock is held, and so is everything in the directory */
	const char *doubt;        /* why its memory is not trusted; NULL: it is */
	int64_t doubted_until_ms; /* 0: unknown */
	int64_t begun_until_ms;   /* clients of earlier daemons may rely on locks until then */
	struct ending ending;
	int presence_fd; /* embedded_show_presence(); -1: none */

	pid_t pid;   /* 0: not running */
	bool reaped; /* it has ended, and its status was read: */
	int status;
	int said; /* the read end of its standard output, which is closed when it ends */
	struct event *readable;
	struct timeout *timer; /* restarts it */
	int64_t started_ms;
	unsigned deaths; /* in a row */
	bool ready;
	char line[LINE_MAX_BYTES];
	size_t n;
	char last[LINE_MAX_BYTES + 1]; /* its last whole line, for the reason of its end */
};

#define MARKS "/dev/shm"

#endif
