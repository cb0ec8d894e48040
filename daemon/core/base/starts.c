/* starts: see the header. */
#include "daemon/core/base/starts.h"

#include "daemon/core/base/timers.h"

#include <assert.h>
#include <stdlib.h>

#define STARTS_ROOM 64 /* at least */

bool
starts_init(struct starts *s)
{
	*s = (struct starts){.list = calloc(STARTS_ROOM, sizeof(*s->list)), .room = STARTS_ROOM};
	return s->list != NULL;
}

void
starts_done(struct starts *s)
{
	free(s->list);
	*s = (struct starts){0};
}

static int
start_order(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* Each millisecond once, those without things left out, from the beginning of the memory on. */
static void
starts_pack(struct starts *s)
{
	size_t n = 0;

	if (s->mixed)
		qsort(s->list + s->first, s->n - s->first, sizeof(*s->list), start_order);
	for (size_t i = s->first; i < s->n; i++) {
		if (s->list[i].count == 0)
			continue;
		if (n > 0 && s->list[n - 1].ms == s->list[i].ms)
			s->list[n - 1].count += s->list[i].count;
		else
			s->list[n++] = s->list[i];
	}
	s->first = 0;
	s->n = n;
	s->mixed = false;
}

/* Without memory it stays as it is. */
static void
starts_resize(struct starts *s, size_t room)
{
	struct start *list;

	assert(room >= s->n);
	list = realloc(s->list, room * sizeof(*list));
	if (list == NULL)
		return;
	s->list = list;
	s->room = room;
}

/* The memory is used up to its end. What ends is packed only here, and at least half of the memory is free
 * then: so one in many pays for all. */
static void
starts_make_room(struct starts *s)
{
	starts_pack(s);
	if (s->n > s->room / 2)
		starts_resize(s, s->room * 2);
	else if (s->room > STARTS_ROOM && s->n < s->room / 8)
		starts_resize(s, s->room / 2);
}

void
starts_add(struct starts *s, int64_t ms)
{
	if (s->n == s->room)
		starts_make_room(s);
	assert(s->n < s->room || s->n > s->first);
	if (s->n == s->room || (s->n > s->first && s->list[s->n - 1].ms == ms)) {
		s->list[s->n - 1].count++;
		return;
	}
	s->mixed |= s->n > s->first && s->list[s->n - 1].ms > ms;
	s->list[s->n++] = (struct start){ms, 1};
}

/* Where one is counted that began then: the last millisecond up to it that has any. Out of memory, some may
 * be counted earlier than they began. */
static size_t
starts_find(const struct starts *s, int64_t ms)
{
	size_t low = s->first, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list[middle].ms <= ms)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > s->first && s->list[low - 1].count == 0)
		low--;
	return low > s->first ? low - 1 : s->first;
}

void
starts_remove(struct starts *s, int64_t ms)
{
	size_t i;

	if (s->mixed)
		starts_pack(s);
	i = starts_find(s, ms);
	assert(i < s->n && s->list[i].count > 0);
	if (--s->list[i].count > 0)
		return;
	while (s->first < s->n && s->list[s->first].count == 0)
		s->first++;
	if (s->first == s->n)
		s->first = s->n = 0;
}

int64_t
starts_oldest(const struct starts *s)
{
	int64_t oldest = s->first < s->n ? s->list[s->first].ms : TIMER_NEVER;

	for (size_t i = s->first; s->mixed && i < s->n; i++) {
		if (s->list[i].ms < oldest)
			oldest = s->list[i].ms;
	}
	return oldest;
}

uint64_t
starts_count(const struct starts *s)
{
	uint64_t count = 0;

	for (size_t i = s->first; i < s->n; i++)
		count += s->list[i].count;
	return count;
}
