/*
 * Tests of daemon/handover: the trial of the program that the daemon becomes. What a hand-over does is in
 * tests/e2e/check_restart.py and check_handover.py: it replaces the process.
 */
#include "daemon/handover.h"

#include "tests/support/await.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trial {
	struct tempdir dir;
	char path[128]; /* of the program, which copies the state and its arguments to files beside it */
	char state[128];
	struct child *child;
	bool ended;
	bool failed;
};

static void
on_ended(void *arg, const char *failed)
{
	struct trial *trial = arg;

	trial->ended = true;
	trial->failed = failed;
	child_free(trial->child);
}

static bool
has_ended(void *arg)
{
	const struct trial *trial = arg;

	return trial->ended;
}

static void
trial_init(struct trial *trial)
{
	FILE *file;

	*trial = (struct trial){.ended = false};
	tempdir_init(&trial->dir);
	snprintf(trial->path, sizeof trial->path, "%s/program", trial->dir.path);
	snprintf(trial->state, sizeof trial->state, "%s/program.state", trial->dir.path);
	file = fopen(trial->path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "#!/bin/sh\ncat /proc/self/fd/$HOLDFAST_HANDOVER >$0.state\n"
		      "[ \"$*\" = '-t -c file' ]\n");
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(trial->path, 0700), 0);
}

/* Tries the program, which has the state of a daemon afterwards. */
static void
trial_run(struct trial *trial)
{
	struct event_base *base = event_base_new();
	char *argv[] = {trial->path, "-c", "file", NULL}, why[HANDOVER_WHY_MAX] = "";
	const struct handover_program program = {trial->path, argv};
	struct handover_daemon daemon = {.version = "0.1.0", .started_ms = 1};

	trial->child = handover_try(&program, &daemon, base, on_ended, trial, why);
	ck_assert_msg(trial->child != NULL, "%s", why);
	ck_assert_ptr_null(getenv("HOLDFAST_HANDOVER"));
	ck_assert(await(base, has_ended, trial));
	ck_assert(!trial->failed);
	event_base_free(base);
}

/* What a program says that is tried with these bytes at this place of the state; "": it reads it. */
static const char *
taken_with(const struct trial *trial, const char *bytes, off_t at, char why[HANDOVER_WHY_MAX])
{
	char number[16], copy[160], command[400];
	int fd;

	snprintf(copy, sizeof copy, "%s.copy", trial->state);
	snprintf(command, sizeof command, "cp %s %s", trial->state, copy);
	ck_assert_int_eq(system(command), 0);
	fd = open(copy, O_RDWR);
	ck_assert_int_ge(fd, 3);
	ck_assert_int_eq(pwrite(fd, bytes, strlen(bytes), at), (ssize_t)strlen(bytes));
	snprintf(number, sizeof number, "%d", fd);
	ck_assert_int_eq(setenv("HOLDFAST_HANDOVER", number, 1), 0);
	why[0] = '\0';
	ck_assert(handed_try(why) == (why[0] == '\0'));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_ptr_null(getenv("HOLDFAST_HANDOVER"));
	return why;
}

START_TEST(a_program_that_is_tried_can_tell_whether_it_reads_the_state)
{
	struct trial trial;
	char why[HANDOVER_WHY_MAX];

	trial_init(&trial);
	trial_run(&trial);
	ck_assert_str_eq(taken_with(&trial, "", 0, why), "");
	ck_assert_str_eq(taken_with(&trial, "holdfast hand-over 9", 0, why),
		"it does not begin as a state of holdfast");
	ck_assert_str_eq(taken_with(&trial, "holdfast state 9", 64, why),
		"it does not begin with \"holdfast state 1\"");
	ck_assert_str_eq(taken_with(&trial, "another boot", 64 + 17 + 6 + 4, why), "it is of another boot");
	tempdir_done(&trial.dir);
}
END_TEST

START_TEST(a_program_that_is_only_tested_has_no_state)
{
	char why[HANDOVER_WHY_MAX];

	unsetenv("HOLDFAST_HANDOVER");
	ck_assert(handed_try(why));
	ck_assert_int_eq(setenv("HOLDFAST_HANDOVER", "nothing", 1), 0);
	ck_assert(handed_try(why));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("handover", NULL, NULL, a_program_that_is_tried_can_tell_whether_it_reads_the_state,
		a_program_that_is_only_tested_has_no_state);
}
