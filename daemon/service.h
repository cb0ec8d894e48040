/*
 * service: tells the service manager whether locks can be had: READY=1 and STATUS=.
 *
 * READY=1 is sent when the first lock can be had, or when each master is known to be unusable, and after
 * SERVICE_READY_MS at the latest. So a service that is ordered after this one finds locks, unless STATUS=
 * says why not. The driver is the only user.
 */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

#include "daemon/core/view.h"

#define SERVICE_READY_MS 2000
#define SERVICE_LOOK_MS  250 /* between two looks at the masters, once ready */
#define SERVICE_TEXT_MAX 320

struct core;
struct notify;

struct service {
	const struct notify *notify; /* NULL: not started */
	const struct core *core;
	int64_t ready_by_ms;
	int64_t look_at_ms;
	bool ready;
	const char *remark; /* text appended after "; ", or "" */
	char text[SERVICE_TEXT_MAX];
};

/* notify and core are kept by reference. */
void service_start(
	struct service *service, const struct notify *notify, const struct core *core, int64_t now_ms);

/* The end of a turn: reports what has changed. Returns when it has to be called again at the latest. */
int64_t service_turn(struct service *service, int64_t now_ms);

/* A reload has ended: READY=1 follows the RELOADING=1 of before. */
void service_reloaded(struct service *service, bool refused);

#endif
