/*
 * judge: sees every request and every grant of one program's clients, and knows nothing of who grants.
 *
 * A client holds from the grant it read until it sends the release. All clients are in one process, so one
 * that reads a grant reads it after the previous holder's release was sent: two holders at once are two in
 * here.
 */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include <stdint.h>
#include <sys/queue.h>

/* Someone who asks for a lock; part of a client. */
struct party {
	TAILQ_ENTRY(party) entry; /* of the queue of those who wait for the same name */
	uint64_t grants;
};

TAILQ_HEAD(party_queue, party);

/* One name. Zeroed, then judge_init(). */
struct judge {
	struct party_queue waiting; /* in the order in which they asked */
	const struct party *holder; /* NULL: nobody */
	const struct party *previous;
	uint64_t token;     /* of the latest grant */
	uint64_t changes;   /* grants to another than before */
	uint64_t overtaken; /* grants to another than the one who had waited longest */
};

void judge_init(struct judge *judge);
/* Each in its turn, just before the bytes are sent or after they were read. */
void judge_ask(struct judge *judge, struct party *party);
/* NULL, or the promise that was broken. */
const char *judge_grant(struct judge *judge, struct party *party, uint64_t token)
	__attribute__((warn_unused_result));
void judge_release(struct judge *judge);

#endif
