/*
 * verbs: what each request of a client does. Each request gets exactly one answer, now or when its wait ends.
 */
#ifndef CORE_VERBS_H
#define CORE_VERBS_H

#include "daemon/core/state.h"

void verb_run(struct core *core, struct conn *conn, const struct command *command);

#endif
