/*
 * masters: the pools of all masters as one, each in its slot. The server in a slot may change.
 *
 *     driver ── masters_call() ──▶ pool of call.master ──▶ master
 *     driver ◀──── event ◀───────── any of the pools ◀──── master
 *
 * Only the driver calls what changes something; INFO and INSPECT read. It decides nothing: the call names its
 * master.
 */
#ifndef REDIS_MASTERS_H
#define REDIS_MASTERS_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/event.h"
#include "daemon/core/view.h"
#include "daemon/redis/pool.h"

struct core;
struct masters;

/* Called from the event loop only, never from within the functions below. What the event points to is valid
 * until the hook returns. Each call gets one vote. */
typedef void masters_event(void *arg, const struct event *event);

/* Finds how to reach the master at this address by this way (core.h): fills *settings, with texts that are
 * valid until the next call. False: it cannot be reached; why is a clause that follows its name. */
typedef bool masters_find(void *arg, struct slice address, struct slice way, struct pool_settings *settings,
	char *why, size_t room);

#define MASTERS_WHY_MAX 512

struct masters_hooks {
	masters_event *event;
	masters_find *find;
	/* See pool_hooks. */
	void (*asked)(void *arg, unsigned master, bool answer, struct slice text);
	void (*lookup_answered)(void *arg, unsigned master, uint64_t id, const struct lookup_answer *answer);
};

/* settings: one for each of count masters, in the order in which calls number them. hooks is held by
 * reference. NULL: out of memory, or no such settings. */
struct masters *masters_new(struct event_base *base, const struct pool_settings *settings, unsigned count,
	const struct masters_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* Calls under way get no vote. */
void masters_free(struct masters *masters);

/*
 * Carries out ACTION_MASTER, in a turn of its own: the calls under way to the old server are answered
 * UNKNOWN, its links are reported down, and the slot connects to the new address. If the new address cannot
 * be found, link 0 is reported down, with the reason. The same happens if descriptors or memory run out; then
 * it is tried again.
 */
void masters_move(struct masters *masters, const struct move *move);
/* Names the address and the way by which the configuration knows a master that masters_new() was given.
 * False: out of memory. */
bool masters_known_as(struct masters *masters, unsigned master, const char *address, const char *way)
	__attribute__((warn_unused_result));

/* Gives up all links, for this reason: calls under way get their votes, and links are reported down, before
 * it returns. Not from a hook. masters_come_back() connects again, in a later turn. */
void masters_leave(struct masters *masters, const char *why);
void masters_come_back(struct masters *masters);
/* masters_leave() was called, and masters_come_back() was not. */
bool masters_left(const struct masters *masters);

/* The configuration has changed: finds all masters anew. A master whose slot has moved since the start is
 * connected to anew if it is reached differently now, or could not be found before. A master that has not
 * moved is reached as before. All use the new passwords from then on. */
void masters_find_again(struct masters *masters);

/* The slot of the call must be open. */
void masters_call(struct masters *masters, const struct call *call);
/* pool_listen() at every master, also at those that are added later. */
void masters_listen(struct masters *masters, struct slice name, bool on);
/* pool_lookup() and pool_publish() at this master. */
bool masters_lookup(struct masters *masters, unsigned master, uint64_t id, const struct call *about,
	bool daemons) __attribute__((warn_unused_result));
bool masters_publish(struct masters *masters, unsigned master, const char *daemon_id, struct slice text)
	__attribute__((warn_unused_result));

/* pool_forget() at this master. */
const char *masters_forget(struct masters *masters, unsigned master, struct slice member);

/* The end of a turn of the loop: the calls so far are sent now. */
void masters_flush(struct masters *masters);

/* The address for people, in logs and reports; "" for a slot that was never open. */
const char *masters_where(const struct masters *masters, unsigned master);

/* What the pool knows of its master; the core knows the state of the master. */
void masters_see_pool(const struct masters *masters, unsigned master, struct pool_view *out);

/* A summary of all masters. */
struct masters_sum {
	unsigned count;    /* members of the set */
	unsigned usable;   /* admitted, and answering */
	unsigned majority; /* this many have to grant a lease */
	const char *word;  /* the best state that at least a majority has */
};
void masters_see(const struct core *core, int64_t now_ms, struct masters_sum *out);

#endif
