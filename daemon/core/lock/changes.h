/*
 * changes: the sessions, losses and holds that have changed in this step, for what has to outlive a crash
 * (ledger.h). The code that changes one marks it, and knows nothing of entries; at the end of the step the
 * ledger goes through the lists. A thing is on its list once, however often it changes.
 *
 * A thing that ends stays on its list as it was: its memory is used again after the step at the earliest
 * (alloc.h), so its last entry can be written. Of a hold the attempt of its lease is kept, because the lease
 * may have begun another one by then.
 *
 * A thing that is in no ledger costs no more than a check of session.written or grant.durable, which are as
 * the last step left them. When a session enters the ledger, all its holds and losses enter with it, whether
 * they are on their list or not.
 */
#ifndef CORE_CHANGES_H
#define CORE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

struct core;
struct grant;
struct loss;
struct session;

struct change_list {
	void **things; /* in the order in which they changed first */
	size_t n;
	size_t room;
};

struct changes {
	struct change_list sessions, losses, grants;
	bool missed; /* there was no memory for one of them: the ledger has to be begun anew */
};

/* Something that its entry says: its client, its terms, its process or its id. Also tells the connections if
 * it is durable from now on, or no more. */
void session_changed(struct core *core, struct session *s);
/* It ends, and has neither holds nor losses any more. */
void session_gone(struct core *core, struct session *s);

/* It is new, or has been told, or is to be told again; and it is about to be forgotten. */
void loss_changed(struct core *core, struct loss *loss);
void loss_gone(struct core *core, struct loss *loss);

/* It is new, or its terms have changed, how often it was entered, or what its client knows. */
void grant_changed(struct core *core, struct grant *g);
/* It has ended, and is on its lease no more. It goes to the freelist, at once or when its list has been gone
 * through. */
void grant_gone(struct core *core, struct grant *g);

/* Appends to a list. False: out of memory, and changes.missed is set. */
bool changes_add(struct core *core, struct change_list *list, void *thing);

/* Nothing has changed: a core has been loaded, or its ledger is begun anew. */
void changes_forget(struct changes *changes);

/* All lists are empty: gives back the memory for many. */
void changes_rest(struct changes *changes);
bool changes_at_rest(const struct changes *changes);
void changes_done(struct changes *changes);

#endif
