/*
 * health: says which masters cannot be used, since when and why, for people: INFO, /readyz, /healthz and the
 * status page.
 *
 *     driver ── health_refresh(), a moment after a turn ──▶ health: since when each master is as it is
 *
 * The core knows the state of a master, and not since when: no decision needs that. A hand-over begins the
 * times anew.
 */
#include "daemon/admin/health.h"

#include "daemon/core/view.h"
#include "daemon/redis/masters.h"
#include "daemon/request/context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A reason of a master, cut: it has values first, and then what to do (master_refuse()). */
#define REASON_MAX 480

struct health {
	int64_t refreshed_ms; /* CLOCK_BOOTTIME */
	struct master_health {
		enum master_state state;
		bool down;
		bool failing;
		int64_t since_ms; /* CLOCK_BOOTTIME; 0: not checked yet */
	} masters[CORE_SLOTS_MAX];
};

struct health *
health_new(void)
{
	return calloc(1, sizeof(struct health));
}

void
health_refresh(const struct context *context, int64_t now_ms)
{
	struct health *health = context->health;
	struct master_view master;
	if (now_ms == health->refreshed_ms) {
		return;
	}
	health->refreshed_ms = now_ms;
	for (unsigned i = 0; i < core_masters(context->core); i++) {
		struct master_health *known = &health->masters[i];
		core_view_master(context->core, now_ms, i, &master);
		if (known->since_ms == 0 || known->state != master.state || known->down != master.down ||
			known->failing != master.failing) {
			*known = (struct master_health){master.state, master.down, master.failing, now_ms};
		}
	}
}

/* In whole seconds: a person reads them. */
static int64_t
seconds(int64_t ms)
{
	return (ms + 999) / 1000;
}

/* A clause about a master that cannot be used; false: it can be. */
static bool
master_describe(const struct context *context, unsigned i, int64_t now_ms, char *out, size_t room)
{
	const char *where = masters_where(context->masters, i);
	int64_t since_ms = context->health->masters[i].since_ms,
		s = since_ms > 0 ? (now_ms - since_ms) / 1000 : 0;
	struct master_view master;
	core_view_master(context->core, now_ms, i, &master);
	const char *colon = master.reason[0] != '\0' ? ": " : "";
	if (master.failing && !master.silent) {
		snprintf(out, room, "the master %s has answered with an error for %" PRId64 " s%s%.*s", where,
			s, colon, REASON_MAX, master.reason);
	} else if (master.state == MASTER_GUARDED) {
		snprintf(out, room,
			"the master %s has been guarded for %" PRId64
			" s, and grants nothing new for %" PRId64
			" s more: it restarted or is new, and may have forgotten leases",
			where, s, seconds(master.guard_ms));
	} else if (master.guard_ms > 0) {
		snprintf(out, room,
			"the master %s grants nothing new for %" PRId64 " s more: its clock jumped", where,
			seconds(master.guard_ms));
	} else if (master.state == MASTER_ADMITTED && !master.down) {
		return false;
	} else if (master.down && master.state != MASTER_AWAY && master.state != MASTER_REFUSED) {
		snprintf(out, room, "the master %s has not answered for %" PRId64 " s", where, s);
	} else {
		snprintf(out, room, "the master %s has been %s for %" PRId64 " s%s%.*s", where, master.word,
			s, colon, REASON_MAX, master.reason);
	}
	return true;
}

void
health_text(const struct context *context, int64_t now_ms, char out[HEALTH_TEXT_MAX])
{
	unsigned members = core_members(context->core), bad = 0;
	struct service_view service;
	char list[HEALTH_TEXT_MAX] = "";
	size_t n = 0;
	health_refresh(context, now_ms);
	core_view_service(context->core, &service);
	for (unsigned i = 0; i < members && !core_draining(context->core); i++) {
		char one[HEALTH_TEXT_MAX];
		if (master_describe(context, i, now_ms, one, sizeof one)) {
			n += n < sizeof list ? (size_t)snprintf(list + n, sizeof list - n, "%s%s",
						       bad > 0 ? "; " : "", one)
					     : 0;
			bad++;
		}
	}
	if (bad == 0) {
		snprintf(out, HEALTH_TEXT_MAX, "%s", service.text);
	} else if (service.available || members == 1) {
		snprintf(out, HEALTH_TEXT_MAX, "%s", list);
	} else {
		snprintf(out, HEALTH_TEXT_MAX, "%u of %u masters can be used, and %u are needed: %.900s",
			members - bad, members, members / 2 + 1, list);
	}
}
