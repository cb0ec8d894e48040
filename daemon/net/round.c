/*
 * round: see round.h.
 */
#include "daemon/net/round.h"

#include <assert.h>
#include <stdlib.h>

static void
user_init(struct round_user *user, uint64_t number)
{
	user->number = number;
	user->connections = 0;
	for (size_t line = 0; line < ROUND_LINES; line++) {
		TAILQ_INIT(&user->waiting[line]);
	}
}

void
round_init(struct round *round)
{
	TAILQ_INIT(&round->users);
	for (size_t line = 0; line < ROUND_LINES; line++) {
		TAILQ_INIT(&round->lines[line]);
		round->counts[line] = 0;
	}
	user_init(&round->nobody, 0);
}

void
round_done(struct round *round)
{
	assert(TAILQ_EMPTY(&round->users) && round->nobody.connections == 0);
	(void)round;
}

/* Few users have connections at a time, and one is looked up only for a connection that comes or logs in: a
 * list does. */
static struct round_user *
round_user_of(struct round *round, uint64_t number)
{
	struct round_user *user;
	if (number == 0) {
		return &round->nobody;
	}
	TAILQ_FOREACH (user, &round->users, entry) {
		if (user->number == number) {
			return user;
		}
	}
	user = malloc(sizeof *user);
	if (!user) {
		return &round->nobody;
	}
	user_init(user, number);
	TAILQ_INSERT_TAIL(&round->users, user, entry);
	return user;
}

void
round_join(struct round *round, struct round_place *place, uint64_t number)
{
	place->user = round_user_of(round, number);
	place->user->connections++;
	place->line = ROUND_NONE;
}

static void
round_remove(struct round *round, struct round_place *place)
{
	struct round_user *user = place->user;
	enum round_line line = place->line;
	if (line == ROUND_NONE) {
		return;
	}
	TAILQ_REMOVE(&user->waiting[line], place, entry);
	if (TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_REMOVE(&round->lines[line], user, lines[line]);
	}
	round->counts[line]--;
	place->line = ROUND_NONE;
}

void
round_leave(struct round *round, struct round_place *place)
{
	struct round_user *user = place->user;
	round_remove(round, place);
	user->connections--;
	if (user->connections == 0 && user != &round->nobody) {
		TAILQ_REMOVE(&round->users, user, entry);
		free(user);
	}
}

void
round_change(struct round *round, struct round_place *place, uint64_t number)
{
	enum round_line line = place->line;
	round_leave(round, place);
	round_join(round, place, number);
	round_put(round, place, line);
}

void
round_put(struct round *round, struct round_place *place, enum round_line line)
{
	struct round_user *user = place->user;
	if (place->line == line) {
		return;
	}
	round_remove(round, place);
	if (line == ROUND_NONE) {
		return;
	}
	if (TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_INSERT_TAIL(&round->lines[line], user, lines[line]);
	}
	TAILQ_INSERT_TAIL(&user->waiting[line], place, entry);
	round->counts[line]++;
	place->line = line;
}

struct round_place *
round_next(struct round *round, enum round_line line)
{
	struct round_user *user = TAILQ_FIRST(&round->lines[line]);
	if (!user) {
		return NULL;
	}
	struct round_place *place = TAILQ_FIRST(&user->waiting[line]);
	round_remove(round, place);
	if (!TAILQ_EMPTY(&user->waiting[line])) {
		TAILQ_REMOVE(&round->lines[line], user, lines[line]);
		TAILQ_INSERT_TAIL(&round->lines[line], user, lines[line]);
	}
	return place;
}
