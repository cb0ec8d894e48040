/*
 * command: a request that has been understood.
 *
 * command_parse() looks the verb up in command.def, checks its arguments and fills the fields that the verb
 * uses; every other field has its "absent" value. Slices point into the request's bytes and live as long as
 * they do.
 */
#ifndef PROTO_COMMAND_H
#define PROTO_COMMAND_H

#include "proto/kind.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

enum verb {
#define COMMAND(verb, ...) VERB_##verb,
#include "proto/command.def"
#undef COMMAND
	VERB_COUNT
};

/* WAIT is absent: as the rule for the name says. */
#define COMMAND_WAIT_RULE   (-1)
/* RETRIES is absent: refused rounds are not counted. */
#define COMMAND_RETRIES_ANY (-1)
/* Largest number of milliseconds any option takes: a year. Keeps every sum of times far from overflow. */
#define COMMAND_MS_MAX      INT64_C(31536000000)
/* Largest token: 2^53, so that every client can hold it exactly in a double. */
#define COMMAND_TOKEN_MAX   (INT64_C(1) << 53)

#define NAME_BYTES_MAX       512   /* of a resource; a configuration may lower it */
#define OWNER_BYTES_MAX      128   /* of an OWNER tag and an ASYNC id */
#define WHY_BYTES_MAX        256   /* of a WHY text */
#define SECRET_BYTES_MAX     64    /* of what SESSION JOIN takes */
#define LABEL_BYTES_MAX      128   /* of a connection's name, a library's name and version */
#define CREDENTIAL_BYTES_MAX 512   /* of a user's name and of a password */
#define COMMAND_LIMIT_MAX    10000 /* permits of a name */
#define COMMAND_NAMES_MAX    64    /* names of MLOCK and MUNLOCK */
#define COMMAND_RETRIES_MAX  1000000
#define COMMAND_STEPS_MAX    1000000 /* of a latch */
#define COMMAND_COUNT_MAX    500     /* elements of a page, also without COUNT */
#define COMMAND_QUEUE_MAX    50000   /* holders, and waiters, of a name that INSPECT tells of */

enum onloss {
	ONLOSS_CLOSE, /* close the session's connections: the default, every client notices */
	ONLOSS_PUSH,  /* push `lost name owner token reason`; RESP3 only */
	ONLOSS_NEXT   /* tell on the next use of the name */
};

enum attribute { ATTRIBUTE_LIB_NAME, ATTRIBUTE_LIB_VER }; /* CLIENT SETINFO */

/* What command.def says of a verb. */
enum command_flag {
	COMMAND_CORE = 1,
	COMMAND_ADMIN = 2,
	COMMAND_OPEN = 4,
	COMMAND_CLOSE = 8,
	COMMAND_WAITS = 16,
	COMMAND_NAMED = 32
};

struct command {
	enum verb verb;
	struct slice name;    /* the resource */
	struct slice owner;   /* OWNER tag; n == 0: the session itself */
	struct slice why;     /* WHY text */
	struct slice id;      /* ASYNC id of LOCK, id of CANCEL */
	struct slice secret;  /* SESSION JOIN, SESSION RESUME */
	int64_t wait_ms;      /* LOCK, MLOCK, LATCH AWAIT, DRAIN: >= 0, or COMMAND_WAIT_RULE: it is absent */
	int64_t lease_ms;     /* LOCK, LATCH SET: LEASE, > 0; 0: absent */
	int64_t max_hold_ms;  /* LOCK MAXHOLD, > 0; 0: absent */
	int64_t extend_ms;    /* EXTEND, > 0 */
	int64_t token;        /* UNLOCK, CHECK, BREAK: TOKEN n, > 0; 0: absent */
	bool validity;        /* LOCK VALIDITY */
	enum kind kind;       /* LOCK */
	int64_t limit;        /* LOCK LIMIT, 1 .. COMMAND_LIMIT_MAX; kind is PERMITS; 0: absent */
	int64_t permits;      /* LOCK PERMITS, 1 .. limit; 0: no LIMIT either */
	int64_t retries;      /* LOCK RETRIES, >= 0: so many rounds more after one that was refused; or
				 COMMAND_RETRIES_ANY */
	enum onloss onloss;   /* SESSION ONLOSS */
	int64_t steps;        /* LATCH SET, DOWN: > 0 */
	int64_t grace_ms;     /* SESSION GRACE, >= 0 */
	int64_t heartbeat_ms; /* SESSION HEARTBEAT, >= 0; 0: off */
	/* MLOCK, MUNLOCK: 1 .. COMMAND_NAMES_MAX names, none of them twice; name is empty. They live as long
	 * as the request's own array of arguments. */
	const struct slice *names;
	size_t name_count;

	/* For the adapters; the core does not look at these. */
	struct slice match; /* LOCKS, EVENTS: a glob that is well-formed; n == 0: every name */
	int64_t count;    /* LOCKS, SESSIONS, INSPECT: > 0; 0: absent; CLIENT KILL: the connection's number */
	int64_t cursor;   /* the same three: where the page begins, >= 0; 0: it is the first one */
	int64_t protocol; /* HELLO: 2, 3, or 0: as it is */
	bool login;       /* HELLO, AUTH: user and password are given */
	struct slice user; /* n == 0: the default user */
	struct slice password;
	bool labelled;            /* CLIENT SETNAME, CLIENT SETINFO, HELLO: label is given */
	struct slice label;       /* n == 0: takes the name away */
	enum attribute attribute; /* CLIENT SETINFO: which one the label is */
	bool tracking;            /* CLIENT TRACKING: ON */
	const struct slice *argv; /* all that followed the verb's words: PING, ECHO, INFO, CONFIG GET */
	size_t argc;
};

/* One row of command.def. Slices point to literals, which end in NUL. */
struct command_info {
	struct slice word;
	struct slice sub;   /* n == 0: a verb of one word */
	int min;            /* arguments after the words, and after the name where COMMAND_NAMED */
	int max;            /* -1: any number */
	unsigned flags;     /* enum command_flag */
	const char *syntax; /* what follows the words; where COMMAND_NAMED, what follows the first of them */
	const char *summary;
};

const struct command_info *command_info(enum verb verb);

/* The whole request as usage texts have it: "LOCK name [WAIT ms] ...", "LATCH name COUNT". */
#define COMMAND_USAGE_MAX 192
void command_usage(enum verb verb, char out[COMMAND_USAGE_MAX]);

/* As Redis names it, in lower case: "lock", "client|setname". */
#define COMMAND_NAME_MAX 32
void command_name(enum verb verb, char out[COMMAND_NAME_MAX]);

/* Whether other verbs begin with the same word and stand behind this one in the table. */
bool command_has_subs(enum verb verb);

/*
 * Understands a request of at least one argument. 0: *out is set. -1: *error is set and *out untouched; the
 * connection goes on. Reads whatever the limits of the request are, and never allocates.
 */
int command_parse(const struct request *request, struct command *out, struct reply *error)
	__attribute__((warn_unused_result));

/* Whether the answer needs pushes, so that it must be refused unless HELLO 3 was sent: LOCK ASYNC and
 * SESSION ONLOSS PUSH. */
bool command_needs_push(const struct command *command);

#endif
