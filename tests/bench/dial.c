/*
 * dial: how the programs of the bench connect. Used by these only.
 */
#include "tests/bench/dial.h"

#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BACKLOG 512

void
dial_hurry(int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
		err(2, "TCP_NODELAY");
}

static int
dial_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof address.sun_path)
		errx(2, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err(2, "%s", path);
	return fd;
}

static int
dial_tcp(const char *place)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const char *port = strchr(place, ':');

	if (!port || strncmp(place, "127.0.0.1:", 10) != 0)
		errx(2, "%s: neither an absolute path nor 127.0.0.1:PORT", place);
	address.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err(2, "%s", place);
	dial_hurry(fd);
	return fd;
}

int
dial(const char *place)
{
	return place[0] == '/' ? dial_unix(place) : dial_tcp(place);
}

int
dial_listen(unsigned short *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_port = htons(*port);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, n) != 0 || listen(fd, BACKLOG) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &n) != 0)
		err(2, "127.0.0.1:%u", *port);
	*port = ntohs(address.sin_port);
	return fd;
}

void
dial_nonblock(int fd)
{
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		err(2, "fcntl");
}

void
dial_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(2, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(2, "setrlimit");
}
