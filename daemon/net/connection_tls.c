/*
 * connection_tls: a connection whose client speaks TLS; see connection_tls.h.
 */
#include "daemon/net/connection_tls.h"

#include "daemon/base/stats.h"
#include "daemon/net/connection_inner.h"
#include "daemon/net/connections.h"

#include <errno.h>

bool
connection_begin_tls(struct connection *c, struct tls_context *context, bool certificate_logs_in)
{
	c->tls = tls_new(context, c->fd, NULL);
	c->identity.handshaking = true;
	c->identity.certified = certificate_logs_in;
	return c->tls != NULL;
}

bool
connection_certificate(const struct connection *c, char out[TLS_NAME_MAX])
{
	return c->tls && c->identity.certified && tls_peer_name(c->tls, out);
}

/* The handshake is complete. Answers that were written meanwhile can leave. */
static void
connection_secured(struct connection *c)
{
	c->set->stats->tls_handshakes++;
	c->set->hooks->secured(c->set->arg, c);
	if (c->state == CONNECTION_OPEN && buffer_length(&c->out) > 0) {
		connection_written(c);
	}
}

/* Records that were decrypted raise no event, so the connection stays readable while there may be some. */
ssize_t
connection_receive_tls(struct connection *c)
{
	struct connections *set = c->set;
	ssize_t n = tls_read(c->tls, set->scratch, sizeof set->scratch);
	int error = errno;
	if (c->identity.handshaking) {
		connections_strained(set);
		if (tls_is_up(c->tls)) {
			connection_secured(c);
		} else if (n < 0 && error != EAGAIN) {
			set->stats->tls_failures++;
		}
	}
	c->readable = n >= 0 && (c->hung_up || tls_may_have_more(c->tls));
	c->blocked = c->blocked || (n < 0 && error == EAGAIN && tls_wants_write(c->tls));
	if (c->state != CONNECTION_OPEN) {
		n = -1;
		error = EAGAIN;
	}
	errno = error;
	return n;
}
