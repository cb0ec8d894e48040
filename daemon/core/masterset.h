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
 */
#ifndef CORE_MASTERSET_H
#define CORE_MASTERSET_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct core;
struct master;

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
	uint64_t serial; /* greetings that left with this serial or a later one carried it */
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
	int64_t newest;                    /* the greatest that a master has told */
	int64_t over; /* generation of a later set that took a majority of ours: no earlier set counts */
	struct masterset_next next;
	char dropped[MASTERSET_PLACES_MAX]; /* the last next set that was dropped, for people */
	struct masterset_request request;
	uint32_t tag;                /* of the set, in every call; 0: none is agreed on */
	bool agreed;                 /* all masters have accepted it at some time */
	bool usable;                 /* and no master of ours belongs to another set */
	uint64_t serial;             /* grows when greetings have something new to say */
	uint64_t told;               /* the serial when masterset_news() said so */
	char why[MASTERSET_WHY_MAX]; /* of the last refusal: both sets, and what to do */
};

/* The result of a greeting. */
enum membership {
	MEMBERSHIP_FINE,  /* it is one of ours, or says nothing to the contrary yet */
	MEMBERSHIP_APART, /* not to be used now: it has left, is no member yet, or may not have the set yet */
	MEMBERSHIP_AGAIN, /* what we tell has changed since it was greeted: greet it again */
	MEMBERSHIP_COPY,  /* it has the data of another one of ours: masterset_why_copied() */
	MEMBERSHIP_OTHER  /* it is not one of ours: masterset_why() */
};

void masterset_init(struct core *core);

/* Puts into a HELLO what this daemon knows of the set. */
void masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello);

/* Takes what an answer GOOD or OTHERSET to a HELLO told. */
enum membership masterset_told(struct core *core, struct master *m, const struct vote *vote);

/* No link to the master is up: forgets that it belonged to another set. */
void masterset_away(struct core *core, struct master *m);

/* A set is agreed on, and no master of ours belongs to another: leases can be taken. */
bool masterset_usable(const struct core *core);

/* A set is agreed on, and this daemon has agreed. */
bool masterset_agreed(const struct core *core);

/* Whether a next set is known, which all members have to hear. */
bool masterset_changes(const struct core *core);

/* A master of ours belongs to another set, as masterset_why() says. */
bool masterset_refused(const struct core *core);

/* What this daemon tells in a greeting has changed: all masters have to hear it. True once. */
bool masterset_news(struct core *core);

/* Whether a member has no set yet, and depends on what the others tell. */
bool masterset_unsure(const struct core *core);

/* Whether a member has accepted the next set. */
bool masterset_accepted(const struct core *core);

/* What the server in this slot is to the set: "member", "leaving", "joining" or "left". */
const char *masterset_role(const struct core *core, const struct master *m);

/* Whether to greet it again soon: a next set waits for it, or for daemons that it knows. */
bool masterset_waits(const struct core *core, const struct master *m);

/* A greeting found that it is the server of another slot. False: the slot is no newcomer's. */
bool masterset_known_twin(struct core *core, struct master *m);

/* TIMER_MASTERS. */
void masterset_timer(struct core *core);

/* This daemon ends: refuses a change that was asked for here. */
void masterset_drain(struct core *core, const struct reply *refusal);

/* EVENT_MASTERS: begins a change of the set. Answers this connection now, or when the set has changed. */
void masterset_asked(struct core *core, const struct conn *conn, const struct masters_change *change);

/* MEMBERSHIP_OTHER: both sets, and what to do. Valid until the next greeting is answered. */
const char *masterset_why(const struct core *core);

/*
 * members.c: reads and writes a set of masters in the form in which a master stores it.
 *
 *     set      '<generation> <id>:<way> <id>+<way> ...', ids of 16 hexadecimal digits in rising order;
 *              '+' for a member that came with this generation, ':' for the others
 *     places   '<place> <place> ...', in the same order, for people; and ' | <place> ...' of servers that
 *              have left, the newest first, as many as fit
 *
 * Nothing that a master tells is trusted.
 */

#define MEMBERS_MAX            15 /* the most that can be read; more than any daemon has */
#define MEMBERS_LEFT_MAX       8
#define MEMBERS_GENERATION_MAX INT64_C(1000000000000)

/* The slices point into the text that was read. */
struct members {
	int64_t generation; /* 0 .. MEMBERS_GENERATION_MAX */
	unsigned n;
	unsigned came_n; /* how many came with this generation */
	uint64_t ids[MEMBERS_MAX];
	bool came[MEMBERS_MAX];
	struct slice ways[MEMBERS_MAX];
	struct slice places[MEMBERS_MAX]; /* n == 0: not told */
	unsigned left_n;
	struct slice left[MEMBERS_LEFT_MAX]; /* places */
};

/* A place as a set has it: without blanks, because blanks separate the places of a list. */
void members_place(char out[MASTERSET_PLACE_MAX], const char *where);

/* False: no script of ours stores that. */
bool members_read(struct slice set, struct slice places, struct members *members);

/* Sorts the members by id. set and places have room for MASTERSET_TEXT_MAX and MASTERSET_PLACES_MAX bytes;
 * there are no more members than CORE_MASTERS_MAX. Places of servers that have left are dropped if they do
 * not fit. */
void members_write(struct members *members, char *set, char *places);

/* How many bytes of this text of places belong to members: for "%.*s". */
int members_shown(const char *places);

/* The member with this id; -1: none. */
int members_find(const struct members *members, uint64_t id);

/* The member at this place; -1: none. */
int members_at(const struct members *members, struct slice place);

/* Whether a server at this place has left. */
bool members_left(const struct members *members, struct slice place);

/*
 * The slots of this daemon, compared with a set: which server is in which slot, and what has to be moved when
 * another set is agreed on.
 */

/* Which member the master of this slot is: by its id; without a memory, by what it was in this daemon's life,
 * or by place and way. -1: none, or not known. */
int slot_member(const struct members *list, const struct master *m);

/* Whether it may be a member. One that cannot be reached may be any member, unless it has left. ours: our
 * set; NULL: none is agreed on here. */
bool slot_fits(const struct members *ours, const struct members *list, const struct master *m);

/* Whether our masters are the members of this set. */
bool slots_fit(const struct core *core, const struct members *ours, const struct members *list);

/* Whether each of our masters is a member of this set, or a server that has left it: then the set came from
 * ours by changes. */
bool slots_follow(const struct core *core, const struct members *ours, const struct members *list);

/* Whether our masters have the places and ways of this set. */
bool slots_named(const struct core *core, const struct members *list);

/* How many of our masters are members of this set, by the ids that they have told. */
unsigned slots_shared(const struct core *core, const struct members *list);

/* The master in the slot of this member; NULL: none. */
struct master *slot_of_member(struct core *core, uint64_t id);

/* Moves slots, and opens new ones, so that each member of this set has one. Servers that have left get a slot
 * behind the members for a while, in which they are told of the set. */
void slots_take(struct core *core, const struct members *list);

/* The list fits, and has left the address of a slot, as after a REPLACE by another address of the same
 * server: the slot goes to the address in the list. Another name that a daemon has for a server stays. */
void slots_reroute(struct core *core, const struct members *list);

/*
 * move.c: which server each slot of core.masters is, and how many of the slots are members of the set.
 *
 * The members come first. Behind them are newcomers, and servers that have left while a change still needs
 * them. quorum.h says what a change means for leases.
 */

/* The place that the configuration names; slots behind its masters are closed. */
void master_init(struct core *core, struct master *m, unsigned index);

/* A core that goes on from a ledger, before its first step: the slot begins as the server at this place,
 * which is perhaps not the one that the configuration names. */
void master_begin_at(struct core *core, struct master *m, struct slice place, struct slice way);

/* Likewise: leases that were recovered, the last of them valid until then, had been given by a single master,
 * which is in the first slot. */
void masters_were_one(struct core *core, int64_t valid_ms);

/*
 * From now on the slot is the server at this place, reached in this way, as a set names them;
 * place.n == 0: the slot is closed. What the server before had is gone: its seat in every lease is empty, and
 * answers under way no longer count. The slot is AWAY until a link is up. Emits ACTION_MASTER.
 */
void master_move(struct core *core, struct master *m, struct slice place, struct slice way);

/* The same server is reached at another place or in another way from now on. Its calls are answered and its
 * links reported down, as for any lost link. Emits ACTION_MASTER. */
void master_reroute(struct core *core, struct master *m, struct slice place, struct slice way);

/* Emits ACTION_MASTER: which server the slot is. */
void master_tell_place(struct core *core, const struct master *m);

/*
 * From now on so many masters are members, more than before: settings.masters. The newcomers are in their
 * slots already. Leases keep their seats and get empty ones. With more than one master there are no latches
 * any more: requests about them are refused (latch_known()).
 */
void masters_resize(struct core *core, unsigned masters);

/*
 * masterset_change.c: another set follows the set of masters, while leases go on.
 *
 * The next set is one generation further. It replaces one member, adds two, or is the same list with other
 * ways; the members that stay are a majority of the set in force. Each daemon that knows of it takes it
 * through two steps at all members that stay, the second when all have taken the first:
 *
 *     OFFERED ──all that stay──▶ ACCEPTED ──all that stay, and all living daemons know of it──▶ in force
 *
 * An offer gives way to one of a later generation; an accepted set gives way to none. Two next sets share a
 * member that stays, so at most one of them comes into force. A daemon gives the set in force to the members
 * that stay; they refuse calls for the set before. Once a majority of that set does so, newcomers get the
 * set. They are like members that have lost their memory: guarded until all leases of the set before are
 * over. The lists of other daemons follow when they are told.
 */

/*
 * masterset_copies.c: a server with the data of another master tells that master's id. Only the copy is
 * refused, so that a majority of the others goes on. Without the copied node it is a member that lost its
 * memory: it is guarded, and gets its own id back.
 */

/* To be called with the id that a master tells, before it is believed. theirs: the set that it tells, which
 * counts if none is agreed on here. True: the master is a copy. */
bool masterset_copied(
	struct core *core, struct master *m, const struct vote *vote, const struct members *theirs);

/* The key under which a server has what it remembers as a master: without it, it is one that lost its memory.
 */
void masterset_node_key(const struct core *core, const struct master *m, char *out, size_t room);

/* Whose id the copy has, and the command that mends it. */
void masterset_why_copied(
	const struct core *core, const struct master *m, uint64_t id, char *out, size_t room);

/* In place of a set: no master stores it, and a master that stores any set does not register a daemon that
 * gives it. */
#define MASTERSET_NOBODYS "0"

/* Our set. False: there is none yet. */
bool masterset_members(const struct core *core, struct members *list);

/* The tag of a set in calls; never 0. */
uint32_t masterset_tag(const char *text);

/* Copies as much as fits, with a NUL. */
void masterset_copy(char *to, size_t room, struct slice from);

/* This set is in force from now on. */
void masterset_take(struct core *core, struct slice text, struct slice places);

/* Whether this next set may follow ours: the members that stay are a majority, and so on. */
bool masterset_may_follow(const struct members *ours, const struct members *next);

/* This next set is known from now on. */
void masterset_next(struct core *core, struct slice text, struct slice places);

/* Puts the next set into a HELLO for a member. */
void masterset_ask_next(const struct core *core, const struct master *m, struct call *hello);

/* Takes what a member of our set tells of the next set. */
void masterset_told_next(struct core *core, struct master *m, const struct vote *vote);

/* The same for a slot behind the members: a newcomer that is looked at, or a server that has left. */
void masterset_ask_behind(const struct master *m, struct call *hello);
enum membership masterset_told_behind(struct core *core, struct master *m, const struct vote *vote);

/* What was asked for here goes on: a next set is known; another set is in force (masterset_request.c). */
void masterset_request_next(struct core *core);
void masterset_request_done(struct core *core);

/* Another set is in force here. */
void masterset_changed(struct core *core);

/*
 * The memory of members: what they remember of sets, as they told, and which of them may be given ours.
 *
 * A member that has lost its memory may have forgotten a later set than the one that this daemon knows. It
 * gets ours back
 * - if it told this daemon a set within a lease and this daemon knows of no next one: this daemon is
 *   registered there, so nothing has been decided without it; or
 * - if so many others told our set, asked after it was found without a memory, that each majority has one of
 *   them; or if all others answer, and none tells another set. An earlier set that a newcomer of our set had
 *   left is no other set.
 *
 * A member that comes with a set gets it once a majority of the members before stores it. Each of these has
 * to say so once more after all of them had said so: one may have forgotten it before the last one said so.
 */

/* The master has answered a greeting. To be called before anything else of the answer is looked at. */
void memory_heard(struct core *core, struct master *m, const struct vote *vote);

/* The master told our set or an earlier one; m->enrolled: ours, as agreed on. */
void memory_told(struct core *core, struct master *m, const struct vote *vote);

/* Whether it has told within a lease that our set is agreed on. */
bool memory_fresh(const struct core *core, const struct master *m);

/* Whether the member at this place of our set may be given it. */
bool memory_may_have(
	const struct core *core, const struct members *ours, const struct master *m, unsigned at);

/* How many members have no set, or not ours yet, and may not be given it. */
unsigned memory_waiting(const struct core *core);

#endif
