/*
 * transcript: feeds bytes piece by piece, as a connection would, and records the results. Used by suites and
 * fuzzers only.
 */
#include "tests/support/transcript.h"

#include "proto/escape.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pace {
	unsigned state;
};

/* How many of the remaining bytes arrive next. */
static size_t
pace_next(struct pace *p, size_t left)
{
	size_t step;

	if (p->state == TRANSCRIPT_WHOLE)
		return left;
	if (p->state == TRANSCRIPT_BYTES)
		return 1;
	p->state = p->state * 1103515245U + 12345U;
	if (p->state <= TRANSCRIPT_BYTES)
		p->state = 12345U;
	step = (p->state >> 16) % 16 + 1;
	return step < left ? step : left;
}

static void
print_quoted(FILE *to, struct slice text)
{
	char *escaped = malloc(escape_length(text, ESCAPE_QUOTED) + 1);

	assert(escaped != NULL);
	escape_text(escaped, escape_length(text, ESCAPE_QUOTED) + 1, text, ESCAPE_QUOTED);
	fprintf(to, "\"%s\"", escaped);
	free(escaped);
}

/* The unread bytes, in a block of exactly their size. */
static char *
copy_exactly(const char *from, size_t n)
{
	char *copy = malloc(n > 0 ? n : 1);

	assert(copy != NULL);
	if (n > 0)
		memcpy(copy, from, n);
	return copy;
}

/* Takes one thing from data, prints it and returns what the parser returned. */
typedef ssize_t take_one(void *arg, char *data, size_t n, FILE *to);

static char *
play(const char *bytes, size_t n, unsigned pace, take_one *take, void *arg)
{
	struct pace p = {pace};
	size_t arrived = 0;
	size_t done = 0;
	ssize_t got = 0;
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);

	assert(to != NULL);
	while (arrived < n && got >= 0) {
		arrived += pace_next(&p, n - arrived);
		do {
			char *data = copy_exactly(bytes + done, arrived - done);

			got = take(arg, data, arrived - done, to);
			free(data);
			assert(got <= (ssize_t)(arrived - done));
			done += got > 0 ? (size_t)got : 0;
		} while (got > 0);
	}
	if (got >= 0)
		fprintf(to, "left %zu\n", n - done);
	fclose(to);
	return text;
}

struct request_side {
	struct request_parser parser;
	const struct request_limits *limits;
	struct request request;
};

static ssize_t
take_request(void *arg, char *data, size_t n, FILE *to)
{
	struct request_side *side = arg;
	struct reply error;
	ssize_t got = request_parse(&side->parser, data, n, side->limits, &side->request, &error);

	if (got < 0)
		fprintf(to, "-%s %s\n", code_word(error.code), error.text);
	if (got <= 0 || side->request.argc == 0)
		return got;
	for (size_t i = 0; i < side->request.argc; i++) {
		if (i > 0)
			fputc(' ', to);
		print_quoted(to, side->request.argv[i]);
	}
	fputc('\n', to);
	return got;
}

char *
transcript_requests(const char *bytes, size_t n, const struct request_limits *limits, unsigned pace)
{
	struct request_side *side = calloc(1, sizeof(*side));
	char *text;

	assert(side != NULL);
	side->limits = limits;
	text = play(bytes, n, pace, take_request, side);
	free(side);
	return text;
}

static void
print_answer(FILE *to, const struct answer *a)
{
	static const char open[] = "[{>";
	static const char close[] = "]}<";

	switch (a->type) {
	case ANSWER_NULL:
		fputs("null", to);
		return;
	case ANSWER_INT:
		fprintf(to, ":%lld", (long long)a->n);
		return;
	case ANSWER_FLAG:
		fputs(a->n != 0 ? "true" : "false", to);
		return;
	case ANSWER_STATUS:
	case ANSWER_TEXT:
	case ANSWER_ERROR:
		fputs(a->type == ANSWER_ERROR ? "-" : a->type == ANSWER_STATUS ? "+" : "", to);
		print_quoted(to, a->text);
		return;
	default:
		break;
	}
	fputc(open[a->type - ANSWER_ARRAY], to);
	for (size_t i = 0; i < a->count; i++) {
		if (i > 0)
			fputc(' ', to);
		print_answer(to, &a->items[i]);
	}
	fputc(close[a->type - ANSWER_ARRAY], to);
}

struct answer_side {
	struct answer_parser parser;
	const struct answer_limits *limits;
};

static ssize_t
take_answer(void *arg, char *data, size_t n, FILE *to)
{
	struct answer_side *side = arg;
	const struct answer *answer;
	const char *fault;
	ssize_t got = answer_parse(&side->parser, data, n, side->limits, &answer, &fault);

	if (got < 0)
		fprintf(to, "fault: %s\n", fault);
	if (got <= 0)
		return got;
	print_answer(to, answer);
	fputc('\n', to);
	return got;
}

char *
transcript_answers(const char *bytes, size_t n, const struct answer_limits *limits, unsigned pace)
{
	struct answer_side side = {.limits = limits};
	char *text = play(bytes, n, pace, take_answer, &side);

	answer_done(&side.parser);
	return text;
}
