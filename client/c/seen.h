/*
 * seen: the holder of a name that a program waits for, and the events that the program is notified of; see
 * library.h.
 *
 * Callers have locked the mutex of the handle.
 */
#ifndef C_SEEN_H
#define C_SEEN_H

#include "client/c/holdfast.h"
#include "client/c/library.h"

#include <stdbool.h>
#include <stdint.h>

struct answer;

/* The wait begins. */
void seen_begin(struct part *part, int64_t now_ms);

/* Asks the daemon for the holder of the name, if that is due. */
void seen_step(struct part *part, int64_t now_ms);

/* When seen_step() has to be called again; INT64_MAX: after an event. */
int64_t seen_next(const struct part *part);

/* The answer to INSPECT, or to that of all daemons. */
void seen_answer(struct part *part, enum asked what, const struct answer *answer, int64_t now_ms);

/* Asks the daemon for the holder of the name: the wait has timed out. */
void seen_late(struct part *part, int64_t now_ms);

/* Something has happened to a part, or, with NULL, to the connection. */
void seen_tell(struct holdfast *hf, const struct part *part, enum holdfast_event_kind kind, int64_t ms,
	const char *text);

/* The thread calls the function of holdfast_watch(), without the mutex. False: there was nothing to tell. */
bool seen_deliver(struct holdfast *hf);

/* Frees what was not told. */
void seen_forget(struct holdfast *hf);

#endif
