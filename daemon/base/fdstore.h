/*
 * fdstore: descriptors that the service manager keeps for the process after a crash, each under a name of its
 * own, so that each can be removed.
 *
 *     fdstore_put() ──▶ the service manager ──crash──▶ fdstore_take(), fdstore_find()
 *
 * A name is "hf" and the number of a slot, in hexadecimal digits: LISTEN_FDNAMES repeats all names, and must
 * stay below 128 KiB. While the service manager keeps a socket, close() alone does not end the connection:
 * its owner calls shutdown() before. The driver calls this, and net to find what was left. Nothing here
 * waits for the service manager, whose answer is never known: a descriptor that was put may not be stored.
 */
#ifndef BASE_FDSTORE_H
#define BASE_FDSTORE_H

#include "daemon/base/descriptors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notify;
struct notify_fd;

#define FDSTORE_SLOTS 16384 /* more descriptors are not stored */
#define FDSTORE_NONE  (-1)  /* no slot */

struct fdstore {
	const struct notify *notify;
	uint8_t *slots; /* of each the state; NULL: nothing is stored */
	size_t most;    /* slots that may be used: FDSTORE_SLOTS, or as many as the manager keeps */
	size_t used;    /* slots that are not free */
	size_t leaving; /* of these, those whose descriptor the manager has not been asked to forget yet */
	size_t next;    /* a search for a free slot begins here */
	bool behind;    /* the manager did not listen when a descriptor was to be put; the caller clears it */
	struct descriptors left; /* by the process before, and not taken yet */
};

/* notify is held by reference. If there is no service manager, or no memory, nothing is stored. */
void fdstore_init(struct fdstore *store, const struct notify *notify);
/* What was left and not taken is closed; what is stored stays so. */
void fdstore_done(struct fdstore *store);

/* Takes what the process before has left out of the list that the service manager has passed. */
void fdstore_take(struct fdstore *store, struct notify_fd *fds, size_t *count);
/* What the process before has left with this identity (descriptors.h), which the caller owns from now on. It
 * stays in its slot. -1: there is none. */
int fdstore_find(struct fdstore *store, int slot, uint64_t identity);
/* A descriptor that this process has in another way is in this slot already. False: there is no such slot, or
 * it is in use. */
bool fdstore_has(struct fdstore *store, int slot);
/* Ends what was left and not taken: shuts it down, closes it and has it forgotten. */
void fdstore_end_left(struct fdstore *store);

/* Gives a descriptor to the service manager; the caller keeps its own. FDSTORE_NONE: it is not stored, since
 * there is no slot, or the service manager does not listen now. */
int fdstore_put(struct fdstore *store, int fd);
/* The service manager forgets the descriptor of this slot. */
void fdstore_drop(struct fdstore *store, int slot);
/* Says what could not be said before. True: there is more, call it again in a while. */
bool fdstore_turn(struct fdstore *store);
/* Says all of it, and waits until the service manager listens, most_ms at most. */
void fdstore_flush(struct fdstore *store, int64_t most_ms);

#endif
