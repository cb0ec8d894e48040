/*
 * call: encodes the core's calls as Redis commands, and decodes Redis' replies as votes.
 *
 *     n calls of one operation ──call_encode()──▶ EVALSHA … ──▶ reply ──call_decode()──▶ n votes
 *
 * call.c encodes, vote.c decodes; the pool and the simulator use both. Pure: no I/O, no clock, no state
 * between calls but memory for arguments. The top of each file in lua/ says what the script takes and
 * answers; encode and decode follow it.
 *
 * Keys: the lease is NAMESPACE:{NAME}, or the rule's template with NAME as it is. Beside it are
 * NAMESPACE:{NAME}:q and :w (the queue) and, where names are fenced, :f (the fence). In NAMESPACE:{…} the
 * bytes % and } of NAME become %25 and %7D, so that the hash tag is the whole name. The node is
 * NAMESPACE:node, an inbox NAMESPACE:inbox:<daemon-id>.
 *
 * An exclusive lease is a string, its owner. Shared leases and permit leases are members of a group, a hash
 * at the same key: 'kind' says which, and each member, a daemon-id or the number of a permit, has its owner
 * and a deadline (lua/group.inc). GUARANTEES.md has all keys in one table.
 *
 * Calls in one command share the earliest of their deadlines and, where names are not fenced, the highest of
 * their token proposals.
 */
#ifndef REDIS_CALL_H
#define REDIS_CALL_H

#include "daemon/core/base/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply;

#define CALL_GROUP_MAX     64 /* calls in one command: bounds how long one script occupies the master */
/* Permits in one command, unless a single call has more. The cost grows with each permit, and an answer that
 * names more than some ten thousand of them exceeds the largest answer that is read (stream.h). */
#define CALL_GROUP_PERMITS 2000

/* The format of scripts, keys and owner texts. It is raised if what one release writes means something else
 * to another. A daemon of another format is a mismatch. GUARANTEES.md says how to change it. */
#define CALL_FORMAT 1

/*
 * A Lua script of lua/, embedded at build time by lua/embed. There is one for each operation of core/call.h,
 * in its order; then the same for shared leases and permit leases; then the same for names that are also
 * locked by Redisson or python-redis-lock.
 */
struct script {
	const char *name; /* of the operation, "acquire" */
	const char *sha1; /* 40 lower-case hexadecimal digits, for EVALSHA */
	size_t length;    /* of text */
	const char *text; /* for EVAL and SCRIPT LOAD */
};

/* GROUP_SCRIPT(op, script): the script of an operation for members of a group. Operations that are not listed
 * use one script for all kinds. */
#define GROUP_SCRIPTS(GROUP_SCRIPT)                                                                          \
	GROUP_SCRIPT(ACQUIRE, group_acquire)                                                                 \
	GROUP_SCRIPT(RENEW, group_renew)                                                                     \
	GROUP_SCRIPT(RECLAIM, group_reclaim)                                                                 \
	GROUP_SCRIPT(ADOPT, group_adopt)                                                                     \
	GROUP_SCRIPT(RELEASE, group_release)

/* REDISSON_SCRIPT(op, script): the script of an operation where Redisson locks the name, too. */
#define REDISSON_SCRIPTS(REDISSON_SCRIPT)                                                                    \
	REDISSON_SCRIPT(ACQUIRE, redisson_acquire)                                                           \
	REDISSON_SCRIPT(RENEW, redisson_renew)                                                               \
	REDISSON_SCRIPT(RECLAIM, redisson_reclaim)                                                           \
	REDISSON_SCRIPT(ADOPT, redisson_adopt)                                                               \
	REDISSON_SCRIPT(RELEASE, redisson_release)

/* SIGNAL_SCRIPT(op, script): the script of an operation where python-redis-lock locks the name, too. */
#define SIGNAL_SCRIPTS(SIGNAL_SCRIPT) SIGNAL_SCRIPT(RELEASE, signal_release)

enum script_id {
#define CALL_OP(name, script) SCRIPT_##name,
	CALL_OPS(CALL_OP)
#undef CALL_OP
#define GROUP_SCRIPT(name, script) SCRIPT_GROUP_##name,
		GROUP_SCRIPTS(GROUP_SCRIPT)
#undef GROUP_SCRIPT
#define REDISSON_SCRIPT(name, script) SCRIPT_REDISSON_##name,
			REDISSON_SCRIPTS(REDISSON_SCRIPT)
#undef REDISSON_SCRIPT
				SCRIPT_LOOKUP, /* for people, by call_encode_lookup() */
	SCRIPT_JOIN,                           /* of the pool: replicas.h */
#define SIGNAL_SCRIPT(name, script) SCRIPT_SIGNAL_##name,
	SIGNAL_SCRIPTS(SIGNAL_SCRIPT)
#undef SIGNAL_SCRIPT
		SCRIPT_COUNT
};

extern const struct script scripts[SCRIPT_COUNT];

/* What all calls of this daemon have in common. The caller keeps the strings until after the last
 * call_encode(). */
struct call_settings {
	const char *namespace_; /* without braces, not empty */
	char daemon_id[CALL_DAEMON_ID_SIZE];
	int64_t margin_ms;  /* J */
	const char *layout; /* a short hash of all key templates; a daemon with another one is a mismatch */
	const char *about;  /* of this daemon, for people: host, version and more words; NULL: unknown */
	bool trusted;       /* HELLO admits without a guard: the embedded master after a recorded clean end */
};

/*
 * One Redis command, for redisAsyncCommandArgv(). The arguments stay valid until the next call_encode() or
 * call_encode_lookup() into it, or call_command_done(). call_command_init() comes first.
 */
struct call_command {
	int argc;
	const char **argv;
	size_t *argvlen;

	/* Private: the bytes of the arguments, and the room for them */
	char *bytes;
	size_t used;
	size_t room;
	size_t arg_room;
};

void call_command_init(struct call_command *command);
void call_command_done(struct call_command *command);

/* Collects the texts of a call that are valid only for one step of the core, the name first, and returns how
 * many. A copy of the call that lives longer has to copy them, too. (The tag of a LATCH is valid until its
 * vote.) */
#define CALL_TEXTS_MAX 6

static inline size_t
call_texts(struct call *call, struct slice *texts[CALL_TEXTS_MAX])
{
	size_t n = 0;
	texts[n++] = &call->name;
	if (call_about_lease(call->op)) {
		texts[n++] = &call->slots;
		texts[n++] = &call->previous;
	}
	if (call->op != CALL_HELLO)
		return n;
	texts[n++] = &call->nonces;
	texts[n++] = &call->masterset;
	texts[n++] = &call->places;
	texts[n++] = &call->next.set;
	texts[n++] = &call->next.places;
	return n;
}

/* The script of a call, by its operation, the kind of its lease, and whether Redisson locks the name, too. */
enum script_id script_of(const struct call *call);

/* Whether b may travel in one command with a: both have the same script, link, incarnation and set of
 * masters, ask for the same kind of answer, and are about names. */
bool call_groups(const struct call *a, const struct call *b);

/*
 * Encodes n calls as one EVALSHA command, 1 <= n <= CALL_GROUP_MAX; any two of them satisfy call_groups().
 * False: out of memory, and the command must not be sent.
 */
bool call_encode(struct call_command *command, const struct call_settings *settings, const struct call *calls,
	size_t n) __attribute__((warn_unused_result));

/* Encodes what asks a master for the registered daemons, if `daemons`, and for the holders of a name, if the
 * call has one (lua/lookup.lua): name, key and interop say which. As call_encode(). */
bool call_encode_lookup(struct call_command *command, const struct call_settings *settings,
	const struct call *about, bool daemons) __attribute__((warn_unused_result));

/* What a master tells people, as lua/lookup.lua has it. Texts point into the reply. */
struct lookup_answer {
	int64_t time_us;      /* by its clock */
	bool listed;          /* the registered daemons were asked for */
	struct slice daemons; /* a line for each of them */
	struct slice refused; /* and for each that was refused lately */
	struct slice kind;    /* n == 0: no name was asked for */
	struct slice holders; /* a line for each */
	struct slice queue;   /* a line for each waiting daemon */
};

#endif
