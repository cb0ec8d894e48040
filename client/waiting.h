/*
 * waiting: sends INSPECT for the awaited lock from time to time. INSPECT names the holders, SESSIONS the
 * processes that they are bound to, and /proc our ancestors: so a process that waits for itself is detected.
 */
#ifndef CLIENT_WAITING_H
#define CLIENT_WAITING_H

#include <stdbool.h>
#include <stdint.h>

struct address;
struct answer;
struct options;
struct waiting;
struct wire;

void waiting_start(struct waiting *w, const struct options *o, const struct address *a, int64_t now_ms);

/* The rest of the wait; -1: it has no end. */
int64_t waiting_left_ms(const struct waiting *w);

/* The requests were sent. Blocks until the daemon begins to answer, or the wait is given up, and tells people
 * of a silent daemon. The requests are not sent again meanwhile: it may carry them out whenever it goes on.
 */
void waiting_hello(struct waiting *w, struct wire *wire);

/* The daemon is absent for the reason in why; NULL: it is shutting down. tried_ms (CLOCK_BOOTTIME) is when
 * this attempt to reach it began; answered: it was there then. Blocks until it is time to ask again. False if
 * the wait is given up. */
bool waiting_daemon(struct waiting *w, const char *why, int64_t tried_ms, bool answered)
	__attribute__((warn_unused_result));

/* If a daemon serves this client: tells people that it is back, if they know that it was away. */
void waiting_back(struct waiting *w, bool served);

/* Blocks until LOCK or LATCH AWAIT is answered on wire, and keeps people informed meanwhile. NULL: no answer,
 * or the wait is given up; wire->why says the reason: no master answers, the daemon does not, or (cycle) the
 * lock is held for an ancestor of this process and the wait has no end. */
const struct answer *waiting_answer(struct waiting *w, struct wire *wire) __attribute__((warn_unused_result));

#endif
