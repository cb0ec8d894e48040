/*
 * lists: what LOCKS and SESSIONS answer, as JSON. A piece is a page of LOCKS or SESSIONS: so the lists have
 * the fields of these answers, and what is true for the pages of those is true here: a lock that is there all
 * the time is in the list exactly once.
 */
#ifndef HTTP_LISTS_H
#define HTTP_LISTS_H

#include "daemon/http/contents.h"

#include <stdbool.h>

struct buffer;
struct page;

/* Writes the next elements of LOCKS, at most page->most in all. False: there are no more. */
bool lists_each_lock(struct page *page, struct buffer *out, lists_element *element);

#endif
