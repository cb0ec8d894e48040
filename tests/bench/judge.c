/*
 * judge: exclusion, tokens and order, from what the clients were told. Used by the load program only.
 */
#include "tests/bench/judge.h"

#include <stddef.h>

void
judge_init(struct judge *judge)
{
	TAILQ_INIT(&judge->waiting);
}

void
judge_ask(struct judge *judge, struct party *party)
{
	TAILQ_INSERT_TAIL(&judge->waiting, party, entry);
}

const char *
judge_grant(struct judge *judge, struct party *party, uint64_t token)
{
	if (judge->holder)
		return judge->holder == party ? "granted twice" : "granted while another holds it";
	if (token <= judge->token)
		return "granted with a token that does not grow";
	judge->token = token;
	judge->holder = party;
	judge->changes += judge->previous != party;
	judge->previous = party;
	judge->overtaken += TAILQ_FIRST(&judge->waiting) != party;
	TAILQ_REMOVE(&judge->waiting, party, entry);
	party->grants++;
	return NULL;
}

void
judge_release(struct judge *judge)
{
	judge->holder = NULL;
}
