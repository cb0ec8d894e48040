/*
 * progress: looks for names that are free while somebody waits (G11); for daemons in the queue that others
 * pass over too often, or that wait too long behind a streak of grants (G10); and for daemons that ask the
 * masters repeatedly although nothing has changed.
 *
 * The first two are promised in calm (world_calm()): after the faults of a world, when guards are over and
 * the leases and places of those who are gone have ended. The bound is the same whatever was wrong before; a
 * master of several may be away, or messages lost, during all of the calm.
 */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include "proto/name.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct host;
struct vote;
struct world;

struct progress {
	bool watched;                    /* progress_watch() has been called */
	int64_t free_us[PLAN_NAMES_MAX]; /* since when it is free in calm and somebody waits */
	int64_t worst_us;                /* the longest such time */
	struct asking {
		int64_t calls_us;           /* begin of the current second */
		unsigned calls;             /* calls in that second */
		unsigned reasons;           /* events in that second that are a reason for a call */
		uint64_t attempt;           /* the last round */
		int64_t asked_us;           /* when a master was last asked in it */
		uint64_t left;              /* the round after which it left the queue */
		uint64_t began;             /* rounds in all */
		bool queued;                /* it has a place in the queue, as a master said */
		unsigned home;              /* that master */
		uint64_t granted;           /* the last round in which that master granted it the lease */
		int64_t queued_us;          /* since when */
		int passed[PLAN_HOSTS_MAX]; /* leases that each daemon got since then */
		int64_t leased_us;          /* when it got the lease */
		int64_t streak; /* grants in a row on its lease while it knew that another daemon waits */
	} asking[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];
};

/* Checks periodically from now on. */
void progress_watch(struct world *world);

/* A daemon begins, with an id of its own: what the process before granted in a row was another daemon's
 * streak. */
void progress_begins(struct host *host);

/* A daemon granted a hold of this name: the times of its waiters start again. */
void progress_granted(struct host *host, unsigned name, enum kind kind);

/* A daemon has got the lease. */
void progress_leased(struct host *host, unsigned name);

/* A daemon was told its place in the queue, or gives it up. */
void progress_queued(struct host *host, unsigned name, bool queued);
/* A master has answered an acquire. */
void progress_answered(struct host *host, const struct vote *vote);

/* A daemon makes a call for the name other than a release. */
void progress_called(struct host *host, unsigned name);

/* The name was held for a moment without a grant: a part of an MLOCK that fails. */
void progress_passed(struct world *world, unsigned name);

/* The daemon leaves the queue; and whether it has neither left nor asked again since that attempt. */
void progress_left(struct host *host, unsigned name);
bool progress_stands(const struct host *host, unsigned name, uint64_t attempt);

/* The daemon releases an attempt at a master, and may give up its turn with it. */
void progress_released(struct host *host, const struct call *call);

/* A daemon asks for a lease, or gets news that are a reason to ask. */
void progress_asked(struct host *host, unsigned name, uint64_t attempt);
void progress_told(struct host *host, unsigned name);

#endif
