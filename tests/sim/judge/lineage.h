/*
 * lineage: which daemon-ids go back to the same ledger (recovery.h). The leases of a daemon may be at the
 * masters under the id of any process before it, and of another process that began with a copy of its ledger.
 */
#ifndef SIM_LINEAGE_H
#define SIM_LINEAGE_H

#include "daemon/redis/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;

struct lineage {
	char daemon_id[CALL_DAEMON_ID_SIZE];
	uint64_t family;
};

/* All daemons that ever were, in a world with ledgers. */
struct kins {
	struct lineage *of;
	size_t n;
	uint64_t families; /* so many */
};

void lineage_add(struct world *world, const char *daemon_id, uint64_t family);
/* 0: none. */
uint64_t lineage_family(const struct world *world, const char *daemon_id);
/* Whether two are the same, or of one family. The texts may go on. */
bool lineage_same(const struct world *world, const char *daemon_id, const char *other);

void lineage_free(struct world *world);

#endif
