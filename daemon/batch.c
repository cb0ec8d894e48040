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

/* A copy of calls and names in one piece. */
static struct batch *
batch_new(const struct call *calls, const size_t *offsets, size_t n, const char *names, size_t bytes)
{
	struct batch *batch = must(malloc(sizeof *batch + n * sizeof *calls + bytes));
	char *text = (char *)(batch->calls + n);
	size_t i;

	*batch = (struct batch){.n = n};
	memcpy(batch->calls, calls, n * sizeof *calls);
	if (bytes > 0)
		memcpy(text, names, bytes);
	for (i = 0; i < n; i++) {
		batch->calls[i].name.p = text + offsets[i];
		batch->calls[i].key = NULL;
	}
	return batch;
}

struct batch *
batch_of(const struct call *call)
{
	const size_t start = 0;

	return batch_new(call, &start, 1, call->name.p, call->name.n);
}

struct batch *
batch_of_group(const struct group *group)
{
	return batch_new(group->calls, group->offsets, group->n, group->names, group->used);
}

void
batch_free(struct batch *batch)
{
	free(batch->votes);
	free(batch);
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

void
batch_keep(struct batch *batch, const struct vote *votes)
{
	size_t i, bytes = 0;
	char *room;

	assert(batch->n > 0 && !batch->votes);
	for (i = 0; i < batch->n; i++)
		bytes += votes[i].holder.n + votes[i].text.n + votes[i].run.n;
	batch->votes = must(malloc(batch->n * sizeof *votes + bytes));
	memcpy(batch->votes, votes, batch->n * sizeof *votes);
	room = (char *)(batch->votes + batch->n);
	for (i = 0; i < batch->n; i++) {
		text_copy(&batch->votes[i].holder, &room);
		text_copy(&batch->votes[i].text, &room);
		text_copy(&batch->votes[i].run, &room);
	}
}
