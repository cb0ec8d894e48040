/*
 * grave: where objects rest between their end and the next step, because actions may still point into them.
 */
#ifndef CORE_GRAVE_H
#define CORE_GRAVE_H

#include "daemon/core/state.h"

void grave_bury(struct core *core, struct grave *dead);

/* Frees the buried. Only at the start of a step, and at the core's own end. */
void grave_empty(struct core *core);

#endif
