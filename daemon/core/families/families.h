/*
 * families: what the core remembers of the other families of locks: permits, several names at once, latches.
 */
#ifndef CORE_FAMILIES_H
#define CORE_FAMILIES_H

#include "daemon/core/base/starts.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/mlock.h"

#include <stddef.h>
#include <stdint.h>

struct core;
struct latch_quota;

struct families {
	struct latch *latches;
	struct latch_quota *latch_quotas;
	uint64_t latch_quotas_memory;   /* the memory of the master in which they are */
	struct latch_request *requests; /* those with a call under way, by attempt */
	struct latch_list idle;         /* latches without a request, oldest first */
	size_t idle_count;
	struct mlock_list mlocks;        /* the dirty ones */
	struct starts mlock_starts;      /* when the MLOCKs that wait began, each as a whole */
	uint64_t searches;               /* the last search for deadlocks */
	struct deferred_checks deferred; /* the deferred searches */
};

/* Empty, and each family known to the locks (family.h). */
void families_init(struct core *core);

#endif
