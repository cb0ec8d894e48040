/*
 * mlock: the names of one MLOCK, of which a session gets all or none.
 *
 *     all that are missing, ──all granted──▶ answered with their tokens
 *     each tried once
 *         │  ▲
 *     refused│granted
 *         ▼  │
 *     the smallest of them, waited for, with nothing larger held
 *
 * An MLOCK that waits for a name holds only smaller names. So MLOCKs never wait for each other in a cycle,
 * within a daemon or between several. Until the answer, its holds count as the session's for all others, but
 * no client knows of them. So they are given back and not withheld if something goes wrong. One that
 * is lost is taken again, after all larger ones have been given back.
 */
#ifndef CORE_MLOCK_H
#define CORE_MLOCK_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lock/part.h"
#include "proto/command.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct core;
struct grant;
struct resource;
struct waiter;

TAILQ_HEAD(mlock_list, mlock);

/* An MLOCK without an answer yet. */
struct mlock {
	struct freelist_link freed;
	TAILQ_ENTRY(mlock) in_dirty;
	bool dirty; /* something changed: it is scheduled before the step ends */
	struct conn *conn;
	struct timer timer; /* end of WAIT */
	int64_t since_ms;
	struct command lock;  /* what is asked for each name */
	bool once;            /* the next refusal is its answer */
	bool ordered;         /* one name after the other; false: all are tried at once */
	bool refused;         /* a name was refused since the last schedule */
	struct reply refusal; /* the refusal */
	int64_t *tokens;      /* room for the answer */
	size_t count;
	size_t apart;        /* parts neither held nor waited for, which are counted for the user too */
	struct part parts[]; /* in the byte order of their names; the tokens and the texts follow */
};

/* MLOCK and MUNLOCK. */
void mlock_begin(struct core *core, struct conn *conn, const struct command *command);
void mlock_munlock(struct core *core, struct conn *conn, const struct command *command);

/* Makes one of which nothing is held or waited for yet, on a connection that waits for nothing; its WAIT has
 * no end, and its beginning is not counted among mlock_starts. NULL: out of memory. */
struct mlock *mlock_new(struct core *core, struct conn *conn, const struct command *command)
	__attribute__((warn_unused_result));

/* Before a step ends: decides what follows for the dirty ones. False: none was dirty. */
bool mlock_schedule(struct core *core);

/* mlock_timer(): WAIT is over. mlock_conn_finish(): no more requests will come on the connection, so what it
 * waits for is tried once. mlock_conn_close(): the connection is gone, or its session is. */
void mlock_timer(struct core *core, struct mlock *b);
void mlock_conn_finish(struct core *core, struct conn *conn);
void mlock_conn_close(struct core *core, struct conn *conn);

/* Gives back what it holds, and answers. */
void mlock_fail(struct core *core, struct mlock *b, const struct reply *reply);

/* Answers every waiting MLOCK. */
void mlock_answer_all(struct core *core, const struct reply *reply);

#endif
