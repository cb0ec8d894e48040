/*
 * fleet_write: the answers of the fleet to clients. Called by fleet.c when all daemons have answered, or
 * their time is over. Bytes of other daemons are passed on as they came; they are one well-formed RESP value
 * each.
 */
#ifndef ADMIN_FLEET_WRITE_H
#define ADMIN_FLEET_WRITE_H

#include "daemon/request/context.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct connection;
struct fleet;
struct fleet_open;
struct fleet_part;

/* Writes the answer to the client; all parts and sights are as they are. */
void fleet_write(
	const struct fleet *fleet, const struct fleet_open *open, struct connection *c, int64_t now_ms);

/* The daemons that have not answered, as an array. */
void write_silent(const struct fleet_open *open, struct buffer *out, int protocol, int64_t now_ms);

/* The answer to INSPECT. False: no memory, and nothing was written. */
bool write_inspect(const struct fleet *fleet, const struct fleet_open *open, size_t room, struct buffer *out,
	int protocol, int64_t now_ms) __attribute__((warn_unused_result));

/* Time until the master can be believed that a name has no lease, ms. 0: now; -1: it is not in use. */
int64_t fleet_guard_ms(const struct fleet *fleet, unsigned master, int64_t now_ms);

/* The part of the daemon with this id; NULL: it was not asked. */
const struct fleet_part *part_of(const struct fleet_open *open, struct slice id);

/* What the client is shown of it. */
void part_describe(const struct fleet_part *holding, char out[CONTEXT_TEXT_MAX]);

/* Whether the bytes of the part, well-formed RESP, answer what was asked. An error does not, apart from
 * NOTHELD for BREAK. */
bool part_fits(const struct fleet_part *part, const struct fleet_open *open);

uint64_t fleet_cursor(uint64_t digits, uint64_t inner);

#endif
