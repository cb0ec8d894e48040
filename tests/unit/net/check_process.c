/*
 * Tests of daemon/process: a pidfd names one process of the right user, and its end is told once.
 */
#include "daemon/base/clock.h"
#include "daemon/net/process.h"
#include "proto/buffer.h"
#include "proto/record.h"
#include "tests/support/await.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who binds. */
#define USER 1000

struct probe {
	struct event_base *base;
	struct processes *set;
	unsigned ended;
	struct process process;
	enum process_sight sight;
};

static struct probe probe;
static int probe_next_fd; /* the number of the next descriptor */

static const struct processes_limits limits = {.most = 3, .per_user = 3};

static void
on_ended(void *arg, struct process process, enum process_sight sight)
{
	struct probe *p = arg;
	p->ended++;
	p->sight = sight;
	p->process = process;
}

static void
setup(void)
{
	probe = (struct probe){.base = event_base_new()};
	probe.set = processes_new(probe.base, &limits, on_ended, &probe);
	ck_assert_ptr_nonnull(probe.set);
}

static void
teardown(void)
{
	processes_free(probe.set);
	event_base_free(probe.base);
}

static pid_t
child(void)
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (;;) {
			pause();
		}
	}
	return pid;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int
pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static bool
has_ended(void *arg)
{
	return ((struct probe *)arg)->ended > 0;
}

START_TEST(a_pidfd_names_its_process)
{
	struct process first, again, other;
	struct reply error;
	pid_t pid = child();
	pid_t second = child();
	int fd = pidfd(pid), fd2 = pidfd(second);
	ck_assert_int_eq(process_identify(fd, geteuid(), &first, &error), 0);
	ck_assert_int_eq(process_identify(fd, geteuid(), &again, &error), 0);
	ck_assert_int_eq(process_identify(fd2, geteuid(), &other, &error), 0);
	ck_assert_int_eq(first.pid, pid);
	ck_assert_int_eq(other.pid, second);
	ck_assert_uint_gt(first.started, 0);
	ck_assert_uint_eq(first.started, again.started);
	close(fd);
	close(fd2);
	end(pid);
	end(second);
}
END_TEST

START_TEST(the_peer_of_a_connection_began_before_it)
{
	struct process process;
	struct reply error;
	int64_t before = clock_ms() - 100; /* the kernel tells a start in steps of 10 ms */
	pid_t pid = child();
	int fd = process_open_peer(pid, clock_ms());
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(process_identify(fd, geteuid(), &process, &error), 0);
	ck_assert_int_eq(process.pid, pid);
	close(fd);
	/* A process that got the pid of the one that connected. */
	ck_assert_int_eq(process_open_peer(pid, before), -1);
	end(pid);
	ck_assert_int_eq(process_open_peer(pid, clock_ms()), -1);
	/* The kernel tells no pid of a process in a PID namespace that is not visible here. */
	ck_assert_int_eq(process_open_peer(0, clock_ms()), -1);
}
END_TEST

START_TEST(what_is_no_pidfd_is_refused)
{
	struct process process;
	struct reply error;
	int fd = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), -1);
	ck_assert_int_eq(error.code, CODE_ERR);
	ck_assert_ptr_nonnull(strstr(error.text, "not a pidfd"));
	close(fd);
}
END_TEST

START_TEST(a_process_of_another_user_is_refused)
{
	struct process process;
	struct reply error;
	pid_t pid = child();
	int fd = pidfd(pid);
	ck_assert_int_eq(process_identify(fd, 54321, &process, &error), -1);
	ck_assert_int_eq(error.code, CODE_NOPERM);
	close(fd);
	end(pid);
}
END_TEST

START_TEST(root_may_name_any_process)
{
	struct process process;
	struct reply error;
	pid_t pid = child();
	int fd = pidfd(pid);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), 0);
	close(fd);
	end(pid);
}
END_TEST

START_TEST(a_process_that_has_ended_is_refused)
{
	struct process process;
	struct reply error;
	pid_t pid = child();
	int fd = pidfd(pid);
	kill(pid, SIGKILL);
	siginfo_t info;
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	/* A zombie, whose number is not free yet. */
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "has ended"));
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "has ended"));
	close(fd);
}
END_TEST

static struct process
watch(pid_t pid)
{
	struct process process;
	struct reply error;
	int fd = pidfd(pid);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), 0);
	ck_assert_int_eq(processes_watch(probe.set, process, fd, USER, &error), 0);
	return process;
}

START_TEST(the_end_is_told_once_and_with_its_start_time)
{
	pid_t pid = child();
	struct process process = watch(pid);
	ck_assert(processes_has(probe.set, process));
	watch(pid);
	ck_assert_uint_eq(processes_count(probe.set), 1);
	kill(pid, SIGKILL);
	/* Not reaped: whoever does not wait for his children does not hold locks. */
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, pid);
	ck_assert_uint_eq(probe.process.started, process.started);
	ck_assert_uint_eq(processes_count(probe.set), 0);
	await_ms(probe.base, 20);
	ck_assert_uint_eq(probe.ended, 1);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(an_end_before_the_watch_is_told_too)
{
	struct process process;
	struct reply error;
	pid_t pid = child();
	int fd = pidfd(pid);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), 0);
	end(pid);
	ck_assert_int_eq(processes_watch(probe.set, process, fd, USER, &error), 0);
	ck_assert(await(probe.base, has_ended, &probe));
}
END_TEST

START_TEST(a_forgotten_process_is_not_told)
{
	pid_t pid = child();
	struct process process = watch(pid);
	processes_forget(probe.set, process);
	ck_assert(!processes_has(probe.set, process));
	end(pid);
	await_ms(probe.base, 20);
	ck_assert_uint_eq(probe.ended, 0);
}
END_TEST

START_TEST(there_is_a_limit)
{
	struct process process;
	struct reply error;
	pid_t pids[4];
	for (int i = 0; i < 4; i++) {
		pids[i] = child();
		if (i < 3) {
			watch(pids[i]);
		}
	}
	int fd = pidfd(pids[3]);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), 0);
	ck_assert_int_eq(processes_watch(probe.set, process, fd, USER, &error), -1);
	ck_assert_int_eq(error.code, CODE_LIMIT);
	ck_assert_ptr_nonnull(strstr(error.text, "3 sessions"));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	for (int i = 0; i < 4; i++) {
		end(pids[i]);
	}
}
END_TEST

START_TEST(a_user_has_a_share)
{
	const struct processes_limits share = {.most = 3, .per_user = 1};
	struct process process;
	struct reply error;
	pid_t first = child(), second = child();
	processes_set_limits(probe.set, &share);
	watch(first);
	int fd = pidfd(second);
	ck_assert_int_eq(process_identify(fd, 0, &process, &error), 0);
	ck_assert_int_eq(processes_watch(probe.set, process, fd, USER, &error), -1);
	ck_assert_int_eq(error.code, CODE_LIMIT);
	ck_assert_ptr_nonnull(strstr(error.text, "sessions-per-user"));
	ck_assert_int_eq(processes_watch(probe.set, process, pidfd(second), USER + 1, &error), 0);
	end(first);
	ck_assert(await(probe.base, has_ended, &probe));
	watch(second);
	ck_assert_uint_eq(processes_count(probe.set), 1);
	end(second);
}
END_TEST

START_TEST(a_label_is_kept_while_its_process_lives)
{
	pid_t pid = child();
	struct process process = watch(pid);
	processes_keep_label(probe.set, 7, "nobody");
	ck_assert_ptr_null(processes_label(probe.set, 7));
	processes_bind(probe.set, process, 7);
	ck_assert_ptr_null(processes_label(probe.set, 7));
	processes_keep_label(probe.set, 7, "first");
	processes_keep_label(probe.set, 7, "last");
	ck_assert_str_eq(processes_label(probe.set, 7), "last");
	ck_assert_ptr_null(processes_label(probe.set, 8));
	/* The session has ended for another reason, and the process is bound to the next one. */
	processes_bind(probe.set, process, 8);
	ck_assert_ptr_null(processes_label(probe.set, 7));
	processes_keep_label(probe.set, 8, "next");
	ck_assert_str_eq(processes_label(probe.set, 8), "next");
	end(pid);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_ptr_null(processes_label(probe.set, 8));
}
END_TEST

START_TEST(a_saved_process_is_watched_again_and_one_that_ended_meanwhile_is_told)
{
	pid_t lives = child(), dies = child();
	struct process process = watch(lives), other = watch(dies);
	struct buffer state;
	struct record r;
	unsigned loaded = 0;

	processes_bind(probe.set, process, 7);
	processes_keep_label(probe.set, 7, "worker");
	buffer_init(&state, 1 << 16);
	record_save(&r, &state);
	processes_save(probe.set, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
	processes_free(probe.set);
	probe.set = processes_new(probe.base, &limits, on_ended, &probe);
	end(dies);
	ck_assert(record_load(&r, (struct slice){buffer_bytes(&state), buffer_length(&state)}));
	while (record_next(&r) == RECORD_PROCESS) {
		processes_load(probe.set, &r);
		loaded++;
	}
	ck_assert(!r.failed);
	ck_assert_uint_eq(loaded, 2);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, other.pid);
	ck_assert_str_eq(processes_label(probe.set, 7), "worker");
	ck_assert(processes_has(probe.set, process));
	probe.ended = 0;
	end(lives);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, process.pid);
	buffer_done(&state);
}
END_TEST

static bool
has_reopened(void *arg)
{
	(void)arg;
	return fcntl(probe_next_fd, F_GETFD) >= 0;
}

START_TEST(a_process_is_watched_again_after_a_crash)
{
	pid_t lives = child(), dies = child();
	struct process process = watch(lives), other = watch(dies), recycled = process;
	processes_free(probe.set);
	probe.set = processes_new(probe.base, &limits, on_ended, &probe);
	end(dies);
	ck_assert(processes_restore(probe.set, process, 7, USER));
	processes_keep_label(probe.set, 7, "worker");
	ck_assert_str_eq(processes_label(probe.set, 7), "worker");
	ck_assert(processes_restore(probe.set, other, 8, USER));
	ck_assert_uint_eq(processes_count(probe.set), 2);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, other.pid);
	/* Another process with its pid is not the one. */
	probe.ended = 0;
	recycled.started--;
	ck_assert(processes_restore(probe.set, recycled, 9, USER));
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_uint_eq(probe.process.started, recycled.started);
	ck_assert(processes_has(probe.set, process));
	probe.ended = 0;
	end(lives);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, process.pid);
}
END_TEST

/* No descriptor is left at first. Until there is one, the process does not count as ended. */
START_TEST(a_process_that_cannot_be_watched_yet_is_tried_again)
{
	pid_t pid = child();
	struct process process = watch(pid);
	struct rlimit before, none;
	processes_free(probe.set);
	probe.set = processes_new(probe.base, &limits, on_ended, &probe);
	probe_next_fd = dup(0);
	close(probe_next_fd);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	/* The second time there is one for the pidfd, and none for a file of /proc. */
	for (rlim_t more = 0; more < 2; more++) {
		none.rlim_cur = (rlim_t)probe_next_fd + more;
		setrlimit(RLIMIT_NOFILE, &none);
		enum process_sight sight;
		int fd = process_open(process, &sight);
		bool restored = more == 0 || processes_restore(probe.set, process, 7, USER);
		bool open = has_reopened(NULL);
		setrlimit(RLIMIT_NOFILE, &before);
		ck_assert(fd < 0 && sight == PROCESS_LATER && restored && !open);
	}
	ck_assert(await(probe.base, has_reopened, &probe));
	ck_assert_uint_eq(probe.ended, 0);
	end(pid);
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, process.pid);
}
END_TEST

/* Its number says nothing here, whether or not there is a process with it. */
START_TEST(a_process_of_another_pid_namespace_is_not_told_to_have_ended)
{
	pid_t lives = child(), dies = child();
	struct process process = watch(lives), other = watch(dies);
	enum process_sight sight;
	processes_free(probe.set);
	probe.set = processes_new(probe.base, &limits, on_ended, &probe);
	end(dies);
	other.space++;
	ck_assert(processes_restore(probe.set, other, 7, USER));
	ck_assert(await(probe.base, has_ended, &probe));
	ck_assert_int_eq(probe.process.pid, other.pid);
	ck_assert_int_eq(probe.sight, PROCESS_UNSEEN);
	ck_assert_uint_eq(processes_count(probe.set), 0);
	process.space = 0;
	ck_assert_int_lt(process_open(process, &sight), 0);
	ck_assert_int_eq(sight, PROCESS_UNSEEN);
	end(lives);
}
END_TEST

static void *
say_number(void *arg)
{
	int *ends = arg;
	int64_t number = syscall(SYS_gettid);
	char byte;
	ck_assert_int_eq(write(ends[1], &number, sizeof number), sizeof number);
	ck_assert_int_eq(read(ends[2], &byte, 1), 0);
	return NULL;
}

START_TEST(a_pid_that_became_the_number_of_a_thread_has_ended)
{
	pid_t pid = child();
	struct process process = watch(pid);
	enum process_sight sight;
	pthread_t thread;
	int ends[4];
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(pipe(ends + 2), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, say_number, ends), 0);
	ck_assert_int_eq(read(ends[0], &process.pid, sizeof process.pid), sizeof process.pid);
	ck_assert_int_lt(process_open(process, &sight), 0);
	ck_assert_int_eq(sight, PROCESS_ENDED);
	close(ends[3]);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	end(pid);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("process", setup, teardown, a_pidfd_names_its_process,
		the_peer_of_a_connection_began_before_it, what_is_no_pidfd_is_refused,
		a_process_of_another_user_is_refused, root_may_name_any_process,
		a_process_that_has_ended_is_refused, the_end_is_told_once_and_with_its_start_time,
		an_end_before_the_watch_is_told_too, a_forgotten_process_is_not_told, there_is_a_limit,
		a_user_has_a_share, a_label_is_kept_while_its_process_lives,
		a_saved_process_is_watched_again_and_one_that_ended_meanwhile_is_told,
		a_process_is_watched_again_after_a_crash, a_process_that_cannot_be_watched_yet_is_tried_again,
		a_process_of_another_pid_namespace_is_not_told_to_have_ended,
		a_pid_that_became_the_number_of_a_thread_has_ended);
}
