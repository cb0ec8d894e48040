/*
 * reaper: as process 1, as in a container, this one inherits every process whose parent has ended, and the
 * kernel keeps what has ended until somebody waits for it. main is the only user.
 */
#ifndef REDIS_REAPER_H
#define REDIS_REAPER_H

struct embedded;
struct event_base;
struct log;
struct reaper;

/* Waits for whoever ends from now on, and tells embedded if that was its server; embedded may be NULL. Both
 * are kept by reference. NULL: out of memory. */
struct reaper *reaper_new(struct event_base *base, struct embedded *embedded, struct log *log)
	__attribute__((warn_unused_result));
/* Before base and embedded are freed. */
void reaper_free(struct reaper *reaper);

#endif
