/* master_note: see master_note.h. */
#include "daemon/core/masters/master_note.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/masters/master.h"

void
emit_master_note(struct core *core, enum note_type type, const struct master *m, int64_t token, int64_t ms,
	const char *text)
{
	emit_note_of(core, type, token, ms, text)->master = (int)m->index;
}

void
emit_master_stretch(struct core *core, enum note_type type, const struct master *m, struct stretch *stretch,
	bool news, int64_t ms, const char *text)
{
	bool paused = stretch->last_ms == 0 || core->now.ms - stretch->last_ms >= NOTE_PAUSE_MS;

	stretch->last_ms = core->now.ms;
	stretch->unreported |= news;
	if (!paused && (!stretch->unreported || core->now.ms - stretch->noted_ms < NOTE_NEWS_MS))
		return;
	*stretch = (struct stretch){.last_ms = core->now.ms, .noted_ms = core->now.ms};
	emit_master_note(core, type, m, 0, ms, text);
}
