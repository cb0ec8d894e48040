/*
 * fair: the checker's part about turns at one daemon (3.19): a reader that came after its daemon was told
 * that a writer waits elsewhere does not enter. It also knows when a daemon was told that a name is taken.
 */
#ifndef SIM_FAIR_H
#define SIM_FAIR_H

#include "daemon/core/base/action.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct host;
struct wait;
struct world;

/* One daemon and name. */
struct fair {
	bool hears;        /* the current step is about this name */
	bool wanted;       /* before the step another daemon wanted the lease */
	int64_t wanted_us; /* since when another daemon wants the lease */
	int64_t leased_us; /* when the daemon last got the lease */
	int64_t said_us;   /* when any master said that the lock is taken, or that another daemon is ahead */
};

/* Before and after a daemon gets a message or a master's answer. */
void fair_before(struct host *host, const struct event *event);
void fair_after(struct host *host, const struct event *event);

void fair_note(struct host *host, const struct note *note);

/* This LOCK is granted. */
void fair_granted(struct world *world, const struct wait *v);

/* Whether any master has said during this wait that the name is taken. */
bool fair_said(const struct world *world, const struct wait *wait);

/* Since when a daemon knows that another one waits for its lease. */
int64_t fair_wanted_us(const struct world *world, const struct host *host, unsigned name);

#endif
