/*
 * round: whose connection comes next, of those that have something to be done. Users take turns, and so do
 * the connections of one user: a user with ten thousand busy connections keeps another one waiting for as
 * long as a single connection is served.
 *
 * A user is a uid on a Unix socket and a login name on TCP (peer.user); connections that have not logged in
 * are of one user together. connections.c has the round; connection.c says what is to be done.
 */
#ifndef NET_ROUND_H
#define NET_ROUND_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

enum round_line {
	ROUND_NONE,
	ROUND_READY, /* to be read, written or served */
	ROUND_ENDED, /* over: to be told and freed */
	ROUND_LINES
};

struct round_user;

/* Of a connection, which has it inside. */
struct round_place {
	TAILQ_ENTRY(round_place) entry;
	struct round_user *user;
	enum round_line line; /* in which it waits */
};

TAILQ_HEAD(round_places, round_place);

/* Somebody with at least one connection. */
struct round_user {
	TAILQ_ENTRY(round_user) entry;
	uint64_t number;
	size_t connections;
	struct round_places waiting[ROUND_LINES];
	TAILQ_ENTRY(round_user) lines[ROUND_LINES]; /* while some of them wait */
};

TAILQ_HEAD(round_users, round_user);

struct round {
	struct round_users users;
	struct round_users lines[ROUND_LINES]; /* those who have connections waiting, the next one first */
	size_t counts[ROUND_LINES];            /* connections that wait */
	struct round_user nobody;              /* number 0, and whoever finds no memory */
};

void round_init(struct round *round);
/* All have left. */
void round_done(struct round *round);

/* A connection of this user comes, in no line. */
void round_join(struct round *round, struct round_place *place, uint64_t number);
/* It goes, also out of its line. */
void round_leave(struct round *round, struct round_place *place);
/* It becomes one of another user, and stays in its line. */
void round_change(struct round *round, struct round_place *place, uint64_t number);

/* To the end of this line, out of the other one. */
void round_put(struct round *round, struct round_place *place, enum round_line line);
/* Takes the next one out of the line. NULL: nobody waits. */
struct round_place *round_next(struct round *round, enum round_line line);

#endif
