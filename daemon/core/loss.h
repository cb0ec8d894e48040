/*
 * loss: a hold that ended otherwise than by its holder, from the moment it is told to the moment it is
 * forgotten.
 *
 * Remembered until UNLOCK, a new LOCK or the end of the session, bounded in number: the oldest go first.
 */
#ifndef CORE_LOSS_H
#define CORE_LOSS_H

#include "daemon/core/state.h"

/* Remembers it and, with tell, tells it at once as the session asked (ONLOSS). */
void loss_add(
	struct core *core, struct session *s, const struct grant *g, enum loss_reason reason, bool tell);

/* The loss of this name with this tag that the session is reminded of; NULL: none. */
struct loss *loss_find(
	const struct core *core, const struct session *s, struct slice name, struct slice owner);

/* One that the session has not been told of; NULL: none. */
const struct loss *loss_untold(const struct session *s);

/* The name of the lock that was lost. */
struct slice loss_name(const struct loss *loss);

/* Answers a request on this connection with it: from then on it is told. name: to be named, as the request
 * has several; n == 0: it has one. */
void loss_answer(struct core *core, conn_id conn, struct loss *loss, struct slice name);

void loss_forget(struct core *core, struct session *s, struct loss *loss);
void loss_forget_all(struct core *core, struct session *s);

const char *loss_word(enum loss_reason reason);
const char *loss_text(enum loss_reason reason);

#endif
