/*
 * grouped: `ls --by client|user`: the holds and waits of each client or user. SESSIONS has the numbers,
 * LOCKS how long the oldest hold of each session lasts.
 */
#ifndef CLIENT_GROUPED_H
#define CLIENT_GROUPED_H

struct address;
struct options;

/* Ls --by: an exit code. */
int ls_grouped(const struct options *o, const struct address *a) __attribute__((warn_unused_result));

#endif
