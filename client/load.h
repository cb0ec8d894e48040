/*
 * load: many clients in one process that lock and unlock as fast as the daemon answers. A checker checks each
 * grant.
 */
#ifndef CLIENT_LOAD_H
#define CLIENT_LOAD_H

#include "client/address.h"
#include "client/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
};

struct load_result {
	double seconds;
	uint64_t pairs;          /* LOCK + UNLOCK */
	uint64_t changes;        /* exclusive grants of a name to another client than the one before */
	double least_share;      /* of the client with the fewest locks; 1 is fair */
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
