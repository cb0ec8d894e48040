/*
 * bench: many clients in one process that lock and unlock as fast as the daemon answers. A checker checks two
 * promises on each grant, and a histogram counts the times.
 */
#ifndef CLIENT_BENCH_H
#define CLIENT_BENCH_H

#include "client/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The checker of one name: an exclusive hold excludes every other hold, and tokens increase. Every client of
 * a bench reports to it: a grant after its answer was read, a release before UNLOCK is sent.
 *
 * The state of one name. Zeroed: never held.
 */
struct checker {
	bool exclusive;          /* there is an exclusive hold */
	uint64_t readers;        /* number of shared holds */
	int64_t exclusive_token; /* greatest token of an exclusive hold */
	int64_t token;           /* greatest token of any hold */
	uint64_t changes;        /* exclusive grants to another client than the one before */
	const void *previous;
};

/* holder: a pointer that identifies the holder. NULL, or the promise that was broken. */
const char *checker_grant(struct checker *c, const void *holder, bool shared, int64_t token)
	__attribute__((warn_unused_result));
void checker_release(struct checker *c, bool shared);

#define HISTOGRAM_CELLS 2048

/* Counts durations in cells of growing width. A percentile is at most 3 % too long. Zeroed: empty. */
struct histogram {
	uint64_t count;
	int64_t longest_us;
	uint64_t cells[HISTOGRAM_CELLS];
};

void histogram_add(struct histogram *h, int64_t us);

/* `percent` of a hundred durations are no longer than the result; 0 if the histogram is empty. */
int64_t histogram_percentile_us(const struct histogram *h, unsigned percent);

enum load_kind {
	LOAD_UNCONTENDED, /* each client has its own name */
	LOAD_CONTENDED,   /* the names are dealt out to the clients in turn */
	LOAD_MIXED, /* one half: the client's own name; the other half: any of the names, every second time
		       shared */
	LOAD_COUNT
};

struct load_plan {
	enum load_kind kind;
	size_t clients;
	size_t names; /* shared by the clients */
	int64_t run_ms;
	bool durable; /* each session has a grace */
	bool quiet;
};

struct load_result {
	double seconds;
	uint64_t pairs;          /* LOCK + UNLOCK */
	uint64_t changes;        /* exclusive grants of a name to another client than the one before */
	double least_share;      /* of the client with the fewest locks; 1 is fair */
	uint64_t interruptions;  /* connections that ended, and came back */
	uint64_t lost;           /* holds that were known to be lost by that */
	struct histogram waits;  /* from LOCK to its answer */
	struct histogram rounds; /* from LOCK to the answer of UNLOCK */
};

/* The word of a kind, as on the command line. */
const char *load_word(enum load_kind kind);

/* Runs the load. STATUS_DONE, or an exit code; then the reason was printed and *result is undefined. A broken
 * promise is STATUS_INTERNAL. No lock is held on return. */
int load_run(const struct load_plan *plan, const struct address *a, struct load_result *result)
	__attribute__((warn_unused_result));

#endif
