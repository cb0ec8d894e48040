/*
 * binding: what settings before these have bound, and still count.
 *
 * The settings say how long the longest lease and the clock margin are. A process that goes on from a state
 * (state.h) or a ledger (ledger.h) may have other settings than the one before, and so may this one after a
 * reload. Clients and masters go by the settings before until what was promised under them is over. Until
 * then this daemon
 *
 *   - registers with the longer lease of the two: so long may the client of a silent id rely on its holds;
 *   - guards a master for as long as the process before would have;
 *   - absorbs steps of a master's clock up to the smaller margin, and guards by the greater one.
 *
 * Each of these has a time from which it no longer counts. By then all leases that were asked for under the
 * settings before have ended, or have been renewed under the present ones.
 */
#ifndef CORE_BINDING_H
#define CORE_BINDING_H

#include <stdint.h>

struct core;
struct record;

/* All in ms; times by CLOCK_BOOTTIME. */
struct binding {
	int64_t ruled_lease_ms;   /* the longest lease by the rules of now */
	int64_t lease_over_at_ms; /* from then on nothing counts that was announced under a longer one */
	int64_t guard_ms;         /* the longest lease that guards of the process before waited for */
	int64_t guard_over_at_ms; /* and until when guards wait for it here; 0: they do not */
	int64_t margin_least_ms;  /* of the margins of this process and of those before */
	int64_t margin_most_ms;
	int64_t margin_over_at_ms; /* from then on the margin of the settings is the only one */
};

/* A new core: nothing was bound before. */
void binding_init(struct core *core);

/* The rules are other ones: this is their longest lease. */
void binding_ruled(struct core *core, int64_t longest_ms);

/* The longest lease that a guard waits for that begins now. */
int64_t binding_guard_ms(const struct core *core);

/* The clock margin that a guard adds; the step of a master's clock that is not noticed. */
int64_t binding_margin_ms(const struct core *core);
int64_t binding_step_ms(const struct core *core);

/* What the next process has to know of this one: in a state, or in a ledger. */
struct binding_entry {
	int64_t lease_ms;         /* the longest lease that may have been announced */
	int64_t guarded_lease_ms; /* and that guards wait for */
	int64_t margin_ms;
	struct binding binding;
};

struct binding_entry binding_entry(const struct core *core);
void binding_fields(struct record *r, struct binding_entry *e);

/* This core goes on from that of a process with this entry, and has its own settings. */
void binding_inherit(struct core *core, const struct binding_entry *e);

/* The same, for an entry of a ledger. */
void binding_load(struct core *core, struct record *r);

/* What is over is forgotten: before a core is saved. */
void binding_settle(struct core *core);

#endif
