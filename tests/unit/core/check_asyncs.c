/*
 * Many ASYNC waits of one session, told apart by their ids; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define IDS 200

/* What should wait, and the next number of a sequence without a pattern. */
struct model {
	struct story story;
	bool waits[IDS];
	uint32_t seed;
};

static uint32_t
model_draw(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525U + 1013904223U;
	return (m->seed >> 8) % below;
}

/* Another session has the name. */
static void
model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	story_init(&m->story);
	m->story.settings.waiters_per_session = IDS;
	story_anew(&m->story);
	lock(&m->story, 2, "a");
	granted(&m->story, "a", 1, 1000);
}

static const char *
model_run(struct model *m, enum verb verb, int id)
{
	char text[16];
	struct command command = {.verb = verb, .id = slice_of(text)};

	(void)snprintf(text, sizeof(text), "job%d", id);
	command.id = slice_of(text);
	if (verb == VERB_LOCK)
		command.name = SLICE("a");
	return run(&m->story, 1, command);
}

static void
model_lock(struct model *m, int id)
{
	ck_assert_str_eq(model_run(m, VERB_LOCK, id), m->waits[id] ? "c1 -ERR" : "c1 +QUEUED");
	m->waits[id] = true;
}

static void
model_cancel(struct model *m, int id)
{
	ck_assert_str_eq(model_run(m, VERB_CANCEL, id), m->waits[id] ? "c1 :1" : "c1 :0");
	m->waits[id] = false;
}

static const struct session *
model_session(const struct model *m)
{
	return conn_find(m->story.core, 1)->session;
}

START_TEST(each_of_many_waits_is_found_by_its_id_as_they_come_and_go)
{
	struct model m;

	model_init(&m);
	for (int round = 0; round < 6; round++) {
		/* Many come and few go, and then the other way round. */
		for (int i = 0; i < 3 * IDS; i++) {
			int id = (int)model_draw(&m, IDS);

			if (model_draw(&m, 10) < (round % 2 == 0 ? 8 : 2))
				model_lock(&m, id);
			else
				model_cancel(&m, id);
		}
	}
	for (int id = 0; id < IDS; id++)
		model_cancel(&m, id);
	ck_assert_ptr_null(model_session(&m)->asyncs);
	story_done(&m.story);
}
END_TEST

START_TEST(of_many_waits_one_is_found_without_going_through_all)
{
	struct model m;

	model_init(&m);
	for (int id = 0; id < 10; id++)
		model_lock(&m, id);
	ck_assert_ptr_null(model_session(&m)->asyncs);
	for (int id = 10; id < IDS; id++)
		model_lock(&m, id);
	ck_assert_ptr_nonnull(model_session(&m)->asyncs);
	story_done(&m.story);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("asyncs", NULL, NULL, each_of_many_waits_is_found_by_its_id_as_they_come_and_go,
		of_many_waits_one_is_found_without_going_through_all);
}
