/*
 * command: a parsed request.
 *
 * command_parse() looks up the verb in command.def, checks its arguments and fills the fields that the verb
 * uses. Every other field has its "absent" value. Slices point into the request's bytes and are valid as long
 * as those.
 *
 * The options of a verb come from option.def, and the catalog answers COMMAND and HELP from both tables.
 */
#ifndef PROTO_COMMAND_H
#define PROTO_COMMAND_H

#include "proto/buffer.h"
#include "proto/name.h"
#include "proto/reply.h"

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

/* WAIT is absent: the rule for the name applies. */
#define COMMAND_WAIT_RULE   (-1)
/* RETRIES is absent: no limit on refused rounds. */
#define COMMAND_RETRIES_ANY (-1)
/* Largest number of milliseconds any option takes: a year. Keeps every sum of times far from overflow. */
#define COMMAND_MS_MAX      INT64_C(31536000000)
/* Largest token: 2^53, so that a client can store it exactly in a double. */
#define COMMAND_TOKEN_MAX   (INT64_C(1) << 53)

#define NAME_BYTES_MAX       512 /* of a resource; a configuration may lower it */
#define OWNER_BYTES_MAX      128 /* of an OWNER tag and an ASYNC id */
#define WHY_BYTES_MAX        256 /* of a WHY text */
#define AS_BYTES_MIN         16  /* of the id of a named session */
#define AS_BYTES_MAX         128
#define SECRET_BYTES_MAX     64    /* of the secret of SESSION JOIN */
#define LABEL_BYTES_MAX      128   /* of a connection's name, a library's name and version */
#define CREDENTIAL_BYTES_MAX 512   /* of a user's name and of a password */
#define COMMAND_LIMIT_MAX    10000 /* permits of a name */
#define COMMAND_NAMES_MAX    64    /* names of MLOCK and MUNLOCK */
#define COMMAND_RETRIES_MAX  1000000
#define COMMAND_STEPS_MAX    1000000 /* of a latch */
#define COMMAND_COUNT_MAX    500     /* elements of a page, also if COUNT is absent */
#define COMMAND_QUEUE_MAX    50000   /* holders, and as many waiters, that INSPECT can report */

enum onloss {
	ONLOSS_CLOSE, /* close the session's connections: the default, every client notices */
	ONLOSS_PUSH,  /* push `lost name owner token reason`; RESP3 only */
	ONLOSS_NEXT   /* answer LOST to the next use of the name */
};

enum attribute { ATTRIBUTE_LIB_NAME, ATTRIBUTE_LIB_VER }; /* CLIENT SETINFO */

/* The flags of a verb; command.def explains them. */
enum command_flag {
	COMMAND_CORE = 1,
	COMMAND_ADMIN = 2,
	COMMAND_OPEN = 4,
	COMMAND_CLOSE = 8,
	COMMAND_WAITS = 16,
	COMMAND_NAMED = 32,
	COMMAND_TAKES = 64,
	COMMAND_SHARES = 128,
	COMMAND_SEES = 256,
	COMMAND_BREAKS = 512
};

/* The members are in option.def. A member that the request does not give has its absent value. */
struct command {
	enum verb verb;
	const struct slice *argv; /* all arguments after the verb's words: PING, ECHO, INFO, CONFIG GET */
	size_t argc;
	bool last; /* for who carries it out: its client has shut down its sending direction. Parsed as false
		    */
#define MEMBER(type, name, absent) type name;
#include "proto/option.def"
#undef MEMBER
};

/* One row of command.def. Slices point to NUL-terminated literals. */
struct command_info {
	struct slice word;
	struct slice sub;   /* n == 0: a verb of one word */
	int min;            /* arguments after the words, with COMMAND_NAMED also after the name */
	int max;            /* -1: any number */
	unsigned flags;     /* enum command_flag */
	const char *syntax; /* what follows the words, up to the options; with COMMAND_NAMED, what follows the
			       first word */
	const char *summary;
};

const struct command_info *command_info(enum verb verb);

/* The whole request for usage texts: "LOCK name [WAIT ms] ...", "LATCH name COUNT". */
#define COMMAND_USAGE_MAX 192
void command_usage(enum verb verb, char out[COMMAND_USAGE_MAX]);

/* As Redis names it, in lower case: "lock", "client|setname". */
#define COMMAND_NAME_MAX 32
void command_name(enum verb verb, char out[COMMAND_NAME_MAX]);

/*
 * Parses a request of at least one argument. 0: *out is set. -1: *error is set and *out is unchanged; the
 * connection remains usable. Accepts requests of any size, and never allocates.
 */
int command_parse(const struct request *request, struct command *out, struct reply *error)
	__attribute__((warn_unused_result));

/* Whether the verb needs pushes, so that it is refused without HELLO 3: LOCK ASYNC and SESSION ONLOSS
 * PUSH. */
bool command_needs_push(const struct command *command);

/*
 * For proto/ and its tests: reads the values that follow a verb into a struct command, as option.def says.
 * command_parse() parses with these functions, and the catalog describes the table with them.
 */
enum field_id {
	FIELD_NONE,
#define FIELD(id, ...) FIELD_##id,
#include "proto/option.def"
#undef FIELD
	FIELD_COUNT_OF
};

struct option_info {
	struct slice word;
	uint64_t verbs;    /* bit 1 << verb */
	uint64_t required; /* the verbs that require it */
	const char *syntax;
	const char *summary;
};

/* Whether the verb is in a set of verbs. Verbs without options may be beyond the last bit. */
static inline bool
verbs_have(uint64_t set, enum verb verb)
{
	return (unsigned)verb < 64 && (set >> (unsigned)verb & 1);
}

/* The catalog: the answers to COMMAND and to the HELP subcommands. */
#define CATALOG_VERSIONS 2 /* RESP2 and RESP3 */

/* Answers that never change, made at the first request. Zeroed at the beginning. */
struct catalog {
	struct buffer made[CATALOG_VERSIONS][VERB_COUNT];
};

#endif
