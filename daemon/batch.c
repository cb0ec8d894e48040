/*
 * batch: see batch.h. Called by the pool; does no I/O.
 */
#include "daemon/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *
must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void
batches_init(struct batches *batches)
{
	batches->head = NULL;
	batches->end = &batches->head;
}

void
batches_put(struct batches *batches, struct batch *batch)
{
	batch->next = NULL;
	*batches->end = batch;
	batches->end = &batch->next;
}

struct batch *
batches_take(struct batches *batches)
{
	struct batch *batch = batches->head;

	if (batch)
		batches->head = batch->next;
	if (!batches->head)
		batches->end = &batches->head;
	return batch;
}

void
batches_done(struct batches *batches)
{
	struct batch *batch;

	while ((batch = batches_take(batches)))
		batch_free(batch);
}

static void
text_copy(struct slice *text, char **room)
{
	if (text->n == 0)
		return;
	memcpy(*room, text->p, text->n);
	text->p = *room;
	*room += text->n;
}

/* A copy of calls and their texts in one piece. */
static struct batch *
batch_new(const struct call *calls, size_t n)
{
	struct batch *batch;
	size_t i, bytes = 0;
	char *room;

	for (i = 0; i < n; i++)
		bytes += calls[i].name.n + calls[i].slots.n + calls[i].nonces.n;
	batch = must(malloc(sizeof *batch + n * sizeof *calls + bytes));
	room = (char *)(batch->calls + n);
	*batch = (struct batch){.n = n};
	memcpy(batch->calls, calls, n * sizeof *calls);
	for (i = 0; i < n; i++) {
		text_copy(&batch->calls[i].name, &room);
		text_copy(&batch->calls[i].slots, &room);
		text_copy(&batch->calls[i].nonces, &room);
		batch->calls[i].key = NULL;
		/* They are encoded in the command already. */
		batch->calls[i].masterset = batch->calls[i].places = (struct slice){NULL, 0};
		batch->calls[i].next = (struct next_set){{NULL, 0}, {NULL, 0}, NEXT_NONE, 0};
	}
	return batch;
}

struct batch *
batch_of(const struct call *call)
{
	return batch_new(call, 1);
}

struct batch *
batch_of_group(struct group *group)
{
	return batch_new(group_calls(group), group->n);
}

void
batch_free(struct batch *batch)
{
	free(batch->votes);
	free(batch);
}

void
batch_keep(struct batch *batch, const struct vote *votes)
{
	size_t i, bytes = 0;
	char *room;

	assert(batch->n > 0 && !batch->votes);
	for (i = 0; i < batch->n; i++)
		bytes += votes[i].holder.n + votes[i].slots.n + votes[i].text.n + votes[i].run.n +
			 votes[i].masterset.n + votes[i].places.n + votes[i].next.set.n +
			 votes[i].next.places.n + votes[i].unacknowledged.n;
	batch->votes = must(malloc(batch->n * sizeof *votes + bytes));
	memcpy(batch->votes, votes, batch->n * sizeof *votes);
	room = (char *)(batch->votes + batch->n);
	for (i = 0; i < batch->n; i++) {
		text_copy(&batch->votes[i].holder, &room);
		text_copy(&batch->votes[i].slots, &room);
		text_copy(&batch->votes[i].text, &room);
		text_copy(&batch->votes[i].run, &room);
		text_copy(&batch->votes[i].masterset, &room);
		text_copy(&batch->votes[i].places, &room);
		text_copy(&batch->votes[i].next.set, &room);
		text_copy(&batch->votes[i].next.places, &room);
		text_copy(&batch->votes[i].unacknowledged, &room);
	}
}
