/*
 * masters: the pools of all masters as one.
 *
 *     driver ── masters_call() ──▶ pool of call.master ──▶ master
 *     driver ◀──── event ◀───────── any of the pools ◀──── master
 *
 * The driver is the only user of what changes something; INFO and INSPECT look. It decides nothing: which
 * master a call goes to says the call.
 */
#ifndef DAEMON_MASTERS_H
#define DAEMON_MASTERS_H

#include "daemon/core/event.h"
#include "daemon/core/view.h"
#include "daemon/pool.h"

struct core;
struct masters;

/* From the event loop only, never from within the functions below. What the event points to is valid until
 * it returns. A vote comes once for each call. */
typedef void masters_event(void *arg, const struct event *event);

/* settings: one for each of count masters, in the order in which calls number them. NULL: out of memory, or
 * no such settings. */
struct masters *masters_new(struct event_base *base, const struct pool_settings *settings, unsigned count,
	masters_event *event, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
/* Calls under way get no vote any more. */
void masters_free(struct masters *masters);

void masters_call(struct masters *masters, const struct call *call);
/* As pool_listen(), at every master. */
void masters_listen(struct masters *masters, struct slice name, bool on);
/* The end of a turn of the loop: what was called so far leaves now. */
void masters_flush(struct masters *masters);

unsigned masters_count(const struct masters *masters);
/* The address for people, in logs and reports. */
const char *masters_where(const struct masters *masters, unsigned master);

/* What the pool knows of its master; the core knows its state. */
void masters_see_pool(const struct masters *masters, unsigned master, struct pool_view *out);

/* All of them at a glance. */
struct masters_sum {
	unsigned usable;   /* admitted, and they answer */
	unsigned majority; /* so many have to grant a lease */
	const char *word;  /* the best state that a majority has at least */
};
void masters_see(
	const struct masters *masters, const struct core *core, int64_t now_ms, struct masters_sum *out);

#endif
