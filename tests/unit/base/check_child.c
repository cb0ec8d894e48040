/*
 * Tests of daemon/base/child: how a program ended is told once, with the first line that it wrote, and
 * nothing of it is left.
 */
#include "daemon/base/child.h"

#include "daemon/base/closer.h"
#include "daemon/base/log.h"
#include "tests/support/await.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOUR_MS 3600000

struct run {
	struct event_base *base;
	struct child *child;
	int given;
	int64_t most_ms;
	int ended;                  /* how often that was told */
	char failed[CHILD_WHY_MAX]; /* "": it has not */
};

static void
on_ended(void *arg, const char *failed)
{
	struct run *run = arg;

	run->ended++;
	snprintf(run->failed, sizeof run->failed, "%s", failed ? failed : "");
	child_free(run->child);
	run->child = NULL;
}

static bool
has_ended(void *arg)
{
	const struct run *run = arg;

	return run->ended > 0;
}

static void
run_init(struct run *run)
{
	*run = (struct run){
		.base = event_base_new(), .given = memfd_create("given", MFD_CLOEXEC), .most_ms = HOUR_MS};
	ck_assert_int_ge(run->given, 0);
}

/* Nothing of a child may be left, not even its status. */
static void
run_done(struct run *run)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	close(run->given);
	event_base_free(run->base);
}

static void
run_begin(struct run *run, const char *script)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};

	run->ended = 0;
	run->child = child_run(run->base, "/bin/sh", argv, run->given, run->most_ms, on_ended, run);
}

static void
expect_end(struct run *run, const char *script, const char *failed)
{
	run_begin(run, script);
	ck_assert_ptr_nonnull(run->child);
	ck_assert(await(run->base, has_ended, run));
	ck_assert_str_eq(run->failed, failed);
	event_base_loop(run->base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(run->ended, 1);
}

START_TEST(it_tells_how_a_program_ended_and_the_first_line_that_it_wrote)
{
	struct run run;

	run_init(&run);
	expect_end(&run, "exit 0", "");
	expect_end(&run, "echo fine; echo fine >&2", "");
	expect_end(&run, "exit 3", "exit status 3");
	expect_end(&run, "kill -9 $$", "killed by signal 9");
	expect_end(&run, "echo one; echo two; exit 3", "exit status 3: one");
	expect_end(&run, "echo; echo; printf one >&2; exit 3", "exit status 3: one");
	expect_end(&run, "exec >&- 2>&-; exit 3", "exit status 3");
	expect_end(&run, "printf 'a\\0b\\n'; exit 3", "exit status 3: a b");
	expect_end(&run, "yes no | head -n 300000; exit 3", "exit status 3: no");
	run_done(&run);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
	struct run run;

	run_init(&run);
	run_begin(&run, "printf %09999d 7; exit 3");
	ck_assert(await(run.base, has_ended, &run));
	ck_assert_ptr_nonnull(strstr(run.failed, "exit status 3: 0000"));
	ck_assert_uint_lt(strlen(run.failed), CHILD_WHY_MAX);
	run_done(&run);
}
END_TEST

START_TEST(a_program_that_cannot_be_run_is_an_error)
{
	struct run run;
	char *argv[] = {"nothing", NULL};

	run_init(&run);
	ck_assert_ptr_null(child_run(run.base, "/nowhere/nothing", argv, run.given, HOUR_MS, on_ended, &run));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(child_run(run.base, "/etc/passwd", argv, run.given, HOUR_MS, on_ended, &run));
	ck_assert_int_eq(errno, EACCES);
	run_done(&run);
}
END_TEST

START_TEST(it_has_the_descriptor_that_it_is_given)
{
	struct run run;
	char seen[8] = "";

	run_init(&run);
	expect_end(&run, "read -r nothing; echo seen >&3", "");
	ck_assert_int_eq(pread(run.given, seen, sizeof seen - 1, 0), 5);
	ck_assert_str_eq(seen, "seen\n");
	run_done(&run);
}
END_TEST

/* In a process of its own: the suite may have a file of that number, to which each assertion writes. */
static bool
has_the_same_number(void)
{
	struct run run;
	int memfd = memfd_create("given", MFD_CLOEXEC);

	if (memfd != CHILD_GIVEN && dup3(memfd, CHILD_GIVEN, O_CLOEXEC) < 0)
		return false;
	run = (struct run){.base = event_base_new(), .given = CHILD_GIVEN, .most_ms = HOUR_MS};
	run_begin(&run, "echo seen >&3");
	return await(run.base, has_ended, &run) && run.failed[0] == '\0' &&
	       lseek(CHILD_GIVEN, 0, SEEK_END) == 5;
}

START_TEST(also_if_that_has_the_same_number_already)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(has_the_same_number() ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(signals_that_this_process_ignores_or_blocks_are_as_usual)
{
	struct run run;
	sigset_t all;

	run_init(&run);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	expect_end(&run, "kill -PIPE $$; exit 0", "killed by signal 13");
	expect_end(&run, "kill -XFSZ $$; exit 0", "killed by signal 25");
	expect_end(&run, "kill -TERM $$; exit 0", "killed by signal 15");
	run_done(&run);
}
END_TEST

START_TEST(one_that_is_freed_ends_with_all_that_it_has_started)
{
	struct run run;
	char byte;
	int ends[2];
	ssize_t n = -1;

	run_init(&run);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	struct pollfd left = {.fd = ends[0], .events = POLLIN};
	close(run.given);
	run.given = ends[1];
	run_begin(&run, "(echo there >&3; exec sleep 60) & wait");
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	child_free(run.child);
	close(ends[1]);
	while (poll(&left, 1, 20000) > 0 && (n = read(ends[0], &byte, 1)) > 0)
		;
	ck_assert_int_eq(n, 0); /* nobody has it open any more */
	ck_assert(!run.ended);
	child_free(NULL);
	run.given = ends[0];
	run_done(&run);
}
END_TEST

START_TEST(one_that_has_left_its_group_is_ended_too)
{
	struct run run;
	char byte;
	int ends[2];

	run_init(&run);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	close(run.given);
	run.given = ends[1];
	run_begin(&run, "exec python3 -c 'import os, time; os.setpgid(0, os.getpgid(os.getppid())); "
			"os.write(3, b\"1\"); time.sleep(1000000)'");
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	child_free(run.child);
	close(ends[0]);
	run_done(&run);
}
END_TEST

/* Keeps the status of a process to itself until orders ends. */
static void
trace(pid_t pid, int ready, int orders)
{
	char byte = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? '1' : '0';

	if (write(ready, &byte, 1) == 1)
		while (read(orders, &byte, 1) > 0)
			;
	_exit(0);
}

/* It is told in time, and only its status is left. Where nobody may trace, there is nothing to see. */
START_TEST(one_that_a_debugger_keeps_is_not_waited_for)
{
	struct run run;
	int ready[2], orders[2], pids[2];
	char byte = '0', text[16] = "";
	pid_t pid, tracer;

	run_init(&run);
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(pids, O_CLOEXEC), 0);
	close(run.given);
	run.given = pids[1];
	run_begin(&run, "echo $$ >&3; exec sleep 1000000");
	ck_assert_int_gt(read(pids[0], text, sizeof text - 1), 0);
	pid = (pid_t)strtol(text, NULL, 10);
	tracer = fork();
	if (tracer == 0) {
		close(orders[1]);
		trace(pid, ready[1], orders[0]);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	alarm(60);
	child_free(run.child);
	alarm(0);
	if (byte == '1')
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	close(orders[1]);
	ck_assert_int_eq(waitpid(tracer, NULL, 0), tracer);
	if (byte == '1')
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(orders[0]);
	close(ready[0]);
	close(ready[1]);
	close(pids[0]);
	run_done(&run);
}
END_TEST

START_TEST(one_that_does_not_end_in_time_is_ended)
{
	struct run run;

	run_init(&run);
	run.most_ms = 200;
	expect_end(&run, "echo wait; exec sleep 1000000", "it had not ended after 200 ms: wait");
	run.most_ms = 1;
	run_begin(&run, "exec yes");
	ck_assert(await(run.base, has_ended, &run));
	ck_assert_ptr_nonnull(strstr(run.failed, "it had not ended after 1 ms"));
	run_done(&run);
}
END_TEST

static bool
knew(void *arg, pid_t pid, int status)
{
	struct run *run = arg;

	return run->child && child_reaped(run->child, pid, status);
}

START_TEST(it_learns_how_a_program_ended_that_the_reaper_has_taken_leave_of)
{
	struct run run;
	struct log log;
	struct reaper *reaper;
	pid_t pid;
	int status;

	run_init(&run);
	log_init(&log, -1, LOG_DEBUG_LEVEL, 0);
	reaper = reaper_new(run.base, knew, &run, &log);
	ck_assert_ptr_nonnull(reaper);
	for (int i = 0; i < 10; i++) {
		expect_end(&run, "echo so; exit 3", "exit status 3: so");
		expect_end(&run, "exit 0", "");
	}
	reaper_free(reaper);
	run_begin(&run, "echo so; exit 3");
	pid = waitpid(-1, &status, 0);
	ck_assert(!child_reaped(run.child, pid + 1, 0));
	ck_assert(child_reaped(run.child, pid, status));
	ck_assert(await(run.base, has_ended, &run));
	ck_assert_str_eq(run.failed, "exit status 3: so");
	/* Nobody else may have taken leave of it: what is not known is no success. */
	run_begin(&run, "exit 0");
	while (waitpid(-1, NULL, 0) < 0)
		;
	ck_assert(await(run.base, has_ended, &run));
	ck_assert_str_eq(run.failed, "exit status 255");
	run_done(&run);
}
END_TEST

struct closing {
	struct closer *closer;
	int fd;
};

/* Closes it as soon as this process has a child. */
static void *
close_beside_a_child(void *arg)
{
	const struct closing *closing = arg;
	char path[64], pids[16];
	FILE *children;
	bool found = false;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	while (!found) {
		children = fopen(path, "re");
		ck_assert_ptr_nonnull(children);
		found = fgets(pids, sizeof pids, children) != NULL;
		fclose(children);
	}
	closer_put(closing->closer, closing->fd);
	return NULL;
}

/* A TCP socket whose last close waits: somebody has to take what it has sent. */
static int
lingering_socket(int *listening)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 600};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char block[1 << 16];

	*listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(*listening, (struct sockaddr *)&address, n), 0);
	ck_assert_int_eq(listen(*listening, 1), 0);
	ck_assert_int_eq(getsockname(*listening, (struct sockaddr *)&address, &n), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, n), 0);
	while (send(fd, block, sizeof block, MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
	return fd;
}

/* The child is slow to close what it has inherited: there are many descriptors below that one. */
START_TEST(a_close_that_waits_is_not_left_to_the_child)
{
	struct rlimit most;
	struct run run;
	struct closing closing = {.closer = closer_new()};
	pthread_t thread;
	int listening, lingering;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &most), 0);
	most.rlim_cur = most.rlim_max < 200000 ? most.rlim_max : 200000;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &most), 0);
	run_init(&run);
	lingering = lingering_socket(&listening);
	while (dup3(run.given, (int)most.rlim_cur - 1, O_CLOEXEC) < 0 && errno == EINTR)
		;
	closing.fd = fcntl(lingering, F_DUPFD_CLOEXEC, (int)most.rlim_cur - 2);
	ck_assert_int_ge(closing.fd, 0);
	close(lingering);
	while (fcntl(run.given, F_DUPFD_CLOEXEC, 0) >= 0)
		;
	ck_assert_int_eq(errno, EMFILE);
	for (int fd = 100; fd < 200; fd++)
		close(fd); /* what the test itself opens */
	ck_assert_int_eq(pthread_create(&thread, NULL, close_beside_a_child, &closing), 0);
	run_begin(&run, "exit 0");
	pthread_join(thread, NULL);
	ck_assert(await(run.base, has_ended, &run));
	ck_assert_str_eq(run.failed, "");
	ck_assert(closer_settle(closing.closer, HOUR_MS));
	closer_free(closing.closer);
	close(listening);
	run_done(&run);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("child", NULL, NULL, it_tells_how_a_program_ended_and_the_first_line_that_it_wrote,
		a_line_that_is_too_long_is_cut, a_program_that_cannot_be_run_is_an_error,
		it_has_the_descriptor_that_it_is_given, also_if_that_has_the_same_number_already,
		signals_that_this_process_ignores_or_blocks_are_as_usual,
		one_that_is_freed_ends_with_all_that_it_has_started, one_that_has_left_its_group_is_ended_too,
		one_that_a_debugger_keeps_is_not_waited_for, one_that_does_not_end_in_time_is_ended,
		it_learns_how_a_program_ended_that_the_reaper_has_taken_leave_of,
		a_close_that_waits_is_not_left_to_the_child);
}
