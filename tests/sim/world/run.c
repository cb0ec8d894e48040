/* run: see run.h. */
#include "tests/sim/world/run.h"

#include "tests/sim/world/picture.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MOST 30                /* most worlds take a hundredth of one */
#define AT_ZERO      "[        0.000]" /* as trace_line() writes it */

/* The run under way, for the handler of a failed assertion. */
static struct world *current;
static unsigned print_lines;

static void
print_tail(const struct trace *t, unsigned lines)
{
	if (t->text == NULL || lines == 0)
		return;
	const char *tail = t->text + t->n, *head = t->text;
	while (tail > t->text && lines > 0)
		lines -= *--tail == '\n' && tail + 1 < t->text + t->n;
	tail += *tail == '\n';
	/* What happened at 0: the daemons that start, with their ids, and the plan. */
	while (head < tail && strncmp(head, AT_ZERO, strlen(AT_ZERO)) == 0)
		head = strchr(head, '\n') + 1;
	(void)!write(STDOUT_FILENO, t->text, (size_t)(head - t->text));
	unsigned left_out = 0;
	for (const char *p = head; p < tail; p++)
		left_out += *p == '\n';
	char text[80];
	int n = snprintf(/* NOLINT(bugprone-signal-handler) */
		text, sizeof(text), "... %u lines: --trace prints them\n", left_out);
	if (left_out > 0)
		(void)!write(STDOUT_FILENO, text, (size_t)n);
	(void)!write(STDOUT_FILENO, tail, (size_t)(t->text + t->n - tail));
}

/* NOLINTBEGIN(bugprone-signal-handler): an assertion raises the signal at a place of its own, where nothing
 * is interrupted half way; an endless run is asked for little. A core in the middle of a step may show what
 * is not so. */
static void
print_when(const struct world *w)
{
	struct failure f = {.why = ""};
	moment_text(w, f.when, sizeof(f.when));
	printf("  when: %s\n", f.when);
	fflush(stdout);
}

static void
on_abort(int number)
{
	bool endless = number == SIGPROF;
	struct world *w = current;
	current = NULL;
	if (w != NULL) {
		print_tail(&w->trace, print_lines);
		recorder_print(w);
		printf("seed %" PRIu64 ": FAILED: %s\n", w->plan.seed,
			endless ? "an endless run" : "an assertion");
		fflush(stdout);
		if (print_lines > 0 && !endless)
			picture_print(w);
		print_when(w);
	}
	_exit(1);
}
/* NOLINTEND(bugprone-signal-handler) */

static struct world *
run_world(const struct plan *plan, bool keep, bool history)
{
	static struct world world;
	current = &world;
	/* A core that goes round for ever never comes back from its step: of the time of the processor, so
	 * that a busy machine is none. */
	static const struct itimerval most = {.it_value = {.tv_sec = SECONDS_MOST}};
	(void)signal(SIGABRT, on_abort);
	(void)signal(SIGPROF, on_abort);
	(void)setitimer(ITIMER_PROF, &most, NULL);
	world_open(&world, plan, keep);
	world.recorder.print = history;
	world_live(&world);
	return &world;
}

void
run_here(const struct plan *plan, struct outcome_of_run *out)
{
	struct world *w = run_world(plan, false, false);
	out->good = !w->failed;
	out->hash = w->trace.hash;
	out->grants = w->checker.grants;
	out->answers = w->checker.answers;
	out->recorded = w->recorder.judged;
	out->worst_us = w->progress.worst_us;
	out->promises = *w->promises;
	out->failure = w->failure;
	world_close(w);
	current = NULL;
}

void
run_apart(const struct plan *plan, struct outcome_of_run *out)
{
	struct outcome_of_run *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(shared != MAP_FAILED);
	*shared = (struct outcome_of_run){.good = false, .failure.why = "an assertion"};
	fflush(stdout);
	pid_t child = fork();
	assert(child >= 0);
	if (child == 0) {
		(void)!freopen("/dev/null", "w", stdout);
		(void)!freopen("/dev/null", "w", stderr);
		run_here(plan, shared);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	*out = *shared;
	(void)munmap(shared, sizeof(*shared));
}

void
run_print(const struct plan *plan, unsigned lines)
{
	fflush(stdout);
	pid_t child = fork();
	assert(child >= 0);
	if (child == 0) {
		print_lines = lines;
		struct world *w = run_world(plan, true, false);
		print_tail(&w->trace, lines);
		if (w->failed) {
			picture_print(w);
			printf("seed %" PRIu64 " failed:\n", plan->seed);
			rule_print(&w->failure);
		}
		fflush(stdout);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

void
run_history(const struct plan *plan)
{
	fflush(stdout);
	pid_t child = fork();
	assert(child >= 0);
	if (child == 0) {
		const struct world *w = run_world(plan, false, true);
		if (w->failed)
			printf("# seed %" PRIu64 " failed: %s\n# when: %s\n", plan->seed, w->failure.why,
				w->failure.when);
		fflush(stdout);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

/* ---- shrinking ---- */

static bool
still_fails(struct plan *plan, const struct plan *smaller)
{
	struct outcome_of_run out;
	run_apart(smaller, &out);
	if (!out.good)
		*plan = *smaller;
	return !out.good;
}

static bool
shrink_faults(struct plan *plan)
{
	bool shrunk = false;
	for (int i = 0; i < FAULT_COUNT; i++) {
		struct plan smaller = *plan;
		smaller.fault[i] = false;
		if (plan->fault[i])
			shrunk |= still_fails(plan, &smaller);
	}
	return shrunk;
}

static bool
shrink_number(struct plan *plan, size_t offset, unsigned least)
{
	bool shrunk = false;
	for (;;) {
		struct plan smaller = *plan;
		unsigned *n = (unsigned *)(void *)((char *)&smaller + offset);
		if (*n <= least)
			return shrunk;
		--*n;
		if (!still_fails(plan, &smaller))
			return shrunk;
		shrunk = true;
	}
}

/* Their number stays odd. */
static bool
shrink_masters(struct plan *plan)
{
	struct plan smaller = *plan;
	smaller.masters -= 2;
	return plan->masters > 3 && still_fails(plan, &smaller);
}

static bool
shrink_time(struct plan *plan)
{
	struct plan smaller = *plan;
	smaller.faults_us = smaller.faults_us * 2 / 3;
	return smaller.faults_us > 300000 && still_fails(plan, &smaller);
}

void
run_shrink(struct plan *plan)
{
	for (bool again = true; again;) {
		again = shrink_faults(plan);
		again |= shrink_masters(plan);
		again |= shrink_number(plan, offsetof(struct plan, clients), 1);
		again |= shrink_number(plan, offsetof(struct plan, hosts), 1);
		again |= shrink_number(plan, offsetof(struct plan, names), 1);
		again |= shrink_number(plan, offsetof(struct plan, latches), 0);
		again |= shrink_number(plan, offsetof(struct plan, links), 1);
		again |= shrink_time(plan);
	}
}
