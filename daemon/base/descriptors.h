/*
 * descriptors: a list of open descriptors that one process of this daemon passes to the next one.
 *
 * A descriptor may get another number on its way. So a saved state names what a descriptor refers to: the
 * same socket, file or pipe has the same identity in each process that has it open.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descriptor {
	uint64_t identity; /* of what fd refers to, while any process has it open; never 0 */
	int fd;            /* -1: taken */
	bool stored;       /* the service manager has it already, under a name of its own (fdstore.h) */
};

/* All zero at first. */
struct descriptors {
	struct descriptor *list;
	size_t count;
	size_t room;
	bool sorted;
	bool failed; /* out of memory: one is missing */
};

/* Adds fd, which stays the caller's. Returns its identity; 0: it is negative or not open, and left out. */
uint64_t descriptors_add(struct descriptors *set, int fd);
/* The same, for one that the service manager keeps already. */
uint64_t descriptors_add_stored(struct descriptors *set, int fd);
/* 0: it is negative or not open. */
uint64_t descriptor_identity(int fd);

/* The descriptor of this identity; the caller owns it from now on, and it is not found again. -1: there is
 * none, or more than one, so that it is not clear which is meant. */
int descriptors_take(struct descriptors *set, uint64_t identity);

/* Clears close-on-exec for these, or sets it for every descriptor of the process but the standard ones. False
 * with errno. */
bool descriptors_pass_on(const struct descriptors *set, bool pass_on);

/* Frees the list and closes nothing. */
void descriptors_done(struct descriptors *set);
/* Closes a descriptor that no part of the daemon wants. If it is a connection, its client learns that at
 * once, also if another process has it open. */
void descriptor_end(int fd);
/* Ends those that were not taken, then frees the list. */
void descriptors_close(struct descriptors *set);

#endif
