/*
 * keep: holdfast hold, which holds a lock until a signal.
 */
#include "client/holding.h"
#include "client/json_output.h"
#include "client/message.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "client/wakeup.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int
token_print(const struct options *o, const struct grant *g)
{
	int64_t valid = g->expire_ms - clock_ms();

	if (o->json) {
		return json_output_print("{s:s, s:I, s:I}", "name", o->name, "token", (json_int_t)g->token,
			"valid_ms", (json_int_t)(valid > 0 ? valid : 0));
	}
	if (o->token_file != NULL) {
		return take_token_file(o, g->token);
	}
	if (!o->quiet && (printf("%" PRId64 "\n", g->token) < 0 || fflush(stdout) != 0)) {
		message("cannot print the token: standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

static int
lost(const struct options *o, const struct holding *h)
{
	message("the lock %s is lost: %s", o->name,
		h->why[0] != '\0' ? h->why : "the daemon does not answer");
	return STATUS_LOST;
}

/* Until a signal, or the loss. */
static int
keep(const struct options *o, struct holding *h, int signals, int timer)
{
	struct pollfd p[] = {{h->wire->fd, POLLIN, 0}, {signals, POLLIN, 0}, {timer, POLLIN, 0}};

	for (;;) {
		enum deadline_step step = holding_step(h);

		if (h->lost || h->gone || step == DEADLINE_EXPIRE) {
			return lost(o, h);
		}
		wakeup_set(timer, holding_next(h));
		if (poll(p, 3, -1) < 0) {
			continue;
		}
		if (p[0].revents != 0) {
			holding_read(h);
		}
		if (p[1].revents != 0) {
			return holding_release(h) ? STATUS_DONE : lost(o, h);
		}
	}
}

int
task_hold(const struct options *o, const struct address *a)
{
	char label[TAKE_LABEL_MAX];
	const struct taking taking = {o, a, -1, label};
	struct wire wire;
	struct grant grant;
	struct holding holding;
	sigset_t set;
	int signals;
	int timer;
	int status;

	take_label(label, "hold");
	if (take_lock(&wire, &taking, &grant, &status)) {
		(void)sigemptyset(&set);
		(void)sigaddset(&set, SIGTERM);
		(void)sigaddset(&set, SIGINT);
		(void)sigaddset(&set, SIGHUP);
		(void)sigprocmask(SIG_BLOCK, &set, NULL);
		signals = signalfd(-1, &set, SFD_CLOEXEC);
		timer = wakeup_open();
		holding_start(&holding, &wire, o, &grant, 0);
		status = token_print(o, &grant);
		if (status == STATUS_DONE) {
			status = signals >= 0 && timer >= 0 ? keep(o, &holding, signals, timer)
							    : STATUS_INTERNAL;
		}
	}
	wire_close(&wire);
	return status;
}
