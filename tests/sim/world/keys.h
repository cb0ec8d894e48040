/*
 * keys: what a master stores about one name: the owner of the lease, the queue, and the daemon it is kept
 * for. Read for the checker before and after a script, without commands.
 */
#ifndef SIM_KEYS_H
#define SIM_KEYS_H

#include "daemon/redis/call.h"
#include "tests/sim/world/plan.h"

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
		KEYS_FREE,   /* no key, or a key without living members */
		KEYS_ALONE,  /* one exclusive member */
		KEYS_GROUP,  /* shared members, or members with permits */
		KEYS_STRANGE /* not written by holdfast */
	} lock;
	char kind[24];   /* GROUP: as stored */
	int64_t limit;   /* of the semaphore; 0: not a semaphore */
	int64_t till_us; /* when the key ends; KEYS_NEVER */
	bool crowd;      /* there are more members than were read */
	unsigned n;
	struct keys_member {
		char slot[33];
		char owner[64];
		int64_t till_us;
	} members[KEYS_MEMBERS]; /* also expired ones */
	bool queue;              /* the keys of the queue exist */
	int64_t queue_till_us;   /* when the first of these keys ends */
	bool places_many;        /* there are more places than were read */
	unsigned places_n;
	struct keys_place {
		char daemon[33];
		int64_t till_us;
		char form[8];
		uint64_t attempt;
	} places[KEYS_PLACES]; /* the valid ones, in order */
	char claim[33];        /* the daemon that the lock is kept for; "": none */
	int64_t claim_us;      /* until when it is kept */
};

void keys_read(struct keys *keys, struct server *server, unsigned name);
bool keys_equal(const struct keys *one, const struct keys *other);

/* Whether it has not expired. An exclusive one is there as long as its key, which Redis keeps to the end of
 * the millisecond in which it expires. */
bool keys_lives(const struct keys *keys, const struct keys_member *member);
/* How many members of an owner have not expired, and when the first of them ends. */
int64_t keys_have(const struct keys *keys, const char *owner, int64_t *till_us);
int64_t keys_living(const struct keys *keys);
/* Whether a daemon that waits in this form can have the lock now. */
bool keys_take(const struct keys *keys, const char *form);
/* This daemon's place in the queue, counted from 1; 0: none. */
unsigned keys_position(const struct keys *keys, const char *daemon_id);

#endif
