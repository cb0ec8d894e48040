/*
 * checker: what the holders of one name were told must keep the daemon's promises: nobody beside an exclusive
 * hold, and tokens that grow.
 *
 * All who lock the name report to it, each in its turn: a grant when it was read, a release before it is
 * sent.
 */
#ifndef CLIENT_CHECKER_H
#define CLIENT_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

/* One name. Zeroed: nobody has it, and nobody had. */
struct checker {
	bool exclusive;          /* somebody has it so */
	uint64_t readers;        /* that have it shared */
	int64_t exclusive_token; /* the greatest of exclusive holds */
	int64_t token;           /* the greatest of all */
	uint64_t changes;        /* exclusive grants to another than before */
	const void *former;
};

/* who: anything that tells one holder from another. NULL, or the promise that was broken. */
const char *checker_grant(struct checker *u, const void *who, bool shared, int64_t token)
	__attribute__((warn_unused_result));
void checker_release(struct checker *u, bool shared);

#endif
