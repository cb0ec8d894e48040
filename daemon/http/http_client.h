/*
 * http_client: one connection: its request, its answer piece by piece, and its events. A part of http.c.
 * Events of the descriptor only note that it is ready; client_serve() does the work, in a turn of the driver.
 */
#ifndef HTTP_HTTP_CLIENT_H
#define HTTP_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct access;
struct client;
struct http;
struct tls_context;

/* Owns fd, also on failure. local: of a Unix socket. secure: NULL: plain. NULL: out of memory.
 */
struct client *client_new(struct http *http, int fd, bool local, struct tls_context *secure)
	__attribute__((warn_unused_result));
void client_free(struct client *c);
/* Puts it into http->ready. */
void client_is_ready(struct client *c);
/* The work of one turn. False: the client has to be freed. */
bool client_serve(struct client *c);
/* Sets the user that the client is, on a Unix socket or by its certificate. */
void client_recognise(struct client *c, const struct access *access);
/* For CLIENT_STREAMING. A client that has too much unread fails, and is freed by the next turn. */
void client_tell(struct client *c, const char *text, size_t n);

#endif
