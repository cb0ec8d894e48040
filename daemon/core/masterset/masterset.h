/*
 * masterset: the set of masters that the daemons of a namespace have agreed on.
 *
 * Two majorities share a master only if both are of one set. So each master stores the set that it belongs
 * to: a generation, and for each member its permanent id and the way to it ("url", "sentinel", "embedded").
 * The configuration makes the set once, and finds it afterwards. Three steps make a set; each step is taken
 * at all members before the next:
 *
 *     OFFERED ──all have stored it──▶ ACCEPTED ──all have that──▶ AGREED      leases are taken from here on
 *
 * If majorities were enough, {A,B,C} and {A,B,D} could both be made. An offer gives way to an agreed set, and
 * to another offer when no daemon lives that is registered under it. Therefore all members accept what all
 * have offered before it is agreed on: an accepted or agreed set gives way to an offer only if none of its
 * daemons lives, and only to a set with a majority of its members. lua/hello.lua has the rule of each master.
 *
 * Every call carries a tag of the set beside the incarnation, and the same comparison refuses a call for
 * another set. If a master belongs to another set, or is no member of ours, this daemon's configuration is
 * wrong: it takes no new lease anywhere. Its clients keep what they hold; other leases are given back.
 *
 * A member without its memory gets its id and the set back from a daemon that knew it as a member, or that
 * finds it at the address which the set names, if the master reported a set to it within a lease, and the
 * daemon knows of no next set; or N - majority + 1 others, asked after the loss was seen, tell the same set;
 * or all others answer, and none tells another. Any other server without a memory is a stranger.
 *
 * A daemon leaves its set if it has no lease, is told of another set, and learns that its own is over, or
 * that a later one was accepted; or finds that most servers of its list belong to a later set, or that its
 * only master forgot and has a set of other daemons; or has another list in its configuration by now.
 */
#ifndef CORE_MASTERSET_H
#define CORE_MASTERSET_H

#include "daemon/core/base/event.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct core;
struct master;
struct members;
struct slice;

/* Texts of a set. For each master: an id of 16 digits and its way, or its place, with separators. */
#define MASTERSET_TEXT_MAX   (16 + CORE_MASTERS_MAX * (MASTERSET_WAY_MAX + 18))
#define MASTERSET_PLACES_MAX (CORE_MASTERS_MAX * MASTERSET_PLACE_MAX)
#define MASTERSET_WHY_MAX    720
#define MASTERSET_KEY_MAX    160

/* The set that is to follow (masterset_change.c). */
struct masterset_next {
	char text[MASTERSET_TEXT_MAX]; /* "": none */
	char places[MASTERSET_PLACES_MAX];
	uint32_t tag;
	uint64_t serial; /* HELLOs that left with this serial or a later one carried it */
};

/* A change of the masters that an administrator asked for here, until it is answered. */
struct masterset_request {
	bool open;
	conn_id conn;
	enum masters_op op;
	unsigned old;                  /* REPLACE: the slot to be replaced */
	unsigned newcomers;            /* how many, in the slots behind the members */
	char text[MASTERSET_TEXT_MAX]; /* the next set that came of it; "": newcomers are being checked */
	struct timer timer;            /* how long newcomers are checked */
};

/* The set of masters that is agreed on, or offered. */
struct masterset {
	char text[MASTERSET_TEXT_MAX];     /* '<generation> <id>:<way> ...', by id; "": not known yet */
	char places[MASTERSET_PLACES_MAX]; /* of its members, in that order, for people */
	int64_t generation;                /* of the next set that is composed here */
	int64_t newest;                    /* the greatest that a master has reported */
	int64_t over; /* generation of a later set that took a majority of ours: no earlier set counts */
	struct masterset_next next;
	char dropped[MASTERSET_PLACES_MAX]; /* the last next set that was dropped, for people */
	struct masterset_request request;
	bool agreed;                 /* all masters have accepted it at some time */
	bool usable;                 /* and no master of ours belongs to another set */
	uint64_t serial;             /* grows when HELLOs have something new to say */
	uint64_t announced;          /* the serial when masterset_news() said so */
	char why[MASTERSET_WHY_MAX]; /* of the last refusal: both sets, and what to do */
};

/* The result of a HELLO. */
enum membership {
	MEMBERSHIP_FINE,  /* it is one of ours, or says nothing to the contrary yet */
	MEMBERSHIP_APART, /* not to be used now: it has left, is no member yet, or may not have the set yet */
	MEMBERSHIP_AGAIN, /* what we tell has changed since its HELLO: send it again */
	MEMBERSHIP_COPY,  /* it has the data of another one of ours: masterset_why_copied() */
	MEMBERSHIP_OTHER  /* it is not one of ours: masterset_why() */
};

void masterset_init(struct core *core);

/* Puts into a HELLO what this daemon knows of the set. */
void masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello);

/* Takes what an answer GOOD or OTHERSET to a HELLO says of sets. */
enum membership masterset_answered(struct core *core, struct master *m, const struct vote *vote);

/* No link to the master is up: forgets that it belonged to another set. */
void masterset_away(struct core *core, struct master *m);

/* A set is agreed on, and no master of ours belongs to another: leases can be taken. */
bool masterset_usable(const struct core *core);

/* A set is agreed on, and this daemon has agreed. */
bool masterset_agreed(const struct core *core);

/* A master of ours belongs to another set, as masterset_why() says. */
bool masterset_refused(const struct core *core);

/* What this daemon tells in a HELLO has changed: all masters have to hear it. True once. */
bool masterset_news(struct core *core);

/* MEMBERSHIP_OTHER: both sets, and what to do. Valid until the next HELLO is answered. */
const char *masterset_why(const struct core *core);

/* Instead of a set: no master stores it, and a master that stores any set does not register a daemon that
 * gives it. */
#define MASTERSET_UNMATCHED "0"

/* The tag of a set in calls; never 0. */
uint32_t masterset_tag(const char *text);

/* Copies as much as fits, with a NUL. */
void masterset_copy(char *to, size_t room, struct slice from);

/* Our set. False: there is none yet. */
bool masterset_members(const struct core *core, struct members *list);

/* This set is in force from now on. */
void masterset_take(struct core *core, struct slice text, struct slice places);

#endif
