/*
 * labours: see labours.h. A connection has one of them at most, so there are never more than connections.
 */
#include "daemon/labours.h"

#include <stdlib.h>
#include <string.h>

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
	STAILQ_INIT(&labours->waiting);
	labours->done = false;
}

static struct labour *
labours_pop(struct labours *labours)
{
	struct labour *labour = STAILQ_FIRST(&labours->waiting);
	if (labour) {
		STAILQ_REMOVE_HEAD(&labours->waiting, entry);
	}
	return labour;
}

void
labours_done(struct labours *labours)
{
	struct labour *labour;
	while ((labour = labours_pop(labours))) {
		labour->turn(labour, NULL, NULL);
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

static void
labours_put(struct labours *labours, struct connection *c, const struct command *command, desk_verb *handler)
{
	struct request_labour *request = malloc(sizeof *request + command->name.n + command->match.n);
	if (!request) {
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	char *at = request->bytes;
	request->labour.id = connection_identity(c)->id;
	request->labour.turn = request_turn;
	request->handler = handler;
	request->command = (struct command){.verb = command->verb, .count = command->count};
	request->command.name = slice_keep(&at, command->name);
	request->command.match = slice_keep(&at, command->match);
	STAILQ_INSERT_TAIL(&labours->waiting, &request->labour, entry);
	connection_wait(c);
}

void
labours_go_on(struct labours *labours, struct labour *labour, struct connection *c)
{
	labour->id = connection_identity(c)->id;
	STAILQ_INSERT_HEAD(&labours->waiting, labour, entry);
	connection_wait(c);
}

void
labours_take(struct desk *desk, struct connection *c, const struct command *command, desk_verb *handler)
{
	struct labours *labours = desk->labours;
	if (labours->done) {
		labours_put(labours, c, command, handler);
	} else {
		labours->done = true;
		handler(desk, c, command);
	}
}

void
labours_turn(struct desk *desk)
{
	struct labours *labours = desk->labours;
	struct labour *labour;
	labours->done = false;
	while (!labours->done && (labour = labours_pop(labours))) {
		/* It may have gone meanwhile. */
		struct connection *c = connections_find(desk->connections, labour->id);
		if (c) {
			labours->done = true;
			connection_answered(c);
		}
		labour->turn(labour, desk, c);
	}
}

bool
labours_wait(const struct labours *labours)
{
	return !STAILQ_EMPTY(&labours->waiting);
}
