/*
 * status: the status page, and the events that renew it.
 */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include "proto/slice.h"

struct buffer;
struct context;

/* Append an event: the state; and a note, by its line. Without memory out fails. */
void status_put_state(const struct context *context, struct buffer *out);
void status_put_note(struct buffer *out, struct slice line);

#endif
