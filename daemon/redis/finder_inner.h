/*
 * finder_inner: what the files of the finder share.
 *
 *     finder.c ──▶ finder_sentinel.c, finder_cluster.c
 *
 * finder.c asks, and decides whom to believe. The two others have the questions and read the answers; they
 * trust no answer to have the form that it should have.
 */
#ifndef REDIS_FINDER_INNER_H
#define REDIS_FINDER_INNER_H

#include "daemon/redis/finder.h"
#include "daemon/redis/roster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply;

#define FINDER_NODE_MAX      41 /* the id of a node, with its NUL */
#define FINDER_CAUSE_MAX     128
#define FINDER_WHY_MAX       256
#define FINDER_WORDS_MAX     3
#define FINDER_QUESTIONS_MAX 2
#define FINDER_ALIASES_MAX   3

/* Where a server is. */
struct whereabouts {
	char host[FINDER_HOST_MAX];
	uint16_t port;
};

/* What one sentinel or node says of the master. */
struct opinion {
	struct whereabouts at; /* how a client reaches it */
	size_t aliases;        /* CLUSTER: other addresses of the same server */
	struct whereabouts alias[FINDER_ALIASES_MAX];
	unsigned replicas;            /* that it counts */
	struct roster named;          /* their names, as far as they are known; see replicas.h */
	struct roster addresses;      /* CLUSTER: of these, in that order */
	struct roster previous;       /* CLUSTER: replicas that may follow the master before */
	int64_t epoch;                /* of its configuration: a failover makes it greater */
	char node[FINDER_NODE_MAX];   /* CLUSTER: the id of the master */
	bool myself;                  /* CLUSTER: the node that says so is the master */
	char asked[FINDER_NODE_MAX];  /* CLUSTER: the id of the node that says so, */
	char leader[FINDER_NODE_MAX]; /* and of its master; "": it is a master itself */
	char cause[FINDER_CAUSE_MAX]; /* why it is not the one that was believed when this was read */
};

/* A question and its surroundings. */
struct inquiry {
	const char *name;                     /* see finder_settings */
	const char *key;                      /* CLUSTER */
	unsigned slot;                        /* CLUSTER: of the key */
	const struct finder_address *address; /* of the one that is asked */
	const struct opinion *believed;       /* NULL: none yet */
};

/* The questions of a kind. Each is asked in one go with the others, and answered in that order. */
struct finder_source {
	const char *role;    /* what is asked, for people and the log */
	const char *channel; /* where it publishes news, after the name and a blank; NULL: nowhere */
	size_t questions;    /* 1 .. FINDER_QUESTIONS_MAX */
	/* Sets the words, which are valid as long as the inquiry, and returns how many. */
	int (*ask)(const struct inquiry *inquiry, size_t question, const char *words[FINDER_WORDS_MAX]);
	/* Adds the answer to *out, which is zero before the first. False: there is no opinion, and why, of
	 * FINDER_WHY_MAX bytes, is what it says, as a clause that follows its name. */
	bool (*read)(const struct inquiry *inquiry, size_t question, const struct redisReply *reply,
		struct opinion *out, char *why);
};

extern const struct finder_source finder_sentinel, finder_cluster;

#endif
