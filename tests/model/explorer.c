/*
 * explorer: see explorer.h. States lie one after another in the order in which they were met; a table of open
 * addresses finds them by their bytes; each remembers the state it was met from, which gives the way back.
 *
 * Texts of steps are not kept: the way is walked once more from the beginning, and each step is the one whose
 * state is, after normalizing, the next on the way.
 */
#include "tests/model/explorer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 1024 /* states; doubled when full */
#define STEP_BYTES 160
#define NOWHERE    UINT32_MAX

/* Most states that are not the one looked for differ in their hash, so that they need not be looked at. */
struct slot {
	uint32_t hash;
	uint32_t number; /* index of the state + 1; 0: free */
};

struct explorer {
	const struct model *model;
	const void *rules;
	struct bounds bounds;

	uint8_t *states;
	uint32_t *from; /* for each state: the one it was met from */
	size_t count;
	size_t room;
	struct slot *table; /* twice as many slots as there is room */

	uint32_t current;
	uint32_t broken;
	const char *promise;
	unsigned landmarks;
	uint8_t *offered; /* the last offer, normalized */

	/* On the way back through the same moves: what to look for, and what it was called. */
	const uint8_t *wanted; /* NULL: exploring */
	bool found;
	uint8_t *taken;
	char step[STEP_BYTES];
};

static void *
grow(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes);
	if (memory == NULL) {
		fprintf(stderr, "model: no memory for another %zu bytes; try a smaller depth\n", bytes);
		exit(1);
	}
	return memory;
}

static uint32_t
hash(const uint8_t *bytes, size_t count)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ count;
	while (count > 0) {
		uint64_t word = 0;
		size_t part = count < sizeof word ? count : sizeof word;
		memcpy(&word, bytes, part);
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
		bytes += part;
		count -= part;
	}
	return (uint32_t)(h * UINT64_C(0xc4ceb9fe1a85ec53) >> 32);
}

static uint8_t *
state_at(const struct explorer *ex, size_t i)
{
	return ex->states + i * ex->model->state_bytes;
}

/* Where the state stands in the table, or the free slot where it belongs. */
static struct slot *
table_slot(const struct explorer *ex, const uint8_t *state, uint32_t h)
{
	size_t mask = 2 * ex->room - 1;
	for (size_t at = h & mask;; at = (at + 1) & mask) {
		struct slot *slot = &ex->table[at];
		if (slot->number == 0)
			return slot;
		if (slot->hash == h &&
			memcmp(state_at(ex, slot->number - 1), state, ex->model->state_bytes) == 0)
			return slot;
	}
}

static void
room_make(struct explorer *ex)
{
	struct slot *old = ex->table;
	size_t slots = 2 * ex->room;
	ex->room = ex->room == 0 ? ROOM_FIRST : 2 * ex->room;
	ex->states = grow(ex->states, ex->room * ex->model->state_bytes);
	ex->from = grow(ex->from, ex->room * sizeof *ex->from);
	ex->table = grow(NULL, 2 * ex->room * sizeof *ex->table);
	memset(ex->table, 0, 2 * ex->room * sizeof *ex->table);
	for (size_t i = 0; i < slots; i++) {
		if (old[i].number != 0)
			*table_slot(ex, state_at(ex, old[i].number - 1), old[i].hash) = old[i];
	}
	free(old);
}

static void
state_meet(struct explorer *ex, const uint8_t *state)
{
	uint32_t h = hash(state, ex->model->state_bytes);
	struct slot *slot = table_slot(ex, state, h);
	if (slot->number != 0)
		return;
	if (ex->count == ex->room) {
		room_make(ex);
		slot = table_slot(ex, state, h);
	}
	memcpy(state_at(ex, ex->count), state, ex->model->state_bytes);
	ex->from[ex->count] = ex->current;
	*slot = (struct slot){h, (uint32_t)ex->count + 1};
	ex->landmarks |= ex->model->landmark(ex->rules, state);
	ex->promise = ex->model->broken(ex->rules, state);
	if (ex->promise)
		ex->broken = (uint32_t)ex->count;
	ex->count++;
}

static void
normalize(const struct explorer *ex, void *state)
{
	if (ex->model->normalize && !ex->bounds.plain)
		ex->model->normalize(ex->rules, state);
}

void
explorer_offer(struct explorer *ex, const void *next, const char *format, ...)
{
	if (ex->promise || ex->found)
		return;
	memcpy(ex->offered, next, ex->model->state_bytes);
	normalize(ex, ex->offered);
	if (!ex->wanted) {
		state_meet(ex, ex->offered);
		return;
	}
	ex->found = memcmp(ex->offered, ex->wanted, ex->model->state_bytes) == 0;
	if (!ex->found)
		return;
	memcpy(ex->taken, next, ex->model->state_bytes);
	va_list args;
	va_start(args, format);
	vsnprintf(ex->step, sizeof ex->step, format, args);
	va_end(args);
}

static unsigned
way_length(const struct explorer *ex)
{
	unsigned steps = 0;
	for (uint32_t i = ex->broken; ex->from[i] != NOWHERE; i = ex->from[i])
		steps++;
	return steps;
}

static void
way_print(struct explorer *ex, FILE *trace)
{
	unsigned steps = way_length(ex);
	uint32_t *way = grow(NULL, (steps + 1) * sizeof *way);
	uint8_t *here = grow(NULL, ex->model->state_bytes);

	uint32_t at = ex->broken;
	for (unsigned i = steps + 1; i-- > 0; at = ex->from[at])
		way[i] = at;
	memset(here, 0, ex->model->state_bytes);
	ex->model->begin(ex->rules, here);
	const char *promise = ex->promise;
	ex->promise = NULL;
	for (unsigned i = 1; i <= steps; i++) {
		ex->wanted = state_at(ex, way[i]);
		ex->found = false;
		ex->model->moves(ex->rules, ex->bounds.depth, here, ex);
		/* Else normalize() calls two states equal whose moves differ. */
		assert(ex->found);
		fprintf(trace, "  %2u. %s\n", i, ex->step);
		memcpy(here, ex->taken, ex->model->state_bytes);
	}
	ex->promise = promise;
	fprintf(trace, "      broken: %s\n", promise);
	free(here);
	free(way);
}

static void
explore(struct explorer *ex)
{
	memset(ex->offered, 0, ex->model->state_bytes);
	ex->model->begin(ex->rules, ex->offered);
	normalize(ex, ex->offered);
	ex->current = NOWHERE;
	state_meet(ex, ex->offered);
	/* Moves may make room, which moves the states: hand out a copy. */
	uint8_t *here = grow(NULL, ex->model->state_bytes);
	for (size_t i = 0; i < ex->count && ex->count <= ex->bounds.states_max && !ex->promise; i++) {
		ex->current = (uint32_t)i;
		memcpy(here, state_at(ex, i), ex->model->state_bytes);
		ex->model->moves(ex->rules, ex->bounds.depth, here, ex);
	}
	free(here);
}

static const char *
landmark_missing(const struct explorer *ex)
{
	unsigned missing = ex->model->landmarks_due(ex->rules) & ~ex->landmarks;
	for (unsigned i = 0; missing != 0; i++, missing >>= 1) {
		if (missing & 1)
			return ex->model->landmarks[i];
	}
	return NULL;
}

struct finding
explorer_run(
	const struct model *model, const struct variant *variant, const struct bounds *bounds, FILE *trace)
{
	struct explorer ex = {.model = model, .rules = variant->rules, .bounds = *bounds};
	assert(bounds->states_max < NOWHERE / 2);
	ex.offered = grow(NULL, model->state_bytes);
	ex.taken = grow(NULL, model->state_bytes);
	room_make(&ex);
	explore(&ex);

	struct finding finding = {.states = ex.count, .promise = ex.promise};
	if (ex.promise) {
		finding.verdict = VERDICT_REFUTED;
		finding.steps = way_length(&ex);
		if (trace)
			way_print(&ex, trace);
	} else if (ex.count > bounds->states_max) {
		finding.verdict = VERDICT_LARGE;
	} else {
		finding.promise = landmark_missing(&ex);
		finding.verdict = finding.promise ? VERDICT_EMPTY : VERDICT_HOLDS;
	}
	free(ex.table);
	free(ex.from);
	free(ex.states);
	free(ex.taken);
	free(ex.offered);
	return finding;
}

static void
swap(uint8_t *a, uint8_t *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = a[i];
		a[i] = b[i];
		b[i] = byte;
	}
}

/* Few and short records: a call of memcmp() would take longer than this. */
static bool
sorted(const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t i = 0;
	while (i < size && a[i] == b[i])
		i++;
	return i == size || a[i] < b[i];
}

void
explorer_sort(void *records, size_t count, size_t size)
{
	uint8_t *at = records;
	for (size_t i = 1; i < count; i++) {
		for (size_t j = i; j > 0 && !sorted(at + (j - 1) * size, at + j * size, size); j--)
			swap(at + (j - 1) * size, at + j * size, size);
	}
}

bool
explorer_permute(uint8_t *order, size_t count)
{
	size_t rise = count - 1;
	while (rise > 0 && order[rise - 1] >= order[rise])
		rise--;
	/* What follows the last rise only falls: turn it round. */
	for (size_t low = rise, high = count - 1; low < high; low++, high--)
		swap(&order[low], &order[high], 1);
	if (rise == 0)
		return false;
	size_t next = rise;
	while (order[next] < order[rise - 1])
		next++;
	swap(&order[rise - 1], &order[next], 1);
	return true;
}
