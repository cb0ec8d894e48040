/*
 * connection_passed: the descriptor that a client has passed with its bytes; see passing.h. A part of
 * connection.c.
 */
#include "daemon/net/connection_inner.h"

#include <unistd.h>

int
connection_take_fd(struct connection *c)
{
	int fd = c->passed_fd;
	c->passed_fd = PASSING_NONE;
	c->set->kept_fds -= c->keeps_fd;
	c->keeps_fd = false;
	return fd;
}

void
connection_drop_fd(struct connection *c)
{
	int fd = connection_take_fd(c);
	if (fd >= 0) {
		close(fd); /* of a kind that does not wait */
	}
}

/*
 * A descriptor belongs to the request it came with: if no bytes are left to serve, that request has been
 * served. The number of descriptors that are kept until then is bounded, since limits.clients does not count
 * them.
 */
void
connection_settle_fd(struct connection *c)
{
	if (buffer_length(&c->in) == 0) {
		connection_drop_fd(c);
	} else if (c->passed_fd >= 0 && !c->keeps_fd) {
		if (c->set->kept_fds >= CONNECTION_KEPT_FDS) {
			connection_drop_fd(c);
			c->passed_fd = PASSING_LOST;
			return;
		}
		c->keeps_fd = true;
		c->set->kept_fds++;
	}
}

/* The next one would be lost, too, so the client is told and has to come again. */
void
connection_out_of_numbers(struct connection *c)
{
	connection_error(c, CODE_LIMIT,
		"this daemon has too few descriptors left to take those that were passed: try again later");
	connection_close(c, END_ABANDONED, "out of descriptors");
	c->readable = false;
}
