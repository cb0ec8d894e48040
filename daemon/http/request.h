/*
 * request: reads the head of an HTTP/1.x request. It understands what the pages need,
 * and refuses everything else.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include "proto/slice.h"

#include <stdbool.h>

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

#endif
