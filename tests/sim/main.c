/*
 * holdfast-sim: runs simulated worlds, one for each seed, and says which of them broke a promise.
 *
 *     holdfast-sim [--seeds A..B] [--masters N|sentinel] [--jobs N] [--without FAULT]...
 *                  [--lines N] [--verbose] [--trace] [--history] [--no-shrink]
 *
 * Without --masters there is one; with sentinel it has replicas, and sentinels fail it over. So it has in a
 * few of the worlds with one. The same seed gives the same run, bit for bit: --verbose shows the hash of its
 * trace. --trace prints what happened, --history what clients asked and were told, for holdfast-history. Of
 * the first seed that fails, a smaller world that fails too is looked for and its end printed. Exit 1: a seed
 * failed; 2: wrong usage.
 */
#include "tests/sim/world/run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLICAS_EVERY 12 /* of the worlds with one master one has replicas */

struct options {
	uint64_t first;
	uint64_t last;
	unsigned masters; /* 0: one */
	bool sentinel;
	unsigned jobs;
	unsigned lines; /* of the trace of what failed */
	bool without[FAULT_COUNT];
	bool verbose;
	bool trace;
	bool history;
	bool shrink;
};

/* What a job tells its parent. */
struct progress {
	pid_t child;
	uint64_t at;
	uint64_t done;
	uint64_t bound; /* of these are of class A (plan.h) */
	uint64_t grants;
	uint64_t answers;
	struct recorded recorded;
	struct promises promises;
	uint64_t failed[RULE_COUNT]; /* seeds, by what they broke */
};

/* What all of them share. */
struct board {
	_Atomic uint64_t
		failed; /* the first seed that failed; beyond it nobody needs to look. UINT64_MAX: none */
	struct progress progress[];
};

static _Noreturn void
usage(void)
{
	fprintf(stderr, "usage: holdfast-sim [--seeds A..B] [--masters 1|3|5|sentinel] [--jobs N] [--without "
			"FAULT]... "
			"[--lines N] [--verbose] [--trace] [--history] [--no-shrink]\n");
	exit(2);
}

static void
leave_out(struct options *o, const char *word)
{
	int i = 0;
	while (i < FAULT_COUNT && strcmp(fault_word[i], word) != 0)
		i++;
	if (i == FAULT_COUNT)
		usage();
	o->without[i] = true;
}

static void
draw(const struct options *o, uint64_t seed, struct plan *plan)
{
	plan_draw(plan, seed, o->masters);
	if (o->sentinel || (plan->masters == 1 && seed % REPLICAS_EVERY == 0))
		plan_sentinel(plan);
	else
		plan_storm(plan);
	for (int i = 0; i < FAULT_COUNT; i++)
		plan->fault[i] = plan->fault[i] && !o->without[i];
}

static void
options_read(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool value = i + 1 < argc;
		if (strcmp(argv[i], "--verbose") == 0)
			o->verbose = true;
		else if (strcmp(argv[i], "--trace") == 0)
			o->trace = true;
		else if (strcmp(argv[i], "--history") == 0)
			o->history = true;
		else if (strcmp(argv[i], "--no-shrink") == 0)
			o->shrink = false;
		else if (strcmp(argv[i], "--masters") == 0 && value && strcmp(argv[i + 1], "sentinel") == 0)
			o->sentinel = ++i > 0;
		else if (strcmp(argv[i], "--masters") == 0 && value)
			o->masters = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--without") == 0 && value)
			leave_out(o, argv[++i]);
		else if (strcmp(argv[i], "--lines") == 0 && value)
			o->lines = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--jobs") == 0 && value)
			o->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seeds") != 0 || !value)
			usage();
		else if (sscanf(argv[++i], "%" SCNu64 "..%" SCNu64, &o->first, &o->last) == 1)
			o->last = o->first;
	}
	bool drawn = o->masters == 0;
	if (o->jobs == 0 || o->first > o->last || o->masters > PLAN_MASTERS_MAX ||
		(!drawn && o->masters % 2 == 0))
		usage();
}

static void
recorded_add(struct recorded *sum, const struct recorded *more)
{
	sum->clients += more->clients;
	sum->grants += more->grants;
	sum->answers += more->answers;
}

/* Every jobs-th seed, until one fails. */
static int
run_share(const struct options *o, unsigned share, struct board *board)
{
	struct progress *progress = &board->progress[share];
	for (uint64_t seed = o->first + share; seed <= o->last && seed < board->failed; seed += o->jobs) {
		struct plan plan;
		struct outcome_of_run out;
		progress->at = seed;
		draw(o, seed, &plan);
		run_here(&plan, &out);
		progress->done++;
		progress->bound += plan_is_bound(&plan);
		progress->grants += out.grants;
		progress->answers += out.answers;
		recorded_add(&progress->recorded, &out.recorded);
		promises_add(&progress->promises, &out.promises);
		if (o->verbose || !out.good)
			printf("seed %" PRIu64 ": %s, hash %016" PRIx64 ", %" PRIu64 " grants, %" PRIu64
			       " answers, slowest progress %" PRId64 " ms%s%s\n",
				seed, out.good ? "good" : "FAILED", out.hash, out.grants, out.answers,
				out.worst_us / 1000, out.good ? "" : ": ", out.failure.why);
		fflush(stdout);
		if (!out.good && rule_of(out.failure.why) < RULE_COUNT)
			progress->failed[rule_of(out.failure.why)]++;
		if (!out.good)
			return 1;
	}
	return 0;
}

static const char legend[] = "In a trace: #n is the attempt of a lease, or the number of a HELLO; place, "
			     "where a daemon stands in the\n"
			     "master's queue; change, ms until that can change; ttl, ms that are left or "
			     "were spent. m-1, session 0,\n"
			     "token 0, ttl -1, LEASE 0 and WAIT -1: none, or not given. A connection is "
			     "closed clean (QUIT), gone (by its\n"
			     "client) or abandoned (cut off). Times are the world's; a daemon counts whole "
			     "ms by a clock of its own.\n";

/* What it failed by comes last. */
static void
show_failure(const struct options *o, uint64_t seed)
{
	struct plan plan;
	char text[320];
	draw(o, seed, &plan);
	if (o->shrink)
		run_shrink(&plan);
	plan_text(&plan, text, sizeof(text));
	if (o->shrink)
		printf("seed %" PRIu64
		       ", shrunk: daemons, clients and times are those of a smaller world, which may "
		       "fail by another rule: %s\n",
			seed, text);
	printf("%s", legend);
	run_print(&plan, o->lines);
}

/* An assertion ends the job it is in, so that only its parent can tell the others. */
static void
run_all(const struct options *o, struct board *board)
{
	fflush(stdout);
	for (unsigned i = 0; i < o->jobs; i++) {
		pid_t child = fork();
		assert(child >= 0);
		if (child == 0)
			_exit(run_share(o, i, board));
		board->progress[i].child = child;
	}
	int status = 0;
	for (pid_t child; (child = wait(&status)) > 0;) {
		const struct progress *p = board->progress;
		while (p->child != child)
			p++;
		if (status != 0 && p->at < board->failed)
			board->failed = p->at;
	}
}

int
main(int argc, char **argv)
{
	struct options o = {.first = 1, .last = 100, .jobs = 1, .lines = 120, .shrink = true};
	options_read(&o, argc, argv);
	if (o.trace || o.history) {
		for (uint64_t seed = o.first; seed <= o.last; seed++) {
			struct plan plan;
			draw(&o, seed, &plan);
			if (o.history)
				run_history(&plan);
			else
				run_print(&plan, UINT32_MAX);
		}
		return 0;
	}
	struct board *board = mmap(NULL, sizeof(*board) + o.jobs * sizeof(board->progress[0]),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(board != MAP_FAILED);
	board->failed = UINT64_MAX;
	run_all(&o, board);
	bool good = board->failed == UINT64_MAX;
	struct progress sum = {0};
	for (unsigned i = 0; i < o.jobs; i++) {
		sum.done += board->progress[i].done;
		sum.bound += board->progress[i].bound;
		sum.grants += board->progress[i].grants;
		sum.answers += board->progress[i].answers;
		recorded_add(&sum.recorded, &board->progress[i].recorded);
		promises_add(&sum.promises, &board->progress[i].promises);
		for (unsigned rule = 0; rule < RULE_COUNT; rule++)
			sum.failed[rule] += board->progress[i].failed[rule];
	}
	promises_print(&sum.promises);
	printf("history: %" PRIu64 " clients, %" PRIu64 " of %" PRIu64 " grants, %" PRIu64 " of %" PRIu64
	       " answers judged\n",
		sum.recorded.clients, sum.recorded.grants, sum.grants, sum.recorded.answers, sum.answers);
	rules_print(sum.failed);
	if (!good)
		show_failure(&o, board->failed);
	printf("sim: %" PRIu64 " seeds, %" PRIu64 " of class A, %" PRIu64 " grants, %" PRIu64
	       " answers: %s\n",
		sum.done, sum.bound, sum.grants, sum.answers, good ? "nothing found" : "FAILED");
	return good ? 0 : 1;
}
