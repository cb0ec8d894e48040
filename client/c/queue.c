/*
 * queue: the parts that wait for one name; see library.h.
 *
 *     front ──▶ waits at the daemon        behind ──front has the lock, or waits no more──▶ front
 *
 * A session waits for a limited number of names, and a crowd of callers may want one. So only the front of a
 * name waits at the daemon. A part whose time is over behind the front tries once: the daemon knows why it
 * was not its turn. If the daemon refuses the front, all are sent, as each has to hear that.
 */
#include "client/c/queue.h"

#include "client/c/library.h"

#include <stdlib.h>
#include <string.h>

struct queue {
	LIST_ENTRY(queue) next;
	char *name;
	int64_t limit; /* a semaphore of so many permits; 0: a lock */
	unsigned fronts;
	TAILQ_HEAD(behind, part) behind; /* in the order in which they came */
};

static struct queue *
queue_of(struct holdfast *hf, const struct part *part)
{
	int64_t limit = part->lock->options.limit;
	struct queue *queue;

	LIST_FOREACH (queue, &hf->queues, next) {
		if (queue->limit == limit && strcmp(queue->name, part->name) == 0) {
			return queue;
		}
	}
	queue = calloc(1, sizeof(*queue));
	if (queue == NULL) {
		return NULL;
	}
	queue->name = strdup(part->name);
	if (queue->name == NULL) {
		free(queue);
		return NULL;
	}
	queue->limit = limit;
	TAILQ_INIT(&queue->behind);
	LIST_INSERT_HEAD(&hf->queues, queue, next);
	return queue;
}

static void
queue_free(struct queue *queue)
{
	LIST_REMOVE(queue, next);
	free(queue->name);
	free(queue);
}

void
queue_enter(struct part *part)
{
	struct queue *queue = queue_of(part->lock->hf, part);

	part->queue = queue;
	if (queue == NULL) {
		return; /* no memory: it waits at the daemon, as each other would */
	}
	/* With an owner of the caller's own the daemon sees whether the part would wait for itself. */
	if (queue->fronts == 0 || part->lock->options.wait_ms == HOLDFAST_TRY || part->lock->owner != NULL) {
		queue->fronts++;
		return;
	}
	part->behind = true;
	TAILQ_INSERT_TAIL(&queue->behind, part, next_behind);
}

void
queue_step_out(struct part *part)
{
	TAILQ_REMOVE(&part->queue->behind, part, next_behind);
	part->behind = false;
	part->queue->fronts++;
}

void
queue_leave(struct part *part, bool all)
{
	struct queue *queue = part->queue;

	part->queue = NULL;
	if (queue == NULL) {
		return;
	}
	if (part->behind) {
		TAILQ_REMOVE(&queue->behind, part, next_behind);
		part->behind = false;
	} else {
		queue->fronts--;
	}
	while (!TAILQ_EMPTY(&queue->behind) && (all || queue->fronts == 0)) {
		queue_step_out(TAILQ_FIRST(&queue->behind));
	}
	if (queue->fronts == 0) {
		queue_free(queue);
	}
}

void
queue_bound(struct part *part, int64_t wait_ms)
{
	struct part *other;

	if (part->queue == NULL) {
		return;
	}
	TAILQ_FOREACH (other, &part->queue->behind, next_behind) {
		if (other->lock->until_ms == INT64_MAX) {
			other->lock->until_ms = other->entered_ms + wait_ms;
		}
	}
}

int64_t
queue_position(const struct part *part)
{
	const struct part *other;
	int64_t position = 0;

	if (!part->behind) {
		return 0;
	}
	TAILQ_FOREACH (other, &part->queue->behind, next_behind) {
		position++;
		if (other == part) {
			break;
		}
	}
	return position;
}

struct part *
queue_next(const struct part *part)
{
	if (part->queue == NULL) {
		return NULL;
	}
	return part->behind ? TAILQ_NEXT(part, next_behind) : TAILQ_FIRST(&part->queue->behind);
}

void
queue_forget(struct holdfast *hf)
{
	while (!LIST_EMPTY(&hf->queues)) {
		queue_free(LIST_FIRST(&hf->queues));
	}
}
