/* schedule: see scheduler.h. A binary heap. */
#include "tests/sim/world/schedule.h"

#include <assert.h>
#include <stdlib.h>

static bool
before(const struct job *a, const struct job *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->serial < b->serial;
}

static void
swap(struct job *a, struct job *b)
{
	struct job t = *a;
	*a = *b;
	*b = t;
}

static void
put(struct schedule *s, const struct job *job)
{
	if (s->n == s->room) {
		s->room = s->room > 0 ? 2 * s->room : 256;
		s->heap = realloc(s->heap, s->room * sizeof(*s->heap));
		assert(s->heap != NULL);
	}
	size_t i = s->n++;
	s->heap[i] = *job;
	for (; i > 0 && before(&s->heap[i], &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

void
schedule_add(struct schedule *s, int64_t at_us, job_run *run, void *arg, uint64_t a, void *data)
{
	put(s, &(struct job){at_us, s->serial++, run, arg, a, data});
}

void
schedule_again(struct schedule *s, int64_t at_us)
{
	s->current.at_us = at_us;
	put(s, &s->current);
}

static void
take(struct schedule *s)
{
	s->current = s->heap[0];
	s->heap[0] = s->heap[--s->n];
	for (size_t i = 0;;) {
		size_t least = i, left = 2 * i + 1;
		if (left < s->n && before(&s->heap[left], &s->heap[least]))
			least = left;
		if (left + 1 < s->n && before(&s->heap[left + 1], &s->heap[least]))
			least = left + 1;
		if (least == i)
			return;
		swap(&s->heap[i], &s->heap[least]);
		i = least;
	}
}

bool
schedule_run(struct schedule *s, int64_t until_us, int64_t *now_us)
{
	if (s->n == 0 || s->heap[0].at_us > until_us)
		return false;
	take(s);
	assert(s->current.at_us >= *now_us);
	*now_us = s->current.at_us;
	s->current.run(s->current.arg, s->current.a, s->current.data);
	return true;
}

void
schedule_done(struct schedule *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->heap[i].data);
	free(s->heap);
	*s = (struct schedule){0};
}
