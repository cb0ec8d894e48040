/*
 * finder: where a master is that moves: one that Redis Sentinel fails over, or the owner of a hash slot of a
 * Redis Cluster.
 *
 *     finder_new() ──▶ a link to each sentinel or node: the questions of the kind, SUBSCRIBE +switch-master
 *     found(), lost() ◀── their answers
 *
 * The pool is the only user. Those that are asked may disagree while a failover is under way, for as long as
 * one of them is cut off, or because one of them lies: an address is believed if a majority of all that were
 * configured names it, the ones that do not answer included. Without a majority the address that was believed
 * last stays the one. No answer is a proof: the pool asks the server itself for its role.
 */
#ifndef REDIS_FINDER_H
#define REDIS_FINDER_H

#include "daemon/base/tls.h"
#include "daemon/redis/replicas.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct finder;
struct log;
struct redisReply;

#define FINDER_ADDRESSES_MAX  16
#define FINDER_ASK_MS         5000 /* time between two questions to an address, besides what it publishes */
#define FINDER_ASK_NO_PUSH_MS 1000 /* when a sentinel does not let us subscribe */
#define FINDER_ASK_CLOSE_MS   250  /* when something is wrong with the master */

enum finder_kind { FINDER_SENTINEL, FINDER_CLUSTER };

struct finder_address {
	const char *host; /* address or name */
	uint16_t port;
};

/* Copied by finder_new(). */
struct finder_settings {
	enum finder_kind kind;
	const char *name; /* SENTINEL: of the master, as the sentinels know it; CLUSTER: for people */
	const char *key;  /* CLUSTER: the master is the owner of this key's slot */
	const struct finder_address *addresses; /* of the sentinels, or of nodes */
	size_t count;                           /* 1 .. FINDER_ADDRESSES_MAX */
	const char *user;                       /* there; NULL: the default user */
	const char *password;                   /* there; NULL: no AUTH */
	struct tls_settings tls;                /* there */
	const char *client_name;                /* as CLIENT LIST shows it: no spaces */
	int64_t connect_ms;
	int64_t reply_ms;
};

struct finder_found {
	const char *host; /* address or name */
	uint16_t port;
	const struct replicas_found *replicas; /* valid until the hook returns */
};

/* Called from the event loop only, never from within the functions below. None may free the finder. */
struct finder_hooks {
	/* The first answer, and every other one: the master is another, or has other replicas. False:
	 * out of memory, so it is reported again. */
	bool (*found)(void *arg, const struct finder_found *found);
	/* No majority names an address, for a new reason. What was found before may still be so. */
	void (*lost)(void *arg, const char *why);
};

/* hooks and log are held by reference. NULL: out of memory. */
struct finder *finder_new(struct event_base *base, const struct finder_settings *settings,
	const struct finder_hooks *hooks, void *arg, struct log *log) __attribute__((warn_unused_result));
void finder_free(struct finder *finder);
/* Of the sentinels or nodes, as link_set_password(). */
bool finder_set_password(struct finder *finder, const char *password) __attribute__((warn_unused_result));

/* true: something is wrong with the master; they are asked now, and often until all is well again. */
void finder_watch(struct finder *finder, bool closely);

/* For reports. Texts are valid until the loop turns. */
struct finder_view {
	enum finder_kind kind;
	const char *name;  /* see finder_settings; NULL: there is no finder */
	unsigned slot;     /* CLUSTER */
	const char *node;  /* CLUSTER: the id of the owner; "": not found yet */
	int64_t since_ms;  /* for so long the master has been the one that it is; -1: not found yet */
	const char *cause; /* why it is this one, and not the one before; "": not found yet */
};
void finder_see(const struct finder *finder, struct finder_view *out);

/* Why an answer without sense is no opinion: the error that it is, or that role does not say such
 * things. Returns false. */
bool answer_refuse(const struct redisReply *reply, const char *role, char *why);
#define FINDER_HOST_MAX 256
/* Copies a host of n bytes. It is neither printed nor resolved unless it looks like an address or a name.
 * False: it does not. */
bool host_copy(char out[FINDER_HOST_MAX], const char *host, size_t n);

#endif
