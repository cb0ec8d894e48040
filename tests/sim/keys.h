/*
 * keys: what a master stores of one name: whose its lease is, who waits, and for whom it is kept. Read for
 * the checker before and after a script, past the commands.
 */
#ifndef SIM_KEYS_H
#define SIM_KEYS_H

#include "daemon/redis/call.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

#define KEYS_MEMBERS 16
#define KEYS_PLACES  16
#define KEYS_NEVER   INT64_MAX

struct server;

struct keys {
	unsigned name;
	int64_t now_us; /* the master's clock */
	enum keys_lock {
		KEYS_FREE,   /* no key, or one of which nobody is left */
		KEYS_ALONE,  /* the one member's */
		KEYS_GROUP,  /* its members' */
		KEYS_STRANGE /* nothing of ours */
	} lock;
	char kind[24];   /* GROUP: as it is stored */
	int64_t limit;   /* of the semaphore; 0: it is none */
	int64_t till_us; /* when the key ends; KEYS_NEVER */
	bool crowd;      /* there are more members than are looked at */
	unsigned n;
	struct keys_member {
		char slot[33];
		char owner[64];
		int64_t till_us;
	} members[KEYS_MEMBERS]; /* also those that are dead */
	bool queue;              /* the keys of the queue are there, */
	int64_t queue_till_us;   /* and the first of them ends then */
	bool places_many;        /* there are more places than are looked at */
	unsigned places_n;
	struct keys_place {
		char daemon[33];
		int64_t till_us;
		char form[8];
		uint64_t attempt;
	} places[KEYS_PLACES]; /* those that count, in their order */
	char claim[33];        /* the daemon for which it is kept; "": none, */
	int64_t claim_us;      /* until then */
};

void keys_read(struct keys *keys, struct server *server, unsigned name);
bool keys_equal(const struct keys *one, const struct keys *other);

/* Whether it lives now. */
bool keys_lives(const struct keys *keys, const struct keys_member *member);
/* How many living members an owner has, and when the first of them ends. */
int64_t keys_have(const struct keys *keys, const char *owner, int64_t *till_us);
int64_t keys_living(const struct keys *keys);
/* Whether a daemon that waits in this form may have the lock as it is. */
bool keys_take(const struct keys *keys, const char *form);
/* Where this daemon stands, from 1 on; 0: nowhere. */
unsigned keys_position(const struct keys *keys, const char *daemon_id);

#endif
