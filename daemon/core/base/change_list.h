/*
 * change_list: the things of one kind that have changed in this step, for what has to outlive a crash
 * (ledger.h). The code that changes one marks it, and knows nothing of entries; at the end of the step the
 * ledger goes through the lists. A thing is on its list once, however often it changes.
 *
 * A thing that ends stays on its list as it was: its memory is used again after the step at the earliest
 * (alloc.h), so its last entry can be written.
 */
#ifndef CORE_CHANGE_LIST_H
#define CORE_CHANGE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct change_list {
	void **things; /* in the order in which they changed first */
	size_t n;
	size_t room;
	bool missed; /* there was no memory for one of them: the ledger has to be begun anew */
};

/* Appends. False: out of memory, and list.missed is set. */
bool change_list_add(struct change_list *list, void *thing);

/* It is empty: gives back the memory for many. */
void change_list_rest(struct change_list *list);
bool change_list_at_rest(const struct change_list *list);

void change_list_done(struct change_list *list);

#endif
