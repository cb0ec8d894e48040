/*
 * driver_ledger: keeps the ledger of this daemon in its file, and goes on from the ledger of a process that
 * crashed. A part of driver.c.
 *
 *     step ──entries──▶ file ─────────────────────────▶ the next process
 *              └──────▶ next ◀──snapshot, by and by──  core
 *
 * A ledger grows with each change, and the next one, which says only what is alive, takes its place when it
 * is whole; until then entries go to both. If there is no room, durable sessions are what all others are: the
 * log says so, and a ledger is tried again from time to time.
 */
#include "daemon/driver_ledger.h"

#include "daemon/base/clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/driver_inner.h"
#include "daemon/driver_stored.h"
#include "daemon/ledger_file.h"
#include "daemon/net/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LEDGER_LEAST     ((size_t)1 << 20) /* bytes; a smaller ledger is not written anew */
#define LEDGER_AGAIN_MS  10000             /* after one could not be written */
#define LEDGER_TURN_NS   1000000           /* for a part of the next one */
#define LEDGER_SCAN_MOST 64                /* names of a part, before the clock is read */

/* ---- its end ---- */

static void
keeper_drop_next(struct ledger_keeper *k)
{
	ledger_file_close(k->next);
	k->next = NULL;
}

void
driver_leave_ledger(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	driver_mark_in(d, NULL);
	keeper_drop_next(k);
	ledger_file_close(k->file);
	ledger_file_close(k->past);
	k->file = k->past = NULL;
}

/* No process goes on from here: not from the file, and not from the one that would have replaced it. */
static void
ledger_remove(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	if (d->core) {
		core_keep_ledger(d->core, NULL);
	}
	driver_mark_in(d, NULL);
	keeper_drop_next(k);
	ledger_file_remove(k->file);
	ledger_file_close(k->past); /* its room is wanted, if there is too little */
	k->file = k->past = NULL;
	k->ours = false;
	d->stats->ledger_kept = 0;
	d->stats->ledger_bytes = 0;
}

void
driver_end_ledger(struct driver *d)
{
	ledger_remove(d);
	d->ledger.path = NULL;
}

/* Says once what is wrong. */
static void
ledger_failed(struct driver *d, const char *why, const char *text)
{
	struct ledger_keeper *k = &d->ledger;
	k->again_ms = clock_ms() + LEDGER_AGAIN_MS;
	if (!k->reported) {
		LOG_EVENT(d->log, LOG_ERROR_LEVEL, "ledger.failed", log_text("file", k->path),
			log_text("why", why), log_text("text", text));
	}
	k->reported = true;
}

/* An entry is missing in the file: from now on it says less than was answered to clients. */
static void
ledger_lost(struct driver *d, const char *why)
{
	ledger_remove(d);
	ledger_failed(d, why, "sessions with a grace do not survive a crash until a ledger can be written");
}

/* The next one cannot be had; the file goes on, if there is one. */
static void
ledger_stays(struct driver *d, const char *why)
{
	if (!d->ledger.ours) {
		ledger_lost(d, why);
		return;
	}
	keeper_drop_next(&d->ledger);
	ledger_failed(d, why, "the ledger goes on as it is, and grows");
}

#define LEDGER_CUT "another program has cut the file"

void
driver_ledger_check(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	if (k->past && !ledger_file_whole(k->past)) {
		ledger_file_close(k->past);
		k->past = NULL;
	}
	if (k->next && !ledger_file_whole(k->next)) {
		ledger_stays(d, LEDGER_CUT);
	}
	if (k->file && !ledger_file_whole(k->file)) {
		ledger_lost(d, LEDGER_CUT);
	}
}

static const char *
append_error(void)
{
	return errno == EIO ? LEDGER_CUT : strerror(errno);
}

/* ---- a step ---- */

static void
ledger_append(struct driver *d, const void *entries, size_t n)
{
	struct ledger_keeper *k = &d->ledger;
	if (k->next && !ledger_file_append(k->next, entries, n)) {
		ledger_stays(d, append_error());
	}
	if (k->ours && !ledger_file_append(k->file, entries, n)) {
		ledger_lost(d, append_error());
	}
	if (k->ours) {
		d->stats->ledger_bytes = (int64_t)ledger_file_bytes(k->file);
		d->stats->ledger_writes++;
		k->grew = true;
	}
}

/* No client is promised a time longer than the longest lease. */
void
driver_rely(struct driver *d)
{
	struct core_counts counts;
	struct terms_view terms;
	if (!d->relied_on) {
		return;
	}
	core_view_counts(d->core, &counts);
	if (counts.grants + counts.withheld > 0) {
		core_view_terms(d->core, &terms);
		d->relied_on(d->main_arg, clock_ms() + terms.wanted_lease_ms);
	}
}

void
driver_write_ledger(struct driver *d)
{
	struct buffer *entries = &d->ledger.entries;
	size_t n = buffer_length(entries);
	if (core_ended(d->core)) {
		driver_end_ledger(d); /* what it says may belong to another process */
	} else if (entries->failed) {
		ledger_lost(d, "out of memory");
	} else if (n > 0) {
		ledger_append(d, buffer_bytes(entries), n);
	}
	if (n > 0 || entries->failed) {
		buffer_rewind(entries, 0);
	}
}

/* ---- the next one ---- */

/* Moves what the core has appended to the next one. False: it is given up. */
static bool
next_take(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	const char *why = k->entries.failed ? "out of memory" : NULL;
	if (!why && !ledger_file_append(k->next, buffer_bytes(&k->entries), buffer_length(&k->entries))) {
		why = append_error();
	}
	buffer_rewind(&k->entries, 0);
	if (why) {
		ledger_stays(d, why);
	}
	return !why;
}

static void
next_begin(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	char why[LEDGER_WHY_MAX];
	if (k->past && ledger_file_again(k->past)) {
		k->next = k->past;
	} else {
		ledger_file_close(k->past);
		k->next = ledger_file_new(k->path, why);
	}
	k->past = NULL;
	k->shrinks = false;
	k->cursor = 0;
	if (!k->next) {
		ledger_stays(d, why);
		return;
	}
	core_keep_ledger(d->core, &k->entries);
	core_ledger_begin(d->core, &k->entries);
	driver_enter_stored(d);
	(void)next_take(d);
}

/* It is whole. */
static void
next_publish(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	char why[LEDGER_WHY_MAX];
	bool first = !k->ours;
	driver_mark_in(d, k->next);
	if (!ledger_file_publish(k->next, k->file, why)) {
		driver_mark_in(d, first ? NULL : k->file);
		ledger_stays(d, why);
		return;
	}
	if (first) {
		LOG_EVENT(d->log, LOG_INFO_LEVEL, "ledger.begun", log_text("file", k->path));
	}
	ledger_file_close(k->past);
	k->past = k->file;
	k->shrinks = k->past != NULL;
	k->file = k->next;
	k->next = NULL;
	k->ours = true;
	k->reported = false;
	buffer_trim(&k->entries);
	d->stats->ledger_kept = 1;
	d->stats->ledger_begun++;
	d->stats->ledger_bytes = (int64_t)ledger_file_bytes(k->file);
	if (first) {
		driver_store_all(d);
	}
}

/* Writes it until it is whole, or the time is over. */
static void
next_go_on(struct driver *d, int64_t until_ns)
{
	struct ledger_keeper *k = &d->ledger;
	do {
		k->cursor = core_ledger_scan(d->core, k->cursor, LEDGER_SCAN_MOST, &k->entries);
		if (!next_take(d)) {
			return;
		}
	} while (k->cursor != 0 && clock_ns() < until_ns);
	if (k->cursor == 0) {
		next_publish(d);
	}
}

static bool
next_is_due(const struct ledger_keeper *k, int64_t now_ms)
{
	if (!k->path || now_ms < k->again_ms) {
		return false;
	}
	if (!k->ours) {
		return true;
	}
	/* A file that an entry was just written to is whole, and its header can be read. */
	if (!k->grew) {
		return false;
	}
	size_t bytes = ledger_file_bytes(k->file);
	return bytes > LEDGER_LEAST && bytes / 2 > ledger_file_begun(k->file);
}

void
driver_ledger_turn(struct driver *d, int64_t now_ms)
{
	struct ledger_keeper *k = &d->ledger;
	if (k->shrinks) {
		k->shrinks = k->past != NULL && ledger_file_shrink(k->past);
	}
	if (d->rests || d->handed_over) {
		return;
	}
	driver_write_ledger(d); /* a part of a scan goes to the next one only */
	bool due = !k->next && next_is_due(k, now_ms);
	k->grew = false;
	if (due) {
		next_begin(d);
	} else if (k->next) {
		next_go_on(d, clock_ns() + LEDGER_TURN_NS);
	}
}

int64_t
driver_ledger_wake_at(const struct driver *d, int64_t now_ms)
{
	const struct ledger_keeper *k = &d->ledger;
	if (k->next || k->shrinks) {
		return now_ms;
	}
	return k->path && !k->ours ? k->again_ms : INT64_MAX;
}

void
driver_keep_ledger(struct driver *d)
{
	struct ledger_keeper *k = &d->ledger;
	struct ledger_file *elsewhere = NULL;
	if (k->file && (!k->path || strcmp(ledger_file_path(k->file), k->path) != 0)) {
		elsewhere = k->file;
		driver_mark_in(d, NULL);
		k->file = NULL;
		k->ours = false;
		d->stats->ledger_kept = d->stats->ledger_bytes = 0;
	}
	if (k->ours) {
		core_pass_ledger(d->core, &k->entries);
	} else if (k->path) {
		next_begin(d);
		if (k->next) {
			next_go_on(d, INT64_MAX);
		}
	}
	ledger_file_remove(elsewhere);
}

/* ---- after a crash ---- */

void
driver_take_ledger(struct driver *d, const char *path, int64_t until_ms)
{
	struct ledger_keeper *k = &d->ledger;
	char why[LEDGER_WHY_MAX];
	k->path = path;
	if (d->core || !k->path) {
		return;
	}
	while (ledger_file_is_held(path) && clock_nap(until_ms)) {
	}
	enum ledger_found found = ledger_file_take(k->path, &k->file, why);
	if (found != LEDGER_NONE && found != LEDGER_TAKEN) {
		LOG_EVENT(d->log, LOG_ERROR_LEVEL, "ledger.refused", log_text("file", k->path),
			log_text("why", why),
			log_text("text", "this daemon begins without the sessions of the one before"));
	}
}

static void
driver_recovered(struct driver *d, int64_t begun_ms)
{
	struct core_counts counts;
	core_view_counts(d->core, &counts);
	d->stats->recovered_sessions += (int64_t)counts.sessions;
	d->stats->recovered_locks += (int64_t)counts.grants;
	LOG_EVENT(d->log, LOG_INFO_LEVEL, "ledger.recovered", log_text("file", d->ledger.path),
		log_number("sessions", (int64_t)counts.sessions), log_number("locks", (int64_t)counts.grants),
		log_number("withheld", (int64_t)counts.withheld), log_number("ms", clock_ms() - begun_ms));
}

static bool
watch_session(void *arg, const struct session_view *view)
{
	struct driver *d = arg;
	const struct process process = {
		.pid = view->bound_pid, .started = view->bound_started, .space = view->bound_space};
	if (process.pid != 0 && !processes_restore(d->processes, process, view->id, view->peer->uid)) {
		d->failed = true;
	}
	return !d->failed;
}

bool
driver_watch_again(struct driver *d)
{
	scan_cursor cursor = 0;
	do {
		cursor = core_scan_sessions(d->core, d->now.ms, cursor, SIZE_MAX, watch_session, d);
	} while (cursor != 0 && !d->failed);
	return !d->failed;
}

struct core *
driver_recover(struct driver *d, const struct driver_settings *settings)
{
	char why[RECORD_WHY_MAX] = "";
	int64_t begun_ms = clock_ms();
	/* Of the losses that it finds it remembers as many as the limits allow. */
	struct core_settings core = settings->core;
	core.grace = settings->limits.grace;
	core.per_user = settings->limits.per_user;
	if (!d->ledger.file) {
		return NULL;
	}
	d->core = core_recover(&core, driver_now(d), ledger_file_entries(d->ledger.file), why);
	driver_draw(d, 2);
	if (d->core) {
		d->ledger.recovered = true;
		if (why[0] != '\0') {
			LOG_EVENT(d->log, LOG_ERROR_LEVEL, "ledger.refused", log_text("file", d->ledger.path),
				log_text("why", why),
				log_text("text", "these locks are lost, and their sessions are told; all "
						 "else goes on"));
		}
		driver_recovered(d, begun_ms);
		driver_find_stored(d);
	} else {
		LOG_EVENT(d->log, LOG_ERROR_LEVEL, "ledger.refused", log_text("file", d->ledger.path),
			log_text("why", why[0] != '\0' ? why : "out of memory"),
			log_text("text", "this daemon begins without the sessions of the one before"));
	}
	return d->core;
}

/* ---- handed over ---- */

static void
file_fields(struct record *r, struct slice *path, uint64_t *identity)
{
	record_bytes(r, path, PATH_MAX - 1);
	record_unsigned(r, identity);
}

void
driver_save_ledger(struct driver *d, struct record *r, struct descriptors *given)
{
	struct ledger_keeper *k = &d->ledger;
	keeper_drop_next(k);
	ledger_file_close(k->past);
	k->past = NULL;
	if (k->file) {
		struct slice path = slice_of(ledger_file_path(k->file));
		uint64_t identity = descriptors_add(given, ledger_file_descriptor(k->file));
		record_begin(r, RECORD_LEDGER_FILE);
		file_fields(r, &path, &identity);
		record_end(r);
	}
}

/* If it cannot go on, a new one is written before any client is served. */
void
driver_load_ledger(struct driver *d, struct record *r, struct descriptors *given)
{
	struct slice saved = {NULL, 0};
	uint64_t identity = 0;
	char path[PATH_MAX], why[LEDGER_WHY_MAX] = "it was not handed over";
	file_fields(r, &saved, &identity);
	slice_text(path, sizeof path, saved);
	int fd = r->failed ? -1 : descriptors_take(given, identity);
	if (fd >= 0 && !d->ledger.file) {
		d->ledger.file = ledger_file_adopt(path, fd, why);
	}
	if (d->ledger.file) {
		d->ledger.ours = true;
		driver_mark_in(d, d->ledger.file);
		d->stats->ledger_kept = 1;
		d->stats->ledger_bytes = (int64_t)ledger_file_bytes(d->ledger.file);
	} else {
		LOG_EVENT(d->log, LOG_WARNING_LEVEL, "ledger.failed", log_text("file", path),
			log_text("why", why), log_text("text", "another one is begun"));
	}
}
