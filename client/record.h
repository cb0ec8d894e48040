/*
 * record: what became of a run, as one JSON object on a descriptor of the caller's (--status-fd). The exit
 * code alone cannot tell: the command may exit with any of ours itself.
 */
#ifndef CLIENT_RECORD_H
#define CLIENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* OUTCOME(id, word) */
#define OUTCOMES(OUTCOME)                                                                                    \
	OUTCOME(FAILED, "failed")       /* there was no lock, or no command; the exit code says why */       \
	OUTCOME(BUSY, "busy")           /* somebody else has the lock */                                     \
	OUTCOME(ENDED, "ended")         /* the command ended by itself */                                    \
	OUTCOME(TIMED_OUT, "timed_out") /* --max-run stopped it */                                           \
	OUTCOME(LOST, "lost")           /* the lock was lost while it ran */

enum outcome {
#define OUTCOME(id, word) OUTCOME_##id,
	OUTCOMES(OUTCOME)
#undef OUTCOME
		OUTCOME_COUNT
};

struct record {
	const char *name;
	enum outcome outcome;
	int exit;   /* ours */
	bool ended; /* the command has, with child_status, as of waitpid(2) */
	int child_status;
	int64_t token;     /* 0: never granted */
	int64_t waited_ms; /* until the lock was there, or until it was given up */
	int64_t held_ms;
};

/*
 * Takes the descriptor over for the record, so that the command does not inherit it. The one to write to, or
 * -1 and errno when fd is not open.
 */
int record_open(int64_t fd) __attribute__((warn_unused_result));

/* Writes the object and a newline. False and errno when that could not be done. */
bool record_write(int fd, const struct record *r) __attribute__((warn_unused_result));

#endif
