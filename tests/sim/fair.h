/*
 * fair: the checker's part about turns at one daemon (G10, 3.19, 3.21, 3.25). A daemon knows that another one
 * waits from when it was told so until it gives the lease up. Readers that come later do not enter, permits
 * that come back pass to no waiter of its own, and INSPECT shows it. When nobody elsewhere waits any more,
 * the daemon finds that out by a renewal, and readers enter again. What nothing is in the way of is granted
 * in the same step.
 */
#ifndef SIM_FAIR_H
#define SIM_FAIR_H

#include "daemon/core/action.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct event;
struct host;
struct wait;
struct world;

/* One daemon and name. */
struct fair {
	bool hears;         /* the step that runs is about it, */
	bool wanted;        /* and the lease was before */
	bool shared;        /* and readers here had it */
	bool told;          /* a master that granted it told so, */
	unsigned teller;    /* this one, */
	uint64_t attempt;   /* in this round */
	int64_t wanted_us;  /* since when it is wanted */
	int64_t leased_us;  /* the last lease */
	unsigned fresh;     /* so many, of which no permits have been granted yet */
	int64_t back_us;    /* the last time that a hold here ended */
	int64_t message_us; /* the last message that another daemon waits */
	int64_t taken_us; /* the only master said that somebody has it; 0: it has said something else since */
	uint64_t began;   /* rounds that had begun by then */
	int64_t said_us;  /* any master said that somebody has it, or comes before */
	bool freed;       /* a hold ended, or is shared now, in the step that runs */
	int64_t stale_us; /* nobody elsewhere has wanted it since, and the daemon thinks so */
	bool waited;      /* the lease was held and wanted after the last step */
	enum kind asked;  /* as which the masters were asked to keep it last */
	unsigned asking;  /* so many such calls are not answered */
};

/* A daemon asks a master. */
void fair_call(struct host *host, const struct call *call);

/* Before and after a message, or a master's answer, is told to a daemon. */
void fair_before(struct host *host, const struct event *event);
void fair_after(struct host *host, const struct event *event);

void fair_note(struct host *host, const struct note *note);

/* This LOCK is granted. */
void fair_granted(struct world *world, const struct wait *v);

/* Whether all that its daemon knows of the name is that somebody has it, and was told so while this waited.
 */
bool fair_taken(const struct world *world, const struct wait *wait);

/* Whether any master has said since this came that somebody has the name. */
bool fair_said(const struct world *world, const struct wait *wait);

/* A hold of it was given back, or turned into a shared one. */
void fair_freed(struct host *host, unsigned name);

/* Since when a daemon knows that another one waits for its lease. */
int64_t fair_wanted_us(const struct world *world, const struct host *host, unsigned name);

/* Now and then: what a daemon believes for long is so. */
void fair_look(struct host *host);

/* After each step of a daemon. */
void fair_step(struct host *host, int64_t now_ms);

#endif
