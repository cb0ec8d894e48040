/*
 * labours: see labours.h. A connection has one of them at most, so there are never more than connections.
 */
#include "daemon/labours.h"

#include <stdlib.h>
#include <string.h>

/* Somebody who has some waiting, in the order in which they came. */
struct labour_user {
	TAILQ_ENTRY(labour_user) entry;
	uint64_t user;
	struct labour_list waiting;
};

/* One that has not begun. */
struct request_labour {
	struct labour labour;
	desk_verb *handler;
	struct command command;
	char bytes[]; /* name and glob of it */
};

void
labours_init(struct labours *labours)
{
	*labours = (struct labours){.going = NULL};
	TAILQ_INIT(&labours->users);
}

static struct labour *
user_pop(struct labour_user *user)
{
	struct labour *labour = STAILQ_FIRST(&user->waiting);
	if (labour) {
		STAILQ_REMOVE_HEAD(&user->waiting, entry);
	}
	return labour;
}

void
labours_done(struct labours *labours)
{
	struct labour_user *user;
	struct labour *labour;
	while ((user = TAILQ_FIRST(&labours->users))) {
		while ((labour = user_pop(user))) {
			labour->turn(labour, NULL, NULL);
		}
		TAILQ_REMOVE(&labours->users, user, entry);
		free(user);
	}
}

bool
labours_is(enum verb verb)
{
	return verb == VERB_LOCKS || verb == VERB_INSPECT || verb == VERB_SESSIONS ||
	       verb == VERB_CLIENT_LIST || verb == VERB_EVENTS;
}

static struct slice
slice_keep(char **at, struct slice text)
{
	struct slice kept = {*at, text.n};
	if (text.n > 0) {
		memcpy(*at, text.p, text.n);
	}
	*at += text.n;
	return kept;
}

static void
request_turn(struct labour *labour, struct desk *desk, struct connection *c)
{
	struct request_labour *request = (struct request_labour *)labour;
	if (c) {
		request->handler(desk, c, &request->command);
	}
	free(request);
}

/* NULL: out of memory. */
static struct labour *
request_labour_new(const struct command *command, desk_verb *handler)
{
	struct request_labour *request = malloc(sizeof *request + command->name.n + command->match.n);
	if (!request) {
		return NULL;
	}
	char *at = request->bytes;
	request->labour = (struct labour){.turn = request_turn};
	request->labour.goes_on = command->verb == VERB_LOCKS || command->verb == VERB_SESSIONS;
	request->handler = handler;
	request->command = (struct command){.verb = command->verb, .count = command->count};
	request->command.name = slice_keep(&at, command->name);
	request->command.match = slice_keep(&at, command->match);
	return &request->labour;
}

/* NULL: out of memory. */
static struct labour_user *
labours_user(struct labours *labours, uint64_t id)
{
	struct labour_user *user;
	TAILQ_FOREACH (user, &labours->users, entry) {
		if (user->user == id) {
			return user;
		}
	}
	user = malloc(sizeof *user);
	if (user) {
		user->user = id;
		STAILQ_INIT(&user->waiting);
		TAILQ_INSERT_TAIL(&labours->users, user, entry);
	}
	return user;
}

void
labours_go_on(struct labours *labours, struct labour *labour, struct connection *c)
{
	labour->id = connection_identity(c)->id;
	STAILQ_INSERT_HEAD(&labours->serving->waiting, labour, entry);
	labours->going = labour;
	connection_wait(c);
}

/* Whose turn it is. NULL: nobody waits. */
static struct labour_user *
labours_next(const struct labours *labours)
{
	struct labour_user *user;
	TAILQ_FOREACH (user, &labours->users, entry) {
		const struct labour *first = STAILQ_FIRST(&user->waiting);
		if (!labours->going || !first->goes_on || first == labours->going) {
			return user;
		}
	}
	return NULL;
}

/* The next one has its turn. False: there is none. */
static bool
labours_serve(struct desk *desk)
{
	struct labours *labours = desk->labours;
	struct labour_user *user = labours_next(labours);
	if (!user) {
		return false;
	}
	struct labour *labour = user_pop(user);
	/* It may have gone meanwhile. */
	struct connection *c = connections_find(desk->connections, labour->id);
	if (c) {
		labours->done = true;
		connection_answered(c);
	}
	if (labour == labours->going) {
		labours->going = NULL;
	}
	TAILQ_REMOVE(&labours->users, user, entry);
	TAILQ_INSERT_TAIL(&labours->users, user, entry);
	labours->serving = user;
	labour->turn(labour, desk, c);
	if (STAILQ_EMPTY(&user->waiting)) {
		TAILQ_REMOVE(&labours->users, user, entry);
		free(user);
	}
	return true;
}

void
labours_take(struct desk *desk, struct connection *c, const struct command *command, desk_verb *handler)
{
	struct labours *labours = desk->labours;
	struct labour *labour = request_labour_new(command, handler);
	struct labour_user *user = labour ? labours_user(labours, connection_identity(c)->peer.user) : NULL;
	if (!user) {
		free(labour);
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	labour->id = connection_identity(c)->id;
	STAILQ_INSERT_TAIL(&user->waiting, labour, entry);
	connection_wait(c);
	if (!labours->done) {
		labours_serve(desk);
	}
}

void
labours_turn(struct desk *desk)
{
	desk->labours->done = false;
	while (!desk->labours->done && labours_serve(desk)) {
	}
}

bool
labours_wait(const struct labours *labours)
{
	return !TAILQ_EMPTY(&labours->users);
}
