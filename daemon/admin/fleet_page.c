/*
 * fleet_page: what the pages of HTTP show of all daemons: TOP, HOUR, INSPECT and HISTORY with FLEET. Called
 * by the pages, and by fleet.c when a request is over.
 *
 * A page does not wait for other daemons. It gets the answer that there is, which may be a second old or none
 * yet, and the daemons are asked anew for the next one. So they are asked once in a second at most, however
 * many browsers show the same page, and not at all when none does.
 */
#include "daemon/admin/fleet_page.h"

#include "daemon/admin/fleet_hour.h"
#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_lookup.h"
#include "daemon/admin/fleet_merge.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/admin/fleet_write.h"

#include <assert.h>
#include <string.h>

void
seen_done(struct fleet *fleet)
{
	for (size_t i = 0; i < SEEN_MAX; i++) {
		buffer_done(&fleet->seen[i].answer);
	}
}

/* What is asked for: a name, or a glob. */
static struct slice
command_about(const struct command *command)
{
	return command->verb == VERB_TOP ? command->match : command->name;
}

static bool
seen_is(const struct fleet_seen *seen, const struct command *command)
{
	return seen->used_ms > 0 && seen->verb == command->verb &&
	       slice_equal((struct slice){seen->about, seen->about_n}, command_about(command));
}

/* NULL: a page has asked for each of the others in the last second. */
static struct fleet_seen *
seen_find(struct fleet *fleet, const struct command *command, int64_t now_ms)
{
	struct fleet_seen *oldest = &fleet->seen[0];
	for (size_t i = 0; i < SEEN_MAX; i++) {
		struct fleet_seen *seen = &fleet->seen[i];
		if (seen_is(seen, command)) {
			return seen;
		}
		oldest = seen->used_ms < oldest->used_ms ? seen : oldest;
	}
	if (oldest->used_ms > 0 && now_ms - oldest->used_ms < FLEET_FRESH_MS) {
		return NULL;
	}
	struct slice about = command_about(command);
	buffer_done(&oldest->answer);
	*oldest = (struct fleet_seen){.verb = command->verb, .about_n = about.n};
	slice_text(oldest->about, sizeof oldest->about, about);
	return oldest;
}

static bool
seen_write(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int64_t now_ms)
{
	switch (open->command.verb) {
	case VERB_TOP:
		return write_top(open, SEEN_BYTES, out, 3, now_ms);
	case VERB_HOUR:
		write_hours(fleet, open, out, 3, now_ms);
		return true;
	case VERB_INSPECT:
		return write_inspect(fleet, open, SEEN_BYTES, out, 3, now_ms);
	default:
		return write_history(open, SEEN_BYTES, out, 3, now_ms);
	}
}

void
seen_take(struct fleet *fleet, const struct fleet_open *open, int64_t now_ms)
{
	struct buffer answer;
	for (size_t i = 0; i < SEEN_MAX; i++) {
		struct fleet_seen *seen = &fleet->seen[i];
		if (!seen_is(seen, &open->command)) {
			continue;
		}
		buffer_init(&answer, SEEN_BYTES * 2);
		if (seen_write(fleet, open, &answer, now_ms) && !answer.failed) {
			buffer_done(&seen->answer);
			seen->answer = answer;
			seen->at_ms = now_ms;
		} else {
			buffer_done(&answer);
		}
		return;
	}
}

struct slice
fleet_page(struct fleet *fleet, const struct command *command, int64_t now_ms, int64_t *age_ms)
{
	assert(is_merged(command) || command->verb == VERB_INSPECT);
	struct fleet_seen *seen = seen_find(fleet, command, now_ms);
	*age_ms = -1;
	if (!seen) {
		return (struct slice){0};
	}
	seen->used_ms = now_ms;
	/* An answer that no page has shown for a while is out of date. */
	if (!open_find(fleet, seen->open) && (seen->at_ms == 0 || now_ms - seen->at_ms >= FLEET_FRESH_MS)) {
		if (now_ms - seen->at_ms >= SEEN_OLD_MS) {
			buffer_done(&seen->answer);
			seen->answer = (struct buffer){0};
			seen->at_ms = 0;
		}
		seen->open = fleet_ask_page(fleet, command, now_ms);
	}
	*age_ms = seen->at_ms == 0 ? -1 : now_ms - seen->at_ms;
	return (struct slice){buffer_bytes(&seen->answer), buffer_length(&seen->answer)};
}
