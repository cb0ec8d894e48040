/*
 * request: arrays of RESP. Used by the programs of the bench only.
 */
#include "tests/bench/request.h"

#include <assert.h>
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
request_put(struct request *request, const char *word)
{
	int room = (int)(sizeof request->text - request->n);
	int put = snprintf(request->text + request->n, (size_t)room, "$%zu\r\n%s\r\n", strlen(word), word);

	assert(put < room);
	request->n += (size_t)put;
}

void
request_make(struct request *request, const char *const *words)
{
	unsigned n = 0;

	while (words[n])
		n++;
	request->n = (size_t)snprintf(request->text, sizeof request->text, "*%u\r\n", n);
	for (unsigned i = 0; i < n; i++)
		request_put(request, words[i]);
}

void
request_send(const struct request *request, int fd)
{
	if (write(fd, request->text, request->n) != (ssize_t)request->n)
		err(2, "a request did not leave whole");
}

char *
request_find(struct request *request, const char *word, char *after)
{
	return strstr(after ? after + 1 : request->text, word);
}
