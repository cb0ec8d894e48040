/*
 * embedded_presence: what shows, after the directory of a private master was removed, that the daemon which
 * had it still runs.
 */
#ifndef REDIS_EMBEDDED_PRESENCE_H
#define REDIS_EMBEDDED_PRESENCE_H

#include <stdbool.h>

struct embedded;

/* Shows later daemons of this directory that this one runs, also if the directory is
 * removed. False: errno. */
bool embedded_show_presence(struct embedded *e) __attribute__((warn_unused_result));
/* Whether no process of this user shows that, as far as can be seen. */
bool embedded_is_alone(const struct embedded *e);

#endif
