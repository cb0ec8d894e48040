/*
 * checker: checks two promises of the daemon on the grants of one name: an exclusive hold excludes every
 * other hold, and tokens increase.
 *
 * Every client of a bench reports to it: a grant after its answer was read, a release before UNLOCK is sent.
 */
#ifndef CLIENT_CHECKER_H
#define CLIENT_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

/* The state of one name. Zeroed: never held. */
struct checker {
	bool exclusive;          /* there is an exclusive hold */
	uint64_t readers;        /* number of shared holds */
	int64_t exclusive_token; /* greatest token of an exclusive hold */
	int64_t token;           /* greatest token of any hold */
	uint64_t changes;        /* exclusive grants to another client than the one before */
	const void *former;
};

/* who: a pointer that identifies the holder. NULL, or the promise that was broken. */
const char *checker_grant(struct checker *u, const void *who, bool shared, int64_t token)
	__attribute__((warn_unused_result));
void checker_release(struct checker *u, bool shared);

#endif
