/*
 * contest: clients of one process who lock and unlock as fast as they are answered, under an umpire.
 */
#ifndef CLIENT_CONTEST_H
#define CLIENT_CONTEST_H

#include "client/address.h"
#include "client/gauge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum contest_kind {
	CONTEST_UNCONTENDED, /* each client has a name of its own */
	CONTEST_CONTENDED,   /* the names are dealt out to the clients in turn */
	CONTEST_MIXED,       /* half the time a name of its own, else any of the names, half of that shared */
	CONTEST_COUNT
};

struct contest_plan {
	enum contest_kind kind;
	size_t clients;
	size_t names; /* that clients have in common */
	int64_t run_ms;
};

struct contest_result {
	double seconds;
	uint64_t pairs;      /* LOCK + UNLOCK */
	uint64_t changes;    /* exclusive grants of a name to another client than before */
	double least_share;  /* of the client that got least, 1 is fair */
	struct gauge waits;  /* from LOCK to its answer */
	struct gauge rounds; /* from LOCK to the answer of UNLOCK */
};

/* The word of a kind, as on the command line. */
const char *contest_word(enum contest_kind kind);

/* Runs it. STATUS_DONE, or an exit code; then it has said why, and *result is worth nothing. A promise that
 * was broken is STATUS_INTERNAL. Nothing is held in the end. */
int contest_run(const struct contest_plan *plan, const struct address *a, struct contest_result *result)
	__attribute__((warn_unused_result));

#endif
