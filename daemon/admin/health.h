/*
 * health: since when each master is as it is, and why no lock can be had.
 */
#ifndef ADMIN_HEALTH_H
#define ADMIN_HEALTH_H

#include "daemon/request/context.h"

/* Since when each master is as it is; for free(). NULL: out of memory. */
struct health *health_new(void) __attribute__((warn_unused_result));
/* Notes in which state each master is; to be called a tenth of a second after a turn at the latest. */
void health_refresh(const struct context *context, int64_t now_ms);
#define HEALTH_TEXT_MAX 1000
/* Which masters cannot be used, since when and why, or why else no lock can be had; "": all is well. */
void health_text(const struct context *context, int64_t now_ms, char out[HEALTH_TEXT_MAX]);

#endif
