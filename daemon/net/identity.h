/*
 * identity: who speaks on a connection, and how.
 *
 * Lives inside the connection; the verbs that log in, name and switch protocol change it (handshake.c),
 * reports show it. Texts are owned by the connection.
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
	/* What each request looks at or changes. */
	conn_id id;
	int64_t last_ms; /* its latest request */
	uint64_t requests;
	enum verb last; /* verb of the latest; VERB_COUNT: none yet */
	int protocol;   /* 2 or 3 */
	bool local;     /* Unix socket */
	bool streams;   /* EVENTS */
	bool stranger;  /* has to log in, and has not; admission's to set */

	bool extra;        /* an administrator beyond the limits; likewise */
	bool release;      /* a clean close ends holds; on a Unix socket any close */
	bool native_admin; /* peer.admin as the kernel says it, without login */
	struct peer peer;
	const struct access_user *user; /* NULL: not logged in */
	struct quota_seat *seat;        /* NULL: not counted for any user */
	TAILQ_ENTRY(identity) strangers;
	int64_t unauthenticated_ms; /* since when it is one */
	unsigned failures;          /* to log in */
	char *label;                /* CLIENT SETNAME; NULL: none */
	char *lib_name;             /* CLIENT SETINFO; NULL: none */
	char *lib_ver;
	int64_t since_ms; /* when it connected, CLOCK_BOOTTIME */
};

#endif
