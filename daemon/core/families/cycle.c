/* cycle: see cycle.h. A cycle of waits as text for a refusal. It only reads the marks, but for the order
 * in which it links the sessions. */
#include "daemon/core/families/cycle.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "proto/reply.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX 33 /* bytes of a lock's name in the text, NUL included */
#define EDGE_MAX (NAME_MAX + EMIT_WHO_MAX + 32)
#define GAP_MAX  32 /* bytes of the text for edges that are left out */

static const char *
write_edge(char out[EDGE_MAX], const struct edge *edge, const struct session *to)
{
	char name[NAME_MAX], who[EMIT_WHO_MAX];

	assert(edge->wait->session == edge->from);
	(void)snprintf(out, EDGE_MAX, " waits for %s, %s %s",
		emit_text(name, sizeof(name), resource_name(edge->wait->resource)),
		edge->ahead ? "behind" : "held by", emit_who(who, to));
	return out;
}

/* The edges were found from the end of the way: links the sessions in its order, and counts them, and those
 * of other users. */
static struct session *
turn_round(const struct session *target, const struct edge *last, size_t *count, int64_t *others)
{
	struct session *first = NULL;

	*count = 0;
	*others = 0;
	for (struct session *s = last->from; s != target; s = s->mark.edge.from) {
		/* Each session on the way was reached by an edge. */
		assert(s->mark.edge.from != NULL);
		s->mark.next = first;
		first = s;
		++*count;
		*others += s->user != target->user;
	}
	return first;
}

void
cycle_tell(const struct session *target, const struct edge *last, struct reply *out)
{
	char text[REPLY_TEXT_MAX], edge[EDGE_MAX], back[EDGE_MAX], who[EMIT_WHO_MAX];
	const char *which = "";
	int64_t others;
	size_t left, most = sizeof(text) - strlen(write_edge(back, last, target));
	const struct session *s = turn_round(target, last, &left, &others);
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", emit_who(who, target));

	assert(n < most);
	for (; s != NULL; s = s->mark.next, left--) {
		size_t gap = left > 1 ? GAP_MAX : 0;

		if (n + strlen(write_edge(edge, &s->mark.edge, s)) + 2 * sizeof(", which") + gap > most) {
			(void)snprintf(text + n, sizeof(text) - n, ", ... %zu more ...", left);
			which = ", which";
			break;
		}
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", which, edge);
		which = ", which";
	}
	assert(n < sizeof(text));
	reply_error(out, CODE_DEADLOCK, "%s%s%s%s", text, which, back,
		last->from == target ? ": no connection is left to unlock it" : "");
	out->n = others;
}

void
cycle_note(struct core *core, const struct waiter *w, const struct reply *refusal)
{
	assert(refusal->code == CODE_DEADLOCK);
	emit_note(core, NOTE_DEADLOCK, w->resource, w->session, 0, -1, emit_words(core, refusal->text));
}
