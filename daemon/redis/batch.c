/*
 * batch: see batch.h. It does no I/O.
 */
#include "daemon/redis/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups: calls that wait to share a command ---- */

/* FNV-1a. Two names with the same hash count as one name: that costs a command. */
static uint32_t
name_hash(struct slice name)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < name.n; i++)
		hash = (hash ^ (unsigned char)name.p[i]) * 16777619U;
	return hash;
}

static bool
group_knows(const struct group *group, uint32_t hash)
{
	uint32_t known = 0;

	for (size_t i = 0; i < group->n; i++)
		known |= group->hashes[i] == hash;
	return known != 0;
}

/* The number of permits that the call asks for. */
static int64_t
call_permits(const struct call *call)
{
	return call->kind == KIND_PERMITS ? call->permits : 0;
}

/* The last call goes to this position; those from there on make room, and keep their order. */
static void
group_move(struct group *group, size_t at)
{
	size_t last = group->n - 1, behind = last - at;
	struct call call = group->calls[last];
	uint32_t hash = group->hashes[last];
	size_t offset = group->offsets[last];

	memmove(&group->calls[at + 1], &group->calls[at], behind * sizeof(call));
	memmove(&group->hashes[at + 1], &group->hashes[at], behind * sizeof(hash));
	memmove(&group->offsets[at + 1], &group->offsets[at], behind * sizeof(offset));
	group->calls[at] = call;
	group->hashes[at] = hash;
	group->offsets[at] = offset;
}

/*
 * Several masters share the queues among them by the names, so nearly every other call of an acquire would
 * have other terms than the one before it. The last call moves to those whose queue lives at this master,
 * unless it would pass a call about its name.
 */
static void
group_settle(struct group *group)
{
	size_t last = group->n - 1;

	assert(group->queued <= last);
	if (group->calls[last].queue_ms == CALL_QUEUELESS)
		return;
	for (size_t i = group->queued; i < last; i++)
		if (group->hashes[i] == group->hashes[last])
			return;
	if (group->queued < last)
		group_move(group, group->queued);
	group->queued++;
}

static void
group_add(struct reserve *reserve, struct group *group, const struct call *call, uint32_t hash)
{
	struct slice *texts[CALL_TEXTS_MAX];
	size_t n, bytes = 0;

	assert(group->n < CALL_GROUP_MAX);
	if (!group->calls)
		group->calls = reserve_resize(reserve, NULL, CALL_GROUP_MAX * sizeof *group->calls);
	group->calls[group->n] = *call;
	group->hashes[group->n] = hash;
	group->offsets[group->n] = group->used;
	n = call_texts(&group->calls[group->n], texts);
	for (size_t i = 0; i < n; i++)
		bytes += texts[i]->n;
	if (group->room - group->used < bytes) {
		group->room = (group->used + bytes) * 2;
		group->texts = reserve_resize(reserve, group->texts, group->room);
	}
	for (size_t i = 0; i < n; i++) {
		if (texts[i]->n > 0)
			memcpy(group->texts + group->used, texts[i]->p, texts[i]->n);
		group->used += texts[i]->n;
	}
	group->permits += call_permits(call);
	group->n++;
	group_settle(group);
}

/* Lets the calls of the group, or a copy of them, point to its texts, or to a copy of these. */
static void
group_point(const struct group *group, struct call *calls, const char *bytes)
{
	struct slice *texts[CALL_TEXTS_MAX];

	for (size_t i = 0; i < group->n; i++) {
		size_t at = group->offsets[i], n = call_texts(&calls[i], texts);

		for (size_t t = 0; t < n; t++) {
			texts[t]->p = texts[t]->n > 0 ? bytes + at : NULL;
			at += texts[t]->n;
		}
	}
}

const struct call *
group_calls(struct group *group)
{
	group_point(group, group->calls, group->texts);
	return group->calls;
}

void
group_clear(struct group *group)
{
	group->n = 0;
	group->queued = 0;
	group->permits = 0;
	group->used = 0;
}

static bool
group_full(const struct group *group, const struct call *call)
{
	return group->n == CALL_GROUP_MAX ||
	       (group->permits > 0 && group->permits + call_permits(call) > CALL_GROUP_PERMITS);
}

/* Whether this group has to leave before the call, which will be in another group, or in a new one of its
 * script. */
static bool
group_precedes(const struct group *group, const struct call *call, uint32_t hash)
{
	if (group->n == 0)
		return false;
	if (script_of(&group->calls[0]) == script_of(call))
		return group_full(group, call) || !call_groups(&group->calls[0], call);
	/* A call that does not even group with itself is about no name. */
	return !call_groups(call, call) || !call_groups(&group->calls[0], &group->calls[0]) ||
	       group_knows(group, hash);
}

_Static_assert(SCRIPT_COUNT <= 32, "a set of scripts is one uint32_t");

/* Takes the next script out of a set of scripts. */
static enum script_id
scripts_take(uint32_t *set)
{
	int id = __builtin_ctz(*set);

	*set &= *set - 1;
	return (enum script_id)id;
}

void
groups_add(struct groups *groups, const struct call *call, group_close *close, void *arg)
{
	uint32_t hash = name_hash(call->name), set = groups->open;
	enum script_id script = script_of(call);

	while (set != 0) {
		struct group *group = &groups->of[scripts_take(&set)];

		if (group_precedes(group, call, hash))
			close(arg, group);
	}
	group_add(&groups->reserve, &groups->of[script], call, hash);
	groups->open |= UINT32_C(1) << script;
}

void
groups_close(struct groups *groups, group_close *close, void *arg)
{
	uint32_t set = groups->open;

	while (set != 0) {
		struct group *group = &groups->of[scripts_take(&set)];

		if (group->n > 0)
			close(arg, group);
	}
	groups->open = 0;
}

bool
groups_empty(const struct groups *groups)
{
	uint32_t set = groups->open;
	size_t n = 0;

	while (set != 0)
		n += groups->of[scripts_take(&set)].n;
	return n == 0;
}

void
groups_done(struct groups *groups)
{
	for (size_t id = 0; id < SCRIPT_COUNT; id++) {
		free(groups->of[id].calls);
		free(groups->of[id].texts);
	}
	reserve_free(&groups->reserve);
	memset(groups, 0, sizeof *groups);
}

/* ---- batches: calls that were sent, or could not be sent ---- */

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

/* With copies of these calls, whose texts are not copied yet. bytes: room behind them. */
static struct batch *
batch_new(struct reserve *reserve, const struct call *calls, size_t n, size_t bytes)
{
	struct batch *batch = reserve_resize(reserve, NULL, sizeof *batch + n * sizeof *calls + bytes);

	*batch = (struct batch){.n = n};
	memcpy(batch->calls, calls, n * sizeof *calls);
	return batch;
}

struct batch *
batch_of(struct reserve *reserve, const struct call *call)
{
	struct slice *texts[CALL_TEXTS_MAX];
	struct call copy = *call;
	struct batch *batch;
	size_t bytes = 0, n = call_texts(&copy, texts);
	char *room;

	for (size_t t = 0; t < n; t++)
		bytes += texts[t]->n;
	batch = batch_new(reserve, call, 1, bytes);
	room = (char *)(batch->calls + 1);
	n = call_texts(batch->calls, texts);
	for (size_t t = 0; t < n; t++)
		text_copy(texts[t], &room);
	batch_forget_keys(batch);
	return batch;
}

struct batch *
batch_of_group(struct reserve *reserve, const struct group *group)
{
	struct batch *batch = batch_new(reserve, group->calls, group->n, group->used);
	char *texts = (char *)(batch->calls + group->n);

	if (group->used > 0)
		memcpy(texts, group->texts, group->used);
	group_point(group, batch->calls, texts);
	return batch;
}

void
batch_forget_keys(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		batch->calls[i].key = NULL;
}

void
batch_free(struct batch *batch)
{
	free(batch->votes);
	free(batch);
}

#define VOTE_TEXTS_MAX 9

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
		texts[n++] = &vote->lacks;
		texts[n++] = &vote->refused;
	}
	return n;
}

void
batch_withhold(struct reserve *reserve, struct batch *batch, const struct vote *votes)
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
