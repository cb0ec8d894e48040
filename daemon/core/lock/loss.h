/*
 * loss: a hold that ended otherwise than by its holder, from the moment it is reported until it is forgotten.
 *
 * A loss is remembered until UNLOCK, a new LOCK or the end of the session. The number is bounded: the oldest
 * are forgotten first.
 */
#ifndef CORE_LOSS_H
#define CORE_LOSS_H

#include "daemon/core/base/map.h"
#include "daemon/core/lock/grant.h"

#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct reply;
struct session;
struct waiter;

/* A hold that was lost, until it is reported to its session. */
struct loss {
	struct freelist_link freed;
	UT_hash_handle hh;
	enum loss_reason reason;
	bool changed;  /* it is on the list of changes (change_list.h) */
	bool gone;     /* it has been forgotten in this step */
	bool reported; /* by a push or an answer, for a named session by UNLOCK of the hold; true for an end
		      that the holder chose */
	int64_t token;
	struct session *session;
	char bytes[]; /* its key in the table: the length of the name, the name, the tag */
};

/* Remembers the loss and, with report, tells it at once in the way the session chose (ONLOSS). */
void loss_add(
	struct core *core, struct session *s, const struct grant *g, enum loss_reason reason, bool report);

/* The connection has come back to its session without being asked to: reports what has not been reported to
 * the session, as its ONLOSS says. */
void loss_report(struct core *core, struct session *s, const struct conn *conn);

/* The remembered loss of this name with this tag; NULL: none. */
struct loss *loss_find(
	const struct core *core, const struct session *s, struct slice name, struct slice owner);

/* One that has not been reported to the session; NULL: none. */
const struct loss *loss_unreported(const struct session *s);

/* The name of the lock that was lost, and the tag of its hold. */
struct slice loss_name(const struct loss *loss);
struct slice loss_owner(const struct loss *loss);

/* Remembers a loss, in place of an earlier one of this name with this tag. False: out of memory. */
bool loss_put(struct core *core, struct session *s, struct slice name, struct slice owner,
	enum loss_reason reason, bool reported, int64_t token);

/* The same; and forgets the oldest if there are too many. Out of memory, the hold is simply gone. */
void loss_remember(struct core *core, struct session *s, struct slice name, struct slice owner,
	enum loss_reason reason, bool reported, int64_t token);

/* Answers a request on this connection with the loss, which counts as reported from then on. name: named in
 * the answer, for a request with several names; n == 0: the request has one name. */
void loss_answer(struct core *core, const struct conn *conn, struct loss *loss, struct slice name);

/* The client of the session has ended: a name that is withheld because of the hold that it lost passes on. */
void loss_pass_on(struct core *core, const struct loss *loss);

/* UNLOCK or MUNLOCK of the hold that was lost: its client relies on it no more, whether or not it had an
 * answer that tells of the loss. token: that the request names; 0: none, which says nothing: libraries send
 * that when a loss is reported to them, while their program is still at work. */
void loss_renounce(struct core *core, struct session *s, struct loss *loss, int64_t token);

/* The client of the session had lost its connection, and perhaps answers that reported losses: they are to be
 * reported again. */
void loss_doubt(struct core *core, struct session *s);

void loss_forget(struct core *core, struct session *s, struct loss *loss);
void loss_forget_all(struct core *core, struct session *s);

/* The holder chose this end, and it is not reported before the holder asks. */
static inline bool
loss_is_chosen(enum loss_reason reason)
{
	return reason == LOSS_LEASE || reason == LOSS_CLAIM;
}

const char *loss_word(enum loss_reason reason);
const char *loss_text(enum loss_reason reason);

/*
 * Reentering: a LOCK of a name that its session and tag hold already.
 *
 * With a tag it adds one to the count of the hold and changes nothing else; without a tag the answer is HELD.
 * If the hold does not suffice for what is asked, the answer is UPGRADE: two sessions that each hold some and
 * wait for more would wait for each other.
 */

/* A LOCK or MLOCK of a named session, with this CLAIM, finds its hold, which counts nothing: its client
 * asks once more, or a copy comes late. So it puts the end of the CLAIM off. */
void grant_repeated(struct core *core, struct grant *g, int64_t claim_ms);

/* The answer of a LOCK that finds its hold. */
void reenter_lock(struct core *core, struct grant *g, const struct command *c, struct reply *out);

/* It is a waiter's turn, but meanwhile another connection of its session was granted what it asks for. True:
 * its wait has ended with an answer, or by queue_end_unpushable(). */
bool reenter_waiter(struct core *core, struct waiter *w);

#endif
