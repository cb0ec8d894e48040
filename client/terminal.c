/*
 * terminal: asks /dev/tty.
 */
#include "client/terminal.h"

#include <fcntl.h>
#include <unistd.h>

bool
terminal_foreground(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool foreground;

	if (fd < 0) {
		return false;
	}
	foreground = tcgetpgrp(fd) == getpgrp();
	(void)close(fd);
	return foreground;
}
