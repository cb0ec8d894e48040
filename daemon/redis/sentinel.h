/*
 * sentinel: where Redis Sentinel says a master is.
 *
 *     sentinel_new() ──▶ a link to each sentinel: SENTINEL MASTER name, SUBSCRIBE +switch-master
 *     found(), lost() ◀── what they say
 *
 * The pool is the only user. Sentinels may disagree while a failover is under way, or for as long as one of
 * them is cut off: the one with the highest epoch of its configuration is believed. What they say is no
 * proof: whoever connects there asks the server itself for its role.
 */
#ifndef REDIS_SENTINEL_H
#define REDIS_SENTINEL_H

#include "daemon/base/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct log;
struct sentinel;

#define SENTINELS_MAX           16
#define SENTINEL_ASK_MS         5000 /* they are asked so often besides what they tell by themselves */
#define SENTINEL_ASK_NO_PUSH_MS 1000 /* when one of them does not let us subscribe */
#define SENTINEL_ASK_CLOSE_MS   250  /* when something is wrong with the master */

struct sentinel_place {
	const char *host; /* address or name */
	uint16_t port;
};

/* Copied by sentinel_new(). */
struct sentinel_settings {
	const char *name; /* of the master, as the sentinels know it */
	const struct sentinel_place *places;
	size_t count;            /* 1 .. SENTINELS_MAX */
	const char *user;        /* at the sentinels; NULL: the default user */
	const char *password;    /* at the sentinels; NULL: no AUTH */
	struct tls_settings tls; /* of the sentinels */
	const char *client_name; /* as CLIENT LIST shows it: no spaces */
	int64_t connect_ms;
	int64_t reply_ms;
};

struct sentinel_found {
	const char *host; /* address or name */
	uint16_t port;
	unsigned replicas; /* that the sentinels know of, the ones that are down too */
};

/* Called from the event loop only, never from within the functions below. None may free the sentinel. */
struct sentinel_hooks {
	/* The first answer, and every other one: the master is another, or has more or fewer replicas. False:
	 * out of memory, so it is told again. */
	bool (*found)(void *arg, const struct sentinel_found *found);
	/* None of them knows, for a new reason. What was found before may still be so. */
	void (*lost)(void *arg, const char *why);
};

/* hooks and log are kept by reference. NULL: out of memory. */
struct sentinel *sentinel_new(struct event_base *base, const struct sentinel_settings *settings,
	const struct sentinel_hooks *hooks, void *arg, struct log *log) __attribute__((warn_unused_result));
void sentinel_free(struct sentinel *sentinel);
/* Of the sentinels, as link_set_password(). */
bool sentinel_set_password(struct sentinel *sentinel, const char *password)
	__attribute__((warn_unused_result));

/* true: something is wrong with the master; they are asked now, and often until all is well again. */
void sentinel_watch(struct sentinel *sentinel, bool closely);

#endif
