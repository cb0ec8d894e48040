/* notes: see notes.h. */
#include "daemon/core/session/notes.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/session/session.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

const char *
emit_who(char out[EMIT_WHO_MAX], const struct session *s)
{
	char label[EMIT_LABEL_MAX];
	unsigned long long id = s->id;

	if (s->peer.name[0] == '\0')
		(void)snprintf(out, EMIT_WHO_MAX, "session %llu", id);
	else
		(void)snprintf(out, EMIT_WHO_MAX, "session %llu (%s)", id,
			emit_text(label, sizeof(label), slice_of(s->peer.name)));
	return out;
}

struct note *
emit_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	int64_t token, int64_t ms, const char *text)
{
	struct note *note = emit_note_of(core, type, token, ms, text);

	if (s != NULL) {
		note->session = s->id;
		note->peer = &s->peer;
	}
	if (r != NULL)
		note->name = resource_name(r);
	return note;
}

void
emit_tag_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	struct slice owner, int64_t token, int64_t ms, const char *text)
{
	/* A tag is of a session, and so is what it tells. */
	assert(s != NULL);
	emit_note(core, type, r, s, token, ms, text)->owner = owner;
}
