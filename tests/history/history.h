/*
 * history: what clients asked and were told, and its judge. HISTORY.md is the specification.
 *
 * It knows nothing of the daemon. history_read.c takes lines and checks their form, history_client.c follows
 * one client line by line and makes holds of its grants, history_judge.c compares the holds of all clients,
 * and history_latch.c their latches.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_NEVER INT64_MAX
#define MS            INT64_C(1000000)
/* What an answer may be late beyond what was asked for. A daemon may be stopped for two leases meanwhile, and
 * restart. */
#define STUCK_MS      INT64_C(15000)

/* Each is a section of HISTORY.md. */
enum history_rule {
	RULE_EXCLUSION,
	RULE_TOKENS,
	RULE_ANSWERS,
	RULE_REENTRY,
	RULE_DEADLINES,
	RULE_LOSSES,
	RULE_ARRIVAL,
	RULE_REPEATS,
	RULE_LATCHES,
	RULE_COUNT
};

extern const char *const history_rules[RULE_COUNT]; /* their words */

struct client;

/* One line. */
struct event {
	int64_t at;
	struct client *client;
	const struct word *word;
	const char **args; /* names are compared by their pointers; each list ends with NULL */
	const char *as;    /* the id of `as ID`; NULL: none */
	unsigned argc;
	unsigned line;
};

/* What a line can begin with. */
struct word {
	const char *text;
	/* Its arguments: n name, i integer, m ms, f form, w word. After `?` they may be absent; `+` repeats
	 * the last one, once at least, `*` stands for any text. */
	const char *form;
	bool as;                                                 /* it may end with `as ID` */
	void (*follow)(struct client *c, const struct event *e); /* what it means for its client */
};

extern const struct word history_words[]; /* the last one has no text */

/* A question that waits for its answer. */
struct question {
	const struct event *asked; /* NULL: there is none */
	const char *form;
	int64_t wait_ms;
	int64_t wanted;  /* when it was sent first */
	int64_t arrived; /* when it was known to wait at the daemon; HISTORY_NEVER: it was not */
	int64_t lease_ms;
	int64_t maxhold_ms;
	int64_t claim_ms;
	int64_t left;      /* of an UNLOCK: how many times it is entered afterwards; -1: not known */
	bool held;         /* its name was held by its client when it was sent */
	struct hold *ends; /* and the hold that it ends; NULL: none */
};

/* One grant. Of DOWNGRADE it makes two: one before, one after. */
struct hold {
	const char *name;
	const char *as;
	const struct event *asked;
	const struct event *granted;
	const struct event *ended; /* NULL: nothing says that it ended */
	const struct event *freed; /* UNLOCK answered that it was held until then; NULL: it did not */
	int64_t token;
	int64_t wanted;   /* when LOCK was sent, for the first time */
	int64_t arrived;  /* as in the question */
	int64_t start;    /* when the grant was read */
	int64_t deadline; /* told */
	int64_t end; /* the UNLOCK sent, or the loss told; HISTORY_NEVER: it ended by its deadline only */
	int64_t lease_end; /* its LEASE is over by then */
	int64_t ceiling;   /* and its MAXHOLD */
	int64_t lapses;    /* from then on it may have ended as its holder chose, by LEASE or CLAIM; nobody is
			      told */
	int64_t count;     /* times entered */
	int64_t permits;
	int64_t limit;
	char kind;   /* x, s, p */
	bool over;   /* its client has nothing to do with it any more */
	bool shared; /* DOWNGRADE made it */
	bool plain;  /* of a LOCK that was sent once, for this name alone */
	bool heeded; /* its client need not ask to be told of a loss */
	bool vague;  /* it may be entered once more than was read: an answer was cut off */
};

/* One question about a latch. */
struct latch {
	const char *name;
	const struct event *asked;
	const struct event *answered; /* NULL: not */
	int64_t start;
	int64_t end;
	int64_t steps;   /* set, or counted down */
	int64_t left;    /* told; -1: something else, or nothing */
	const char *who; /* the session and tag that count down; NULL: it is another question */
	bool set;
	bool made; /* it was told to have made it */
};

/* A growing array of pointers. */
struct list {
	void **at;
	size_t n;
	size_t room;
};

/* An UNLOCK of a hold that belongs to an id, whoever sent it. */
struct given {
	const struct event *asked;
	int64_t token;
};

struct client {
	struct history *history;
	const char *name;
	struct list events;
	/* Where it is, while its lines are followed. */
	struct question question;
	struct question terms; /* of the next question */
	struct list waits;     /* struct wait: ASYNC */
	struct list held;      /* struct hold */
	struct list own;       /* likewise, also those that are over */
	struct list asks;      /* struct event: the latest ASK of each name */
	struct latch *latch;   /* the latest question */
	const char *daemon;    /* it is connected to; NULL: not known */
	bool unix_socket;      /* the end of the connection ends what it holds */
	bool grace;            /* the session outlives its connections */
	bool bound;            /* and ends with its process */
	bool patient;          /* told of a loss when it asks next: ONLOSS NEXT */
};

struct wait {
	const char *id;
	const char *name;
	struct question question;
};

/* From `from` to `to` a master may have lost its memory. */
struct harm {
	int64_t from;
	int64_t to;
};

/* Nobody can be told more than ms of a hold of this name; NULL: of any. */
struct bound {
	const char *name;
	int64_t ms;
};

/* A rule that is broken, in words, and the lines that show it. */
typedef void history_report(
	void *context, enum history_rule rule, const char *what, const struct event *const *lines, size_t n);

struct history {
	struct list clients;
	struct list names; /* each once, sorted */
	struct list texts; /* what the events point to */
	struct list holds;
	struct list latches;
	struct list given;
	struct list harms;
	struct list bounds;
	int64_t until;   /* all that was done and told by then is written down */
	int64_t late_ms; /* what an answer may be late */
	int64_t running; /* what was answered later than this is not all written down; HISTORY_NEVER: it is */
	history_report *report;
	void *context;
	char error[256];
};

struct history *history_begin(void);
void history_done(struct history *h);

/* Takes the lines of a file, whose name is that of the client unless `client` lines say another. False:
 * history_error(). */
bool history_read(struct history *h, const char *path);
/* Takes lines from memory, which must be as long as the history; they are cut into words. */
bool history_take(struct history *h, const char *client, char *lines);
const char *history_error(const struct history *h);

/* Reports each rule that is broken; once. */
void history_judge(struct history *h, history_report *report, void *context);

/* The line as it was written; how long it is, without the end of the string. */
size_t history_line(const struct event *e, char *line, size_t room);

/* --- for the parts of the judge
 * ------------------------------------------------------------------------------- */

void list_add(struct list *l, void *one);
void list_free(struct list *l, bool each);
int64_t history_number(const char *text);
int64_t hold_sure_end(const struct hold *hold);
__attribute__((format(printf, 5, 6))) void history_found(struct history *h, enum history_rule rule,
	const struct event *const *lines, size_t n, const char *form, ...);
void history_latches(struct history *h);

#endif
