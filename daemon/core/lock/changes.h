/*
 * changes: the losses and holds that have changed in this step, for what has to outlive a crash
 * (change_list.h); session.h has the sessions. Of a hold that ends the attempt of its lease is stored,
 * because the lease may have begun another one by the time its last entry is written.
 *
 * A thing that is in no ledger costs no more than a check of session.written or grant.durable, which are as
 * the last step left them. When a session enters the ledger, all its holds and losses enter with it, whether
 * they are on their list or not.
 */
#ifndef CORE_CHANGES_H
#define CORE_CHANGES_H

#include <stdbool.h>

struct core;
struct grant;
struct loss;

/* It is new, or has been reported, or is to be reported again; and it is about to be forgotten. */
void loss_changed(struct core *core, struct loss *loss);
void loss_gone(struct core *core, struct loss *loss);

/* It is new, or its terms have changed, how often it was entered, or what its client knows. */
void grant_changed(struct core *core, struct grant *g);
/* It has ended, and is on its lease no more. It goes to the freelist, at once or when its list has been gone
 * through. */
void grant_gone(struct core *core, struct grant *g);

/* ---- the lists, with that of the sessions ---- */

/* There was no memory for one of them: the ledger has to be begun anew. */
bool changes_missed(const struct core *core);

/* Nothing has changed: a core has been loaded, or its ledger is begun anew. */
void changes_forget(struct core *core);

/* All lists are empty: gives back the memory for many. */
void changes_rest(struct core *core);
bool changes_at_rest(const struct core *core);
void changes_done(struct core *core);

#endif
