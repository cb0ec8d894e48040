/*
 * state: the whole core as records (proto/record.h), for the next process of this daemon.
 *
 *     core_save():   core ──▶ CORE MASTERSET MASTER… SESSION… RESOURCE… MLOCK… RELEASE… LATCH… END
 *     core_load():   settings and records ──▶ core
 *
 * A core is saved at rest: all links to the masters are down, and no call is under way. So nothing of a round or of
 * a greeting has to be saved, and the next process goes on as after a loss of all links. What can be counted again
 * is not saved: the users, the tables and the counts come from what is loaded.
 *
 * Each noun has one function that describes its fields for both directions. Times are CLOCK_BOOTTIME, so a state is
 * good for the boot in which it was saved; its owner sees to that.
 *
 * A state comes from a process of the same user, but it may be damaged or of another version. A number is checked
 * before anything relies on it, and a state that cannot be right makes core_load() fail as a whole.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "daemon/core/core.h"
#include "proto/record.h"

struct conn;
struct lease;
struct resource;
struct session;

/* What the current record belongs to while a state is loaded. */
struct state_loader {
	struct core *core;
	struct record *r;
	struct session *session;   /* the last one loaded; NULL: none */
	struct resource *resource; /* likewise */
	struct lease *lease;       /* of resource, or its last permit lease; NULL: none */
	struct latch *latch;       /* the last one loaded */
	unsigned masters;          /* MASTER records so far */
};

/* state_session.c: sessions with their losses and connections; MLOCKs without an answer. */
void state_save_sessions(struct core *core, struct record *r);
void state_load_session(struct state_loader *l);
void state_load_loss(struct state_loader *l);
void state_load_conn(struct state_loader *l);
void state_save_mlocks(struct core *core, struct record *r);
void state_load_mlock(struct state_loader *l);

/* state_lease.c: names with their leases, holds and waits; leases that are being given up. */
void state_save_resources(struct core *core, struct record *r);
void state_load_resource(struct state_loader *l);
void state_load_permit_lease(struct state_loader *l);
void state_load_grant(struct state_loader *l);
void state_load_waiter(struct state_loader *l);
void state_save_releases(struct core *core, struct record *r);
void state_load_release(struct state_loader *l);

/* state_master.c: the set of masters, its slots, and the servers that slots were before. */
void state_save_masters(struct core *core, struct record *r);
void state_load_masterset(struct state_loader *l);
void state_load_master(struct state_loader *l);
void state_load_parted(struct state_loader *l);

/* state_latch.c: latches with the requests about them, and what they count for users. */
void state_save_latches(struct core *core, struct record *r);
void state_load_latch(struct state_loader *l);
void state_load_latch_request(struct state_loader *l);
void state_load_latch_quota(struct state_loader *l);

#endif
