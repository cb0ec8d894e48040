/*
 * state: the whole core as records (proto/record.h), for the next process of this daemon.
 *
 *     core_save():   core ──▶ CORE MASTERSET MASTER… SESSION… RESOURCE… MLOCK… RELEASE… LATCH…
 *     core_load():   settings and records ──▶ core
 *
 * A core is saved at rest: all links to the masters are down, and no call is under way. So nothing of a round
 * or of a HELLO has to be saved, and the next process goes on as after a loss of all links. What can be
 * counted again is not saved: the users, the tables and the counts come from what is loaded.
 *
 * Each noun has one function that describes its fields for both directions. Times are CLOCK_BOOTTIME, so a
 * state is good for the boot in which it was saved; its owner sees to that.
 *
 * A state comes from a process of the same user, but it may be damaged or of another version. A number is
 * checked before anything relies on it, and a state that cannot be right makes core_load() fail as a whole.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/binding.h"
#include "proto/command.h"

#include <stddef.h>
#include <stdint.h>

struct core;
struct grant;
struct latch;
struct lease;
struct record;
struct resource;
struct rule;
struct session;

/* What the current record belongs to while a state is loaded. */
struct state_loader {
	struct core *core;
	struct record *r;
	int64_t saved_ms;             /* when the state was saved */
	struct map sessions;          /* those loaded, by number: the core's own table has long chains */
	struct map parts;             /* the waiters that are parts of MLOCKs, by ticket */
	struct session *session;      /* the last one loaded; NULL: none */
	struct resource *resource;    /* likewise */
	struct lease *lease;          /* of resource, or its last permit lease; NULL: none */
	struct latch *latch;          /* the last one loaded; NULL: none */
	unsigned masters;             /* MASTER records so far */
	unsigned retired;             /* RETIRED records so far */
	struct binding_entry binding; /* what the settings of the process before have bound */
};

/*
 * How records name each other: a session and a connection by their numbers (sessions, conn_find()), a
 * waiter by its ticket, a hold by its name, session and tag, or by its token, a user by its number
 * (user_get()). What is named comes first in the stream. An MLOCK comes after the waiters and holds that are
 * its parts, and links them: a WAITER says whether it is one, and such a waiter does not block its
 * connection.
 *
 * A function that loads a thing counts it, as the noun itself does when it makes one: for its session and its
 * user, and in core->counts.
 * It checks what its own code would assert: then it may leave the rest to core_wrong() (check.c), which
 * checks the whole loaded core as of the moment when it was saved.
 */

/* ---- fields that several nouns have, in both directions; state.c ---- */

#define STATE_TOKEN_MAX (INT64_C(1) << 60)              /* of all tokens: sums of a few do not overflow */
#define STATE_SLOTS_MAX (6 * (size_t)COMMAND_LIMIT_MAX) /* bytes of a text of slots */

/* A time by a master's clock, or a difference of clocks, us. Far from overflow. */
int64_t state_us(struct record *r, int64_t us);
/* A number that only grows, from a small one: the core may count on from it. */
void state_count(struct record *r, uint64_t *n);
/* When the timer is due; loading arms it. */
void state_timer(struct record *r, struct core *core, struct timer *timer);
/* A name of a lock or a latch; an OWNER tag or an ASYNC id, which may be empty; a WHY, likewise. Loading:
 * they point into the input, and are valid. */
void state_name(struct record *r, struct slice *name);
void state_tag(struct record *r, struct slice *tag);
void state_why(struct record *r, struct slice *why);
/* The key template and the interop by which a name was locked. Loading: fails, and tells the name, unless the
 * rule of the name still has both; *key then is the template of the rule, which lives as long as the core. */
void state_key(struct record *r, const struct core *core, struct slice name, const char **key,
	enum interop *interop);

#endif
