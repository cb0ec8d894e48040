/*
 * id_client: a client that speaks AS id (PROTOCOL.md 5.11). To all judges it is a client with a connection of
 * its own that never breaks; its session is that of its id.
 *
 *     request ──▶ line ──▶ core          line: a connection as the core knows it; it may break at any time
 *                 line ──▶ core          the same request again over the next line
 *
 * While a request waits, its line breaks and the request is repeated over the next one, or it is repeated
 * first. After an answer, the answer is lost in some cases, and the repeated request has to be answered
 * alike. A LOCK may come when its client has given it up, as a late copy does: nobody heeds its answer, and
 * what it is granted is given back after the TTL, whatever else the id is used for. Copies of requests about
 * a hold that it had given back come when it holds the name again: they change and end nothing. A client that
 * leaves ends its session: its request that waits is told so, unless its answer was due before.
 */
#ifndef SIM_ID_CLIENT_H
#define SIM_ID_CLIENT_H

#include "daemon/core/base/action.h"
#include "proto/command.h"

#include <stdbool.h>
#include <stdint.h>

/* So long may an id be silent, else; no simulated time is as long. */
#define ID_CLIENT_TTL_MS 3600000

struct client;
struct conn;
struct request;

struct id_client {
	char as[24];       /* its id; "": the connection speaks for a session of its own */
	unsigned hosts;    /* that have heard this id, a bit each; all: the id is that of another daemon's
			      client, too */
	conn_id line;      /* over which it speaks now */
	conn_id aside;     /* another line, whose answer is not its client's; 0: none */
	bool heard;        /* that has been answered */
	struct reply said; /* so */
	bool apart;        /* its line has broken, and the next one has not asked yet */
	bool ends;         /* it has left, and ends its session */
	int64_t token;     /* that it was told last */
	struct past {      /* a hold that it has given back */
		unsigned name;
		char owner[8];
		int64_t token; /* 0: none */
	} past;
};

bool id_client_is(const struct conn *conn);
/* Its requests with this verb name its id: the verb takes AS. */
bool id_client_names(enum verb verb);
/* The new connection of this client speaks with an id. */
bool id_client_begin(struct client *client);

/* The connection has this line. */
bool id_client_speaks(const struct conn *conn, conn_id line);
/* The daemon has accepted it. */
void id_client_begins(struct conn *conn);
/* It leaves, or is closed. */
void id_client_ends(struct conn *conn);
/* So long may it be silent now: a shorter time while a LOCK is answered that its client gives up. */
int64_t id_client_ttl_ms(const struct conn *conn);

/* This LOCK is one that its client gives up, perhaps. */
void id_client_strays(const struct conn *conn, struct request *request);
/* Its request is about to be given to the daemon. False: the daemon has ended. */
bool id_client_asks(struct conn *conn);
/* Its request has been given to the daemon; an answer has come. */
void id_client_asked(struct conn *conn);
void id_client_answered(struct conn *conn, const struct reply *reply);
/* True: this answer is none for its client. */
bool id_client_takes(struct conn *conn, conn_id line, const struct reply *reply);

#endif
