/*
 * state: the state of the daemon, for the page of it and for its events. One table has the numbers; the ids
 * of elements in the page are their keys.
 */
#ifndef HTTP_STATE_H
#define HTTP_STATE_H

struct buffer;
struct context;

/* One object: whether locks can be had and why not, numbers, and the masters. */
void state_put_json(const struct context *context, struct buffer *out);
/* The same for readers without scripts: the rest of the header and two elements for the body of a page. The
 * script of the page fills them anew. */
void state_put_html(const struct context *context, struct buffer *out);

#endif
