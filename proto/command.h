/*
 * command: a request that has been understood.
 *
 * command_parse() looks the verb up in command.def, checks its arguments and fills the fields that the verb
 * uses; every other field has its "absent" value. Slices point into the request and live as long as it does.
 */
#ifndef PROTO_COMMAND_H
#define PROTO_COMMAND_H

#include "proto/reply.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct request;

enum verb {
#define COMMAND(verb, ...) VERB_##verb,
#include "proto/command.def"
#undef COMMAND
	VERB_COUNT
};

/* WAIT is absent: as the rule for the name says. */
#define COMMAND_WAIT_RULE (-1)
/* Largest number of milliseconds any option takes: a year. Keeps every sum of times far from overflow. */
#define COMMAND_MS_MAX    INT64_C(31536000000)
/* Largest token: 2^53, so that every client can hold it exactly in a double. */
#define COMMAND_TOKEN_MAX (INT64_C(1) << 53)

#define NAME_BYTES_MAX  512 /* of a resource; a configuration may lower it */
#define OWNER_BYTES_MAX 128 /* of an OWNER tag and an ASYNC id */
#define WHY_BYTES_MAX   256 /* of a WHY text */

enum onloss {
	ONLOSS_CLOSE, /* close the session's connections: the default, every client notices */
	ONLOSS_PUSH,  /* push `lost name owner token reason`; RESP3 only */
	ONLOSS_NEXT   /* tell on the next use of the name */
};

struct command {
	enum verb verb;
	struct slice name;   /* the resource */
	struct slice owner;  /* OWNER tag; n == 0: the session itself */
	struct slice why;    /* WHY text */
	struct slice id;     /* ASYNC id of LOCK, id of CANCEL */
	struct slice secret; /* SESSION JOIN */
	int64_t wait_ms;     /* LOCK: >= 0, or COMMAND_WAIT_RULE */
	int64_t lease_ms;    /* LOCK LEASE, > 0; 0: absent */
	int64_t max_hold_ms; /* LOCK MAXHOLD, > 0; 0: absent */
	int64_t extend_ms;   /* EXTEND, > 0 */
	int64_t token;       /* UNLOCK, CHECK, BREAK: TOKEN n, > 0; 0: absent */
	bool validity;       /* LOCK VALIDITY */
	enum onloss onloss;  /* SESSION ONLOSS */
};

#endif
