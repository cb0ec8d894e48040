/*
 * state: the daemon and its masters at a glance, as the status page shows them, in HTML and in JSON. It sees
 * the core through its views, and changes nothing.
 */
#ifndef HTTP_STATE_H
#define HTTP_STATE_H

#include "proto/buffer.h"

struct context;

/* One object: whether locks can be had and why not, numbers, and the masters. */
void state_put_json(const struct context *context, struct buffer *out);
/* The same for readers without scripts: two elements for the body of a page. The script of the page fills
 * them anew. */
void state_put_html(const struct context *context, struct buffer *out);

#endif
