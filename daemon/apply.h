/*
 * apply: what leaves the daemon after a step: the actions of the core, and the word to the service manager.
 *
 * The driver calls it after each step. Nothing here calls back into the driver: it only writes answers, sends
 * calls, writes notes to the log, EVENTS and counters, and tells whether locks can be had.
 */
#ifndef DAEMON_APPLY_H
#define DAEMON_APPLY_H

#include "daemon/admin/events.h"
#include "daemon/core/base/action.h"
#include "daemon/core/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connections;
struct core;
struct events;
struct history;
struct http;
struct log;
struct masters;
struct notify;
struct stats;

struct apply {
	struct connections *connections;
	struct masters *masters;
	struct events *events;
	struct history *history;
	struct log *log;
	struct stats *stats;
	struct http *http;
	struct note_gates gates; /* all zero at first */
	int64_t wall_ms;         /* of the step whose actions these are */
	size_t calls_out;        /* calls without a vote yet; the driver counts the votes */
	conn_id queued;    /* the connection that got +QUEUED in this step, and nothing before it; 0: none */
	bool watch_wanted; /* an ACTION_WATCH came; the driver clears it */
	void (*keep)(void *arg, conn_id conn);               /* ACTION_KEEP */
	void (*whose)(void *arg, const struct whose *whose); /* ACTION_WHOSE */
	void *arg;
};

/* Carries out the actions in order and empties the list. */
void apply_actions(struct apply *p, struct actions *actions);

/* Reports one note as ACTION_NOTE does: for notes of the driver itself, and for those of a long step while it
 * goes on (struct actions). */
void apply_note(void *apply, const struct note *note);

/*
 * Tells the service manager whether locks can be had: READY=1 and STATUS=.
 *
 * READY=1 is sent when the first lock can be had, or when each master is known to be unusable, and after
 * SERVICE_READY_MS at the latest. So a service that is ordered after this one finds locks, unless STATUS=
 * says why not.
 */
#define SERVICE_READY_MS 2000
#define SERVICE_CHECK_MS 250 /* between two checks of the masters, once ready */
#define SERVICE_TEXT_MAX 320

struct service {
	const struct notify *notify; /* NULL: not started */
	const struct core *core;
	int64_t ready_by_ms;
	int64_t check_at_ms;
	bool ready;         /* READY=1 was sent, or no service manager is there to read it */
	const char *remark; /* text appended after "; ", or "" */
	char text[SERVICE_TEXT_MAX];
};

/* notify and core are held by reference. */
void service_start(
	struct service *service, const struct notify *notify, const struct core *core, int64_t now_ms);

/* Whether READY=1 is due as soon as locks can be had: then each turn has to report. */
static inline bool
service_starts(const struct service *service)
{
	return !service->ready;
}

/* Reports what has changed. Returns when it has to be called again at the latest. */
int64_t service_turn(struct service *service, int64_t now_ms);

/* A reload has ended: READY=1 follows the RELOADING=1 of before. */
void service_reloaded(struct service *service, bool refused);

#endif
