/*
 * pool_look: what a daemon asks a master, and other daemons through it, for people: the registered daemons,
 * the holders of a name, and messages to inboxes. A part of pool.c. Nothing here is a call of the core, and
 * no lock depends on it.
 */
#ifndef REDIS_POOL_LOOK_H
#define REDIS_POOL_LOOK_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct master_look;
struct pool;
struct pool_link;
struct redisReply;

/* False: the reply is not one of the script. */
bool call_decode_look(const struct redisReply *reply, struct master_look *look)
	__attribute__((warn_unused_result));

/*
 * For people who look at all daemons (admin/fleet.h). pool_look() asks the master for its registered daemons
 * and for the holders of a name, or for one of both (call_encode_look()); looked() follows once, with this
 * id. pool_publish() sends a text to the inbox of another daemon; nothing tells whether it has arrived.
 * False: no link, or too much is under way, and nothing was sent. Both are sent with pool_flush().
 */
bool pool_look(struct pool *pool, uint64_t id, const struct call *about, bool daemons)
	__attribute__((warn_unused_result));
bool pool_publish(struct pool *pool, const char *daemon_id, struct slice text)
	__attribute__((warn_unused_result));

/* The answer to the oldest look of the link. reply NULL: there will be none. */
void pool_link_looked(struct pool_link *l, const struct redisReply *reply);

#endif
