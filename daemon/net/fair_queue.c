/*
 * fair_queue: see fair_queue.h.
 */
#include "daemon/net/fair_queue.h"

#include <assert.h>
#include <stdlib.h>

static void
user_init(struct fair_queue_user *user, uint64_t number)
{
	user->number = number;
	user->connections = 0;
	for (size_t line = 0; line < FAIR_QUEUE_LINES; line++) {
		TAILQ_INIT(&user->waiting[line]);
		user->counts[line] = 0;
	}
	user->buffered = 0;
	for (size_t i = 0; i < FAIR_QUEUE_SIZES; i++) {
		TAILQ_INIT(&user->large[i]);
	}
}

void
fair_queue_init(struct fair_queue *queue)
{
	TAILQ_INIT(&queue->users);
	for (size_t line = 0; line < FAIR_QUEUE_LINES; line++) {
		TAILQ_INIT(&queue->lines[line]);
		queue->counts[line] = 0;
	}
	user_init(&queue->anonymous, 0);
}

void
fair_queue_done(struct fair_queue *queue)
{
	assert(TAILQ_EMPTY(&queue->users) && queue->anonymous.connections == 0);
	(void)queue;
}

/* A list, since few users are connected at a time, and a user is looked up only when a connection comes or
 * logs in. */
static struct fair_queue_user *
fair_queue_user_of(struct fair_queue *queue, uint64_t number)
{
	struct fair_queue_user *user;
	if (number == 0) {
		return &queue->anonymous;
	}
	TAILQ_FOREACH (user, &queue->users, entry) {
		if (user->number == number) {
			return user;
		}
	}
	user = malloc(sizeof *user);
	if (!user) {
		return &queue->anonymous;
	}
	user_init(user, number);
	TAILQ_INSERT_TAIL(&queue->users, user, entry);
	return user;
}

void
fair_queue_join(struct fair_queue *queue, struct fair_queue_entry *entry, uint64_t number)
{
	entry->user = fair_queue_user_of(queue, number);
	entry->user->connections++;
	entry->line = FAIR_QUEUE_NONE;
	entry->buffered = 0;
	entry->large = -1;
}

static void
fair_queue_remove(struct fair_queue *queue, struct fair_queue_entry *entry)
{
	struct fair_queue_user *user = entry->user;
	enum fair_queue_line line = entry->line;
	if (line == FAIR_QUEUE_NONE) {
		return;
	}
	TAILQ_REMOVE(&user->waiting[line], entry, in_line);
	if (TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_REMOVE(&queue->lines[line], user, lines[line]);
	}
	queue->counts[line]--;
	user->counts[line]--;
	entry->line = FAIR_QUEUE_NONE;
}

void
fair_queue_leave(struct fair_queue *queue, struct fair_queue_entry *entry)
{
	struct fair_queue_user *user = entry->user;
	fair_queue_remove(queue, entry);
	fair_queue_set_buffered(queue, entry, 0, 0);
	user->connections--;
	if (user->connections == 0 && user != &queue->anonymous) {
		TAILQ_REMOVE(&queue->users, user, entry);
		free(user);
	}
}

void
fair_queue_change(struct fair_queue *queue, struct fair_queue_entry *entry, uint64_t number)
{
	enum fair_queue_line line = entry->line;
	size_t buffered = entry->buffered;
	bool large = entry->large >= 0;
	fair_queue_leave(queue, entry);
	fair_queue_join(queue, entry, number);
	fair_queue_put(queue, entry, line);
	fair_queue_set_buffered(queue, entry, buffered, large ? 0 : buffered);
}

void
fair_queue_put(struct fair_queue *queue, struct fair_queue_entry *entry, enum fair_queue_line line)
{
	struct fair_queue_user *user = entry->user;
	if (entry->line == line) {
		return;
	}
	fair_queue_remove(queue, entry);
	if (line == FAIR_QUEUE_NONE) {
		return;
	}
	if (TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_INSERT_TAIL(&queue->lines[line], user, lines[line]);
	}
	TAILQ_INSERT_TAIL(&user->waiting[line], entry, in_line);
	queue->counts[line]++;
	user->counts[line]++;
	entry->line = line;
}

struct fair_queue_entry *
fair_queue_next(struct fair_queue *queue, enum fair_queue_line line)
{
	struct fair_queue_user *user = TAILQ_FIRST(&queue->lines[line]);
	if (!user) {
		return NULL;
	}
	struct fair_queue_entry *entry = TAILQ_FIRST(&user->waiting[line]);
	fair_queue_remove(queue, entry);
	if (!TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_REMOVE(&queue->lines[line], user, lines[line]);
		TAILQ_INSERT_TAIL(&queue->lines[line], user, lines[line]);
	}
	return entry;
}

static int
size_of(size_t buffered)
{
	int size = 0;
	while (size < FAIR_QUEUE_SIZES - 1 && buffered >> (size + 13) > 1) {
		size++;
	}
	return size;
}

void
fair_queue_set_buffered(
	struct fair_queue *queue, struct fair_queue_entry *entry, size_t buffered, size_t least)
{
	struct fair_queue_user *user = entry->user;
	int large = buffered > least ? size_of(buffered) : -1;
	(void)queue;
	user->buffered += buffered - entry->buffered;
	entry->buffered = buffered;
	if (large == entry->large) {
		return;
	}
	if (entry->large >= 0) {
		TAILQ_REMOVE(&user->large[entry->large], entry, in_large);
	}
	if (large >= 0) {
		TAILQ_INSERT_TAIL(&user->large[large], entry, in_large);
	}
	entry->large = large;
}

static struct fair_queue_entry *
user_largest(const struct fair_queue_user *user)
{
	for (int size = FAIR_QUEUE_SIZES - 1; size >= 0; size--) {
		if (!TAILQ_EMPTY(&user->large[size])) {
			return TAILQ_FIRST(&user->large[size]);
		}
	}
	return NULL;
}

struct fair_queue_entry *
fair_queue_largest(struct fair_queue *queue)
{
	const struct fair_queue_user *user;
	struct fair_queue_entry *largest = user_largest(&queue->anonymous);
	size_t most = largest ? queue->anonymous.buffered : 0;
	TAILQ_FOREACH (user, &queue->users, entry) {
		struct fair_queue_entry *own = user->buffered > most ? user_largest(user) : NULL;
		if (own) {
			largest = own;
			most = user->buffered;
		}
	}
	return largest;
}

size_t
fair_queue_count_of(const struct fair_queue *queue, enum fair_queue_line line, uint64_t number)
{
	const struct fair_queue_user *user;
	TAILQ_FOREACH (user, &queue->lines[line], lines[line]) {
		if (user->number == number) {
			return user->counts[line];
		}
	}
	return 0;
}
