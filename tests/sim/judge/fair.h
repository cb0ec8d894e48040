/*
 * fair: the checker's part about turns at one daemon (G10, 3.19, 3.21, 3.25). When a daemon was told that
 * another daemon waits, it knows that until it gives up the lease: later readers do not enter, released
 * permits do not pass to its own waiters, and INSPECT shows it. When no other daemon waits any more, the
 * daemon learns that from a renewal, and readers enter again. A LOCK that can be granted is granted in the
 * same step.
 */
#ifndef SIM_FAIR_H
#define SIM_FAIR_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct event;
struct host;
struct wait;
struct world;

/* One daemon and name. */
struct fair {
	bool hears;         /* the current step is about this name */
	bool wanted;        /* before the step another daemon wanted the lease */
	bool shared;        /* before the step readers here held it */
	bool told;          /* a master that granted the lease said that another daemon waits */
	unsigned teller;    /* that master */
	uint64_t attempt;   /* the round of that grant */
	int64_t wanted_us;  /* since when another daemon wants the lease */
	int64_t leased_us;  /* when the daemon last got the lease */
	unsigned fresh;     /* number of leases without a granted permit yet */
	int64_t back_us;    /* when a hold here last ended */
	int64_t message_us; /* time of the last message that another daemon waits */
	int64_t taken_us; /* when the only master said that the lock is taken; 0: it has since said otherwise
			   */
	uint64_t began;   /* rounds begun up to taken_us */
	int64_t said_us;  /* when any master said that the lock is taken, or that another daemon is ahead */
	bool freed;       /* in the current step a hold ended or became shared */
	int64_t stale_us; /* since when the daemon thinks that another daemon wants it, although none does */
	bool waited;      /* the lease was held and wanted after the last step */
	enum kind asked;  /* kind of the last renewal */
	unsigned asking;  /* such calls without an answer */
};

/* A daemon calls a master. */
void fair_call(struct host *host, const struct call *call);

/* Before and after a daemon gets a message or a master's answer. */
void fair_before(struct host *host, const struct event *event);
void fair_after(struct host *host, const struct event *event);

void fair_note(struct host *host, const struct note *note);

/* This LOCK is granted. */
void fair_granted(struct world *world, const struct wait *v);

/* Whether all that the daemon knows about the name is that it is taken, and it was told so during this wait.
 */
bool fair_taken(const struct world *world, const struct wait *wait);

/* Whether any master has said during this wait that the name is taken. */
bool fair_said(const struct world *world, const struct wait *wait);

/* A hold of it was released or downgraded. */
void fair_freed(struct host *host, unsigned name);

/* Since when a daemon knows that another one waits for its lease. */
int64_t fair_wanted_us(const struct world *world, const struct host *host, unsigned name);

/* Called periodically: what a daemon has believed for long is true. */
void fair_look(struct host *host);

/* After each step of a daemon. */
void fair_step(struct host *host, int64_t now_ms);

#endif
