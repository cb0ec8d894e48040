/*
 * record: writes the outcome of a run as one JSON object to a descriptor of the caller (--status-fd). The
 * exit code alone is ambiguous, because the command may exit with any code that holdfast uses.
 */
#ifndef CLIENT_RECORD_H
#define CLIENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* OUTCOME(id, word) */
#define OUTCOMES(OUTCOME)                                                                                    \
	OUTCOME(FAILED, "failed")       /* no lock, or no command; the exit code says why */                 \
	OUTCOME(BUSY, "busy")           /* another session has the lock */                                   \
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
	bool ended; /* the command has ended, with child_status as waitpid(2) gives it */
	int child_status;
	int64_t token;     /* 0: never granted */
	int64_t waited_ms; /* until the lock was granted, or the wait was given up */
	int64_t held_ms;
};

/*
 * Moves the descriptor away, so that the command does not inherit it. Returns the descriptor to write to, or
 * -1 and errno if fd is not open.
 */
int record_open(int64_t fd) __attribute__((warn_unused_result));

/* Writes the object and a newline. False and errno on failure. */
bool record_write(int fd, const struct record *r) __attribute__((warn_unused_result));

#endif
