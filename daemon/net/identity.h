/*
 * identity: which client speaks on a connection, and how.
 *
 * It is a part of the connection. The verbs that log in, name a client and switch the protocol change it
 * (handshake.c); reports show it. The connection owns the texts.
 */
#ifndef NET_IDENTITY_H
#define NET_IDENTITY_H

#include "daemon/core/peer.h"
#include "proto/command.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

struct access_user;
struct quota_seat;

struct identity {
	/* What each request reads or changes. */
	conn_id id;
	int64_t last_ms; /* when its latest request came */
	uint64_t requests;
	enum verb last; /* the latest verb; VERB_COUNT: none yet */
	int protocol;   /* 2 or 3 */
	bool local;     /* connected to a Unix socket */
	bool streams;   /* receives EVENTS */
	bool stranger;  /* has to log in, and has not; set by admission */

	bool extra;        /* an administrator beyond the limits; set by admission */
	bool release;      /* a clean close ends holds; on a Unix socket any close */
	bool native_admin; /* peer.admin as the kernel reports it, without a login */
	struct peer peer;
	const struct access_user *user; /* NULL: not logged in */
	struct quota_seat *seat;        /* NULL: not counted for any user */
	TAILQ_ENTRY(identity) strangers;
	int64_t unauthenticated_ms; /* since when it is a stranger */
	unsigned failures;          /* failed logins */
	char *label;                /* CLIENT SETNAME; NULL: none */
	char *lib_name;             /* CLIENT SETINFO; NULL: none */
	char *lib_ver;
	int64_t since_ms; /* when it connected, CLOCK_BOOTTIME */
};

#endif
