/*
 * holder: holds the names of its arguments (tests/interop/outages) by client/c.
 */
#include "client/c/holdfast.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES_MAX 16

__attribute__((noreturn)) static void
die(const char *what)
{
	fprintf(stderr, "holder: %s\n", what);
	exit(1);
}

/* Until the end of the standard input: which lock is lost. */
static void
watch(struct pollfd *fds, int n, char **names)
{
	while (fds[n].revents == 0) {
		if (poll(fds, (nfds_t)n + 1, -1) < 0)
			die("poll");
		for (int i = 0; i < n; i++) {
			if (fds[i].revents == 0)
				continue;
			printf("lost %s\n", names[i]);
			fds[i].fd = -1;
		}
	}
}

int
main(int argc, char **argv)
{
	struct pollfd fds[NAMES_MAX + 1];
	struct holdfast_error error;
	struct holdfast *hf = holdfast_open(NULL, &error);
	int n = argc - 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (hf == NULL || n > NAMES_MAX)
		die(hf == NULL ? error.text : "too many names");
	for (int i = 0; i < n; i++) {
		struct holdfast_lock *lock = holdfast_lock(hf, argv[i + 1], NULL, &error);

		if (lock == NULL)
			die(error.text);
		printf("held %s\n", argv[i + 1]);
		fds[i] = (struct pollfd){.fd = holdfast_fd(lock), .events = POLLIN};
		usleep(800000); /* so that their leases are renewed at other times */
	}
	fds[n] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	watch(fds, n, argv + 1);
	holdfast_close(hf);
	return 0;
}
