/*
 * loss: a hold that ended otherwise than by its holder, from the moment it is told until it is forgotten.
 *
 * A loss is remembered until UNLOCK, a new LOCK or the end of the session. The number is bounded: the oldest
 * are forgotten first.
 */
#ifndef CORE_LOSS_H
#define CORE_LOSS_H

#include "daemon/core/state.h"

/* Remembers the loss and, with tell, tells it at once in the way the session chose (ONLOSS). */
void loss_add(
	struct core *core, struct session *s, const struct grant *g, enum loss_reason reason, bool tell);

/* The remembered loss of this name with this tag; NULL: none. */
struct loss *loss_find(
	const struct core *core, const struct session *s, struct slice name, struct slice owner);

/* One that the session has not been told of; NULL: none. */
const struct loss *loss_untold(const struct session *s);

/* The name of the lock that was lost. */
struct slice loss_name(const struct loss *loss);

/* Answers a request on this connection with the loss, which counts as told from then on. name: named in the
 * answer, for a request with several names; n == 0: the request has one name. */
void loss_answer(struct core *core, conn_id conn, struct loss *loss, struct slice name);

void loss_forget(struct core *core, struct session *s, struct loss *loss);
void loss_forget_all(struct core *core, struct session *s);

const char *loss_word(enum loss_reason reason);
const char *loss_text(enum loss_reason reason);

#endif
