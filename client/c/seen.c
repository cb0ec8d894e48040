/*
 * seen: the holder of a name that a program waits for, and the events that the program is notified of; see
 * library.h.
 *
 *     1 s, then each 5 s ──▶ INSPECT ──not held here─▶ INSPECT FLEET ──▶ on_wait, and the handle's watcher
 *     wait is over ────────▶ the same ────────────────────────────────▶ the error
 *
 * Without a daemon on_wait and the watcher are told that nothing is known.
 * One answer serves all parts in the queue behind the one that has asked: a crowd asks once.
 */
#include "client/c/seen.h"

#include "client/c/engine.h"
#include "client/c/handle.h"
#include "client/c/library.h"
#include "client/c/part.h"
#include "client/c/queue.h"
#include "client/wire/descriptor.h"
#include "daemon/base/clock.h"
#include "proto/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_MS 1000 /* a wait that is shorter is no news */
#define EVERY_MS 5000
#define TOGETHER 100 /* questions that are due so soon are done at once */
#define WAITERS  "100"

void
seen_begin(struct part *part, int64_t now_ms)
{
	part->inspect_ms = now_ms + FIRST_MS;
}

static bool
seen_is_wanted(const struct part *part)
{
	return part->lock->watched || part->lock->hf->told != NULL;
}

int64_t
seen_next(const struct part *part)
{
	bool waits = part->state == PART_WAITS && part->late_ms == 0 && !part->inspects;

	return waits && seen_is_wanted(part) ? part->inspect_ms : INT64_MAX;
}

static void
seen_ask(struct part *part, int64_t now_ms)
{
	part->inspects = true;
	engine_ask(part->lock->hf, part, ASKED_INSPECT, 4,
		(const char *const[]){"INSPECT", part->name, "COUNT", WAITERS}, now_ms);
}

void
seen_late(struct part *part, int64_t now_ms)
{
	part->late_ms = now_ms;
	if (!part->inspects) {
		seen_ask(part, now_ms);
	}
}

/* ---- answers ---- */

static void
holder_read(struct holdfast_holder *holder, const struct answer *map, struct slice host)
{
	struct slice address = answer_get_text(map, "address");

	holder->known = 1;
	slice_text(holder->host, sizeof(holder->host), host);
	slice_text(holder->client, sizeof(holder->client), answer_get_text(map, "client"));
	if (!slice_equal(address, SLICE("unix"))) {
		slice_text(holder->address, sizeof(holder->address), address);
	}
	slice_text(holder->owner, sizeof(holder->owner), answer_get_text(map, "owner"));
	slice_text(holder->why, sizeof(holder->why), answer_get_text(map, "why"));
	holder->pid = answer_get_int(map, "pid", 0);
	holder->uid = answer_get_int(map, "uid", -1);
	holder->token = answer_get_int(map, "token", 0);
	holder->held_ms = answer_get_int(map, "held_ms", 0);
}

static bool
is_map(const struct answer *answer)
{
	return answer != NULL && answer->type == ANSWER_MAP;
}

/* From INSPECT FLEET: a holder that its daemon names, or else the host that has the name by the masters. */
static void
fleet_read(struct holdfast_holder *holder, const struct answer *answer)
{
	const struct answer *hosts = answer_get(answer, "hosts"), *holders = answer_get(answer, "holders");

	for (size_t i = 0; hosts != NULL && i < hosts->count; i++) {
		const struct answer *there = answer_get(&hosts->items[i], "holder");

		if (is_map(there)) {
			holder_read(holder, there, answer_get_text(&hosts->items[i], "host"));
			return;
		}
	}
	if (holders != NULL && holders->count > 0) {
		holder_read(holder, &holders->items[0], answer_get_text(&holders->items[0], "host"));
	}
}

/* Where the part itself or the front of its queue stands; 0: not known. */
static int64_t
position_read(const struct part *part, const struct answer *answer)
{
	const struct answer *waiters = answer_get(answer, "waiters");

	for (size_t i = 0; waiters != NULL && i < waiters->count; i++) {
		const struct part *other =
			part_find(part->lock->hf, answer_get_text(&waiters->items[i], "owner"));

		if (other != NULL && other->queue != NULL && other->queue == part->queue) {
			return answer_get_int(&waiters->items[i], "position", 0);
		}
	}
	return 0;
}

/* ---- who is told ---- */

static void
seen_waits(struct part *part, const struct holdfast_holder *holder, int64_t position, int64_t now_ms)
{
	struct holdfast_lock *lock = part->lock;

	part->inspect_ms = now_ms + EVERY_MS;
	lock->holder = *holder;
	lock->position = position;
	seen_tell(lock->hf, part, HOLDFAST_WAITS, now_ms - lock->begun_ms, "");
	if (lock->watched && lock->options.on_wait != NULL) {
		lock->news = true;
		(void)wakeup_set(lock->fd, 1);
	}
}

void
seen_step(struct part *part, int64_t now_ms)
{
	static const struct holdfast_holder unknown = {.uid = -1};

	if (now_ms < seen_next(part)) {
		return;
	}
	if (part->lock->hf->ready) {
		seen_ask(part, now_ms);
	} else {
		seen_waits(part, &unknown, 0, now_ms);
	}
}

/* The part has asked; those behind it that would ask soon are told, too. */
static void
seen_holder(struct part *part, const struct holdfast_holder *holder, int64_t now_ms)
{
	int64_t position = queue_position(part);
	struct part *other;

	if (part->late_ms > 0) {
		part_timeout(part, holder);
		return;
	}
	for (other = part; other != NULL; other = queue_next(other), position++) {
		if (seen_is_wanted(other) && other->inspect_ms <= now_ms + TOGETHER) {
			seen_waits(other, holder, part->base > 0 ? part->base + position : 0, now_ms);
		}
	}
}

void
seen_answer(struct part *part, enum asked what, const struct answer *answer, int64_t now_ms)
{
	struct holdfast_holder holder = {.uid = -1};

	part->inspects = false;
	if (part->state != PART_WAITS) {
		return;
	}
	if (what == ASKED_INSPECT && is_map(answer)) {
		part->base = position_read(part, answer);
		if (!is_map(answer_get(answer, "holder"))) {
			/* A daemon that waits no more has forgotten which one has the name. */
			part->inspects = true;
			engine_ask(part->lock->hf, part, ASKED_FLEET, 3,
				(const char *const[]){"INSPECT", part->name, "FLEET"}, now_ms);
			return;
		}
		holder_read(&holder, answer_get(answer, "holder"), SLICE(""));
	} else if (is_map(answer)) {
		fleet_read(&holder, answer);
	}
	seen_holder(part, &holder, now_ms);
}

void
seen_tell(struct holdfast *hf, const struct part *part, enum holdfast_event_kind kind, int64_t ms,
	const char *text)
{
	const char *name = part != NULL ? part->name : "";
	size_t n = strlen(name) + 1, m = strlen(text) + 1;
	struct event *event = hf->told != NULL ? calloc(1, sizeof(*event) + n + m) : NULL;

	if (event == NULL) {
		return;
	}
	memcpy(event->name, name, n);
	event->text = event->name + n;
	memcpy(event->text, text, m);
	event->holder = part != NULL ? part->lock->holder : (struct holdfast_holder){.uid = -1};
	event->event = (struct holdfast_event){.kind = (int)kind,
		.name = event->name,
		.token = part != NULL ? part->token : 0,
		.ms = ms,
		.position = kind == HOLDFAST_WAITS ? part->lock->position : 0,
		.holder = &event->holder,
		.text = event->text};
	STAILQ_INSERT_TAIL(&hf->events, event, next);
	handle_wake(hf);
}

bool
seen_deliver(struct holdfast *hf)
{
	struct event *event = STAILQ_FIRST(&hf->events);
	holdfast_told told = hf->told;
	void *context = hf->context;

	if (event == NULL) {
		return false;
	}
	STAILQ_REMOVE_HEAD(&hf->events, next);
	hf->telling = true;
	(void)pthread_mutex_unlock(&hf->mutex);
	if (told != NULL) {
		told(&event->event, context);
	}
	free(event);
	(void)pthread_mutex_lock(&hf->mutex);
	hf->telling = false;
	(void)pthread_cond_broadcast(&hf->told_changed);
	return true;
}

void
seen_forget(struct holdfast *hf)
{
	struct event *event;

	while ((event = STAILQ_FIRST(&hf->events)) != NULL) {
		STAILQ_REMOVE_HEAD(&hf->events, next);
		free(event);
	}
}

void
holdfast_watch(struct holdfast *hf, holdfast_told told, void *context)
{
	if (hf == NULL || !handle_is_ours(hf, NULL)) {
		return;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	seen_forget(hf);
	hf->told = told;
	hf->context = context;
	while (hf->telling && pthread_equal(pthread_self(), hf->thread) == 0) {
		(void)pthread_cond_wait(&hf->told_changed, &hf->mutex);
	}
	engine_step(hf, clock_ms());
	(void)pthread_mutex_unlock(&hf->mutex);
}
