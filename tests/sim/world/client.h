/*
 * client: a simulated program that uses locks: it connects, locks, checks, re-enters, extends, unlocks,
 * cancels, breaks, leaves properly or not, and starts again.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "tests/sim/world/chaos_client.h"
#include "tests/sim/world/conn.h"
#include "tests/sim/world/names_client.h"

#include <stdbool.h>
#include <stdint.h>

enum client_state { CLIENT_IDLE, CLIENT_WAITING, CLIENT_HOLDING };

struct client {
	struct world *world;
	unsigned index;
	uint64_t life;                     /* a new number for each connection */
	int64_t ppm;                       /* how fast its clock runs, on a host of its own */
	uint64_t turn;                     /* number of the next turn; a job with an older one does nothing */
	struct conn *conn;                 /* NULL: none */
	struct recorded_session *recorded; /* recorder.h: of its latest session; NULL: none */
	bool manual;                       /* a test controls it */
	bool stopping;                     /* takes no new locks and leaves */
	bool asked;                        /* a request is unanswered */
	int words;                         /* requests about its session that it sends before it begins */
	enum client_state state;
	bool finished;   /* sends no more requests on this connection */
	char secret[64]; /* of its session, for others to join; "": not requested */
	struct lost {
		char secret[64]; /* for SESSION RESUME; "": there is no session to resume */
		struct host *host;
		uint64_t host_life;
		bool local;
		uint64_t tag;
		bool returning; /* it has sent SESSION RESUME */
		bool unsure;    /* it has resumed, and asks whether it holds the lock it waited for */
		bool vague;     /* it gave up a wait: its session may hold that lock without its knowledge */
		enum client_state state; /* the state when the connection was lost */
		int count;
	} lost;
	struct names_client many;
	struct chaos_client chaos;
	struct request lock; /* what it waits for or holds */
	int64_t token;
	int count;
	int64_t hold_until_us;
	bool canceling;
};

#define CLIENT_WRONG_TOKEN 7 /* a token that was never granted */

void client_init(struct world *world, unsigned index);
void client_stop(struct client *client);
/* The client or its network dies. It no longer uses its holds, but no other client may rely on that. */
void client_kill(struct client *client);

/* For the code of its turns. */
void client_after(struct client *client, int64_t most_us);
void client_send(struct client *client, const struct request *request);
void client_leave(struct client *client, bool quit);
/* Whether other connections may attach to its session. */
bool client_shares(const struct client *client);

/* Events of the connection. */
void client_answered(struct client *client, const struct request *request, const struct reply *reply);
void client_pushed(struct client *client, enum push_type type, unsigned name, const char *id, int64_t token);
void client_closed(struct client *client);

#endif
