/*
 * fleet_merge: the answer to HISTORY with FLEET, one list of the lists that the daemons have. Called by
 * fleet_write.c.
 */
#ifndef ADMIN_FLEET_MERGE_H
#define ADMIN_FLEET_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct buffer;
struct fleet_open;

/* Whether this answers HISTORY: an array of maps that say when the hold ended. */
bool part_is_history(const struct answer *tree);
/* The answer to HISTORY. False: no memory, and nothing was written. */
bool write_history(const struct fleet_open *open, size_t room, struct buffer *out, int protocol,
	int64_t now_ms) __attribute__((warn_unused_result));

#endif
