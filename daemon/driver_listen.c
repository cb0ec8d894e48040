/*
 * driver_listen: the sockets that clients connect to. A part of driver.c.
 */
#include "daemon/driver_inner.h"

int
driver_adopt(struct driver *d, int fd, char *error, size_t error_room)
{
	return listeners_adopt(&d->listeners, fd, error, error_room);
}

int
driver_listen(struct driver *d, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room)
{
	return listeners_set(&d->listeners, settings, count, error, error_room);
}

const char *
driver_known_before(const struct driver *d)
{
	return listeners_known_before(&d->listeners);
}
