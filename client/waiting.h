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

/* Whether the requests have to be sent again, since the last answer (NULL: none) means that the daemon is
 * absent, or about to end. Blocks until it is time for that, and closes the wire. False also if the wait is
 * given up. */
bool waiting_again(struct waiting *w, struct wire *wire, const struct answer *answer)
	__attribute__((warn_unused_result));

/* HELLO is answered. Blocks until LOCK or LATCH AWAIT is answered on wire, and keeps people informed
 * meanwhile. NULL: no answer, or the wait is given up; wire->why says the reason: no master answers, the
 * daemon does not, or (cycle) the lock is held for an ancestor of this process and the wait has no end. */
const struct answer *waiting_answer(struct waiting *w, struct wire *wire) __attribute__((warn_unused_result));

#endif
