/*
 * service: see service.h.
 */
#include "daemon/service.h"

#include "daemon/base/notify.h"

#include <stdio.h>
#include <string.h>

#define REMARK_REFUSED "; the new configuration was refused, see the log"

static void
service_text(const struct service *s, const struct service_view *view, char out[SERVICE_TEXT_MAX])
{
	(void)snprintf(out, SERVICE_TEXT_MAX, "%s%s%s%s", view->available ? "serving" : "no new locks",
		view->text[0] != '\0' ? ": " : "", view->text, s->remark);
}

void
service_start(struct service *s, const struct notify *notify, const struct core *core, int64_t now_ms)
{
	*s = (struct service){.notify = notify,
		.core = core,
		.ready_by_ms = now_ms + SERVICE_READY_MS,
		.look_at_ms = now_ms,
		.remark = ""};
}

int64_t
service_turn(struct service *s, int64_t now_ms)
{
	struct service_view view;
	char text[SERVICE_TEXT_MAX];

	if (!s->notify || s->notify->fd < 0) {
		return INT64_MAX;
	}
	if (now_ms < s->look_at_ms) {
		return s->look_at_ms;
	}
	core_view_service(s->core, &view);
	service_text(s, &view, text);
	if (!s->ready && (view.available || view.settled || now_ms >= s->ready_by_ms)) {
		s->ready = true;
		notify_ready(s->notify, text);
	} else if (strcmp(text, s->text) != 0) {
		notify_status(s->notify, text);
	}
	memcpy(s->text, text, sizeof text);
	if (!s->ready) {
		return s->ready_by_ms;
	}
	/* A view may tell for how long no lock can be had: so it is looked at even if nothing happens. */
	s->look_at_ms = now_ms + SERVICE_LOOK_MS;
	return view.available ? INT64_MAX : s->look_at_ms;
}

void
service_reloaded(struct service *s, bool refused)
{
	struct service_view view;

	if (!s->notify) {
		return;
	}
	s->remark = refused ? REMARK_REFUSED : "";
	core_view_service(s->core, &view);
	service_text(s, &view, s->text);
	s->ready = true;
	notify_ready(s->notify, s->text);
}
