/*
 * lists: the pages /locks.json and /sessions.json: what LOCKS and SESSIONS answer, as JSON. Also the rows of
 * locks of the status page.
 */
#ifndef HTTP_LISTS_H
#define HTTP_LISTS_H

#include "daemon/http/page.h"
#include "proto/answer.h"

page_piece lists_locks;
page_piece lists_sessions;
/* INSPECT of one name, its first page. */
page_piece lists_lock;

/* A function that writes one element; map: as LOCKS has it. */
typedef void lists_element(struct buffer *out, const struct answer *map, bool first);

/* Writes the next elements of LOCKS, at most page->most in all. False: there are no more. */
bool lists_each_lock(struct page *page, struct buffer *out, lists_element *element);

#endif
