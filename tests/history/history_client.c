/*
 * history_client: follows one client, line by line. Each question has one answer, in time, of a kind that it
 * can have; each grant becomes a hold, which ends by an UNLOCK that is sent, by a loss that is told, or by
 * the announced deadline.
 */
#include "tests/history/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AWAY  " NOMASTER NOQUORUM GUARD MASTERERR DRAINING "
#define STAYS " HELD UPGRADE WRONGKIND LIMIT DRAINING ERR " /* who enters once more has it still */

/* Errors that these verbs can have. WRONGKIND where somebody wrote to the keys, or wants another kind; LIMIT
 * where another LIMIT is asked for; LOST where the session lost the name while it was cut off, and has not
 * been told. */
static const struct {
	const char *verb;
	const char *codes;
	const char *again; /* of a session that comes back, and sends again what it had no answer to */
	const char *as;    /* with an id */
	const char *held;  /* of a name that it holds */
	const char *free;  /* and of one that it does not */
} expected[] = {
	{"LOCK", AWAY "WRONGKIND LIMIT LOST DEADLOCK ", "", " NOTHELD ERR ", " HELD UPGRADE ", ""},
	{"MLOCK", AWAY "WRONGKIND LIMIT LOST DEADLOCK ", " HELD UPGRADE ", "", " HELD UPGRADE ", ""},
	{"ASYNC", AWAY "WRONGKIND LIMIT LOST ", " HELD UPGRADE ", "", " HELD UPGRADE ", ""},
	{"UNLOCK", " LOST ", " NOTHELD ", " NOTHELD DRAINING ", "", " NOTHELD "},
	{"CHECK", "", "", " DRAINING ", "", ""},
	{"EXTEND", " LOST ERR ", " NOTHELD ", " DRAINING ", "", " NOTHELD "},
	{"DOWNGRADE", " LOST WRONGKIND ", " NOTHELD ", " ERR DRAINING ", "", " NOTHELD "},
	{"SESSION", " DRAINING LIMIT ", "", "", "", ""},
	{"RESUME", " DRAINING ERR ", "", "", "", ""},
	{"LATCH", AWAY "LOST ERR ", "", "", "", ""},
};

static bool
has_code(const char *codes, const char *code)
{
	char word[32];

	if (strlen(code) + 3 > sizeof(word))
		return false;
	*word = ' ';
	strcpy(word + 1, code);
	strcat(word, " ");
	return strstr(codes, word) != NULL;
}

static bool
is(const struct event *e, const char *word)
{
	return strcmp(e->word->text, word) == 0;
}

static int64_t
number_at(const struct event *e, unsigned i)
{
	return i < e->argc ? history_number(e->args[i]) : 0;
}

static const char *
form_at(const struct event *e, unsigned i)
{
	return i < e->argc ? e->args[i] : "x";
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Nothing ends 0 ms after something. */
static int64_t
after_ms(int64_t at, int64_t ms)
{
	return ms > 0 ? at + ms * MS : HISTORY_NEVER;
}

static void
wrong(const struct event *e, const struct event *question, const char *what)
{
	history_found(
		e->client->history, RULE_ANSWERS, (const struct event *const[]){question, e}, 2, "%s", what);
}

/* --- questions and answers
 * ----------------------------------------------------------------------------------- */

static struct hold *
find(const struct client *c, const char *name, const char *as)
{
	for (size_t i = 0; i < c->held.n; i++) {
		struct hold *hold = c->held.at[i];
		if (hold->name == name && hold->as == as)
			return hold;
	}
	return NULL;
}

static struct question *
ask(struct client *c, const struct event *e)
{
	if (c->question.asked != NULL)
		wrong(e, c->question.asked, "no answer came before the next question");
	c->question = (struct question){.asked = e, .form = "x", .wanted = e->at, .arrived = HISTORY_NEVER};
	c->question.lease_ms = c->terms.lease_ms;
	c->question.maxhold_ms = c->terms.maxhold_ms;
	c->question.claim_ms = c->terms.claim_ms;
	c->terms = (struct question){0};
	for (unsigned i = 0; i < e->argc; i++)
		c->question.held |= find(c, e->args[i], e->as) != NULL;
	return &c->question;
}

static void
in_time(const struct question *question, const struct event *e)
{
	if (e->at - question->asked->at > (question->wait_ms + e->client->history->late_ms) * MS)
		wrong(e, question->asked, "the answer came too late");
}

/* The question to which this is the answer; NULL: there is none. `words` has a blank around each. */
static const struct question *
answer(struct client *c, const struct event *e, const char *words, struct question *into)
{
	*into = c->question;
	c->question.asked = NULL;
	if (into->asked == NULL || (words != NULL && !has_code(words, into->asked->word->text))) {
		wrong(e, into->asked, "an answer to no such question");
		return NULL;
	}
	in_time(into, e);
	return into;
}

/* --- holds
 * --------------------------------------------------------------------------------------------------- */

static struct hold *
keep(struct client *c, const struct hold *one)
{
	struct hold *hold = malloc(sizeof(*hold));

	assert(hold != NULL);
	*hold = *one;
	list_add(&c->held, hold);
	list_add(&c->own, hold);
	list_add(&c->history->holds, hold);
	return hold;
}

static int64_t
bound_ms(const struct history *h, const char *name)
{
	int64_t ms = 0;

	for (size_t i = 0; i < h->bounds.n; i++) {
		const struct bound *bound = h->bounds.at[i];
		if (bound->name == name)
			ms = bound->ms;
	}
	return ms;
}

/* From then on its LEASE or CLAIM may be over: clocks differ. */
static int64_t
chosen_end(const struct event *asked, int64_t ms)
{
	int64_t least_ms = ms - ms / 100 - 2;

	return ms > 0 ? asked->at + (least_ms > 0 ? least_ms : 0) * MS : HISTORY_NEVER;
}

static struct hold *
begin(struct client *c, const struct question *question, const char *name, int64_t token,
	const struct event *e)
{
	struct hold hold = {.name = name,
		.as = question->asked->as,
		.asked = question->asked,
		.granted = e,
		.token = token,
		.wanted = question->wanted,
		.arrived = question->arrived,
		.start = e->at,
		.deadline = e->at,
		.end = HISTORY_NEVER,
		.count = 1,
		.kind = question->form[0],
		.plain = is(question->asked, "ask") || is(e, "pushed"),
		.vague = is(question->asked, "again") || (is(question->asked, "queue") && is(e, "grant"))};

	hold.lapses = hold.vague ? e->at
				 : least(chosen_end(question->asked, question->lease_ms),
					   chosen_end(question->asked, question->claim_ms));
	hold.heeded = hold.lapses == HISTORY_NEVER && !c->patient && !c->grace && hold.as == NULL;
	if (hold.kind == 'p') {
		hold.permits = history_number(question->form + 1);
		hold.limit = history_number(strchr(question->form, '/') + 1);
	}
	/* Those of an earlier LOCK, whose answer was cut off, may count. */
	hold.lease_end = hold.vague ? HISTORY_NEVER : after_ms(e->at, question->lease_ms);
	hold.ceiling = least(hold.vague ? HISTORY_NEVER : after_ms(e->at, question->maxhold_ms),
		after_ms(e->at, bound_ms(c->history, name)));
	return keep(c, &hold);
}

/* It may be relied on for so long from when it was asked. */
static void
tell(struct hold *hold, const struct event *asked, int64_t ms, const struct event *e)
{
	int64_t deadline = asked->at + ms * MS, most = bound_ms(e->client->history, NULL);

	if (ms == 0)
		return;
	if (deadline > least(hold->lease_end, hold->ceiling) || (most > 0 && ms > most))
		history_found(e->client->history, RULE_DEADLINES,
			(const struct event *const[]){hold->asked, asked, e}, 3,
			"%s: more was told than LEASE, MAXHOLD, EXTEND or the bound allow", hold->name);
	if (deadline > hold->deadline)
		hold->deadline = deadline;
}

/* It is over, as far as its client has to do with it. */
static void
finish(struct client *c, struct hold *hold, int64_t end, const struct event *e)
{
	size_t kept = 0;

	if (hold == NULL)
		return;
	hold->end = end;
	hold->ended = e;
	hold->over = true;
	for (size_t i = 0; i < c->held.n; i++) {
		if (c->held.at[i] != hold)
			c->held.at[kept++] = c->held.at[i];
	}
	c->held.n = kept;
}

/* Those of an id belong to no connection. */
static void
finish_all(struct client *c, int64_t end, const struct event *e)
{
	for (size_t i = c->held.n; i > 0; i--) {
		struct hold *hold = c->held.at[i - 1];
		if (hold->as == NULL)
			finish(c, hold, end, e);
	}
}

static struct wait *
find_wait(const struct client *c, const char *id)
{
	for (size_t i = 0; i < c->waits.n; i++) {
		struct wait *wait = c->waits.at[i];
		if (strcmp(wait->id, id) == 0)
			return wait;
	}
	return NULL;
}

static void
end_wait(struct client *c, struct wait *wait)
{
	for (size_t i = 0; i < c->waits.n; i++) {
		if (c->waits.at[i] == wait)
			c->waits.at[i--] = c->waits.at[--c->waits.n];
	}
	free(wait);
}

static void
end_waits(struct client *c)
{
	while (c->waits.n > 0)
		end_wait(c, c->waits.at[0]);
}

/* Of a LOCK with ASYNC that is answered otherwise than by QUEUED. */
static void
end_queued(struct client *c, const struct question *question)
{
	struct wait *wait = is(question->asked, "queue") ? find_wait(c, question->asked->args[0]) : NULL;

	if (wait != NULL)
		end_wait(c, wait);
}

/* --- LOCK, MLOCK
 * --------------------------------------------------------------------------------------------- */

static void
on_ask(struct client *c, const struct event *e)
{
	struct question *question = ask(c, e);
	size_t i = 0;

	question->wait_ms = number_at(e, 1);
	question->form = form_at(e, 2);
	if (e->argc > 3)
		question->lease_ms = number_at(e, 3);
	if (e->argc > 4)
		question->maxhold_ms = number_at(e, 4);
	while (i < c->asks.n && ((struct event *)c->asks.at[i])->args[0] != e->args[0])
		i++;
	if (i == c->asks.n)
		list_add(&c->asks, NULL);
	c->asks.at[i] = (void *)(uintptr_t)e;
}

static void
on_terms(struct client *c, const struct event *e)
{
	c->terms.lease_ms = number_at(e, 0);
	c->terms.maxhold_ms = number_at(e, 1);
	c->terms.claim_ms = number_at(e, 2);
}

static void
on_again(struct client *c, const struct event *e)
{
	struct question *question = ask(c, e);

	question->wait_ms = number_at(e, 1);
	question->form = form_at(e, 2);
	for (size_t i = 0; i < c->asks.n; i++) {
		const struct event *first = c->asks.at[i];
		if (first->args[0] == e->args[0])
			question->wanted = first->at;
	}
}

static void
on_waiting(struct client *c, const struct event *e)
{
	if (c->question.asked == NULL || c->question.asked->argc == 0 ||
		c->question.asked->args[0] != e->args[0])
		wrong(e, c->question.asked, "nothing waits for it");
	else
		c->question.arrived = e->at;
}

static void
on_enter(struct client *c, const struct event *e)
{
	ask(c, e)->form = form_at(e, 1);
}

static void
on_plain_question(struct client *c, const struct event *e)
{
	ask(c, e);
}

/* One that has it already: entered once more, or repeated with the id that holds it. */
static struct hold *
granted_again(struct client *c, const struct question *question, struct hold *hold, int64_t token,
	const struct event *e)
{
	if (hold->token == token) {
		hold->count += hold->as == NULL;
		return hold;
	}
	if (is(question->asked, "enter") || hold->lapses <= e->at) {
		finish(c, hold, e->at, e); /* it was lost meanwhile */
		return begin(c, question, hold->name, token, e);
	}
	if (hold->as == NULL) {
		wrong(e, hold->granted, "granted while it is held");
		return NULL;
	}
	finish(c, hold, HISTORY_NEVER, NULL); /* as repeats are judged, of all clients together */
	return begin(c, question, hold->name, token, e);
}

/* It was entered once more than its client knew. */
static void
go_on(struct client *c, struct hold *hold, int64_t count)
{
	hold->end = HISTORY_NEVER;
	hold->ended = hold->freed = NULL;
	hold->over = false;
	hold->count = count;
	list_add(&c->held, hold);
}

/* One that it has given back, and still has, as an answer was cut off; NULL: none. */
static struct hold *
come_back(struct client *c, const char *name, const char *as, int64_t token)
{
	const struct list *holds = &c->own;

	for (size_t i = c->grace ? holds->n : 0; i > 0; i--) {
		struct hold *hold = holds->at[i - 1];
		if (hold->name != name || hold->as != as || hold->token != token || !hold->vague)
			continue;
		go_on(c, hold, 0);
		return hold;
	}
	return NULL;
}

static void
on_grant(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " ask again enter queue ", &q);
	struct hold *hold;

	if (question == NULL)
		return;
	end_queued(c, question);
	hold = find(c, e->args[0], question->asked->as);
	if (hold == NULL)
		hold = come_back(c, e->args[0], question->asked->as, number_at(e, 1));
	if (hold == NULL)
		hold = begin(c, question, e->args[0], number_at(e, 1), e);
	else if (hold->count == 0)
		hold->count = 1;
	else
		hold = granted_again(c, question, hold, number_at(e, 1), e);
	if (hold != NULL)
		tell(hold, question->asked, number_at(e, 2), e);
}

static void
on_null(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " ask again enter ", &q);

	if (question != NULL && is(question->asked, "enter"))
		finish(c, find(c, e->args[0], question->asked->as), e->at, e);
}

static void
on_mlock(struct client *c, const struct event *e)
{
	struct question *question = ask(c, e);

	question->wait_ms = number_at(e, 0);
	question->form = e->args[1];
}

/* What it has of the name, if it may have lapsed, is over; false: it has one that has not. */
static bool
pass(struct client *c, const char *name, const struct event *e)
{
	struct hold *hold = find(c, name, NULL);

	if (hold != NULL && hold->lapses > e->at)
		return false;
	finish(c, hold, e->at, e);
	return true;
}

static void
on_tokens(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " mlock ", &q);
	bool good = question != NULL && question->asked->argc - 2 == e->argc;

	if (question == NULL)
		return;
	for (unsigned i = 0; good && i < e->argc; i++)
		good = pass(c, question->asked->args[i + 2], e);
	if (!good) {
		wrong(e, question->asked, "not a token for each name, or one for a name that is held");
		return;
	}
	for (unsigned i = 0; i < e->argc; i++)
		begin(c, question, question->asked->args[i + 2], number_at(e, i), e);
}

static void
on_plain_answer(struct client *c, const struct event *e)
{
	struct question q;

	answer(c, e, is(e, "mnull") ? " mlock " : is(e, "resumed") ? " resume " : NULL, &q);
}

/* --- ASYNC
 * --------------------------------------------------------------------------------------------------- */

static void
on_queue(struct client *c, const struct event *e)
{
	struct wait *wait = find_wait(c, e->args[0]);
	int64_t wanted = wait != NULL ? wait->question.wanted : e->at;
	struct question *question = ask(c, e);

	/* If it is granted at once its session has it already: by another question, which was cut off. */
	question->wait_ms = number_at(e, 2);
	question->form = form_at(e, 3);
	question->wanted = 0;
	if (wait == NULL) {
		wait = calloc(1, sizeof(*wait));
		assert(wait != NULL);
		list_add(&c->waits, wait);
	}
	*wait = (struct wait){.id = e->args[0],
		.name = e->args[1],
		.question = {.asked = e,
			.form = form_at(e, 3),
			.wait_ms = number_at(e, 2),
			.lease_ms = question->lease_ms,
			.maxhold_ms = question->maxhold_ms,
			.claim_ms = question->claim_ms,
			.wanted = wanted,
			.arrived = HISTORY_NEVER}};
}

static void
on_queued(struct client *c, const struct event *e)
{
	struct question q;
	struct wait *wait = find_wait(c, e->args[0]);

	if (answer(c, e, " queue ", &q) != NULL && wait != NULL)
		wait->question.arrived = e->at;
}

static void
on_pushed(struct client *c, const struct event *e)
{
	struct wait *wait = find_wait(c, e->args[0]);

	if (wait == NULL) {
		wrong(e, NULL, "an outcome of nothing that waits");
		return;
	}
	in_time(&wait->question, e);
	if (!pass(c, wait->name, e))
		wrong(e, wait->question.asked, "granted while it is held");
	else
		tell(begin(c, &wait->question, wait->name, number_at(e, 1), e), wait->question.asked,
			number_at(e, 2), e);
	end_wait(c, wait);
}

static void
on_failed(struct client *c, const struct event *e)
{
	struct wait *wait = find_wait(c, e->args[0]);

	if (wait == NULL) {
		wrong(e, NULL, "an outcome of nothing that waits");
		return;
	}
	in_time(&wait->question, e);
	if (strcmp(e->args[1], "null") != 0 && !has_code(expected[0].codes, e->args[1]) &&
		!(c->grace && has_code(" HELD UPGRADE ", e->args[1])))
		wrong(e, wait->question.asked, "an error that it cannot have");
	end_wait(c, wait);
}

static void
on_cancelled(struct client *c, const struct event *e)
{
	struct question q;
	struct wait *wait = find_wait(c, e->args[0]);

	answer(c, e, " cancel ", &q);
	if ((wait != NULL) != (number_at(e, 1) == 1))
		wrong(e, wait != NULL ? wait->question.asked : q.asked, "it says otherwise what waits");
	if (wait != NULL)
		end_wait(c, wait);
}

/* --- while it holds
 * ------------------------------------------------------------------------------------------ */

static void
on_valid(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " check ", &q);
	struct hold *hold = question != NULL ? find(c, e->args[0], question->asked->as) : NULL;

	if (hold != NULL)
		tell(hold, question->asked, number_at(e, 1), e);
}

/* It has lost what it had, and is not reminded of so many losses. */
static void
on_none(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " check ", &q);

	if (question != NULL)
		finish(c, find(c, e->args[0], question->asked->as), e->at, e);
}

static void
on_extend(struct client *c, const struct event *e)
{
	struct question *question = ask(c, e);
	struct hold *hold = find(c, e->args[0], e->as);
	int64_t ms = number_at(e, 1), sure_ms = ms - ms / 100 - 2;

	question->lease_ms = ms;
	if (hold == NULL)
		return;
	/* It may end sooner than it was told, as its holder wants, and as clocks differ; and later, until the
	 * answer says when. */
	hold->deadline = least(hold->deadline, e->at + (sure_ms > 0 ? sure_ms : 0) * MS);
	hold->lease_end = HISTORY_NEVER;
	hold->lapses = least(hold->lapses, hold->deadline);
}

static void
on_extended(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " extend ", &q);
	struct hold *hold = question != NULL ? find(c, e->args[0], question->asked->as) : NULL;

	if (hold == NULL)
		return;
	hold->lease_end = after_ms(e->at, question->lease_ms);
	tell(hold, question->asked, number_at(e, 1), e);
}

/* It is a shared one from now on, and was an exclusive one until now. */
static void
on_downgrade(struct client *c, const struct event *e)
{
	struct hold *hold = find(c, e->args[0], e->as), shared;

	ask(c, e);
	if (hold == NULL)
		return;
	shared = *hold;
	shared.kind = 's';
	shared.start = e->at;
	shared.shared = true;
	finish(c, hold, e->at, e);
	keep(c, &shared);
}

static void
on_shared(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " downgrade ", &q);
	const struct hold *hold = question != NULL ? find(c, e->args[0], question->asked->as) : NULL;

	if (hold != NULL && hold->token != number_at(e, 1))
		wrong(e, hold->granted, "another token than that of the grant");
}

static void
on_unlock(struct client *c, const struct event *e)
{
	struct hold *hold = find(c, e->args[0], e->as);
	struct question *question = ask(c, e);

	if (e->as != NULL) {
		struct given *given = calloc(1, sizeof(*given));
		assert(given != NULL);
		given->asked = e;
		given->token = e->argc > 1 ? number_at(e, 1) : hold != NULL ? hold->token : 0;
		list_add(&c->history->given, given);
	}
	question->left = hold == NULL ? 0 : hold->vague ? -1 : hold->count - 1;
	if (hold != NULL && hold->count > 1) {
		hold->count--;
	} else {
		question->ends = hold;
		finish(c, hold, e->at, e);
	}
}

static void
on_unlocked(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " unlock ", &q);

	if (question == NULL)
		return;
	if (question->left >= 0 && number_at(e, 1) != question->left)
		history_found(c->history, RULE_REENTRY, (const struct event *const[]){question->asked, e}, 2,
			"%s: it is held other times than it was entered", e->args[0]);
	if (question->ends == NULL)
		return;
	if (question->left < 0 && number_at(e, 1) > 0)
		go_on(c, question->ends, number_at(e, 1));
	else
		question->ends->freed = e;
}

static void
on_munlock(struct client *c, const struct event *e)
{
	ask(c, e);
	for (unsigned i = 0; i < e->argc; i++)
		finish(c, find(c, e->args[i], NULL), e->at, e);
}

static void
on_munlocked(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " munlock ", &q);

	if (question != NULL && number_at(e, 0) > question->asked->argc)
		wrong(e, question->asked, "more than was asked for");
}

static void
on_lost(struct client *c, const struct event *e)
{
	struct question q = {0};

	if (c->question.asked != NULL && answer(c, e, NULL, &q) != NULL)
		end_queued(c, &q);
	finish(c, find(c, e->args[0], q.asked != NULL ? q.asked->as : e->as), e->at, e);
}

static void
on_told(struct client *c, const struct event *e)
{
	struct hold *hold = find(c, e->args[0], e->as);

	if (hold != NULL && hold->token == number_at(e, 1))
		finish(c, hold, e->at, e);
}

/* --- sessions and connections
 * -------------------------------------------------------------------------------- */

static void
on_open(struct client *c, const struct event *e)
{
	c->unix_socket = strcmp(e->args[0], "unix") == 0;
	c->daemon = e->argc > 1 ? e->args[1] : NULL;
	c->question.asked = NULL;
	c->patient &= c->grace; /* with another session it begins anew */
	for (size_t i = 0; i < c->waits.n; i++) {
		struct wait *wait = c->waits.at[i];
		wait->question.arrived = HISTORY_NEVER; /* it may have lost its place */
	}
}

static void
on_onloss(struct client *c, const struct event *e)
{
	c->patient = strcmp(e->args[0], "next") == 0;
}

/* What it takes back counts at once. */
static void
on_grace(struct client *c, const struct event *e)
{
	ask(c, e);
	if (number_at(e, 0) == 0)
		c->grace = c->bound;
}

static void
on_graced(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, " grace ", &q);

	if (question != NULL && number_at(question->asked, 0) > 0)
		c->grace = true;
}

static void
on_bound(struct client *c, const struct event *e)
{
	struct question q;

	answer(c, e, " bind ", &q);
	c->grace = c->bound = true;
}

/* Its client may have gone on working meanwhile: what it was told stands. */
static void
on_gone(struct client *c, const struct event *e)
{
	struct wait *wait = e->argc > 0 ? find_wait(c, e->args[0]) : NULL;

	if (wait != NULL)
		end_wait(c, wait);
	if (e->argc > 0)
		return;
	c->grace = c->bound = false;
	c->question.asked = NULL;
	end_waits(c);
	finish_all(c, HISTORY_NEVER, e);
}

static void
on_quit(struct client *c, const struct event *e)
{
	if (e->as != NULL) {
		for (size_t i = c->held.n; i > 0; i--) {
			struct hold *hold = c->held.at[i - 1];
			if (hold->as == e->as)
				finish(c, hold, e->at, e);
		}
		return;
	}
	c->grace = c->bound = false;
	end_waits(c);
	finish_all(c, e->at, e);
}

/* Whether its client has nothing of the name that it is about, as far as it can know. */
static bool
is_free(const struct client *c, const struct question *question, int64_t at)
{
	const struct event *asked = question->asked;
	const struct hold *hold = question->ends != NULL
					  ? question->ends
					  : find(c, asked->argc > 0 ? asked->args[0] : NULL, asked->as);

	return hold == NULL || hold->lapses <= at;
}

static void
on_error(struct client *c, const struct event *e)
{
	struct question q;
	const struct question *question = answer(c, e, NULL, &q);
	bool good = false;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (strcmp(expected[i].verb, e->args[0]) != 0)
			continue;
		good = has_code(expected[i].codes, e->args[1]) ||
		       (question != NULL && ((question->held && has_code(expected[i].held, e->args[1])) ||
						    (is_free(c, question, e->at) &&
							    has_code(expected[i].free, e->args[1])))) ||
		       (c->grace && has_code(expected[i].again, e->args[1])) ||
		       (question != NULL && question->asked->as != NULL &&
			       has_code(expected[i].as, e->args[1])) ||
		       (c->grace && question != NULL && is(question->asked, "again") &&
			       has_code(" HELD UPGRADE ", e->args[1]));
	}
	if (!good)
		wrong(e, q.asked, "an error that it cannot have");
	if (question == NULL)
		return;
	if ((is(question->asked, "enter") && !has_code(STAYS, e->args[1])) || is(question->asked, "unlock"))
		finish(c, find(c, question->asked->args[0], question->asked->as), e->at, e);
	else
		end_queued(c, question);
}

static void
on_odd(struct client *c, const struct event *e)
{
	wrong(e, c->question.asked, "an answer that no document knows");
	c->question.asked = NULL;
}

/* What has no answer may be done, or not: the holds that it is about may be entered more often than is known.
 */
static void
doubt(const struct client *c)
{
	const struct event *asked = c->question.asked;

	for (unsigned i = 0; asked != NULL && i < asked->argc; i++) {
		struct hold *hold = find(c, asked->args[i], asked->as);
		if (hold != NULL)
			hold->vague = true;
	}
	if (c->question.ends != NULL)
		c->question.ends->vague = true;
}

static void
on_end(struct client *c, const struct event *e)
{
	bool peer = e->argc > 0 && strcmp(e->args[0], "peer") == 0;

	if (c->grace)
		doubt(c);
	c->question.asked = NULL;
	if (c->grace)
		return;
	end_waits(c);
	/* A peer that closes says by it that holds are lost. Of our own ends, that of a Unix socket ends the
	 * hold at once; a TCP client may still be working, and so its announced deadline stands. */
	finish_all(c, peer || c->unix_socket ? e->at : HISTORY_NEVER, e);
}

static void
on_killed(struct client *c, const struct event *e)
{
	c->question.asked = NULL;
	if (c->bound)
		on_quit(c, e);
	else if (c->grace)
		on_gone(c, e);
	else
		on_end(c, e);
}

/* --- of who watches
 * ------------------------------------------------------------------------------------------ */

static void
on_harm(struct client *c, const struct event *e)
{
	struct harm *harm = malloc(sizeof(*harm));

	assert(harm != NULL);
	*harm = (struct harm){e->at, HISTORY_NEVER};
	list_add(&c->history->harms, harm);
}

static void
on_heal(struct client *c, const struct event *e)
{
	struct list *harms = &c->history->harms;

	if (harms->n > 0)
		((struct harm *)harms->at[harms->n - 1])->to = e->at;
}

static void
on_nothing(struct client *c, const struct event *e)
{
	(void)c;
	(void)e;
}

/* --- latches
 * ------------------------------------------------------------------------------------------------- */

static void
on_latch(struct client *c, const struct event *e)
{
	const char *what = e->args[1];
	struct question *question = ask(c, e);
	struct latch *latch = calloc(1, sizeof(*latch));

	assert(latch != NULL);
	question->wait_ms = strcmp(what, "await") == 0 ? number_at(e, 2) : 0;
	latch->name = e->args[0];
	latch->asked = e;
	latch->start = e->at;
	latch->end = HISTORY_NEVER;
	latch->left = -1;
	latch->set = strcmp(what, "set") == 0;
	latch->steps = latch->set || strcmp(what, "down") == 0 ? number_at(e, 2) : 0;
	latch->who = strcmp(what, "down") == 0 ? e->args[3] : NULL;
	c->latch = latch;
	list_add(&c->history->latches, latch);
}

static void
on_left(struct client *c, const struct event *e)
{
	struct question q;

	if (answer(c, e, " latch ", &q) == NULL || e->at > c->history->running)
		return;
	c->latch->answered = e;
	c->latch->end = e->at;
	c->latch->made = strcmp(e->args[0], "made") == 0;
	if (strspn(e->args[0], "0123456789") == strlen(e->args[0]))
		c->latch->left = history_number(e->args[0]);
}

const struct word history_words[] = {
	{"open", "w?n", false, on_open},
	{"ask", "nm?fmm", true, on_ask},
	{"again", "nmf", true, on_again},
	{"terms", "mmm", false, on_terms},
	{"enter", "n?f", true, on_enter},
	{"waiting", "n", true, on_waiting},
	{"grant", "nim", false, on_grant},
	{"null", "n", false, on_null},
	{"queue", "wnmf", false, on_queue},
	{"queued", "w", false, on_queued},
	{"pushed", "wi?m", false, on_pushed},
	{"failed", "ww?*", false, on_failed},
	{"cancel", "w", false, on_plain_question},
	{"cancelled", "wi", false, on_cancelled},
	{"mlock", "mfn+", false, on_mlock},
	{"tokens", "i+", false, on_tokens},
	{"mnull", "", false, on_plain_answer},
	{"check", "n", true, on_plain_question},
	{"valid", "nm", false, on_valid},
	{"extend", "nm", true, on_extend},
	{"extended", "nm", false, on_extended},
	{"downgrade", "n", true, on_downgrade},
	{"shared", "ni", false, on_shared},
	{"unlock", "n?i", true, on_unlock},
	{"unlocked", "ni", false, on_unlocked},
	{"munlock", "n+", false, on_munlock},
	{"munlocked", "i", false, on_munlocked},
	{"lost", "n?*", true, on_lost},
	{"told", "ni?*", true, on_told},
	{"none", "n", false, on_none},
	{"onloss", "w", false, on_onloss},
	{"grace", "m", false, on_grace},
	{"graced", "", false, on_graced},
	{"resume", "", false, on_plain_question},
	{"resumed", "i", false, on_plain_answer},
	{"bind", "", false, on_plain_question},
	{"bound", "i", false, on_bound},
	{"gone", "?w", false, on_gone},
	{"quit", "", true, on_quit},
	{"error", "ww?*", false, on_error},
	{"odd", "w?*", false, on_odd},
	{"end", "w", false, on_end},
	{"killed", "", false, on_killed},
	{"latch", "nw?*", false, on_latch},
	{"left", "w", false, on_left},
	{"harm", "", false, on_harm},
	{"heal", "", false, on_heal},
	{"lease", "m", false, on_nothing},
	{"late", "m", false, on_nothing},
	{"maxhold", "nm", false, on_nothing},
	{"until", "", false, on_nothing},
	{0},
};
