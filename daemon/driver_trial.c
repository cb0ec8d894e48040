/*
 * driver_trial: before the daemon becomes the next program, it tries it. A part of the driver.
 *
 *     RESTART, SIGUSR2 ──▶ driver_hand_over ──▶ a child ──ended──▶ the configuration ──▶ driver_rest
 *
 * Clients are served meanwhile. A program that would not start must not cost them anything.
 */
#include "daemon/driver_trial.h"

#include "daemon/base/child.h"
#include "daemon/base/loop.h"
#include "daemon/driver_handover.h"
#include "daemon/driver_inner.h"
#include "daemon/net/connections.h"
#include "daemon/request/context.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void
driver_end_trial(struct driver *d)
{
	child_free(d->trial);
	d->trial = NULL;
}

static size_t
askers_count(const struct driver *d)
{
	return buffer_length(&d->askers) / sizeof(conn_id);
}

static conn_id
asker_at(const struct driver *d, size_t i)
{
	conn_id id;
	memcpy(&id, buffer_bytes(&d->askers) + i * sizeof id, sizeof id);
	return id;
}

/* All get the same answer. */
static void
askers_refuse(struct driver *d, struct refusal refusal)
{
	driver_log_failed(d, refusal);
	for (size_t i = 0; i < askers_count(d); i++) {
		driver_not_handed_over(d, asker_at(d, i), refusal);
	}
	buffer_done(&d->askers);
}

/* The first one is answered by the next process. The others ask that for a restart of their own: what they
 * wanted may have come behind the trial. */
static conn_id
askers_choose(struct driver *d)
{
	conn_id chosen = 0;
	for (size_t i = 0; i < askers_count(d); i++) {
		struct connection *c = connections_find(d->connections, asker_at(d, i));
		if (c && chosen == 0) {
			chosen = asker_at(d, i);
		} else if (c && connection_waits(c)) {
			connection_ask_again(c, SLICE("RESTART\r\n"));
		}
	}
	buffer_done(&d->askers);
	return chosen;
}

/* The configuration comes last, as late as possible: it is read again by the next process. */
static void
driver_on_tried(void *arg, const char *failed)
{
	struct driver *d = arg;
	char why[CONTEXT_TEXT_MAX];
	driver_end_trial(d);
	struct refusal refusal = driver_refusal(d);
	if (!refusal.why && failed) {
		snprintf(why, sizeof why, "%s -t: %s", d->program->path, failed);
		refusal.why = why;
	} else if (!refusal.why && !d->prepare(d->main_arg, why, sizeof why)) {
		refusal.why = why;
	}
	if (refusal.why) {
		askers_refuse(d, refusal);
	} else {
		driver_rest(d, false, askers_choose(d));
	}
}

void
driver_stop_trial(struct driver *d)
{
	if (d->trial) {
		driver_end_trial(d);
		askers_refuse(d, (struct refusal){CODE_DRAINING, DRIVER_ENDING});
	}
}

/* NULL: it has begun. */
static const char *
driver_begin_trial(struct driver *d, char why[HANDOVER_WHY_MAX])
{
	struct handover_daemon daemon = driver_daemon(d);
	assert(!d->trial);
	d->trial = handover_try(d->program, &daemon, loop_base(d->loop), driver_on_tried, d, why);
	buffer_init(&d->askers, SIZE_MAX / 4);
	return d->trial ? NULL : why;
}

void
driver_hand_over(void *arg, struct connection *c)
{
	struct driver *d = arg;
	struct refusal refusal = driver_refusal(d);
	conn_id asked_by = c ? connection_identity(c)->id : 0;
	char why[HANDOVER_WHY_MAX];
	if (!refusal.why && !d->trial) {
		refusal.why = driver_begin_trial(d, why);
	}
	if (!refusal.why && c) {
		buffer_put(&d->askers, &asked_by, sizeof asked_by);
		refusal.why = d->askers.failed ? "out of memory" : NULL;
	}
	if (refusal.why) {
		driver_log_failed(d, refusal);
		driver_not_handed_over(d, asked_by, refusal);
	}
}

bool
driver_reaped(struct driver *d, pid_t pid, int status)
{
	return d->trial && child_reaped(d->trial, pid, status);
}
