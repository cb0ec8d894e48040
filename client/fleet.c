/*
 * fleet: the verb fleet, and the texts that name the holder of a lock on any host; see fleet.h.
 */
#include "client/fleet.h"

#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
host_text(char out[HOST_TEXT_MAX])
{
	if (gethostname(out, HOST_TEXT_MAX - 1) != 0) {
		out[0] = '\0';
	}
	out[HOST_TEXT_MAX - 1] = '\0';
}

const char *
fleet_peer(char out[PEER_TEXT_MAX], const struct answer *element, const char *here)
{
	struct slice host = answer_get_text(element, "host");
	char address[PEER_TEXT_MAX];
	size_t n;

	if (host.n == 0 || slice_equal(host, slice_of(here))) {
		return peer_address(out, element);
	}
	slice_text(out, PEER_TEXT_MAX / 2, host);
	n = strlen(out);
	out[n++] = ' ';
	slice_text(out + n, PEER_TEXT_MAX - n, slice_of(peer_address(address, element)));
	return out;
}

const struct answer *
fleet_inspect(struct wire *w, const char *name, int64_t until_ms)
{
	const struct answer *answer;

	wire_ask(w, "INSPECT", name, "FLEET");
	answer = wire_flush(w) ? wire_wait(w, until_ms) : NULL;
	return answer != NULL && answer->type == ANSWER_MAP ? answer : NULL;
}

bool
fleet_is_silent(const struct answer *fleet, struct slice daemon)
{
	const struct answer *silent = answer_get(fleet, "silent");

	for (size_t i = 0; silent != NULL && i < silent->count; i++) {
		if (slice_equal(answer_get_text(&silent->items[i], "daemon"), daemon)) {
			return true;
		}
	}
	return false;
}

void
holder_describe(char *out, size_t room, const struct answer *inspect, const char *on, bool local)
{
	const struct answer *holder = answer_get(inspect, "holder");
	int64_t more = answer_get_int(inspect, "holder_count", 1) - 1;
	char others[32] = "", held[DURATION_TEXT_MAX], name[PEER_TEXT_MAX], origin[PEER_TEXT_MAX];
	struct slice why = answer_get_text(holder, "why");
	const char *at = on[0] != '\0' ? " on " : "";

	(void)peer_name(name, holder, local);
	(void)peer_origin(origin, holder, "");
	if (answer_get_int(holder, "withheld", 0) != 0) {
		(void)snprintf(out, room,
			"withheld%s%s for %s more, as its last holder may still be working: %s (%s)", at, on,
			duration_text(held, answer_get_int(holder, "valid_ms", 0)), name, origin);
		return;
	}
	if (more > 0) {
		(void)snprintf(others, sizeof(others), " and %" PRId64 " more", more);
	}
	(void)snprintf(out, room, "held%s%s for %s by %s (%s)%s%s%.*s", at, on,
		duration_text(held, answer_get_int(holder, "held_ms", 0)), name, origin, others,
		why.n > 0 ? ": " : "", SLICE_ARG(why));
}

bool
foreign_describe(char *out, size_t room, const struct answer *fleet)
{
	const struct answer *foreign = answer_get(fleet, "foreign");
	int64_t left_ms = answer_get_int(foreign, "left_ms", 0);
	char left[DURATION_TEXT_MAX];

	if (foreign == NULL || foreign->type != ANSWER_MAP) {
		return false;
	}
	(void)snprintf(out, room, "held by another program: its key %.*s (%.*s) at the master %s%s",
		SLICE_ARG(answer_get_text(foreign, "key")), SLICE_ARG(answer_get_text(foreign, "type")),
		left_ms < 0 ? "never expires, so that nobody may release it: is it data of an application?"
			    : "expires in ",
		left_ms < 0 ? "" : duration_text(left, left_ms));
	return true;
}

bool
fleet_describe(char *out, size_t room, const struct answer *fleet, bool local)
{
	const struct answer *hosts = answer_get(fleet, "hosts"), *holders = answer_get(fleet, "holders");
	char ours[HOST_TEXT_MAX], on[HOST_TEXT_MAX];
	struct slice host;

	host_text(ours);
	for (size_t i = 0; hosts != NULL && i < hosts->count; i++) {
		const struct answer *one = &hosts->items[i];
		const struct answer *holder = answer_get(one, "holder");

		if (holder != NULL && holder->type == ANSWER_MAP) {
			slice_text(on, sizeof(on), answer_get_text(one, "host"));
			local = local && strcmp(on, ours) == 0;
			holder_describe(out, room, one, local ? "" : on, local);
			return true;
		}
	}
	if (holders == NULL || holders->count == 0) {
		return foreign_describe(out, room, fleet);
	}
	host = answer_get_text(&holders->items[0], "host");
	(void)snprintf(out, room, "held by the daemon of %.*s%s", SLICE_ARG(host),
		fleet_is_silent(fleet, answer_get_text(&holders->items[0], "daemon"))
			? ", which does not answer"
			: "");
	return true;
}

/* ---- the verb ---- */

/* "+1.2s": how much the clock of that host is ahead. A difference that the way of the answer may explain is
 * none. */
static const char *
clock_text(char out[DURATION_TEXT_MAX + 1], const struct answer *daemon)
{
	int64_t ms = answer_get_int(daemon, "clock_ms", 0),
		unsure_ms = answer_get_int(daemon, "answer_ms", 0) / 2 + 1;

	if (answer_get_int(daemon, "answers", 0) == 0) {
		return "-";
	}
	if (ms <= unsure_ms && ms >= -unsure_ms) {
		return "same";
	}
	out[0] = ms < 0 ? '-' : '+';
	(void)duration_text(out + 1, ms < 0 ? -ms : ms);
	return out;
}

/* The value of a setting in "lease=10s,rules=1a2b3c4d"; "-": it is not there. */
static struct slice
setting_of(struct slice settings, struct slice key)
{
	while (settings.n > 0) {
		const char *comma = memchr(settings.p, ',', settings.n);
		struct slice one = {settings.p, comma != NULL ? (size_t)(comma - settings.p) : settings.n};
		size_t passed = one.n + (comma != NULL);

		if (one.n > key.n && one.p[key.n] == '=' && memcmp(one.p, key.p, key.n) == 0) {
			return (struct slice){one.p + key.n + 1, one.n - key.n - 1};
		}
		settings = (struct slice){settings.p + passed, settings.n - passed};
	}
	return SLICE("-");
}

const char *
settings_text(char out[SETTINGS_TEXT_MAX], const struct answer *daemon, struct slice ours)
{
	struct slice keys = answer_get_text(daemon, "differs"), theirs = answer_get_text(daemon, "settings");
	size_t n = 0;

	out[0] = '\0';
	while (keys.n > 0 && n < SETTINGS_TEXT_MAX) {
		const char *comma = memchr(keys.p, ',', keys.n);
		struct slice key = {keys.p, comma != NULL ? (size_t)(comma - keys.p) : keys.n};
		size_t passed = key.n + (comma != NULL);

		n += (size_t)snprintf(out + n, SETTINGS_TEXT_MAX - n, "%s%.*s %.*s (here %.*s)",
			n > 0 ? ", " : "", SLICE_ARG(key), SLICE_ARG(setting_of(theirs, key)),
			SLICE_ARG(setting_of(ours, key)));
		keys = (struct slice){keys.p + passed, keys.n - passed};
	}
	return out;
}

struct slice
settings_here(const struct answer *daemons)
{
	for (size_t i = 0; i < daemons->count; i++) {
		if (answer_get_int(&daemons->items[i], "here", 0) != 0) {
			return answer_get_text(&daemons->items[i], "settings");
		}
	}
	return SLICE("");
}

static void
table_daemon(struct table *t, const struct answer *daemon, struct slice ours)
{
	int64_t up_ms = answer_get_int(daemon, "uptime_ms", -1);
	int64_t seen_ms = answer_get_int(daemon, "seen_ms", -1);
	struct slice refused = answer_get_text(daemon, "refused");
	char up[DURATION_TEXT_MAX], seen[DURATION_TEXT_MAX], answers[NUMBER_TEXT_MAX + 8];
	char differs[SETTINGS_TEXT_MAX], clock[DURATION_TEXT_MAX + 1];

	(void)snprintf(answers, sizeof(answers), "in %" PRId64 " ms", answer_get_int(daemon, "answer_ms", 0));
	table_text(t, answer_get_text(daemon, "host"));
	table_text(t, answer_get_text(daemon, "address"));
	table_int(t, answer_get_int(daemon, "pid", 0));
	table_text(t, answer_get_text(daemon, "version"));
	table_text(t, slice_of(up_ms < 0 ? "-" : duration_text(up, up_ms)));
	table_text(t, slice_of(seen_ms < 0 ? "-" : duration_text(seen, seen_ms)));
	table_text(t, slice_of(answer_get_int(daemon, "answers", 0) != 0 ? answers
			       : refused.n > 0                           ? "refused"
			       : answer_get_int(daemon, "asked", 1) != 0 ? "no"
									 : "not asked"));
	table_text(t, slice_of(clock_text(clock, daemon)));
	(void)settings_text(differs, daemon, ours);
	table_text(t, refused.n > 0 ? refused : slice_of(differs[0] != '\0' ? differs : "-"));
}

static int
fleet_print(const struct answer *daemons)
{
	static const char *const heads[] = {"HOST", "ADDRESS", "PID", "VERSION", "UP", "SEEN", "ANSWERS",
		"CLOCK", "OTHER SETTINGS", NULL};
	struct table t;
	int status = STATUS_DONE;

	table_init(&t, heads);
	for (size_t i = 0; i < daemons->count; i++) {
		table_daemon(&t, &daemons->items[i], settings_here(daemons));
	}
	if (!table_print(&t)) {
		message("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	table_done(&t);
	return status;
}

int
task_fleet(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *daemons;
	bool silent = false, missing = false;
	unsigned refused = 0;
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask(&wire, "FLEET");
		daemons = wire_answer(&wire);
		if (daemons == NULL || daemons->type != ANSWER_ARRAY) {
			status = take_refusal(&wire, daemons, "cannot list the daemons");
		} else {
			for (size_t i = 0; i < daemons->count; i++) {
				bool answers = answer_get_int(&daemons->items[i], "answers", 0) != 0;

				silent |= !answers;
				refused += answer_get_text(&daemons->items[i], "refused").n > 0;
				/* This daemon always answers. */
				missing |= answers && answer_get_int(&daemons->items[i], "asked", 1) == 0;
			}
			status = o->json    ? json_output_print_answer(daemons)
				 : o->quiet ? STATUS_DONE
					    : fleet_print(daemons);
			if (missing) {
				message("no master answers: daemons may be missing (holdfast doctor)");
			}
			if (refused > 0) {
				message("masters refuse %u of these daemons: make the settings agree that "
					"are named, "
					"then on those hosts: holdfast restart",
					refused);
			}
			status = status == STATUS_DONE && (silent || missing) ? STATUS_NO : status;
		}
	}
	wire_close(&wire);
	return status;
}
