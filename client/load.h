/*
 * load: clients of one process who lock and unlock as fast as they are answered, under an checker.
 */
#ifndef CLIENT_LOAD_H
#define CLIENT_LOAD_H

#include "client/address.h"
#include "client/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum load_kind {
	LOAD_UNCONTENDED, /* each client has a name of its own */
	LOAD_CONTENDED,   /* the names are dealt out to the clients in turn */
	LOAD_MIXED,       /* half the time a name of its own, else any of the names, half of that shared */
	LOAD_COUNT
};

struct load_plan {
	enum load_kind kind;
	size_t clients;
	size_t names; /* that clients have in common */
	int64_t run_ms;
};

struct load_result {
	double seconds;
	uint64_t pairs;          /* LOCK + UNLOCK */
	uint64_t changes;        /* exclusive grants of a name to another client than before */
	double least_share;      /* of the client that got least, 1 is fair */
	struct histogram waits;  /* from LOCK to its answer */
	struct histogram rounds; /* from LOCK to the answer of UNLOCK */
};

/* The word of a kind, as on the command line. */
const char *load_word(enum load_kind kind);

/* Runs it. STATUS_DONE, or an exit code; then it has said why, and *result is worth nothing. A promise that
 * was broken is STATUS_INTERNAL. Nothing is held in the end. */
int load_run(const struct load_plan *plan, const struct address *a, struct load_result *result)
	__attribute__((warn_unused_result));

#endif
