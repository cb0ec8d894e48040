/*
 * shown: how many keys a map has that the daemon shows, by shown.def.
 */
#ifndef ADMIN_SHOWN_H
#define ADMIN_SHOWN_H

enum shown_map {
	SHOWN_LOCK,          /* INSPECT */
	SHOWN_LOCK_OF_FLEET, /* INSPECT with FLEET */
	SHOWN_PAST_HOLD,     /* HISTORY */
	SHOWN_NAME,          /* LOCKS */
	SHOWN_SESSION,       /* SESSIONS */
	SHOWN_DAEMON,        /* TOP, of each daemon */
	SHOWN_MINUTE,        /* HOUR, of each minute */
	SHOWN_SET,           /* MASTERS */
	SHOWN_MASTER,        /* MASTERS, of each master */
	SHOWN_PEER           /* FLEET */
};

static inline unsigned
shown_keys(enum shown_map map)
{
	unsigned n = 0;
#define SHOWN(of, key, meaning) n += map == SHOWN_##of;
#include "daemon/admin/shown.def"
	return n;
}

#endif
