/*
 * leases: names, what the configuration says of them, and what is known of all their leases together.
 */
#ifndef CORE_LEASES_H
#define CORE_LEASES_H

#include "daemon/core/base/ration.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/rules.h"

#include <stddef.h>

struct demand;
struct permit_lease;
struct release;

struct leases {
	struct rules rules;
	struct names names;                 /* the resources */
	struct demand *no_demand;           /* of a name that no client here waits for */
	struct permit_lease *permit_leases; /* by attempt */
	struct release *releases;
	struct ration retained; /* unused leases, by when they will be given back: the latest */
	struct ration deferred; /* likewise, of names that are not expected to be wanted again */
	struct ration ended;    /* unused leases that are given back */
	struct ration renewals; /* that begin, or would have */
	struct ration turns;    /* renewals that were deferred, by when they will begin: the latest */
};

#endif
