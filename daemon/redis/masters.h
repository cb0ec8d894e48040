/*
 * masters: the pools of all masters as one, each in its slot. Which server a slot is may change.
 *
 *     driver ── masters_call() ──▶ pool of call.master ──▶ master
 *     driver ◀──── event ◀───────── any of the pools ◀──── master
 *
 * The driver is the only user of what changes something; INFO and INSPECT look. It decides nothing: which
 * master a call goes to says the call.
 */
#ifndef REDIS_MASTERS_H
#define REDIS_MASTERS_H

#include "daemon/core/action.h"
#include "daemon/core/event.h"
#include "daemon/core/view.h"
#include "daemon/redis/pool.h"

struct core;
struct masters;

/* From the event loop only, never from within the functions below. What the event points to is valid until
 * it returns. A vote comes once for each call. */
typedef void masters_event(void *arg, const struct event *event);

/* How a master is reached that is at this place, in this way (core.h): *settings, with texts that are valid
 * until the next call. False: not at all; why is a clause that follows its name. */
typedef bool masters_find(void *arg, struct slice place, struct slice way, struct pool_settings *settings,
	char *why, size_t room);

#define MASTERS_WHY_MAX 512

struct masters_hooks {
	masters_event *event;
	masters_find *find;
};

/* settings: one for each of count masters, in the order in which calls number them. hooks is kept by
 * reference. NULL: out of memory, or no such settings. */
struct masters *masters_new(struct event_base *base, const struct pool_settings *settings, unsigned count,
	const struct masters_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* Calls under way get no vote any more. */
void masters_free(struct masters *masters);

/*
 * ACTION_MASTER. In a turn of its own: the calls that are under way to what was there are answered UNKNOWN
 * and its links told down, and the new place is connected to. If it cannot be found, link 0 is told down, and
 * why. So it is if descriptors or memory are wanting, and then it is tried again.
 */
void masters_move(struct masters *masters, const struct move *move);
/* How a master that masters_new() was told of is found in the configuration. */
void masters_known_as(struct masters *masters, unsigned master, const char *place, const char *way);

/* The configuration is another: looks again for all of them. What has moved and is reached differently by
 * now, or could not be found, is connected to anew; where masters were at the start they are reached as they
 * were. All have the new passwords from then on. */
void masters_find_again(struct masters *masters);

/* To an open slot. */
void masters_call(struct masters *masters, const struct call *call);
/* As pool_listen(), at every master, also those that come later. */
void masters_listen(struct masters *masters, struct slice name, bool on);
/* The end of a turn of the loop: what was called so far leaves now. */
void masters_flush(struct masters *masters);

/* The address for people, in logs and reports. Of a slot that was never open: "". */
const char *masters_where(const struct masters *masters, unsigned master);

/* What the pool knows of its master; the core knows its state. */
void masters_see_pool(const struct masters *masters, unsigned master, struct pool_view *out);

/* All of them at a glance. */
struct masters_sum {
	unsigned count;    /* members of the set */
	unsigned usable;   /* admitted, and they answer */
	unsigned majority; /* so many have to grant a lease */
	const char *word;  /* the best state that a majority has at least */
};
void masters_see(const struct core *core, int64_t now_ms, struct masters_sum *out);

#endif
