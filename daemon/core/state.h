/*
 * state: the whole core as records (proto/record.h), for the next process of this daemon.
 *
 *     core_save():   core ──▶ CORE MASTERSET MASTER… SESSION… RESOURCE… MLOCK… RELEASE… LATCH…
 *     core_load():   settings and records ──▶ core
 *
 * A core is saved at rest: all links to the masters are down, and no call is under way. So nothing of a round
 * or of a greeting has to be saved, and the next process goes on as after a loss of all links. What can be
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
#include "daemon/core/binding.h"
#include "daemon/core/core.h"
#include "proto/command.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grant;
struct latch;
struct lease;
struct resource;
struct rule;
struct session;
struct timer;

/* What the current record belongs to while a state is loaded. */
struct state_loader {
	struct core *core;
	struct record *r;
	int64_t saved_ms;             /* when the state was saved */
	struct map sessions;          /* those loaded, by number: the core's own table has long chains */
	struct session *session;      /* the last one loaded; NULL: none */
	struct resource *resource;    /* likewise */
	struct lease *lease;          /* of resource, or its last permit lease; NULL: none */
	struct latch *latch;          /* the last one loaded; NULL: none */
	unsigned masters;             /* MASTER records so far */
	unsigned parted;              /* PARTED records so far */
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
 * It checks what its own code would assert: then it may leave the rest to core_wrong() (check.c), which looks
 * at the whole loaded core as of the moment when it was saved.
 */

/* ---- fields that several nouns have, in both directions; state.c ---- */

#define STATE_TIME_MAX  (TIMER_FAR_MS / 2)              /* of all times and spans, in ms */
#define STATE_TOKEN_MAX (INT64_C(1) << 60)              /* of all tokens: sums of a few do not overflow */
#define STATE_SLOTS_MAX (6 * (size_t)COMMAND_LIMIT_MAX) /* bytes of a text of slots */

/* A time; TIMER_NEVER: none. Far from overflow. */
int64_t state_time(struct record *r, int64_t at_ms);
/* A time by a master's clock, or a difference of clocks, us. Far from overflow. */
int64_t state_us(struct record *r, int64_t us);
/* When the timer is due; loading arms it. */
void state_timer(struct record *r, struct core *core, struct timer *timer);
/* A name of a lock or a latch; an OWNER tag or an ASYNC id, which may be empty; a WHY, likewise. Loading:
 * they point into the input, and are valid. */
void state_name(struct record *r, struct slice *name);
void state_tag(struct record *r, struct slice *tag);
void state_why(struct record *r, struct slice *why);
/* The id of a detached session; n == 0: it is none. state_detach(): the session belongs to it, and is whole
 * otherwise. */
void state_as(struct record *r, struct slice *as);
void state_detach(struct core *core, struct record *r, struct session *s, struct slice as);
/* The key template and the interop by which a name was locked. Loading: fails, and tells the name, unless the
 * rule of the name still has both; *key then is the template of the rule, which lives as long as the core. */
void state_key(struct record *r, const struct core *core, struct slice name, const char **key,
	enum interop *interop);

/* ---- the nouns ---- */

/* state_session.c: sessions with their losses and connections; MLOCKs without an answer. */
void state_save_sessions(struct core *core, struct record *r);
void state_load_session(struct state_loader *l);
void state_load_loss(struct state_loader *l);
void state_load_conn(struct state_loader *l);
void state_load_guest(struct state_loader *l);
void state_save_mlocks(struct core *core, struct record *r);
void state_load_mlock(struct state_loader *l);

/* state_lease.c: names with their leases, holds and waits; leases that are being given up. */
void state_save_resources(struct core *core, struct record *r);
void state_load_resource(struct state_loader *l);
void state_load_permit_lease(struct state_loader *l);
void state_save_releases(struct core *core, struct record *r);
void state_load_release(struct state_loader *l);

/* state_hold.c: the holds on a lease, and the waits for a name. */
void state_save_grants(struct core *core, struct record *r, struct lease *l);
void state_save_waiters(struct core *core, struct record *r, struct resource *name);
void state_load_grant(struct state_loader *l);
/* A hold with these texts that is on no lease's list yet; NULL: out of memory. */
struct grant *state_grant_make(struct core *core, struct lease *l, struct slice owner, struct slice why)
	__attribute__((warn_unused_result));
/* Whether its lease can have it beside those that it has: check.c asserts the same of the whole. */
bool state_grant_fits(const struct grant *g);
/* It is withheld, and counts for this user from now on. False: out of memory. */
bool state_grant_left(struct core *core, struct grant *g, uint64_t user) __attribute__((warn_unused_result));
void state_load_waiter(struct state_loader *l);

/* state_master.c: the set of masters, its slots, and the servers that slots were before. */
void state_save_masters(struct core *core, struct record *r);
void state_load_masterset(struct state_loader *l);
void state_load_master(struct state_loader *l);
void state_load_parted(struct state_loader *l);
/* After the last record: fails if a master is missing, or if they cannot be a set. */
void state_check_masters(struct state_loader *l);

/* state_latch.c: latches with the requests about them, and what they count for users. */
void state_save_latches(struct core *core, struct record *r);
void state_load_latch(struct state_loader *l);
void state_load_latch_request(struct state_loader *l);
void state_load_latch_quota(struct state_loader *l);

/*
 * state_master.c: the first step after core_load() (core.resumes) says again what the driver of another
 * process does not know: ACTION_MASTER for each slot that is not what the configuration names there
 * (core.rerouted), ACTION_LISTEN for each name that is listened for, ACTION_WATCH for each process that a
 * session is bound to.
 */
void state_resume(struct core *core);

#endif
