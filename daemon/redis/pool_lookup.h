/*
 * pool_lookup: what a daemon asks a master, and other daemons through it, for people: the registered daemons,
 * the holders of a name, and messages to inboxes. A part of pool.c. Nothing here is a call of the core, and
 * no lock depends on it.
 */
#ifndef REDIS_POOL_LOOKUP_H
#define REDIS_POOL_LOOKUP_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct lookup_answer;
struct pool;
struct pool_link;
struct redisReply;

/* False: the reply is not one of the script. */
bool call_decode_lookup(const struct redisReply *reply, struct lookup_answer *answer)
	__attribute__((warn_unused_result));

/*
 * For people who answer at all daemons (admin/fleet.h). pool_lookup() asks the master for its registered
 * daemons and for the holders of a name, or for one of both (call_encode_lookup()); lookup_answered() follows
 * once, with this id. pool_publish() sends a text to the inbox of another daemon; nothing tells whether it
 * has arrived. False: no link, or too much is under way, and nothing was sent. Both are sent with
 * pool_flush().
 */
bool pool_lookup(struct pool *pool, uint64_t id, const struct call *about, bool daemons)
	__attribute__((warn_unused_result));
bool pool_publish(struct pool *pool, const char *daemon_id, struct slice text)
	__attribute__((warn_unused_result));

/* The answer to the oldest answer of the link. reply NULL: there will be none. */
void pool_link_lookup_answered(struct pool_link *l, const struct redisReply *reply);

#endif
