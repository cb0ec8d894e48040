/*
 * tally: asks a Redis for its own count. Used by the programs of the bench only.
 */
#include "tests/bench/tally.h"

#include "tests/bench/dial.h"
#include "tests/bench/request.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD        "total_commands_processed:"
#define ANSWER_BYTES 16384

static int64_t
commands_ask(int fd)
{
	struct request request;
	char answer[ANSWER_BYTES];
	const char *field = NULL;
	size_t n = 0;

	request_make(&request, (const char *[]){"INFO", "stats", NULL});
	request_send(&request, fd);
	while (!field || !strchr(field, '\n')) {
		ssize_t got = read(fd, answer + n, sizeof answer - 1 - n);
		if (got <= 0)
			errx(2, "a Redis that does not say how many commands it ran");
		n += (size_t)got;
		answer[n] = '\0';
		field = strstr(answer, FIELD);
	}
	return strtoll(field + strlen(FIELD), NULL, 10);
}

void
tally_begin(struct tally *tally, const char *place)
{
	tally->fd = dial(place);
	tally->began = commands_ask(tally->fd);
	/* The rest of a long answer would be taken for the next one. */
	close(tally->fd);
	tally->fd = dial(place);
}

void
tally_end(struct tally *tally)
{
	if (tally->fd == 0)
		return;
	tally->count = commands_ask(tally->fd) - tally->began - 1;
	close(tally->fd);
}
