/*
 * handle: the functions of holdfast.h that open and close a handle, and what errors say.
 */
#ifndef C_HANDLE_H
#define C_HANDLE_H

#include "client/c/holdfast.h"

#include <stdbool.h>

struct holdfast;

/* Sets *error, which may be NULL, and returns the status. code "": none. The text is escaped, and so one
 * line. */
int error_set(struct holdfast_error *error, enum holdfast_status status, const char *code, const char *format,
	...) __attribute__((format(printf, 4, 5)));

/* Copies *from to *to, which may be NULL, and returns the status. */
int error_copy(struct holdfast_error *to, const struct holdfast_error *from);

/* Chooses the default place that has a socket now. False: why, which has room for ADDRESS_TEXT_MAX bytes. */
bool handle_choose(struct holdfast *hf, char *why) __attribute__((warn_unused_result));

/* Wakes the thread. */
void handle_wake(struct holdfast *hf);

/* False, and *error: this process is a child of the one that has the handle. */
bool handle_is_ours(const struct holdfast *hf, struct holdfast_error *error)
	__attribute__((warn_unused_result));

#endif
