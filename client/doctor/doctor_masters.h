/*
 * doctor_masters: what is wrong with a master, as the daemon sees it; see doctor.h. doctor.c calls it.
 */
#ifndef CLIENT_DOCTOR_MASTERS_H
#define CLIENT_DOCTOR_MASTERS_H

#include "client/doctor/doctor.h"
#include "proto/slice.h"

/* What mends the error that a LOCK was answered with, printed into out or run; the latter becomes the command
 * of it, or "". */
const char *lock_mend(
	const struct doctor *d, struct slice error, char out[DOCTOR_TEXT_MAX], char run[DOCTOR_TEXT_MAX]);

/* What mends a -LIMIT of the daemon, and *run the command of it, or "". */
const char *limit_mend(struct slice error, const char **run);

/* Checks each master that INFO names. */
void doctor_check_masters(struct doctor *d);

#endif
