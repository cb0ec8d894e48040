/*
 * masterset_copies: two servers tell one id. One of them has a copy of the other's data: it was its replica
 * for a moment, or a dump was loaded at the wrong server. Only the copy is refused. A part of masterset.
 */
#include "daemon/core/masterset/masterset_copies.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/members.h"
#include "daemon/core/masterset/registration.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The slot of the other master that has reported this id; settings.masters: none. */
static unsigned
other_with(const struct core *core, const struct master *m, uint64_t id)
{
	unsigned i = 0;

	while (i < core->settings.masters && (i == m->index || id == 0 || core->masters[i].id != id))
		i++;
	return i;
}

/* Whether m is the copy, rather than the other one that has reported this id. The place that the set names
 * for the id decides. Where this daemon has other names for the places, it is what the two were before; and
 * last, a copy is not admitted, as the data came from another server process. */
static bool
is_copy(const struct members *list, const struct master *m, const struct master *other, uint64_t id,
	bool admitted)
{
	int at = members_find(list, id);
	struct slice place = at >= 0 ? list->places[at] : slice_of("");

	assert(m != other && other->id == id);
	if (slice_equal(place, slice_of(m->place)))
		return false;
	if (slice_equal(place, slice_of(other->place)))
		return true;
	if ((m->member == id) != (other->member == id))
		return m->member != id;
	return !admitted || other->state == MASTER_ADMITTED;
}

/* The server with this id is another one: its own id is the one that it had before, or that of its place. */
static void
copy_refuse(struct master *copy, uint64_t id)
{
	if (copy->id == id)
		copy->id = 0;
	if (copy->member == id)
		copy->member = 0;
	copy->agreement = AGREEMENT_NONE;
	copy->enrolled = false;
	copy->other = false;
	copy->blank = false;
	copy->copied = true;
	assert(copy->id != id && copy->member != id);
}

bool
masterset_copied(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	struct members ours;
	struct master *other;
	unsigned at = other_with(core, m, vote->id);
	bool known = core->masterset->agreed && masterset_members(core, &ours);

	assert(m->index < core->settings.masters);
	m->copied = false;
	if (at == core->settings.masters)
		return false;
	other = &core->masters[at];
	if (is_copy(known ? &ours : theirs, m, other, vote->id, vote->admitted)) {
		copy_refuse(m, vote->id);
		return true;
	}
	copy_refuse(other, vote->id);
	registration_doubt(core, other); /* its next HELLO is judged anew */
	return false;
}

void
masterset_node_key(const struct core *core, const struct master *m, char *out, size_t room)
{
	bool tagged = strncmp(m->way, "cluster", 7) == 0; /* then all keys have the namespace as a hash tag */

	assert(room > 0);
	(void)snprintf(
		out, room, "%s%s%s:node", tagged ? "{" : "", core->settings.namespace_, tagged ? "}" : "");
}

void
masterset_why_copied(const struct core *core, const struct master *m, uint64_t id, char *out, size_t room)
{
	unsigned at = other_with(core, m, id);
	char key[MASTERSET_KEY_MAX];

	assert(at < core->settings.masters && room > 0);
	masterset_node_key(core, m, key, sizeof(key));
	(void)snprintf(out, room,
		"has the id of %s, as a copy of its data has: DEL %s at %s, and it is guarded and gets its "
		"own "
		"id back",
		core->masters[at].place, key, m->place);
}
