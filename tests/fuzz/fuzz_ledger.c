/*
 * fuzz_ledger: a ledger that is damaged or hostile. core_recover() refuses it and says why, or makes a core
 * that goes on: its timers run, its masters come back, a client and a bound process come and go. Its own
 * ledger says what it says, and can be recovered.
 */
#include "daemon/core/base/event.h"
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "proto/buffer.h"
#include "proto/record.h"
#include "tests/support/replay.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1000400 /* after the crashes of the corpus, and before the ends of their leases */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rule rules[] = {
	{.match = "string*", .key = "%", .interop = INTEROP_STRING, .lease_ms = 1000, .wait_ms = -1},
	{.match = "redisson*", .interop = INTEROP_REDISSON, .lease_ms = 1000, .wait_ms = -1},
	{.match = "fragile*", .lease_ms = 1000, .wait_ms = -1, .crash_delay_ms = 3000},
	{.match = "*", .lease_ms = 1000, .wait_ms = -1}};

static const struct core_settings settings = {.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.namespace_ = "hf",
	.daemon_id = "99999999999999999999999999999999",
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

static struct core *
recover(const struct core_settings *as, struct slice ledger)
{
	char why[RECORD_WHY_MAX];
	struct core *core = core_recover(as, (struct now){.ms = NOW_MS, .random = {1, 2}}, ledger, why);

	assert((core != NULL || why[0] != '\0') && memchr(why, '\0', sizeof(why)) != NULL);
	if (core != NULL)
		core_check(core, NOW_MS);
	return core;
}

/* Its own ledger is good. */
static void
recover_again(struct core *core)
{
	struct core_settings as = settings;
	struct core *next;
	struct buffer out;
	uint64_t cursor = 0;

	as.daemon_id = "88888888888888888888888888888888";
	buffer_init(&out, SIZE_MAX / 2);
	core_ledger_begin(core, &out);
	do
		cursor = core_ledger_scan(core, cursor, 100, &out);
	while (cursor != 0);
	next = recover(&as, (struct slice){buffer_bytes(&out), buffer_length(&out)});
	assert(next != NULL);
	core_free(next);
	buffer_done(&out);
}

struct run {
	struct core *core;
	struct actions actions;
	struct buffer entries;
	struct replay ledger;
	int64_t now_ms;
};

static void
step(struct run *run, const struct event *event)
{
	struct replay whole = {0};

	core_step(run->core, (struct now){.ms = run->now_ms, .random = {1, 2}}, event, &run->actions);
	core_check(run->core, run->now_ms);
	actions_empty(&run->actions);
	assert(replay_take(
		&run->ledger, (struct slice){buffer_bytes(&run->entries), buffer_length(&run->entries)}));
	buffer_consume(&run->entries, buffer_length(&run->entries));
	replay_snapshot(&whole, run->core);
	assert(replay_differs(&run->ledger, &whole) == NULL);
	replay_done(&whole);
}

static void
go_on(struct core *core)
{
	struct peer peer = {.uid = 0};
	struct run run = {.core = core, .now_ms = NOW_MS};

	buffer_init(&run.entries, SIZE_MAX / 2);
	actions_init(&run.actions);
	core_keep_ledger(core, &run.entries);
	replay_snapshot(&run.ledger, core);
	step(&run, &(struct event){.type = EVENT_TIMER});
	step(&run, &(struct event){.type = EVENT_LINK_UP});
	step(&run, &(struct event){.type = EVENT_OPEN, .conn = 1, .peer = &peer});
	step(&run, &(struct event){.type = EVENT_SUBSCRIBED});
	step(&run, &(struct event){.type = EVENT_EXIT, .process = {4711, 7, 3}});
	step(&run, &(struct event){.type = EVENT_CLOSE, .conn = 1, .end = END_CLEAN});
	step(&run, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("away")});
	run.now_ms += 70000;
	step(&run, &(struct event){.type = EVENT_TIMER});
	actions_done(&run.actions);
	buffer_done(&run.entries);
	replay_done(&run.ledger);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of its own size, so that each look behind its end is seen. */
	char *bytes = malloc(size + 1);
	struct core *core;

	assert(bytes != NULL);
	memcpy(bytes, data, size);
	core = recover(&settings, (struct slice){bytes, size});
	if (core != NULL) {
		recover_again(core);
		go_on(core);
	}
	core_free(core);
	free(bytes);
	return 0;
}
