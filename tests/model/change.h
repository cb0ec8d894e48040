/*
 * change: what is shared by change.c, where the model is described, and change_hello.c.
 */
#ifndef MODEL_CHANGE_H
#define MODEL_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#define SERVERS_MAX 5
#define DAEMONS     2
#define SETS        3 /* by their generations, from 1 on */
#define LEASE       2 /* ticks */

#define OFFERED   1
#define ACCEPTED  2
#define CONFIRMED 3 /* accepted, and told so after all kept members had told it once */
#define STALE     4 /* it was told before the member lost its memory; nobody has noticed */

#define DIFFERENT 15 /* others have accepted more than one next set */

enum reclaim {
	RECLAIM_NO_VOTE = 0,
	RECLAIM_YOUNG, /* a vote, of a newcomer to a lone master, for the time of a guard after a call there
			*/
	RECLAIM_LONE,  /* likewise at any time */
	RECLAIM_NEWCOMER, /* a vote of each newcomer */
	RECLAIM_VOTES,    /* and of each member */
};

struct change_rules {
	uint8_t servers;
	uint8_t members[SETS + 1]; /* bits, by generation */
	uint8_t follows[SETS + 1]; /* which set it follows: 1 or 2; 0: there is no such set */
	uint8_t forgets;           /* how often in all members lose their memory, one at a time */
	bool restarts;
	bool late; /* HELLOs */
	enum reclaim reclaim;
	bool lone_forgets; /* the only member, too */
	bool once;         /* the next set is taken up when all have told step 2 once */
	bool given_once;   /* newcomers are given the set when a majority has told it once */
	bool given_early;  /* newcomers are given the set when it is taken up */
	bool minority;     /* or when one kept member is known to store it */
	bool no_guard;     /* newcomers are not guarded */
	bool no_tag;       /* calls name no set */
	bool one_step;     /* offers never give way */
	bool jumps;        /* a member that has another offer accepts */
	bool some_accept;  /* one that has accepted is enough */
	bool gives_way;    /* what is accepted gives way */
	bool votes_stay;   /* votes at newcomers count on */
	bool released;     /* the keys of those that do not are released */
	bool no_words;     /* any daemon restores a member */
	bool old_words;    /* by what others told before */
	bool few_words;    /* N - majority others */
	bool words_alone;  /* a member is restored without what others have accepted */
};

/* What a daemon has at a master. */
struct peer {
	uint8_t left;     /* ticks that its vote is good */
	uint8_t previous; /* it counts no more, only its key is there */
	uint8_t told;     /* how far the next set is there; once it is taken up: 1 stored, 2 confirmed */
	uint8_t word;     /* 0: nothing told since a member was seen blank; else 1 + the next set accepted */
	uint8_t blank;    /* it is a member that was seen without memory */
	uint8_t flight;   /* a HELLO is on its way: the set it gives, 0 none, */
	uint8_t next;     /* the next one, with its step in the upper bits */
};

struct server {
	uint8_t set; /* 0: blank */
	uint8_t next;
	uint8_t step;
	uint8_t guard; /* ticks */
	uint8_t lost;  /* it is one that forgot, and not yet admitted */
	uint8_t owner; /* of the key: the daemon + 1 */
	struct peer peer[DAEMONS];
};

struct daemon {
	uint8_t set;
	uint8_t next;
	uint8_t promise; /* ticks, by sets before this one */
	uint8_t young;   /* ticks: within a guard since the only member of the set before answered */
};

struct change_state {
	struct server server[SERVERS_MAX];
	struct daemon daemon[DAEMONS];
	uint8_t forgets;
};

/* A HELLO. */
struct hello {
	uint8_t set, next, step;
	bool restores, enlists;
	bool insists;     /* another kept member has accepted it */
	uint8_t accepted; /* what a member that is restored has accepted */
};

/* What a set is made of; a set after the first one keeps members of that which it follows. */
bool change_member(const struct change_rules *r, unsigned set, unsigned m);
unsigned change_size(const struct change_rules *r, unsigned set);
bool change_kept(const struct change_rules *r, unsigned set, unsigned m);
bool change_newcomer(const struct change_rules *r, unsigned set, unsigned m);

/* How long a majority of its set counts for the daemon, at least; and whether it holds the lease. */
uint8_t change_voted(const struct change_rules *r, const struct change_state *s, unsigned d);
bool change_holds(const struct change_rules *r, const struct change_state *s, unsigned d);

/* What it was told of a next set is of another one. */
void change_untell(struct change_state *s, unsigned d);

/* What the daemon would say to that server now. */
struct hello change_compose(
	const struct change_rules *r, const struct change_state *s, unsigned d, unsigned m);

/* The HELLO at the server, and its answer at the daemon. */
void change_hello(
	const struct change_rules *r, struct change_state *s, unsigned m, const struct hello *hello);
void change_answered(const struct change_rules *r, struct change_state *s, unsigned d, unsigned m);

#endif
