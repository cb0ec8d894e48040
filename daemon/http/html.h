/*
 * html: writes HTML. Every text of a client or a master goes through html_put_text().
 */
#ifndef HTTP_HTML_H
#define HTTP_HTML_H

#include "proto/slice.h"

#include <stdint.h>

struct buffer;

/* As it is: for literals of the daemon. */
void html_put(struct buffer *out, const char *html);
/* Any bytes: printable ones are escaped for HTML, others are shown as \xHH. */
void html_put_text(struct buffer *out, struct slice text);
void html_put_number(struct buffer *out, int64_t n);
/* A cell of a table; label: the head of its column, for narrow screens. */
void html_put_cell(struct buffer *out, const char *label, struct slice text);
void html_put_cell_number(struct buffer *out, const char *label, int64_t n);

#endif
