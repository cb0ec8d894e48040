/*
 * session: how a client keeps its session when its connection ends without a goodbye: the daemon crashed or
 * was started anew, or the connection was cut.
 *
 *     ┌──────────────────────────────── answered ─────────────────────────────────┐
 *     ▼                                                                           │
 *     THERE ──connection ends──▶ AWAY ──time to try──▶ CONNECTING ──writable──▶ REGISTERING
 *                                 ▲                         │                      │
 *                                 └──── no daemon, or the connection ends again ───┘
 *
 * The client asks for SESSION GRACE before it locks (PROTOCOL.md 5.8). A holder comes back with SESSION JOIN:
 * RESUME would close the connections of the runs inside of its command, and those of a command that uses
 * HOLDFAST_SESSION. A client that waits (client/lock.c) comes back with RESUME, which gives it its position.
 * So does a session that is `alone`.
 *
 * Nothing here blocks but session_wait(): a holder has to stop its command in time even if no daemon answers.
 * Nothing is printed here.
 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include "client/wire/wire.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* A daemon that has not answered HELLO by then is silent. */
#define SESSION_HELLO_MS 5000

/*
 * The grace, in ms. It counts from when the daemon sees the cut, or from when it is there again after a
 * crash: so it need not be as long as the daemon is away. If the client itself is killed, the daemon keeps
 * for that long what no bound process ends. Over TCP a hold is withheld for about that long in any case.
 */
#define SESSION_GRACE_LOCAL_MS 5000
#define SESSION_GRACE_TCP_MS   10000

/* Between two attempts to reach the daemon, ms. No event tells when a daemon begins to listen. */
#define SESSION_PAUSE_MIN 10
#define SESSION_PAUSE_MAX 250

/* The pause after this one; 0: the first. */
int64_t session_pause_after(int64_t pause_ms);

/* Asks for the grace. Its answer is the secret, or an error: then the session ends with its connection. */
void session_ask_grace(struct wire *w);

/* Takes the secret from an answer to SESSION SECRET or GRACE. False: it is another answer. */
bool session_secret(char secret[SECRET_BYTES_MAX + 1], const struct answer *answer);

enum session_state { SESSION_THERE, SESSION_AWAY, SESSION_CONNECTING, SESSION_HELLO };

enum session_news {
	SESSION_NOTHING,
	SESSION_BACK,   /* the connection speaks for the session again */
	SESSION_UNKNOWN /* a daemon answers that does not know the session; HELLO is answered */
};

struct session {
	struct wire *wire;
	const struct address *a; /* for the login */
	const char *label;
	const char *secret; /* ""; then a session of the connection's own is enough */
	bool pushes;        /* SESSION ONLOSS PUSH again */
	bool alone; /* no other connection speaks for it: RESUME, which ends one that is dead unnoticed */
	enum code refused; /* why the daemon refused HELLO last, in wire->why its words; CODE_COUNT: it did
			      not */
	enum session_state state;
	unsigned answers; /* HELLO: how many have come */
	int64_t pause_ms;
	int64_t next_ms; /* CLOCK_BOOTTIME: the next attempt, or the end of this one */
};

/* All are held by reference. The wire is connected, and HELLO is answered. */
void session_start(struct session *s, struct wire *w, const struct address *a, const char *label,
	const char *secret, bool pushes);

/* The wire is connected, and has not said HELLO: session_turn() does that, without blocking. */
void session_open(struct session *s, int64_t now_ms);

/* The connection has ended, or is of no use any more. */
void session_cut(struct session *s, int64_t now_ms);

/* What to watch, in every state; then fd of p may be -1. */
void session_watch(const struct session *s, struct pollfd *p);

/* When session_turn() is due without an event; INT64_MAX: never. */
int64_t session_next(const struct session *s);

/* Not while THERE. ready: an event came for session_watch(). After BACK and UNKNOWN the session is THERE. */
enum session_news session_turn(struct session *s, bool ready, int64_t now_ms)
	__attribute__((warn_unused_result));

/* The same, blocking until there is news. NOTHING: there was none until until_ms (CLOCK_BOOTTIME). */
enum session_news session_wait(struct session *s, int64_t until_ms) __attribute__((warn_unused_result));

#endif
