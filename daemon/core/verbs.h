/*
 * verbs: what each request of a client does. Every one gets exactly one answer, now or when its wait ends.
 */
#ifndef CORE_VERBS_H
#define CORE_VERBS_H

#include "daemon/core/state.h"

void verb_run(struct core *core, struct conn *conn, const struct command *command);

/* SIGTERM: waits are refused, unused leases go back, holders are told. */
void verb_drain(struct core *core);

/* When nobody relies on a lease of this daemon any more its masters are told, once: daemons with other limits
 * or of another format need not wait for the end of its registration. */
void verb_drained(struct core *core);

#endif
