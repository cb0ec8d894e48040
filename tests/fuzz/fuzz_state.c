/*
 * fuzz_state: a state that is damaged or hostile. The reader of records stays within it and says once what is
 * wrong; core_load() refuses it, or makes a core that goes on: its timers run, its masters come back, its
 * clients go.
 */
#include "daemon/core/base/event.h"
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "proto/record.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1100000 /* after the states of the corpus were saved */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each kind of field, again and again. */
static void
check_records(struct slice state)
{
	struct record r;
	char text[8] = "";
	struct slice bytes = {NULL, 0};
	uint64_t n = 0;
	bool flag = false;

	if (!record_load(&r, state)) {
		assert(r.failed && r.why[0] != '\0');
		return;
	}
	while (record_next(&r) != 0) {
		record_flag(&r, &flag);
		record_bytes(&r, &bytes, 100);
		record_text(&r, text, sizeof(text));
		record_unsigned(&r, &n);
		assert(strlen(text) < sizeof(text) && bytes.n <= 100);
		assert(bytes.n == 0 || (bytes.p >= state.p && bytes.p + bytes.n <= state.p + state.n));
	}
	assert(r.failed && r.why[0] != '\0');
}

static void
step(struct core *core, const struct event *event, struct actions *actions)
{
	core_step(core, (struct now){.ms = NOW_MS, .random = {1, 2}}, event, actions);
	core_check(core, NOW_MS);
	actions_empty(actions);
}

/* Timers of a state may be due for long: some come again in the same turn. */
static void
go_on(struct core *core)
{
	struct actions actions;

	actions_init(&actions);
	core_step(core, (struct now){.ms = NOW_MS, .random = {1, 2}}, &(struct event){.type = EVENT_TIMER},
		&actions);
	actions_empty(&actions);
	for (int i = 0; i < 100 && core_wake_at(core) <= NOW_MS; i++)
		step(core, &(struct event){.type = EVENT_TIMER}, &actions);
	step(core, &(struct event){.type = EVENT_SUBSCRIBED}, &actions);
	step(core, &(struct event){.type = EVENT_LINK_UP}, &actions);
	step(core, &(struct event){.type = EVENT_CLOSE, .conn = 1, .end = END_ABANDONED}, &actions);
	step(core, &(struct event){.type = EVENT_CLOSE, .conn = 2, .end = END_CLEAN}, &actions);
	step(core, &(struct event){.type = EVENT_CLOSE, .conn = 3, .end = END_GONE}, &actions);
	step(core, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("away")}, &actions);
	actions_done(&actions);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rule rules[] = {
		{.match = "string*", .key = "%", .interop = INTEROP_STRING, .lease_ms = 1000, .wait_ms = -1},
		{.match = "*", .lease_ms = 1000, .wait_ms = -1}};
	const struct core_settings settings = {.rules = rules,
		.rule_count = 2,
		.namespace_ = "hf",
		.lease_max_ms = 1000,
		.margin_ms = 100,
		.masters = 1,
		.links = 1,
		.streak = 2,
		.streak_ms = 50,
		.grants_per_session = 3,
		.waiters_per_session = 3,
		.lost_per_session = 2,
		.grace = {.sessions = 3, .per_user = 2, .most_ms = 60000},
		.per_user = {.locks = 1000, .latches = 1000},
		.name_bytes = 64};
	/* Of its own size, so that each look behind its end is seen. */
	char *bytes = malloc(size + 1);
	struct record r;
	struct core *core = NULL;

	assert(bytes != NULL);
	memcpy(bytes, data, size);
	check_records((struct slice){bytes, size});
	if (record_load(&r, (struct slice){bytes, size}))
		core = core_load(&settings, (struct now){.ms = NOW_MS, .random = {1, 2}}, &r);
	assert(core != NULL ? !r.failed : r.failed && r.why[0] != '\0');
	if (core != NULL)
		go_on(core);
	core_free(core);
	free(bytes);
	return 0;
}
