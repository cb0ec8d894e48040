/*
 * batch: see batch.h. The pool calls it; it does no I/O.
 */
#include "daemon/redis/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* Copies calls and their texts, which have this many bytes, in one piece. */
static struct batch *
batch_new(struct reserve *reserve, const struct call *calls, size_t n, size_t bytes)
{
	struct slice *texts[CALL_TEXTS_MAX];
	struct batch *batch = reserve_resize(reserve, NULL, sizeof *batch + n * sizeof *calls + bytes);
	char *room = (char *)(batch->calls + n);

	*batch = (struct batch){.n = n};
	memcpy(batch->calls, calls, n * sizeof *calls);
	for (size_t i = 0; i < n; i++) {
		for (size_t t = 0, count = call_texts(&batch->calls[i], texts); t < count; t++)
			text_copy(texts[t], &room);
		batch->calls[i].key = NULL;
	}
	return batch;
}

struct batch *
batch_of(struct reserve *reserve, const struct call *call)
{
	struct slice *texts[CALL_TEXTS_MAX];
	struct call copy = *call;
	size_t bytes = 0;

	for (size_t n = call_texts(&copy, texts); n > 0; n--)
		bytes += texts[n - 1]->n;
	return batch_new(reserve, call, 1, bytes);
}

struct batch *
batch_of_group(struct reserve *reserve, struct group *group)
{
	return batch_new(reserve, group_calls(group), group->n, group->used);
}

void
batch_free(struct batch *batch)
{
	free(batch->votes);
	free(batch);
}

#define VOTE_TEXTS_MAX 7

/* Collects the texts of a vote without the name, which is that of its call. Returns how many. */
static size_t
vote_texts(struct vote *vote, struct slice *texts[VOTE_TEXTS_MAX])
{
	size_t n = 0;

	texts[n++] = &vote->text;
	if (call_about_lease(vote->op)) {
		texts[n++] = &vote->holder;
		texts[n++] = &vote->slots;
	} else if (vote->op == CALL_HELLO) {
		texts[n++] = &vote->run;
		texts[n++] = &vote->masterset;
		texts[n++] = &vote->places;
		texts[n++] = &vote->next.set;
		texts[n++] = &vote->next.places;
		texts[n++] = &vote->unacknowledged;
	}
	return n;
}

void
batch_keep(struct reserve *reserve, struct batch *batch, const struct vote *votes)
{
	struct slice *texts[VOTE_TEXTS_MAX];
	size_t bytes = 0;
	char *room;

	assert(batch->n > 0 && !batch->votes);
	for (size_t i = 0; i < batch->n; i++) {
		struct vote vote = votes[i];

		for (size_t t = vote_texts(&vote, texts); t > 0; t--)
			bytes += texts[t - 1]->n;
	}
	batch->votes = reserve_resize(reserve, NULL, batch->n * sizeof *votes + bytes);
	memcpy(batch->votes, votes, batch->n * sizeof *votes);
	room = (char *)(batch->votes + batch->n);
	for (size_t i = 0; i < batch->n; i++)
		for (size_t t = 0, n = vote_texts(&batch->votes[i], texts); t < n; t++)
			text_copy(texts[t], &room);
}
