/*
 * fair_queue: whose connection comes next, of those that have something to be done. Users take turns, and so
 * do the connections of one user: a user with ten thousand busy connections keeps another one waiting for as
 * long as a single connection is served.
 *
 * A user is a uid on a Unix socket and a login name on TCP (peer.user); connections that have not logged in
 * are of one user together. connections.c has the queue; connection.c says what is to be done.
 */
#ifndef NET_FAIR_QUEUE_H
#define NET_FAIR_QUEUE_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

enum fair_queue_line {
	FAIR_QUEUE_NONE,
	FAIR_QUEUE_READY, /* to be read, written or served */
	FAIR_QUEUE_ENDED, /* over: to be told and freed */
	FAIR_QUEUE_LINES
};

struct fair_queue_user;

/* Of a connection, which has it inside. */
struct fair_queue_place {
	TAILQ_ENTRY(fair_queue_place) entry;
	struct fair_queue_user *user;
	enum fair_queue_line line; /* in which it waits */
};

TAILQ_HEAD(fair_queue_places, fair_queue_place);

/* Somebody with at least one connection. */
struct fair_queue_user {
	TAILQ_ENTRY(fair_queue_user) entry;
	uint64_t number;
	size_t connections;
	struct fair_queue_places waiting[FAIR_QUEUE_LINES];
	TAILQ_ENTRY(fair_queue_user) lines[FAIR_QUEUE_LINES]; /* while some of them wait */
};

TAILQ_HEAD(fair_queue_users, fair_queue_user);

struct fair_queue {
	struct fair_queue_users users;
	struct fair_queue_users
		lines[FAIR_QUEUE_LINES]; /* those who have connections waiting, the next one first */
	size_t counts[FAIR_QUEUE_LINES]; /* connections that wait */
	struct fair_queue_user nobody;   /* number 0, and whoever finds no memory */
};

void fair_queue_init(struct fair_queue *queue);
/* All have left. */
void fair_queue_done(struct fair_queue *queue);

/* A connection of this user comes, in no line. */
void fair_queue_join(struct fair_queue *queue, struct fair_queue_place *place, uint64_t number);
/* It goes, also out of its line. */
void fair_queue_leave(struct fair_queue *queue, struct fair_queue_place *place);
/* It becomes one of another user, and stays in its line. */
void fair_queue_change(struct fair_queue *queue, struct fair_queue_place *place, uint64_t number);

/* To the end of this line, out of the other one. */
void fair_queue_put(struct fair_queue *queue, struct fair_queue_place *place, enum fair_queue_line line);
/* Takes the next one out of the line. NULL: nobody waits. */
struct fair_queue_place *fair_queue_next(struct fair_queue *queue, enum fair_queue_line line);

#endif
