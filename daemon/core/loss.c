#include "daemon/core/loss.h"

#include "daemon/core/emit.h"
#include "daemon/core/grave.h"
#include "daemon/core/user.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	const char *text;
} losses[] = {
#define LOSS(id, word, text) {word, text},
	LOSSES(LOSS)
#undef LOSS
};

const char *
loss_word(enum loss_reason reason)
{
	return losses[reason].word;
}

const char *
loss_text(enum loss_reason reason)
{
	return losses[reason].text;
}

struct loss *
loss_find(const struct session *s, struct slice name, struct slice owner)
{
	struct loss *loss;

	TAILQ_FOREACH (loss, &s->losses, in_session) {
		if (slice_equal(loss->name, name) && slice_equal(loss->owner, owner))
			return loss;
	}
	return NULL;
}

void
loss_forget(struct core *core, struct session *s, struct loss *loss)
{
	TAILQ_REMOVE(&s->losses, loss, in_session);
	user_remind(s, -1);
	grave_bury(core, &loss->grave);
}

void
loss_forget_all(struct core *core, struct session *s)
{
	while (!TAILQ_EMPTY(&s->losses))
		loss_forget(core, s, TAILQ_FIRST(&s->losses));
}

/* Of so many, and of so many that other sessions of its user are reminded of besides, the oldest goes. */
static bool
loss_is_one_too_many(const struct core *core, const struct session *s)
{
	return s->loss_count > core->settings.lost_per_session ||
	       s->user->losses > core->settings.per_user.locks;
}

static void
loss_remember(struct core *core, struct session *s, const struct grant *g, enum loss_reason reason)
{
	struct slice name = resource_name(g->lease->resource);
	struct slice owner = grant_owner(g);
	struct loss *loss = grave_new(core, sizeof(*loss) + name.n + owner.n);

	/* Out of memory: the hold is simply not there any more, NOTHELD instead of LOST. */
	if (loss == NULL)
		return;
	memcpy(loss->bytes, name.p, name.n);
	if (owner.n > 0)
		memcpy(loss->bytes + name.n, owner.p, owner.n);
	loss->name = (struct slice){loss->bytes, name.n};
	loss->owner = (struct slice){loss->bytes + name.n, owner.n};
	loss->reason = reason;
	loss->token = g->token;
	TAILQ_INSERT_TAIL(&s->losses, loss, in_session);
	user_remind(s, 1);
	if (loss_is_one_too_many(core, s))
		loss_forget(core, s, TAILQ_FIRST(&s->losses));
}

static void
loss_push(struct core *core, conn_id conn, const struct grant *g, enum loss_reason reason)
{
	struct push push = {.type = PUSH_LOST,
		.token = g->token,
		.name = resource_name(g->lease->resource),
		.owner = grant_owner(g)};

	(void)snprintf(push.text, sizeof(push.text), "%s %s", loss_word(reason), loss_text(reason));
	emit_push(core, conn, &push);
}

void
loss_add(struct core *core, struct session *s, const struct grant *g, enum loss_reason reason, bool tell)
{
	struct conn *conn;

	loss_remember(core, s, g, reason);
	if (!tell || s->onloss == ONLOSS_NEXT)
		return;
	if (s->onloss == ONLOSS_PUSH) {
		loss_push(core, s->push_conn, g, reason);
		return;
	}
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
}
