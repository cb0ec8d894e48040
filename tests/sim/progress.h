/*
 * progress: looks for waiters whom nothing keeps from being served, and who are not (G11); for daemons in the
 * queue that others pass over too often, or that they keep waiting with one grant after the other (G10); and
 * for daemons that ask the masters over and over although nothing has changed.
 *
 * Nothing keeps a waiter: nobody may rely on a hold of the name, its daemon has admitted a majority of
 * masters that are well and well connected, and counts on no others any more; and on these neither a lease
 * nor a place in the queue is left of somebody who is dead, standing still, cut off or a stranger.
 */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include "proto/kind.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct vote;
struct world;

struct progress {
	bool watched;                    /* progress_watch() has been called */
	int64_t free_us[PLAN_NAMES_MAX]; /* since when nothing has kept some waiter */
	int64_t worst_us;                /* longest that this has lasted */
	struct asking {
		int64_t calls_us; /* a second that began then: */
		unsigned calls;   /* so many were made, */
		unsigned reasons; /* and so much happened that is a reason to */
		uint64_t attempt; /* the last round, */
		int64_t asked_us; /* and when a master was last asked in it, */
		uint64_t left;    /* and the one after which it left the queue, */
		uint64_t ended;   /* and the one that it gave up or gave back */
		unsigned rounds;  /* since then */
		uint64_t began;   /* rounds in all */
		int64_t since_us;
		bool queued;       /* at a master, as it said, */
		unsigned home;     /* this one */
		unsigned splits;   /* rounds in a row without the lease, and home did not say who has it */
		int64_t queued_us; /* since when */
		int passed[PLAN_HOSTS_MAX]; /* leases that these daemons got since then */
		int64_t leased_us;          /* it got the lease then, */
		int64_t renewed_us;         /* and had much left of it, or could not renew it */
		int64_t streak; /* grants in a row on its lease, while it knew that another waits */
	} asking[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];
};

/* Looks every now and then, from now on. */
void progress_watch(struct world *world);

/* A daemon granted a hold of this name: for its waiters everything begins anew. */
void progress_granted(struct host *host, unsigned name, enum kind kind);

/* A daemon has got the lease. */
void progress_leased(struct host *host, unsigned name);

/* A daemon has been told its place in the queue, or gives that up. */
void progress_queued(struct host *host, unsigned name, bool queued);
/* A master has answered an acquire. */
void progress_answered(struct host *host, const struct vote *vote);

/* A daemon makes any call for it but a release. */
void progress_called(struct host *host, unsigned name);

/* Somebody had it for a moment, whoever is told: a part of an MLOCK that fails. */
void progress_passed(struct world *world, unsigned name);

/* It leaves the queue; and whether it has done neither that nor asked again since that attempt. */
void progress_left(struct host *host, unsigned name);
bool progress_stands(const struct host *host, unsigned name, uint64_t attempt);

/* It gives up or gives back what it asked for with that attempt. */
void progress_ended(struct host *host, unsigned name, uint64_t attempt);

/* A daemon asks for a lease, or has news that are reason to. */
void progress_asked(struct host *host, unsigned name, uint64_t attempt);
void progress_told(struct host *host, unsigned name);
/* A link of this daemon is up again: it may ask for whatever it waits for. */
void progress_linked(struct host *host);

#endif
