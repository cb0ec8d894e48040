/*
 * pages: what can be requested over HTTP: one table of the kinds of pages. http.c calls it.
 */
#ifndef HTTP_PAGES_H
#define HTTP_PAGES_H

#include "daemon/http/page.h"
#include "proto/slice.h"

/* NULL: there is no such page. path: without the query. */
const struct page_kind *pages_find(struct slice path);

#endif
