/* answer: see answer.h. Out of memory ends the test. */
#include "tests/sim/world/answer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_BYTES (1 << 20)

static struct {
	bool on;
	size_t used;
	_Alignas(16) char bytes[SCRATCH_BYTES];
} scratch;

void
answer_scratch(bool on)
{
	scratch.on = on;
	scratch.used = 0;
}

static void *
answer_alloc(size_t n)
{
	void *p;
	if (scratch.on) {
		p = scratch.bytes + scratch.used;
		scratch.used += (n + 15) / 16 * 16;
		assert(scratch.used <= SCRATCH_BYTES);
	} else {
		p = malloc(n);
		assert(p != NULL);
	}
	return p;
}

static redisReply *
answer_new(int type)
{
	redisReply *r = answer_alloc(sizeof(*r));
	*r = (redisReply){.type = type};
	return r;
}

static redisReply *
answer_string(int type, struct slice text)
{
	redisReply *r = answer_new(type);
	r->str = answer_alloc(text.n + 1);
	if (text.n > 0)
		memcpy(r->str, text.p, text.n);
	r->str[text.n] = '\0';
	r->len = text.n;
	return r;
}

redisReply *
answer_int(int64_t n)
{
	redisReply *r = answer_new(REDIS_REPLY_INTEGER);
	r->integer = n;
	return r;
}

redisReply *
answer_nil(void)
{
	return answer_new(REDIS_REPLY_NIL);
}

redisReply *
answer_text(struct slice text)
{
	return answer_string(REDIS_REPLY_STRING, text);
}

redisReply *
answer_status(const char *text)
{
	return answer_string(REDIS_REPLY_STATUS, slice_of(text));
}

redisReply *
answer_error(const char *text)
{
	return answer_string(REDIS_REPLY_ERROR, slice_of(text));
}

redisReply *
answer_number(double n)
{
	char text[64];
	if (n > -1e17 && n < 1e17 && n == (double)(int64_t)n)
		snprintf(text, sizeof(text), "%.0f", n);
	else
		snprintf(text, sizeof(text), "%.17g", n);
	return answer_text(slice_of(text));
}

redisReply *
answer_array(size_t n)
{
	redisReply *r = answer_new(REDIS_REPLY_ARRAY);
	r->elements = n;
	r->element = answer_alloc((n > 0 ? n : 1) * sizeof(*r->element));
	memset(r->element, 0, n * sizeof(*r->element));
	return r;
}

void
answer_set(redisReply *array, size_t i, redisReply *element)
{
	assert(i < array->elements && array->element[i] == NULL);
	array->element[i] = element;
}
