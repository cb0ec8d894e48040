/*
 * pool_link: one link of the pool, and the calls under way on it; see pool_inner.h.
 */
#ifndef REDIS_POOL_LINK_H
#define REDIS_POOL_LINK_H

#include <stdbool.h>

struct call;
struct event_base;
struct link_settings;
struct pool;
struct pool_link;

/* False: out of memory. */
bool pool_link_open(struct pool_link *l, struct pool *pool, struct event_base *base,
	const struct link_settings *settings) __attribute__((warn_unused_result));
void pool_link_close(struct pool_link *l);
/* See pool_end(). */
void pool_link_end(struct pool_link *l, const char *why);
void pool_link_call(struct pool_link *l, const struct call *call);
/* The calls so far are sent now. */
void pool_link_flush(struct pool_link *l);
/* Asks the replicas for an acknowledgement although no call needs one. False: not possible now. */
bool pool_link_probe(struct pool_link *l);

#endif
