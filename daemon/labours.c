/*
 * labours: see labours.h. A connection has one of them at most, so there are never more than connections.
 */
#include "daemon/labours.h"

#include <stdlib.h>
#include <string.h>

struct labour {
	STAILQ_ENTRY(labour) entry;
	conn_id id;
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

void
labours_done(struct labours *labours)
{
	struct labour *labour;
	while ((labour = STAILQ_FIRST(&labours->waiting))) {
		STAILQ_REMOVE_HEAD(&labours->waiting, entry);
		free(labour);
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
labours_put(struct labours *labours, struct connection *c, const struct command *command, desk_verb *handler)
{
	struct labour *labour = malloc(sizeof *labour + command->name.n + command->match.n);
	if (!labour) {
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	char *at = labour->bytes;
	labour->id = connection_identity(c)->id;
	labour->handler = handler;
	labour->command = (struct command){.verb = command->verb, .count = command->count};
	labour->command.name = slice_keep(&at, command->name);
	labour->command.match = slice_keep(&at, command->match);
	STAILQ_INSERT_TAIL(&labours->waiting, labour, entry);
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
	while (!labours->done && (labour = STAILQ_FIRST(&labours->waiting))) {
		struct connection *c = connections_find(desk->connections, labour->id);
		STAILQ_REMOVE_HEAD(&labours->waiting, entry);
		/* It may have gone meanwhile. */
		if (c) {
			labours->done = true;
			connection_answered(c);
			labour->handler(desk, c, &labour->command);
		}
		free(labour);
	}
}

bool
labours_wait(const struct labours *labours)
{
	return !STAILQ_EMPTY(&labours->waiting);
}
