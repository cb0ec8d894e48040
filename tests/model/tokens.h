/*
 * tokens: the rules and the state of the model; what they mean stands in quorum.c.
 */
#ifndef MODEL_TOKENS_H
#define MODEL_TOKENS_H

#include "tests/model/explorer.h"

#define MASTERS_MAX 5
#define DAEMONS_MAX 3

/* The promises, as variants.def names them. */
#define TWICE "a token is handed out twice"
#define ORDER "a later lease has a lower token"

enum scheme {
	SCHEME_RAISE = 0,
	SCHEME_COUNT_UP,         /* every acquire adds one at each master; the token is the greatest answer */
	SCHEME_WRITE_BACK,       /* read a majority, then write the greatest + 1 to a majority */
	SCHEME_WRITE_BACK_OWNED, /* the same, and a master takes it only from whom its key belongs to */
};

enum equal {
	EQUAL_REFUSED = 0,
	EQUAL_FIRST_TIME, /* the acquire takes counter = proposal for a raise */
	EQUAL_TAKEN,      /* every raise does */
};

enum decision {
	DECISION_RAISED = 0,
	DECISION_ANSWERED, /* a majority answered, raised or not */
	DECISION_ADDED,    /* raises of an earlier round count along */
};

enum floor_order {
	FLOOR_THEN_IDENTITY = 0,
	FLOOR_NEVER,
	FLOOR_BEFORE_GUARD, /* the others are read while the guard still runs */
	FLOOR_AFTER_VOTING, /* the others are read when the master has its vote back */
	FLOOR_AFTER_IDENTITY,
};

/* Of one master: what its floor comes from. */
enum floor_source {
	SOURCE_CLOCK_AND_RECLAIMERS = 0,
	SOURCE_CLOCK,
	SOURCE_RECLAIMERS,
};

struct token_rules {
	uint8_t masters;
	uint8_t daemons;
	uint8_t tokens; /* the highest one, at depth 1; each depth adds one */
	uint8_t block;
	enum scheme scheme;
	enum equal equal;
	enum decision decision;
	bool grants_in_order; /* promise more: each grant's token is above all handed out before that grant */
	bool block_unreserved; /* the counter is raised to the block's first token only */
	bool one_round; /* no second rounds: as proposals are any number, a new attempt does the same */
	bool forgetful; /* masters lose their memory */
	bool no_guard;
	enum floor_order order;
	bool no_cas;           /* the identity is written whatever the master is by now */
	uint8_t asked_less;    /* so many fewer others than N - majority + 1 are read */
	bool ask_not_admitted; /* others that lost their memory are read as well */
	enum floor_source source;
};

enum memory {
	MEMORY_ADMITTED = 0,
	MEMORY_GUARDED,
	MEMORY_ASKING,  /* others are read for its floor; one master at a time */
	MEMORY_FLOORED, /* the floor is raised, the identity not written */
	MEMORY_TRUSTED, /* the identity is written, the floor not raised: never in a right variant */
};

enum vote {
	VOTE_NONE = 0,
	VOTE_ANSWERED, /* has the key (or had it), was not raised */
	VOTE_RAISED,
};

enum phase {
	PHASE_IDLE = 0,
	PHASE_ACQUIRE,
	PHASE_RAISE,
};

enum harm {
	HARM_NONE = 0,
	HARM_TWICE,
	HARM_ORDER,
};

/* A master, and for each daemon what it knows of it in its present round. */
struct master {
	uint8_t counter;
	uint8_t key; /* the daemon + 1; 0: free */
	uint8_t memory;
	uint8_t read; /* its counter is in the floor of the one that is ASKING */
	uint8_t vote[DAEMONS_MAX];
};

struct daemon {
	uint8_t phase;
	uint8_t proposal;
	uint8_t heard;  /* the highest counter answered in this attempt */
	uint8_t before; /* the highest token handed out by anybody when the round began */
	uint8_t next;   /* of the lease's block: the next to hand out */
	uint8_t last;   /* and its end */
};

struct token_state {
	struct master master[MASTERS_MAX];
	struct daemon daemon[DAEMONS_MAX];
	uint8_t used[2]; /* set of the tokens handed out, 1 .. 15 */
	uint8_t floor;   /* what was read so far for the one that is ASKING */
	uint8_t clock;   /* with one forgetful master only */
	uint8_t ended;   /* likewise: the highest token handed out by leases that are over */
	uint8_t harm;
};

/* One call of moves(): the state that everything starts from, and the one being made. */
struct turn {
	const struct token_rules *rules;
	uint8_t top;   /* no token is higher */
	uint8_t block; /* tokens reserved at a time */
	const struct token_state *from;
	struct token_state next;
	struct explorer *ex;
};

/* One forgetful master: then, and only then, clocks are good for something. */
static inline bool
tokens_clocked(const struct token_rules *rules)
{
	return rules->forgetful && rules->masters == 1;
}

static inline unsigned
tokens_majority(const struct token_rules *rules)
{
	return rules->masters / 2u + 1;
}

static inline uint8_t
higher(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static inline bool
master_votes(const struct master *m)
{
	return m->memory == MEMORY_ADMITTED || m->memory == MEMORY_TRUSTED;
}

static inline bool
round_open(const struct daemon *d)
{
	return d->phase != PHASE_IDLE;
}

/* Set of the tokens handed out: bit t for token t. */
static inline unsigned
tokens_used(const struct token_state *s)
{
	return s->used[0] | (unsigned)s->used[1] << 8;
}

/* Offers all that can happen next to one daemon (tokens_round.c), and to one master (tokens_memory.c). */
void daemon_moves(struct turn *t, unsigned d);
void master_moves(struct turn *t, unsigned m);

#endif
