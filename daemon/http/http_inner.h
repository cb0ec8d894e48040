/*
 * http_inner: what http.c and http_client.c share; no other file includes it.
 *
 *     http.c ──▶ http_client.c
 *
 * http.c: sockets, turns, time; http_client.c: one connection, from its request to the end of its answer.
 */
#ifndef HTTP_HTTP_INNER_H
#define HTTP_HTTP_INNER_H

#include "daemon/base/tls.h"
#include "daemon/core/base/peer.h"
#include "daemon/http/contents.h"
#include "daemon/http/http.h"
#include "daemon/http/named.h"
#include "daemon/http/page.h"
#include "daemon/net/access.h"
#include "daemon/net/listeners.h"
#include "daemon/net/passing.h"
#include "proto/buffer.h"

#include <bsd/sys/queue.h>
#include <event2/event_struct.h>

struct timeout;

enum client_state {
	CLIENT_READING,   /* the request */
	CLIENT_ANSWERING, /* the rest of the answer is to be made or sent */
	CLIENT_STREAMING, /* gets events */
	CLIENT_LINGERING  /* has everything; until it closes */
};

struct client {
	TAILQ_ENTRY(client) entry; /* oldest first */
	TAILQ_ENTRY(client) waits; /* for http_turn() */
	struct http *http;
	struct event readable;
	struct event writable;
	int fd;
	struct tls *tls;  /* NULL: plain */
	bool handshaking; /* its TLS handshake is not complete */
	bool logs_in;     /* its certificate names its user */
	bool more;        /* TLS may have more to read without an event */
	bool blocked;     /* TLS waits until the socket takes more */
	enum client_state state;
	bool ready; /* in http->ready */
	bool local; /* by a Unix socket */
	bool names; /* may see names, as far as viewer may */
	struct peer peer;
	struct viewer viewer;
	bool spare; /* one of those for pages about health */
	bool chunked;
	bool whole;        /* all of the answer has been made */
	int64_t since_ms;  /* of this state, or of its latest progress */
	int64_t answer_ms; /* when the answer began */
	int64_t sent;      /* bytes of it that the socket has taken */
	struct http_request request;
	struct page page;
	struct buffer in;
	struct buffer out;
};

TAILQ_HEAD(clients, client);

struct http {
	struct event_base *base;
	const struct context *context;
	http_entered *entered;
	void *arg; /* of entered */
	struct listeners listeners;
	struct passing passing; /* of what comes by Unix sockets */
	struct clients clients;
	struct clients ready;
	struct recent recent;
	struct named named;
	size_t count;
	size_t streams;
	struct timeout *tick; /* while there are clients */
	/* Addresses whose clients may see names; and whether they may see all hosts. */
	size_t name_count;
	char names[HTTP_LISTENERS_MAX][SOCKET_ADDRESS_MAX];
	bool fleets[HTTP_LISTENERS_MAX];
};

#endif
