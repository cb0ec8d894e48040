/*
 * tokens_round: what daemons do (quorum.c): acquire, raise, hand on; and the masters' part in it.
 */
#include "tests/model/tokens.h"

static uint8_t
used_highest(const struct token_state *s)
{
	uint8_t highest = 0;
	for (unsigned set = tokens_used(s) >> 1; set != 0; set >>= 1)
		highest++;
	return highest;
}

static void
token_use(struct token_state *s, uint8_t token, uint8_t before)
{
	unsigned bit = 1u << token;
	if (tokens_used(s) & bit)
		s->harm = HARM_TWICE;
	else if (token <= before)
		s->harm = HARM_ORDER;
	s->used[0] |= (uint8_t)bit;
	s->used[1] |= (uint8_t)(bit >> 8);
}

static unsigned
votes_count(const struct turn *t, unsigned d, enum vote least)
{
	unsigned count = 0;
	for (unsigned m = 0; m < t->rules->masters; m++)
		count += t->next.master[m].vote[d] >= least;
	return count;
}

/* A round counts its own answers only. */
static void
round_begin(struct turn *t, unsigned d, enum phase phase, unsigned proposal)
{
	struct daemon *daemon = &t->next.daemon[d];
	daemon->phase = (uint8_t)phase;
	daemon->proposal = (uint8_t)proposal;
	daemon->before = used_highest(&t->next);
	for (unsigned m = 0; m < t->rules->masters; m++) {
		uint8_t *vote = &t->next.master[m].vote[d];
		if (t->rules->decision != DECISION_ADDED || phase != PHASE_RAISE || *vote != VOTE_RAISED)
			*vote = VOTE_NONE;
	}
}

static void
round_end(struct turn *t, unsigned d)
{
	struct daemon *daemon = &t->next.daemon[d];
	daemon->phase = PHASE_IDLE;
	daemon->proposal = daemon->heard = daemon->before = 0;
	for (unsigned m = 0; m < t->rules->masters; m++) {
		t->next.master[m].vote[d] = VOTE_NONE;
		if (t->next.master[m].key == d + 1)
			t->next.master[m].key = 0;
	}
}

/* A lease whose block is used up is like none, except where reclaimers are asked for their tokens. */
static void
block_tidy(const struct turn *t, struct daemon *daemon)
{
	if (daemon->next > daemon->last && !tokens_clocked(t->rules))
		daemon->next = daemon->last = 0;
}

/* The token that the answers so far decide on; 0: none yet. */
static uint8_t
round_decided(const struct turn *t, unsigned d)
{
	const struct daemon *daemon = &t->next.daemon[d];
	bool granted = votes_count(t, d, VOTE_ANSWERED) >= tokens_majority(t->rules);
	if (t->rules->scheme == SCHEME_COUNT_UP)
		return granted ? daemon->heard : 0;
	if (t->rules->decision == DECISION_ANSWERED)
		return granted ? daemon->proposal : 0;
	return votes_count(t, d, VOTE_RAISED) >= tokens_majority(t->rules) ? daemon->proposal : 0;
}

static const char *
round_settle(struct turn *t, unsigned d)
{
	struct daemon *daemon = &t->next.daemon[d];
	uint8_t token = round_decided(t, d);
	uint8_t before = t->rules->grants_in_order ? used_highest(&t->next) : daemon->before;
	if (token == 0)
		return "";
	daemon->next = (uint8_t)(token + 1);
	daemon->last = (uint8_t)(token + t->block - 1);
	block_tidy(t, daemon);
	round_end(t, d);
	token_use(&t->next, token, before);
	return ": granted";
}

/* The key of somebody else may end at any time, so it just has. Only write back looks whose it is. */
static void
key_take(struct turn *t, unsigned m, unsigned d)
{
	if (t->rules->scheme == SCHEME_WRITE_BACK_OWNED)
		t->next.master[m].key = (uint8_t)(d + 1);
}

/* A master's answer to "raise your counter to my proposal". */
static void
counter_raise(struct turn *t, unsigned m, unsigned d)
{
	struct master *master = &t->next.master[m];
	const struct daemon *daemon = &t->next.daemon[d];
	bool equal = t->rules->equal == EQUAL_TAKEN ||
		     (t->rules->equal == EQUAL_FIRST_TIME && daemon->phase == PHASE_ACQUIRE);
	if (daemon->proposal > master->counter || (equal && daemon->proposal == master->counter)) {
		master->counter =
			(uint8_t)(daemon->proposal + (t->rules->block_unreserved ? 1 : t->block) - 1);
		master->vote[d] = VOTE_RAISED;
	} else {
		master->vote[d] = VOTE_ANSWERED;
	}
}

/* Any number will do for a proposal, except where the clock is trusted. */
static void
move_begin(struct turn *t, unsigned d)
{
	unsigned lowest = tokens_clocked(t->rules) ? t->from->clock : 1;
	unsigned highest = tokens_clocked(t->rules) ? t->from->clock : t->top;
	if (t->rules->scheme != SCHEME_RAISE) {
		round_begin(t, d, PHASE_ACQUIRE, 0);
		OFFER(t, "%c asks all masters for the lease", 'A' + d);
		return;
	}
	for (unsigned token = lowest; token <= highest && token + t->block - 1u <= t->top; token++) {
		round_begin(t, d, PHASE_ACQUIRE, token);
		OFFER(t, "%c asks all masters for the lease, proposes %u", 'A' + d, token);
	}
}

static void
acquire_at(struct turn *t, unsigned m, unsigned d)
{
	struct master *master = &t->next.master[m];
	struct daemon *daemon = &t->next.daemon[d];
	key_take(t, m, d);
	if (t->rules->scheme == SCHEME_RAISE) {
		counter_raise(t, m, d);
	} else {
		master->counter = (uint8_t)(master->counter + (t->rules->scheme == SCHEME_COUNT_UP));
		master->vote[d] = VOTE_ANSWERED;
	}
	if (master->counter > t->top || (t->rules->one_round && master->vote[d] != VOTE_RAISED)) {
		t->next = *t->from;
		return;
	}
	daemon->heard = t->rules->one_round ? 0 : higher(daemon->heard, master->counter);
	unsigned counter = master->counter;
	bool raised = master->vote[d] == VOTE_RAISED;
	bool risen = counter > t->from->master[m].counter;
	const char *granted = round_settle(t, d);
	OFFER(t, "m%u gives %c the key, its counter %s %u%s%s", m + 1, 'A' + d, risen ? "rises to" : "is",
		counter, raised && !risen ? ", which counts as raised" : "", granted);
}

/* Granted by a majority, but not raised by one: once more, above everything heard. */
static void
move_raise_begin(struct turn *t, unsigned d)
{
	const struct daemon *daemon = &t->from->daemon[d];
	unsigned token = daemon->heard + 1u;
	if (votes_count(t, d, VOTE_ANSWERED) < tokens_majority(t->rules) || token + t->block - 1u > t->top)
		return;
	if (t->rules->scheme != SCHEME_RAISE && daemon->phase == PHASE_RAISE)
		return;
	round_begin(t, d, PHASE_RAISE, token);
	OFFER(t, "%c proposes %u, one more than all it heard", 'A' + d, token);
}

static void
raise_at(struct turn *t, unsigned m, unsigned d)
{
	struct master *master = &t->next.master[m];
	struct daemon *daemon = &t->next.daemon[d];
	if (t->rules->scheme == SCHEME_RAISE) {
		counter_raise(t, m, d);
	} else {
		master->counter = daemon->proposal;
		master->vote[d] = VOTE_RAISED;
	}
	daemon->heard = higher(daemon->heard, master->counter);
	unsigned counter = master->counter;
	bool raised = master->vote[d] == VOTE_RAISED;
	const char *granted = round_settle(t, d);
	OFFER(t, "m%u %s %u for %c%s", m + 1, raised ? "sets its counter to" : "refuses, its counter is",
		counter, 'A' + d, granted);
}

static void
move_round(struct turn *t, unsigned d)
{
	bool owned_only = t->rules->scheme == SCHEME_WRITE_BACK_OWNED;
	for (unsigned m = 0; m < t->rules->masters; m++) {
		const struct master *master = &t->from->master[m];
		bool asked = master_votes(master) && master->vote[d] == VOTE_NONE;
		if (asked && t->from->daemon[d].phase == PHASE_ACQUIRE)
			acquire_at(t, m, d);
		else if (asked && (!owned_only || master->key == d + 1))
			raise_at(t, m, d);
		else if (asked) {
			/* Whose answer nobody waits for any more. */
			key_take(t, m, d);
			OFFER(t, "m%u gives %c the key, for a repair or a late copy of the acquire", m + 1,
				'A' + d);
		}
	}
	if (!t->rules->one_round)
		move_raise_begin(t, d);
}

static void
move_hand_on(struct turn *t, unsigned d)
{
	struct daemon *daemon = &t->next.daemon[d];
	unsigned token = daemon->next++;
	block_tidy(t, daemon);
	token_use(&t->next, (uint8_t)token, 0);
	OFFER(t, "%c hands its lease on, with token %u", 'A' + d, token);
}

/* Given up, released, or run out. */
static void
move_end(struct turn *t, unsigned d)
{
	struct daemon *daemon = &t->next.daemon[d];
	if (tokens_clocked(t->rules) && daemon->last > 0)
		t->next.ended = higher(t->next.ended, (uint8_t)(daemon->next - 1));
	daemon->next = daemon->last = 0;
	round_end(t, d);
	OFFER(t, "%c's lease or attempt ends", 'A' + d);
}

void
daemon_moves(struct turn *t, unsigned d)
{
	const struct daemon *daemon = &t->from->daemon[d];
	if (daemon->phase == PHASE_IDLE)
		move_begin(t, d);
	else
		move_round(t, d);
	if (daemon->next <= daemon->last && daemon->last > 0)
		move_hand_on(t, d);
	if (daemon->phase != PHASE_IDLE || daemon->last > 0)
		move_end(t, d);
}
