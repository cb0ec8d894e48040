/*
 * ending: what the directory of a private master records of its last daemon: whether that daemon ended
 * without locks, or else until when clients may rely on its locks.
 *
 * The record is one line in the file `ending`. A daemon writes it when it begins, from time to time while
 * there are holds, and when it ends. So the record of a killed daemon is no earlier than the deadlines that
 * its clients were told. Deadlines are of CLOCK_BOOTTIME, and mean nothing in another boot. embedded is the
 * only user.
 */
#ifndef REDIS_ENDING_H
#define REDIS_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#define ENDING_BYTES   160 /* of the line, line feed included */
#define ENDING_STEP_MS 250 /* deadlines are rounded up to this, so that few are written */

enum ending_kind {
	ENDING_UNKNOWN, /* no record, or an unreadable one */
	ENDING_CLEAN,   /* no client relies on a lock */
	ENDING_HERE,    /* of this boot: see until_ms */
	ENDING_BEFORE   /* of another boot, or another clock */
};

struct ending {
	enum ending_kind kind; /* of the last daemon */
	int64_t until_ms;      /* HERE: from then on no client relies on its locks */
	int fd;                /* of the record, once this daemon has written it; -1: none */
	int64_t written_ms;    /* the deadline in the record */
	char clock[96];        /* names this CLOCK_BOOTTIME; "": unknown */
};

/* Reads the record of the last daemon. */
void ending_read(struct ending *ending, int directory_fd);

/* Replaces the record by one of this daemon, which survives a power cut, too. False with errno: there is no
 * record. */
bool ending_begin(struct ending *ending, int directory_fd, int64_t until_ms);

/* Clients may rely on locks until until_ms; an earlier deadline changes nothing. Cheap if the record says so
 * already. False with errno: it cannot be written, and there is no record any more. */
bool ending_extend(struct ending *ending, int directory_fd, int64_t until_ms);

/* The daemon ends; from until_ms on no client relies on a lock. clean: none does already, in whatever boot.
 * False with errno, as before. */
bool ending_finish(struct ending *ending, int directory_fd, bool clean, int64_t until_ms);

#endif
