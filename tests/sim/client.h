/*
 * client: a simulated program that uses locks: it connects, locks, checks, re-enters, extends, unlocks,
 * cancels, breaks, leaves properly or not, and starts again.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "tests/sim/conn.h"
#include "tests/sim/many.h"
#include "tests/sim/odd.h"

#include <stdbool.h>
#include <stdint.h>

enum client_state { CLIENT_IDLE, CLIENT_WAITING, CLIENT_HOLDING };

struct client {
	struct world *world;
	unsigned index;
	uint64_t life;     /* one number for each connection */
	int64_t ppm;       /* how fast its clock runs, on a host of its own */
	uint64_t turn;     /* the next one; an older one does nothing */
	struct conn *conn; /* NULL: none */
	bool manual;       /* a test tells it what to do */
	bool stopping;     /* takes no new locks and leaves */
	bool asked;        /* a request is unanswered */
	int words;         /* so many more does it say of its session before it begins */
	enum client_state state;
	bool finished;   /* asks nothing more on this connection */
	char secret[64]; /* of its session, for others to join; "": not asked for */
	struct lost {
		char secret[64]; /* with which it can be resumed; "": there is nothing to come back to */
		struct host *host;
		uint64_t host_life;
		bool local;
		uint64_t tag;
		bool returning;          /* it has asked for that */
		bool unsure;             /* it has, and asks whether it holds what it waited for */
		enum client_state state; /* as it was when the connection was lost */
		int count;
	} lost;
	struct many many;
	struct odd odd;
	struct request lock; /* what it waits for or holds */
	int64_t token;
	int count;
	int64_t hold_until_us;
	bool canceling;
};

#define CLIENT_WRONG_TOKEN 7 /* one that nobody was ever given */

void client_init(struct world *world, unsigned index);
void client_stop(struct client *client);
/* Dies, or its network does: what it holds it holds no more, but nobody may rely on that. */
void client_kill(struct client *client);

/* For what it does in its turns. */
void client_after(struct client *client, int64_t most_us);
void client_send(struct client *client, const struct request *request);
void client_leave(struct client *client, bool quit);
/* Whether other connections may speak for its session. */
bool client_shares(const struct client *client);

/* From the connection. */
void client_answered(struct client *client, const struct request *request, const struct reply *reply);
void client_pushed(struct client *client, enum push_type type, unsigned name, const char *id, int64_t token);
void client_closed(struct client *client);

#endif
