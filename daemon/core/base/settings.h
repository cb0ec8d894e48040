/*
 * settings: what the configuration says to the core, and the limits that follow from it.
 *
 * core_new() copies them. A reload changes rules and limits; the number of masters follows the set in force.
 */
#ifndef CORE_SETTINGS_H
#define CORE_SETTINGS_H

#include "daemon/core/base/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_KEY_MAX 256 /* bytes */

/* What the configuration says of names that match a glob; the first match wins. Milliseconds. */
struct rule {
	const char *match; /* glob: * ? [a-z] and \ as in fnmatch without path rules */
	const char *key;   /* key template at the master with one '%', <= RULE_KEY_MAX; NULL: NAMESPACE:{%} */
	enum interop interop;
	int64_t lease_ms;       /* L: 100 .. lease_max_ms */
	int64_t wait_ms;        /* default WAIT; -1: for ever */
	int64_t max_hold_ms;    /* ceiling of every hold; 0: none */
	int64_t crash_delay_ms; /* an abandoned hold is withheld for so much longer; 0: no longer */
	int64_t slow_wait_ms;   /* a wait is noted when it has lasted so long; 0: it is not */
	int64_t long_hold_ms;   /* and a hold when it has; 0: it is not */
};

/* Limits of sessions that outlive their connections: of grace (SESSION GRACE) and of named sessions. */
struct core_grace {
	int64_t sessions; /* sessions with a grace at the same time */
	int64_t per_user; /* of these, of one user */
	int64_t most_ms;  /* the longest grace */
	int64_t ttl_ms;   /* the longest that a named session (named_session.h) may be silent */
};

/* Limits for all sessions of one user together. */
struct core_per_user {
	int64_t locks;   /* held, waited for, and withheld after them; each permit counts as one */
	int64_t latches; /* made, until their lifetime ends; counts once per 100 steps, rounded up */
};

/* What one user has in place of the limits for all users; 0: these count. */
struct core_user_limits {
	int64_t locks;  /* as core_per_user.locks */
	int64_t graces; /* as core_grace.per_user */
};

#define CORE_LINKS_MAX    8
#define CORE_MASTERS_MAX  7
#define CORE_SLOTS_MAX    (CORE_MASTERS_MAX + 2) /* the members, then at most two newcomers */
#define MASTERSET_WAY_MAX 64                     /* the way to a master as text, with its NUL */

/* A master's place as text, likewise: an address, a path or a name, without blanks (masterset.h). */
#define MASTERSET_PLACE_MAX 640

struct core_settings {
	const struct rule *rules; /* the last one matches every name */
	size_t rule_count;        /* >= 1 */
	const char *namespace_;   /* all our keys begin with it; owned by the caller */
	const char *daemon_id;    /* 32 hexadecimal digits, for a ledger; owned by the caller; NULL: there is
				     none */
	int64_t lease_max_ms;     /* no rule has a longer lease; grows with core_set_rules() */
	int64_t margin_ms;        /* J: forward clock steps of a master that are absorbed */
	unsigned masters;         /* an odd number, 1 .. CORE_MASTERS_MAX */
	const char *const *where; /* their addresses, for people; owned by the caller; NULL: numbers do */
	/* The way to each: "url", "sentinel" or "embedded", with what changes its meaning; without blanks,
	 * shorter than MASTERSET_WAY_MAX, the same at all daemons. Owned by the caller; NULL: "url" */
	const char *const *ways;
	/* If the masters are members of the set in force, or servers that have left it: take up that set. */
	bool follow;
	/* Until when clients may rely on locks of the previous daemon, whose memory the only master has lost
	 * (CLOCK_BOOTTIME, ms): the first guard ends no later. 0: not known. */
	int64_t relied_until_ms;
	unsigned links;    /* to each of them, 1 .. CORE_LINKS_MAX */
	int64_t retain_ms; /* how long an unused lease is retained; 0: not at all */
	int64_t streak;    /* local grants in a row while another daemon waits, >= 1 */
	int64_t streak_ms; /* the longest time for them */
	int64_t grants_per_session;
	int64_t waiters_per_session;
	int64_t lost_per_session; /* remembered losses; the oldest are forgotten first. For one user:
				     per_user.locks */
	size_t name_bytes;        /* longest name accepted, <= NAME_BYTES_MAX */
	struct core_grace grace;
	struct core_per_user per_user;
	size_t reserve_bytes; /* of the core's reserve of memory (alloc.h); 0: the core's own number */
	size_t end_holds;   /* of sessions that end, holds and losses given up in a millisecond; 0: the core's
			       own   number */
	size_t ledger_many; /* a session with so many holds is in the ledger even if it is not durable; 0: the
			       core's own number */
};

#endif
