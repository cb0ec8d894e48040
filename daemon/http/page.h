/*
 * page: a request over HTTP, and the page that is being made for it. http.c reads the request and keeps the
 * page; contents.h has what the pages show.
 *
 * A page is made in pieces, each of about half a millisecond of work, so that a list of any length delays no
 * one. Between pieces only struct page is stored.
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "proto/buffer.h"
#include "proto/glob.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct glob;
struct named;
struct ranked;
struct recent;
struct viewer;

/* ---- what was asked for: HTTP/1.x as far as the pages need it; all else is refused ---- */

/* Slices point into the bytes that were read. */
struct http_request {
	unsigned status; /* 200: it can be answered; else what it is refused with */
	const char *why; /* for the client, unless status is 200 */
	bool head;       /* HEAD: the client wants no body */
	unsigned minor;  /* of HTTP/1.x */
	struct slice path;
	struct slice query;  /* behind the ?; n == 0: none */
	struct slice accept; /* the header of that name; n == 0: none */
	bool by_address;     /* Host is absent, a numeric address or localhost: no name that others chose */
};

/* False: the request is incomplete. all: no more bytes can follow. */
bool http_request_read(struct http_request *request, struct slice bytes, bool all);

/* The value of this key in the query, as it is written; n == 0: none. */
struct slice http_request_value(const struct http_request *request, const char *key);

/* ---- the page ---- */

/* A piece ends soon after this many bytes. */
#define PAGE_PIECE_BYTES 65536
/* No piece can be longer. */
#define PAGE_PIECE_MAX   (1 << 20)

struct page;

/* Writes the next piece of the body. False: it was the last one. */
typedef bool page_piece(struct page *page, struct buffer *out);

struct page_kind {
	const char *path;
	const char *type; /* Content-Type */
	page_piece *piece;
	bool names;   /* shows names of locks or clients */
	bool streams; /* goes on with events after its first piece */
	bool health;  /* is answered also on the connections that are left for it */
};

/* A page that is being made. */
struct page {
	const struct page_kind *kind;
	const struct context *context;
	const struct recent *recent;
	const struct named *named;
	const struct viewer *viewer;
	const char *type;   /* Content-Type of this one */
	unsigned status;    /* set by the first piece: 200, or 503 */
	bool openmetrics;   /* the client takes OpenMetrics */
	struct glob *match; /* names that were asked for; NULL: all */
	struct slice about; /* its text, in match_text; n == 0: all */
	char match_text[GLOB_BYTES_MAX + 1];
	bool waited;     /* only names with waiters */
	bool here;       /* hosts=one: of this daemon alone */
	bool everywhere; /* hosts=all */
	size_t name_n;   /* of name; 0: none was asked for */
	char name[GLOB_BYTES_MAX + 1];
	uint64_t most;         /* elements, at most */
	uint64_t cursor;       /* of the next piece */
	uint64_t count;        /* elements so far */
	struct ranked *ranked; /* order=age: the first locks so far; NULL: in no order */
	int64_t begun_ms;      /* CLOCK_BOOTTIME */
	unsigned step;         /* which part comes next; 0: the first */
};

/* NULL: the page can be made. Else why it cannot be asked for so; then page_done() need not be called. */
const char *page_begin(struct page *page, const struct page_kind *kind, const struct context *context,
	const struct http_request *request) __attribute__((warn_unused_result));
void page_done(struct page *page);

#endif
