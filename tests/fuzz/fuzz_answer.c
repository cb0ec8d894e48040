/*
 * fuzz_answer: any bytes from a server. However they arrive, the same answers come out, within the limits, or
 * the same end; nothing of a tree points outside the bytes.
 */
#include "proto/answer.h"

#include "tests/support/transcript.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct answer_limits limits = {4096, 64};

/* Which fault is found first may depend on how much has arrived; that there is one may not. */
static char *
transcript(const uint8_t *data, size_t size, unsigned pace)
{
	char *text = transcript_answers((const char *)data, size, &limits, pace);
	char *fault = strstr(text, "fault: ");

	if (fault != NULL && strstr(fault, "\n")[1] == '\0')
		fault[6] = '\0';
	return text;
}

static size_t
check_tree(const struct answer *a, const char *from, const char *to, int depth)
{
	size_t elements = 1;

	assert(depth <= ANSWER_DEPTH_MAX);
	assert(a->text.n == 0 || (a->text.p >= from && a->text.p + a->text.n <= to));
	assert(a->count == 0 || a->items != NULL);
	assert(a->type != ANSWER_MAP || a->count % 2 == 0);
	assert(a->type != ANSWER_PUSH || depth == 0);
	for (size_t i = 0; i < a->count; i++)
		elements += check_tree(&a->items[i], from, to, depth + 1);
	return elements;
}

static void
check_trees(const char *data, size_t size)
{
	struct answer_parser parser = {0};
	const struct answer *answer;
	const char *fault = NULL;
	size_t done = 0;
	ssize_t got;

	while ((got = answer_parse(&parser, data + done, size - done, &limits, &answer, &fault)) > 0) {
		struct slice rest;

		assert((size_t)got <= limits.bytes && done + (size_t)got <= size);
		assert(check_tree(answer, data + done, data + done + got, 0) <= limits.elements);
		(void)answer_get(answer, "name");
		(void)answer_code(answer, &rest);
		(void)answer_is_push(answer, "grant", 3);
		done += (size_t)got;
	}
	assert(got == 0 || fault != NULL);
	answer_done(&parser);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned pace;
	char *whole;
	char *pieces;
	char *single;

	if (size == 0)
		return 0;
	pace = 2U + data[0];
	data++;
	size--;
	whole = transcript(data, size, TRANSCRIPT_WHOLE);
	pieces = transcript(data, size, pace);
	single = transcript(data, size, TRANSCRIPT_BYTES);
	assert(strcmp(whole, pieces) == 0);
	assert(strcmp(whole, single) == 0);
	free(whole);
	free(pieces);
	free(single);
	check_trees((const char *)data, size);
	return 0;
}
