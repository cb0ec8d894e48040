/*
 * ledger_set: the set of masters in a ledger; ledger.h has the picture.
 */
#ifndef CORE_LEDGER_SET_H
#define CORE_LEDGER_SET_H

#include <stdbool.h>

struct buffer;
struct core;
struct record;

/* The set of masters, and their places: the leases are at these servers. */
void ledger_set_write(struct buffer *out, const struct core *core);

/* True: its only member is the first master of this core. */
bool ledger_set_load(struct core *core, struct record *r);

#endif
