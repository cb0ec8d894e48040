/*
 * ledger_set: the set of masters in a ledger; ledger.h has the picture.
 */
#ifndef CORE_LEDGER_SET_H
#define CORE_LEDGER_SET_H

#include <stdbool.h>

struct buffer;
struct core;
struct record;

/* Its set of masters has changed, or their places: the leases are at these servers (ledger_set.c). */
void ledger_set(struct core *core);
void ledger_set_write(struct buffer *out, const struct core *core);

/* True: its only member is the first master of this core. */
bool ledger_set_load(struct core *core, struct record *r);

#endif
