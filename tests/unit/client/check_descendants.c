/*
 * Tests of client/process: a command that is stopped and continued.
 */
#include "client/process.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS  3000
#define LAST_MS 10000 /* for the command to say something */

/* Forks without a pause, waits for what it has forked and says so; and ends with its parent. */
static void
forks(int out)
{
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(out, STDOUT_FILENO);
	(void)execl("/bin/sh", "sh", "-c", "while :; do text=$(:); echo; done", (char *)NULL);
	_exit(127);
}

static void
drain(int fd)
{
	char text[4096];

	while (read(fd, text, sizeof(text)) > 0)
		continue;
}

/* A child that stays stopped keeps the command waiting for ever. */
START_TEST(what_is_forked_while_a_command_is_stopped_and_continued_goes_on)
{
	int out[2];

	ck_assert_int_eq(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	pid_t pid = fork();
	if (pid == 0)
		forks(out[1]);
	ck_assert_int_gt(pid, 0);
	(void)setpgid(pid, pid);
	const struct descendants d = {.group = pid, .root = getpid(), .command = pid};
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert(descendants_signal(&d, SIGSTOP));
		descendants_continue(&d);
		drain(out[0]);
		/* The next STOP comes anywhere between two forks. */
		(void)usleep((useconds_t)(i * 37 % 500));
	}
	drain(out[0]);
	struct pollfd said = {.fd = out[0], .events = POLLIN};
	int n = poll(&said, 1, LAST_MS);
	(void)descendants_signal(&d, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ck_assert_int_eq(n, 1);
}
END_TEST

int
main(void)
{
	return SUITE_RUN(
		"descendants", NULL, NULL, what_is_forked_while_a_command_is_stopped_and_continued_goes_on);
}
