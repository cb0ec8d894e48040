/*
 * wire: a connection to the daemon. Requests go out in order, answers come back in order, pushes in between.
 *
 * Every verb owns its connections; nothing is shared and nothing is retried: a connection that ended says why
 * in `why` and stays ended.
 */
#ifndef CLIENT_WIRE_H
#define CLIENT_WIRE_H

#include "client/address.h"
#include "proto/answer.h"
#include "proto/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_TEXT_MAX 512

struct wire {
	int fd;        /* for poll(2): readable when wire_fill() has something to do; -1: closed */
	bool local;    /* a Unix socket: the daemon can see our processes */
	bool ended;    /* no more bytes will come; what came can still be read */
	bool away;     /* because the daemon is not there, or ends: another one may come */
	bool denied;   /* because the socket is not for this user */
	bool stranger; /* because what answers is no holdfastd */
	struct buffer out;
	struct buffer in;
	size_t used; /* bytes of the answer that wire_next() returned last */
	struct answer_parser parser;
	char why[WIRE_TEXT_MAX]; /* why it failed or ended */
};

/* Blocks while it connects, over TCP WIRE_CONNECT_MS at most per address. On false, why says where and what
 * to do; wire_close() is allowed. */
bool wire_open(struct wire *w, const struct address *a) __attribute__((warn_unused_result));
void wire_close(struct wire *w);

/* Whether somebody listens at that Unix socket, and lets us in. Does not block. */
bool wire_listens(const char *path);

#define WIRE_CONNECT_MS 5000

/* Appends a request of n words. */
void wire_ask_words(struct wire *w, size_t n, const char *const *words);

/* The same: wire_ask(w, "CHECK", name) */
#define wire_ask(w, ...)                                                                                     \
	wire_ask_words((w), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),               \
		(const char *const[]){__VA_ARGS__})

/* HELLO 3 with the login of the address; its answer is a map. label names the connection: printable ASCII
 * without spaces. */
void wire_greet(struct wire *w, const struct address *a, const char *label);

/* The answer to that, as wire_answer(). NULL also where something else than a daemon answers. */
const struct answer *wire_welcome(struct wire *w, const struct address *a);

/* What the answer to HELLO, or NULL, becomes by that. */
const struct answer *wire_welcomed(struct wire *w, const struct address *a, const struct answer *answer);

/* Sends what was appended. False when the connection broke; what the daemon said before can still be read. */
bool wire_flush(struct wire *w);

/* Sends what was appended, and SESSION BIND with the process. */
bool wire_bind(struct wire *w, int pidfd);

/* Takes what has arrived, without blocking. False when the connection ended. */
bool wire_fill(struct wire *w);

/* The next answer or push that has arrived, NULL when there is none. Valid until the next call. Garbage ends
 * the connection. */
const struct answer *wire_next(struct wire *w);

/* Blocks for the next answer; pushes are dropped. NULL when the connection ended, or at until_ms
 * (CLOCK_BOOTTIME; INT64_MAX: never). */
const struct answer *wire_wait(struct wire *w, int64_t until_ms);

/* How long the daemon may take to answer what it answers from memory. */
#define WIRE_ANSWER_MS 10000

/* wire_flush() and wire_wait() for WIRE_ANSWER_MS, for requests that do not wait. NULL: why says what
 * happened. */
const struct answer *wire_answer(struct wire *w);

#endif
