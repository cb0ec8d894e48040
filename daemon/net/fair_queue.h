/*
 * fair_queue: which connection comes next, of those that have something to do. Users take turns, and so do
 * the connections of one user: a user with ten thousand busy connections delays another user only by the time
 * of serving one connection.
 *
 * A user is a uid on a Unix socket and a login name on TCP (peer.user). All connections that have not logged
 * in count as one user. connections.c has the queue; connection.c does the work.
 */
#ifndef NET_FAIR_QUEUE_H
#define NET_FAIR_QUEUE_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fair_queue_line {
	FAIR_QUEUE_NONE,
	FAIR_QUEUE_READY, /* to be read, written or served */
	FAIR_QUEUE_ENDED, /* over: to be reported and freed */
	FAIR_QUEUE_LINES
};

/* Connections of a user with large buffers, by their size: each list has twice the size of the one before.
 */
#define FAIR_QUEUE_SIZES 20

struct fair_queue_user;

/* Of one connection, which contains it. */
struct fair_queue_entry {
	TAILQ_ENTRY(fair_queue_entry) in_line;
	struct fair_queue_user *user;
	enum fair_queue_line line; /* the line it waits in */
	int large;                 /* the list of the large that it is in; -1: none */
	TAILQ_ENTRY(fair_queue_entry) in_large;
	size_t buffered; /* bytes in its buffers */
};

TAILQ_HEAD(fair_queue_entries, fair_queue_entry);

/* A user with at least one connection. */
struct fair_queue_user {
	TAILQ_ENTRY(fair_queue_user) entry;
	uint64_t number;
	size_t connections;
	struct fair_queue_entries waiting[FAIR_QUEUE_LINES];
	size_t counts[FAIR_QUEUE_LINES]; /* of those that wait */
	size_t buffered;                 /* of all its connections */
	struct fair_queue_entries large[FAIR_QUEUE_SIZES];
	TAILQ_ENTRY(fair_queue_user)
	lines[FAIR_QUEUE_LINES]; /* valid while connections of the user wait in that line */
};

TAILQ_HEAD(fair_queue_users, fair_queue_user);

struct fair_queue {
	struct fair_queue_users users;
	struct fair_queue_users
		lines[FAIR_QUEUE_LINES];  /* users with waiting connections, the next one first */
	size_t counts[FAIR_QUEUE_LINES];  /* connections that wait */
	struct fair_queue_user anonymous; /* number 0, and users for which there was no memory */
};

void fair_queue_init(struct fair_queue *queue);
/* All connections must have left. */
void fair_queue_done(struct fair_queue *queue);

/* Whether connections of several users have joined. */
static inline bool
fair_queue_is_shared(const struct fair_queue *queue)
{
	const struct fair_queue_user *user = TAILQ_FIRST(&queue->users);
	return user && (TAILQ_NEXT(user, entry) || queue->anonymous.connections > 0);
}

/* A connection of this user joins; it is in no line yet. */
void fair_queue_join(struct fair_queue *queue, struct fair_queue_entry *entry, uint64_t number);
/* The connection leaves, also its line. */
void fair_queue_leave(struct fair_queue *queue, struct fair_queue_entry *entry);
/* The connection changes to this user, and stays in its line. */
void fair_queue_change(struct fair_queue *queue, struct fair_queue_entry *entry, uint64_t number);

/* Moves the connection to the end of this line; it leaves any other line. */
void fair_queue_put(struct fair_queue *queue, struct fair_queue_entry *entry, enum fair_queue_line line);
/* Takes the next connection out of the line. NULL: none waits. */
struct fair_queue_entry *fair_queue_next(struct fair_queue *queue, enum fair_queue_line line);
/* Bytes in the buffers of the connection. least: with no more than these it is never the largest one. */
void fair_queue_set_buffered(
	struct fair_queue *queue, struct fair_queue_entry *entry, size_t buffered, size_t least);
/* Of the user with most bytes in buffers, of whom one connection has more than its least: one that has at
 * least half as much as any other of that user. NULL: there is none. */
struct fair_queue_entry *fair_queue_largest(struct fair_queue *queue);
/* How many connections of this user wait in the line. */
size_t fair_queue_count_of(const struct fair_queue *queue, enum fair_queue_line line, uint64_t number);

#endif
