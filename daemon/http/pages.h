/*
 * pages: which page is at a path. One table lists them.
 */
#ifndef HTTP_PAGES_H
#define HTTP_PAGES_H

#include "proto/slice.h"

struct page_kind;

/* The kind of page at this path, which has no query. NULL: there is none. */
const struct page_kind *pages_find(struct slice path);

#endif
