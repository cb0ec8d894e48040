/*
 * reaper: reaps orphans. As process 1, as in a container, the daemon inherits every process whose parent has
 * ended, and the kernel keeps each ended one until its status is read. main is the only user.
 */
#ifndef REDIS_REAPER_H
#define REDIS_REAPER_H

struct embedded;
struct event_base;
struct log;
struct reaper;

/* Reaps every child that ends from now on, and tells embedded if it was its server; embedded may be NULL.
 * base, embedded and log are kept by reference. NULL: out of memory. */
struct reaper *reaper_new(struct event_base *base, struct embedded *embedded, struct log *log)
	__attribute__((warn_unused_result));
/* Call it before base and embedded are freed. */
void reaper_free(struct reaper *reaper);

#endif
