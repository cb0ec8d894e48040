/*
 * probe: whether a lock can be had now. health prints it for monitors, doctor with what else is wrong.
 *
 *     HELLO 3 …               one write; the name is new each time, so that the masters have to grant it
 *     LOCK name WAIT 0
 *     UNLOCK name
 *     INFO masters
 *
 * It prints nothing.
 */
#ifndef CLIENT_PROBE_H
#define CLIENT_PROBE_H

#include "client/wire/wire.h"

#include <stdint.h>

/* Monitors give up after 10 s by default. */
#define PROBE_MS 5000

/* The names of the locks that it takes, as a glob. */
#define PROBE_PREFIX "holdfast:health:"
#define PROBE_NAMES  PROBE_PREFIX "*"

/* The numbers are the exit codes of monitoring plugins. */
enum probe_grade { PROBE_OK, PROBE_WARNING, PROBE_CRITICAL, PROBE_UNKNOWN };

struct probe {
	enum probe_grade grade;
	char text[WIRE_TEXT_MAX * 2];
	double ms;       /* from LOCK to its answer; < 0: no answer */
	int64_t masters; /* 0: not known, as the next two */
	int64_t usable;
	int64_t majority;
	int64_t warning_ms; /* as they were given to probe_judge() */
	int64_t critical_ms;
};

/* Opens *w, and waits at most wait_ms for the answers. The caller calls wire_close(). */
void probe_run(struct probe *f, struct wire *w, const struct address *a, int64_t wait_ms);

/* Raises the grade of a lock that was granted after so long, ms; a bound < 0 is none. */
void probe_judge(struct probe *f, int64_t warning_ms, int64_t critical_ms);

#endif
