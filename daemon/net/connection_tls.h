/*
 * connection_tls: a connection whose client speaks TLS. connection.c reads such a
 * connection here, and writes it by tls_write().
 *
 * Until the handshake is complete no request is read, and admission counts the client as one that has to log
 * in. Such a connection is never kept or handed over: the next process has no keys for it.
 */
#ifndef NET_CONNECTION_TLS_H
#define NET_CONNECTION_TLS_H

#include "daemon/base/tls.h"

#include <stdbool.h>
#include <sys/types.h>

struct connection;
struct tls_context;

/* The client of this new connection speaks TLS. certificate_logs_in: see
 * connection_certificate(). False: out of memory. */
bool connection_begin_tls(struct connection *connection, struct tls_context *context,
	bool certificate_logs_in) __attribute__((warn_unused_result));
/* The name in the client's certificate, if the listener takes it for a login. False: there is none. */
bool connection_certificate(const struct connection *connection, char out[TLS_NAME_MAX]);

/* Reads as recv() does, with errno; says what may be read without a new event. */
ssize_t connection_receive_tls(struct connection *c);

#endif
