/*
 * recover: from a ledger to things (recover_read.c), and from things to a core (recover.c); see ledger.h. No
 * other file includes this.
 *
 *     entries ──▶ things: the last entry of each ──▶ sessions ──▶ losses ──▶ holds, each with its lease
 */
#ifndef CORE_RECOVER_H
#define CORE_RECOVER_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "proto/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct lease;

/* What an entry is about. A thing is live if its last entry says so, and if what it belongs to has not gone
 * since. */
struct thing {
	enum record_type type; /* of the entry that says all of it */
	struct slice key;      /* identifies it among those of its type: the first fields */
	struct slice body;     /* of its last entry */
	bool live;             /* the last entry does not say that it is gone */
	size_t since;          /* the number of the entry since which it is live */
	size_t at;             /* of its last entry */
	size_t gone;           /* of the last one that said that it is gone */
	struct thing *whose;   /* of a loss: its session; of a hold: its lease; NULL: none that is live */
	bool skipped;          /* of a session: it was not durable */
	/* Of a lease. */
	int64_t others_until_ms; /* holds on it that are skipped end until then; 0: there are none */
	struct slice name;       /* n == 0: its entry has not been read yet */
	bool over;               /* its time is */
	bool refused;            /* it cannot be: its holds are lost */
	struct lease *lease;     /* NULL: no hold has come that needs it */
};

struct recovery {
	struct core *core;
	struct record r;
	char daemon_id[CALL_DAEMON_ID_SIZE];
	struct thing *things;
	size_t count;
	size_t entries;     /* so far */
	struct slice terms; /* the last LEDGER_TERMS; n == 0: there is none */
	struct slice set;   /* the last LEDGER_SET, likewise */
	struct map by_key;
	char doubt[RECORD_WHY_MAX]; /* why the first lease was refused that cannot be; "": none was */
	bool one;                   /* all leases were given by the master in the first slot */
	int64_t valid_until_ms;     /* the last of them until then; 0: there is none */
};

#endif
