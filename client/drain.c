/*
 * drain: takes the daemon out of service.
 *
 *     DRAIN WAIT ms      its answer comes when nothing is held any more, or after ms; then the daemon ends
 *     INFO locks         on another connection meanwhile: how many holds are left, for people
 *
 * The drain goes on when this process ends.
 */
#include "client/duration.h"
#include "client/json_output.h"
#include "client/message.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_MS       1000
#define BEGIN_LOOK_MS 20 /* no event tells that it has begun */

struct drain {
	const struct options *o;
	const struct address *a;
	int64_t until_ms;
	bool people;  /* print the progress */
	int64_t told; /* holds left in the last message; -1: no message yet */
};

/* How many holds are left; -1: the drain has not begun, or the daemon does not say. */
static int64_t
drain_look(struct wire *look)
{
	const struct answer *answer;
	int64_t draining, grants, withheld;

	wire_ask(look, "INFO", "locks");
	answer = wire_answer(look);
	if (answer == NULL || answer->type != ANSWER_TEXT ||
		!number_parse(answer_info(answer->text, "draining"), 1, 1, &draining) ||
		!number_parse(answer_info(answer->text, "grants"), 0, INT64_MAX, &grants) ||
		!number_parse(answer_info(answer->text, "withheld"), 0, INT64_MAX, &withheld)) {
		return -1;
	}
	return grants + withheld;
}

static void
drain_tell(struct drain *d, int64_t left)
{
	char span[DURATION_TEXT_MAX];
	int64_t rest_ms = d->until_ms - clock_ms();

	if (!d->people || left <= 0 || left == d->told) {
		return;
	}
	message("%" PRId64 " hold%s left, waiting for %s at most", left, left == 1 ? " is" : "s are",
		duration_text(span, rest_ms > 0 ? rest_ms : 0));
	d->told = left;
}

/* The answer to DRAIN. NULL also if the drain has begun and --begin was given: *begun. */
static const struct answer *
drain_wait(struct drain *d, struct wire *w, struct wire *look, bool *begun)
{
	bool looks = d->people || d->o->begin;
	const struct answer *answer = NULL;

	while (answer == NULL && !w->ended) {
		int64_t left = looks ? drain_look(look) : -1;
		int64_t pause_ms = left < 0 ? BEGIN_LOOK_MS : LOOK_MS;

		if (left >= 0 && d->o->begin) {
			*begun = true;
			return NULL;
		}
		drain_tell(d, left);
		looks = looks && !look->ended;
		answer = wire_wait(w, looks ? clock_ms() + pause_ms : INT64_MAX);
	}
	return answer;
}

static int
drain_print(const struct options *o, int64_t left)
{
	if (o->json) {
		int status = json_output_print("{s:I}", "left", (json_int_t)left);

		return status != STATUS_DONE || left == 0 ? status : STATUS_NO;
	}
	if (left > 0) {
		message("the daemon has ended; %" PRId64
			" hold%s left, withheld until the time that the holder "
			"was told",
			left, left == 1 ? " was" : "s were");
		return STATUS_NO;
	}
	if (!o->quiet) {
		(void)printf("the daemon has ended, and nothing was held\n");
	}
	return STATUS_DONE;
}

static int
drain_run(struct drain *d, struct wire *w, struct wire *look)
{
	char ms[NUMBER_TEXT_MAX];
	const struct answer *answer;
	bool begun = false;
	int64_t left;

	ms[number_print(ms, d->o->wait_ms > 0 ? d->o->wait_ms : 0)] = '\0';
	d->until_ms = clock_ms() + d->o->wait_ms;
	wire_ask(w, "DRAIN", "WAIT", ms);
	answer = wire_flush(w) ? drain_wait(d, w, look, &begun) : NULL;
	if (begun) {
		return STATUS_DONE;
	}
	if (answer == NULL || answer->type != ANSWER_INT) {
		return take_refusal(w, answer, "cannot drain");
	}
	left = answer->n;
	/* The daemon ends in a moment, and closes this connection. */
	(void)wire_wait(w, clock_ms() + WIRE_ANSWER_MS);
	return drain_print(d->o, left);
}

int
task_drain(const struct options *o, const struct address *a)
{
	struct drain d = {.o = o,
		.a = a,
		.people = !o->quiet && o->wait_ms > 0 && (o->verbose || isatty(STDERR_FILENO) == 1),
		.told = -1};
	struct wire wire = {.fd = -1};
	struct wire look = {.fd = -1};
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE && (d.people || o->begin)) {
		status = take_greeting(&look, a, "holdfast");
	}
	if (status == STATUS_DONE) {
		status = drain_run(&d, &wire, &look);
	}
	wire_close(&wire);
	wire_close(&look);
	return status;
}
