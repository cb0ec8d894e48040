/*
 * embedded_directory: the directory of a private master: who owns it, and what it records of its last daemon.
 */
#ifndef REDIS_EMBEDDED_DIRECTORY_H
#define REDIS_EMBEDDED_DIRECTORY_H

#include "daemon/redis/embedded.h"
#include "daemon/redis/embedded_inner.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes why something failed. Returns false. */
bool embedded_explain(char why[EMBEDDED_WHY_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Opens the directory, which must belong to this user and be closed to others. */
bool embedded_open_directory(struct embedded *e, char *why);
/* Takes the directory for this daemon, and reads how the last daemon ended. */
bool embedded_claim_directory(struct embedded *e, const struct embedded_settings *settings, char *why);
/* The server runs: from now on there can be locks. Replaces the record by one of this daemon, which survives
 * a power cut, too. */
bool embedded_claim_memory(struct embedded *e, const struct embedded_settings *settings, char *why);

/* The path of the mark of the record in this directory. */
void ending_mark_path(const char *directory, char out[ENDING_MARK_MAX]);

/* Goes on with a record of this daemon that says until_ms. False with errno: there is no record. */
bool ending_go_on(struct ending *ending, const char *directory, int directory_fd, int64_t until_ms);

/* Clients may rely on locks until until_ms; an earlier deadline changes nothing. Cheap if the record says so
 * already. False with errno: it cannot be written, and there is no record any more. */
bool ending_extend(struct ending *ending, int directory_fd, int64_t until_ms);

/* Closes what it has open. */
void ending_close(struct ending *ending);

/* The daemon ends; see embedded_free(). A record that cannot be written makes the next start slower, but no
 * less safe. */
void embedded_leave_record(struct embedded *e, bool clean, int64_t until_ms);

#endif
