/*
 * report_inner: what report.c and report_write.c share; no other file includes it.
 *
 *     report.c ──▶ report_write.c      report.c: what is asked for, page by page; report_write.c: how an
 *                                      element is written
 */
#ifndef ADMIN_REPORT_INNER_H
#define ADMIN_REPORT_INNER_H

#include "daemon/admin/report.h"
#include "daemon/core/view.h"
#include "daemon/net/access.h"
#include "daemon/request/context.h"
#include "proto/buffer.h"
#include "proto/name.h"

/* How an element is written: as a map, or as one of two arrays, of its keys and of its values. */
enum form { FORM_MAP, FORM_KEYS, FORM_VALUES };

struct report {
	const struct context *context;
	int protocol;
	bool rows;      /* elements are arrays of values, and the first one has their keys */
	enum form form; /* of what is written now */
	int64_t now_ms;
	struct buffer text; /* the elements */
	size_t count;
	size_t most;        /* limit of elements */
	size_t bytes;       /* limit of the bytes in text */
	size_t scan;        /* names, latches or sessions that are gone through, about */
	struct glob *match; /* NULL: every name */
	size_t match_bytes; /* of names, that this page may still compare with it */
	bool waited;        /* only names with waiters */
	bool few;           /* as in struct report_request, with the next two */
	int64_t longest_ms;
	int64_t held_ms;
	struct viewer viewer;
	bool users; /* holders and waiters have `user`, too: for the page, not for INSPECT */
	bool fleet; /* each map says of which daemon it is */
	/* For holders and waiters: */
	size_t budget;        /* left */
	uint64_t first, last; /* shares of holders, last not included; see report_share() */
	uint64_t ticket;      /* of the last waiter of the page before, then of this page */
	bool more;            /* further waiters follow */
};

/* Writes one element, a map or the array that report->form says. */
typedef void report_writer(const struct report *report, struct buffer *b, const void *view);

#endif
