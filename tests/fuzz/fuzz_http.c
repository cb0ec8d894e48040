/*
 * fuzz_http: any bytes from a client of HTTP. However they arrive, a request ends at the same byte and means
 * the same; it is answered or refused with a line of text; and what a page keeps of it is within its bounds.
 */
#include "daemon/http/page.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* http_client.c reads no more of a request. */
#define BYTES_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The slice lies in the bytes, and nothing in it moves a cursor. */
static void
check_slice(struct slice slice, struct slice bytes)
{
	if (slice.n == 0) {
		return;
	}
	assert(slice.p >= bytes.p && slice.p + slice.n <= bytes.p + bytes.n);
	for (size_t i = 0; i < slice.n; i++) {
		unsigned char byte = (unsigned char)slice.p[i];
		assert((byte >= ' ' || byte == '\t') && byte != 127);
	}
}

static void
check_request(const struct http_request *request, struct slice bytes)
{
	if (request->status != 200) {
		assert(request->status == 400 || request->status == 405 || request->status == 431);
		assert(request->why != NULL && request->why[strlen(request->why) - 1] == '\n');
		return;
	}
	assert(request->path.n > 0 && request->path.p[0] == '/' && request->minor <= 1);
	check_slice(request->path, bytes);
	check_slice(request->query, bytes);
	check_slice(request->accept, bytes);
}

/* More bytes do not change what was read before. */
static void
check_same(const struct http_request *a, const struct http_request *b)
{
	assert(a->status == b->status && a->head == b->head && a->by_address == b->by_address);
	if (a->status == 200) {
		assert(slice_equal(a->path, b->path) && slice_equal(a->query, b->query));
		assert(slice_equal(a->accept, b->accept));
	}
}

static void
check_page(const struct http_request *request)
{
	static const struct page_kind kind = {.path = "/", .type = "text/html"};
	struct page page = {.step = 0};
	const char *why = page_begin(&page, &kind, NULL, request);
	if (why != NULL) {
		assert(why[strlen(why) - 1] == '\n');
		return;
	}
	assert(page.most >= 1 && page.name_n <= sizeof page.name && page.status == 200);
	page_done(&page);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size < BYTES_MAX ? size : BYTES_MAX;
	/* Of just this size, so that a byte read beyond it is found. */
	char *bytes = malloc(n > 0 ? n : 1);
	struct slice all = {bytes, n};
	struct http_request whole, part;
	size_t used = 0;
	assert(bytes != NULL);
	memcpy(bytes, data, n);
	bool complete = http_request_read(&whole, all, false);
	/* It can only be complete with the end of a line. */
	while (used < n) {
		const char *end = memchr(bytes + used, '\n', n - used);
		if (end == NULL) {
			break;
		}
		used = (size_t)(end - bytes) + 1;
		if (http_request_read(&part, (struct slice){bytes, used}, false)) {
			assert(complete);
			check_same(&part, &whole);
			break;
		}
		assert(!http_request_read(&part, (struct slice){bytes, used - 1}, false));
	}
	assert(http_request_read(&part, all, true));
	assert(complete || part.status != 200);
	check_request(&part, all);
	if (part.status == 200) {
		check_page(&part);
	}
	free(bytes);
	return 0;
}
