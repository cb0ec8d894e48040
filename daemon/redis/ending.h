/*
 * ending: what the directory of a private master tells of the daemon that had it last: whether it ended
 * without locks, or else until when clients may rely on locks of it.
 *
 * The record is one line in the file `ending`. A daemon writes it when it begins, from time to time while
 * there are holds, and when it ends; so what a killed daemon leaves is no earlier than what its clients were
 * told. Its deadlines are of CLOCK_BOOTTIME: they say something in the same boot alone. embedded is the only
 * user.
 */
#ifndef REDIS_ENDING_H
#define REDIS_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#define ENDING_BYTES   160 /* of the line, with its end */
#define ENDING_STEP_MS 250 /* deadlines are rounded up to that, so that few are written */

enum ending_kind {
	ENDING_UNKNOWN, /* there is no record, or it cannot be read */
	ENDING_CLEAN,   /* nobody relies on anything */
	ENDING_HERE,    /* in this boot: a deadline says more */
	ENDING_BEFORE   /* in another boot, or by another clock */
};

struct ending {
	enum ending_kind kind; /* of the last daemon */
	int64_t until_ms;      /* HERE: nobody relies on its locks from then on */
	int fd;                /* of the record, once it is this daemon's; -1: none */
	int64_t written_ms;    /* the deadline in it */
	char clock[96];        /* which CLOCK_BOOTTIME this is; "": unknown */
};

/* Reads what is there. */
void ending_read(struct ending *ending, int directory_fd);

/* The record is this daemon's from now on, and says so after a power cut, too. False with errno: there is
 * none. */
bool ending_begin(struct ending *ending, int directory_fd, int64_t until_ms);

/* Clients may rely on locks until then; earlier deadlines change nothing. Cheap if the record says so
 * already. False with errno: it cannot be written, and there is none any more. */
bool ending_extend(struct ending *ending, int directory_fd, int64_t until_ms);

/* The daemon ends; until_ms: no client relies on a lock from then on. clean: none does now, in whatever boot.
 * False with errno as before. */
bool ending_finish(struct ending *ending, int directory_fd, bool clean, int64_t until_ms);

#endif
