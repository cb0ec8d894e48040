/*
 * lock: the functions of holdfast.h that take, watch and give back a lock; see library.h. They change the
 * lock under the mutex of its handle, send what is due, and wait for what the thread reads.
 */
#include "client/c/lock.h"

#include "client/c/engine.h"
#include "client/c/handle.h"
#include "client/c/library.h"
#include "client/c/part.h"
#include "client/c/seen.h"
#include "client/wire/descriptor.h"
#include "daemon/base/clock.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS       2000 /* how long holdfast_unlock() and holdfast_extend() wait for the daemon */
#define TIME_MAX        31536000000
#define NAME_MAX_BYTES  512
#define WHY_MAX_BYTES   256
#define OWNER_MAX_BYTES 96
#define PERMITS_MAX     10000
#define FAULT_MAX       400
#define CLOSED_MS       50 /* between two checks of a lock whose descriptor the program has closed */

/* ---- the state ---- */

/* The descriptor is readable from now on. */
static void
lock_signal(struct holdfast_lock *lock)
{
	(void)wakeup_set(lock->fd, 1);
	(void)pthread_cond_broadcast(&lock->changed);
}

void
lock_over(struct holdfast_lock *lock, const struct holdfast_error *error)
{
	enum lock_state before = lock->state;

	if (before == LOCK_OVER) {
		return;
	}
	lock->state = LOCK_OVER;
	lock->error = *error;
	/* The other names of a lock that was held are still guarded, until the caller has stopped. */
	for (size_t i = 0; i < lock->count && before == LOCK_WAITS; i++) {
		part_end(&lock->parts[i]);
	}
	lock_signal(lock);
}

void
lock_granted(struct holdfast_lock *lock)
{
	if (lock->state != LOCK_WAITS) {
		return;
	}
	if (++lock->at < lock->count) {
		part_begin(&lock->parts[lock->order[lock->at]], clock_ms());
		return;
	}
	lock->state = LOCK_HELD;
	for (size_t i = 0; i < lock->count; i++) {
		seen_tell(lock->hf, &lock->parts[i], HOLDFAST_HELD, clock_ms() - lock->begun_ms, "");
	}
	lock_signal(lock);
}

bool
lock_is_done(const struct holdfast_lock *lock)
{
	for (size_t i = 0; i < lock->count; i++) {
		if (lock->parts[i].state != PART_DONE) {
			return false;
		}
	}
	return true;
}

void
lock_drop(struct holdfast_lock *lock)
{
	for (size_t i = 0; i < lock->count; i++) {
		part_end(&lock->parts[i]);
	}
	descriptor_close_timer(lock->fd);
	lock->fd = -1;
	lock->dropped = true;
}

/* ---- its memory ---- */

static void
lock_destroy(struct holdfast_lock *lock)
{
	for (size_t i = 0; i < lock->count; i++) {
		free(lock->parts[i].name);
	}
	descriptor_close_timer(lock->fd);
	free(lock->order);
	free(lock->why);
	free(lock->owner);
	free(lock);
}

void
lock_free(struct holdfast_lock *lock)
{
	struct request *request;

	/* Nobody waits any more for what was asked last. */
	STAILQ_FOREACH(request, &lock->hf->requests, next)
	{
		if (request->part != NULL && request->part->lock == lock) {
			request->part = NULL;
		}
	}
	TAILQ_REMOVE(&lock->hf->locks, lock, next);
	(void)pthread_cond_destroy(&lock->changed);
	lock_destroy(lock);
}

/* Sorts the indices of the names; false if a name comes twice. */
static bool
lock_sort(struct holdfast_lock *lock)
{
	for (size_t i = 0; i < lock->count; i++) {
		size_t at = i;

		for (; at > 0; at--) {
			int order = strcmp(lock->parts[lock->order[at - 1]].name, lock->parts[i].name);

			if (order == 0) {
				return false;
			}
			if (order < 0) {
				break;
			}
			lock->order[at] = lock->order[at - 1];
		}
		lock->order[at] = i;
	}
	return true;
}

static struct holdfast_lock *
lock_new(struct holdfast *hf, const char *const *names, size_t count, const struct holdfast_options *options)
{
	struct holdfast_lock *lock = calloc(1, sizeof(*lock) + count * sizeof(lock->parts[0]));
	bool made;

	if (lock == NULL) {
		return NULL;
	}
	lock->hf = hf;
	lock->options = *options;
	if (lock->options.wait_ms > TIME_MAX) {
		lock->options.wait_ms = TIME_MAX;
	}
	lock->count = count;
	lock->begun_ms = clock_ms();
	options = &lock->options;
	lock->until_ms = options->wait_ms == 0
				 ? INT64_MAX
				 : lock->begun_ms + (options->wait_ms > 0 ? options->wait_ms : 0);
	lock->fd = wakeup_open();
	lock->order = calloc(count, sizeof(*lock->order));
	lock->why = options->why != NULL ? strdup(options->why) : NULL;
	lock->owner = options->owner != NULL ? strdup(options->owner) : NULL;
	made = lock->fd >= 0 && lock->order != NULL && (lock->why != NULL || options->why == NULL) &&
	       (lock->owner != NULL || options->owner == NULL);
	for (size_t i = 0; i < count; i++) {
		lock->parts[i].lock = lock;
		lock->parts[i].name = strdup(names[i]);
		made = made && lock->parts[i].name != NULL;
	}
	if (!made) {
		lock_destroy(lock);
		return NULL;
	}
	return lock;
}

/* ---- begin ---- */

/* NULL, or what is wrong: the daemon does not take this time. The clients for other languages say the same.
 */
static const char *
time_fault(const char *what, int64_t ms, int64_t least, char room[FAULT_MAX])
{
	if (ms >= least && ms <= TIME_MAX) {
		return NULL;
	}
	(void)snprintf(room, FAULT_MAX, "%s: a time from %s to 365 days is needed, not %lld", what,
		least > 0 ? "1 ms" : "0", (long long)ms);
	return room;
}

static const char *
permits_fault(const char *what, int64_t count, int64_t most, char room[FAULT_MAX])
{
	(void)snprintf(room, FAULT_MAX, "%s: a whole number from 1 to %lld is needed, not %lld", what,
		(long long)most, (long long)count);
	return room;
}

/* NULL, or what is wrong. */
static const char *
options_fault(const struct holdfast_options *o, char room[FAULT_MAX])
{
	/* A longer wait counts as the longest: see lock_new(). */
	const char *fault = o->wait_ms == HOLDFAST_TRY || o->wait_ms > TIME_MAX
				    ? NULL
				    : time_fault("wait_ms", o->wait_ms, 0, room);

	fault = fault != NULL ? fault : time_fault("lease_ms", o->lease_ms, 0, room);
	fault = fault != NULL ? fault : time_fault("max_hold_ms", o->max_hold_ms, 0, room);
	if (fault != NULL) {
		return fault;
	}
	if (o->permits != 0 && o->limit == 0) {
		return "permits needs a limit";
	}
	if (o->limit < 0 || o->limit > PERMITS_MAX) {
		return permits_fault("limit", o->limit, PERMITS_MAX, room);
	}
	if (o->permits < 0 || o->permits > o->limit) {
		return permits_fault("permits", o->permits, o->limit, room);
	}
	if (o->why != NULL && name_check_text(slice_of(o->why), WHY_MAX_BYTES) != NULL) {
		(void)snprintf(room, FAULT_MAX,
			"why: at most %d bytes without control characters are needed, not \"%.200s\"",
			WHY_MAX_BYTES, o->why);
		return room;
	}
	if (o->owner != NULL && name_check(slice_of(o->owner), OWNER_MAX_BYTES) != NULL) {
		(void)snprintf(room, FAULT_MAX,
			"owner: 1 to %d bytes without spaces and control characters are needed, not "
			"\"%.200s\"",
			OWNER_MAX_BYTES, o->owner);
		return room;
	}
	if (o->shared != 0 && o->shared != 1) {
		return "shared is 0 or 1";
	}
	if (o->shared == 1 && o->limit > 0) {
		return "a lock is shared, or has a limit, not both";
	}
	for (size_t i = 0; i < sizeof(o->reserved) / sizeof(o->reserved[0]); i++) {
		if (o->reserved[i] != 0) {
			return "the reserved fields are not 0: set all options to 0 first";
		}
	}
	return NULL;
}

static const char *
names_fault(const char *const *names, size_t count, char room[FAULT_MAX])
{
	if (names == NULL || count == 0) {
		return "no name is given";
	}
	for (size_t i = 0; i < count; i++) {
		if (names[i] == NULL) {
			return "a name is NULL";
		}
		if (names[i][0] == '}') {
			(void)snprintf(room, FAULT_MAX, "name: it must not begin with }, as \"%.200s\" does",
				names[i]);
			return room;
		}
		if (name_check(slice_of(names[i]), NAME_MAX_BYTES) != NULL) {
			(void)snprintf(room, FAULT_MAX,
				"name: 1 to %d bytes without spaces and control characters are needed, not "
				"\"%.200s\"",
				NAME_MAX_BYTES, names[i]);
			return room;
		}
	}
	return NULL;
}

/* The mutex is locked. */
static void
lock_begin(struct holdfast *hf, struct holdfast_lock *lock)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&lock->changed, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	for (size_t i = 0; i < lock->count; i++) {
		(void)snprintf(lock->parts[i].tag, TAG_MAX, "%s%s%s%llx",
			lock->owner != NULL ? lock->owner : "", lock->owner != NULL ? "#" : "", hf->prefix,
			(unsigned long long)++hf->serial);
	}
	part_begin(&lock->parts[lock->order[0]], lock->begun_ms);
	TAILQ_INSERT_TAIL(&hf->locks, lock, next);
	engine_step(hf, lock->begun_ms);
}

struct holdfast_lock *
holdfast_begin(struct holdfast *hf, const char *const *names, size_t count,
	const struct holdfast_options *options, struct holdfast_error *error)
{
	const struct holdfast_options none = {0};
	const struct holdfast_options *o = options != NULL ? options : &none;
	char room[FAULT_MAX];
	const char *fault = names_fault(names, count, room);
	struct holdfast_lock *lock;
	bool begun;

	if (hf == NULL || !handle_is_ours(hf, error)) {
		return NULL;
	}
	fault = fault != NULL ? fault : options_fault(o, room);
	if (fault != NULL) {
		(void)error_set(error, HOLDFAST_INVALID, "", "cannot lock: %s", fault);
		return NULL;
	}
	lock = lock_new(hf, names, count, o);
	if (lock == NULL) {
		(void)error_set(error, HOLDFAST_SYSTEM, "", "cannot lock %.200s: no memory, or no descriptor",
			names[0]);
		return NULL;
	}
	if (!lock_sort(lock)) {
		(void)error_set(error, HOLDFAST_INVALID, "", "cannot lock: a name is given twice");
		lock_destroy(lock);
		return NULL;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	begun = engine_start(hf);
	if (begun) {
		lock_begin(hf, lock);
	} else {
		lock_destroy(lock);
	}
	(void)pthread_mutex_unlock(&hf->mutex);
	(void)error_set(error, begun ? HOLDFAST_OK : HOLDFAST_SYSTEM, "", "%s",
		begun ? "" : "cannot lock: no thread can be made");
	return begun ? lock : NULL;
}

/* ---- wait ---- */

/* True: *status is what holdfast_wait() answers. */
static bool
lock_decided(struct holdfast_lock *lock, int *status, struct holdfast_error *error)
{
	bool decided;

	(void)pthread_mutex_lock(&lock->hf->mutex);
	decided = lock->state != LOCK_WAITS;
	if (lock->state == LOCK_HELD) {
		/* From now on it is readable only if the lock is lost. */
		(void)wakeup_set(lock->fd, INT64_MAX);
		*status = error_set(error, HOLDFAST_OK, "", "%s", "");
	} else if (lock->state == LOCK_OVER) {
		*status = error_copy(error, &lock->error);
	}
	(void)pthread_mutex_unlock(&lock->hf->mutex);
	return decided;
}

/* A wait that lasts: on_wait is called, without the mutex. True: it was. */
static bool
lock_tell(struct holdfast_lock *lock)
{
	const struct holdfast_options *o = &lock->options;
	struct holdfast_holder holder;
	struct holdfast_event event;
	bool news;

	(void)pthread_mutex_lock(&lock->hf->mutex);
	news = lock->news && lock->state == LOCK_WAITS;
	lock->news = false;
	if (news) {
		(void)wakeup_set(lock->fd, INT64_MAX);
		holder = lock->holder;
		event = (struct holdfast_event){.kind = HOLDFAST_WAITS,
			.name = lock->parts[lock->order[lock->at]].name,
			.ms = clock_ms() - lock->begun_ms,
			.position = lock->position,
			.holder = &holder,
			.text = ""};
	}
	(void)pthread_mutex_unlock(&lock->hf->mutex);
	if (news) {
		o->on_wait(&event, o->context);
	}
	return news;
}

/* A thread is in holdfast_wait(), or no more. */
static void
lock_watch(struct holdfast_lock *lock, bool watched)
{
	if (lock->options.on_wait == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&lock->hf->mutex);
	lock->watched = watched;
	if (!watched && lock->news && lock->state == LOCK_WAITS) {
		lock->news = false;
		(void)wakeup_set(lock->fd, INT64_MAX);
	}
	engine_step(lock->hf, clock_ms());
	(void)pthread_mutex_unlock(&lock->hf->mutex);
}

int
holdfast_wait(struct holdfast_lock *lock, int cancel_fd, struct holdfast_error *error)
{
	struct pollfd p[2] = {{lock->fd, POLLIN, 0}, {cancel_fd > 0 ? cancel_fd : -1, POLLIN, 0}};
	int status = HOLDFAST_OK, ready = 0;

	if (!handle_is_ours(lock->hf, error)) {
		return HOLDFAST_FORKED;
	}
	lock_watch(lock, true);
	while (!lock_decided(lock, &status, error)) {
		ready = lock_tell(lock) ? 0 : ready;
		/* News were told, and there are none: the program has closed the descriptor, and its number
		 * is that of another file. A file that is silent cannot be told from it, hence LOOK_MS. */
		p[0].fd = ready > 0 && p[0].revents != 0 ? -1 : p[0].fd;
		ready = poll(p, 2, p[0].fd < 0 ? CLOSED_MS : LOOK_MS);
		if (ready <= 0 || p[1].revents == 0) {
			continue;
		}
		if ((p[1].revents & POLLNVAL) != 0) {
			status =
				error_set(error, HOLDFAST_INVALID, "", "cancel_fd %d is not open", cancel_fd);
		} else if (!lock_decided(lock, &status, error)) {
			status = error_set(error, HOLDFAST_CANCELLED, "",
				"the wait for %.200s was cancelled by cancel_fd", lock->parts[0].name);
		}
		break;
	}
	lock_watch(lock, false);
	return status;
}

struct holdfast_lock *
holdfast_lock_all(struct holdfast *hf, const char *const *names, size_t count,
	const struct holdfast_options *options, struct holdfast_error *error)
{
	struct holdfast_lock *lock = holdfast_begin(hf, names, count, options, error);

	if (lock == NULL ||
		holdfast_wait(lock, options != NULL ? options->cancel_fd : 0, error) == HOLDFAST_OK) {
		return lock;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	lock_drop(lock);
	engine_step(hf, clock_ms());
	(void)pthread_mutex_unlock(&hf->mutex);
	return NULL;
}

struct holdfast_lock *
holdfast_lock(struct holdfast *hf, const char *name, const struct holdfast_options *options,
	struct holdfast_error *error)
{
	return holdfast_lock_all(hf, &name, 1, options, error);
}

/* ---- what a holder asks ---- */

int
holdfast_fd(const struct holdfast_lock *lock)
{
	return handle_is_ours(lock->hf, NULL) ? lock->fd : -1;
}

/* The mutex is locked. */
static int64_t
lock_valid_ms(const struct holdfast_lock *lock, int64_t now_ms)
{
	int64_t left_ms = INT64_MAX;

	if (lock->state != LOCK_HELD) {
		return 0;
	}
	for (size_t i = 0; i < lock->count; i++) {
		int64_t part_ms = lock->parts[i].deadline.expire_ms - now_ms;

		left_ms = part_ms < left_ms ? part_ms : left_ms;
	}
	return left_ms > 0 ? left_ms : 0;
}

/* Past the deadline the thread gets an answer, or gives the lock up. The mutex is locked. */
static void
lock_decide(struct holdfast_lock *lock)
{
	while (lock->state == LOCK_HELD && lock_valid_ms(lock, clock_ms()) == 0) {
		handle_wake(lock->hf);
		(void)pthread_cond_wait(&lock->changed, &lock->hf->mutex);
	}
}

int64_t
holdfast_valid_ms(struct holdfast_lock *lock)
{
	int64_t valid_ms;

	if (!handle_is_ours(lock->hf, NULL)) {
		return 0;
	}
	(void)pthread_mutex_lock(&lock->hf->mutex);
	lock_decide(lock);
	valid_ms = lock_valid_ms(lock, clock_ms());
	(void)pthread_mutex_unlock(&lock->hf->mutex);
	return valid_ms;
}

int
holdfast_check(struct holdfast_lock *lock, struct holdfast_error *error)
{
	struct holdfast *hf = lock->hf;
	int status;

	if (!handle_is_ours(hf, error)) {
		return HOLDFAST_FORKED;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	lock_decide(lock);
	if (lock->state == LOCK_OVER) {
		status = error_copy(error, &lock->error);
	} else if (lock->state == LOCK_WAITS) {
		status = error_set(
			error, HOLDFAST_BUSY, "", "the lock %.200s is not held yet", lock->parts[0].name);
	} else {
		status = error_set(error, HOLDFAST_OK, "", "%s", "");
	}
	(void)pthread_mutex_unlock(&hf->mutex);
	return status;
}

int64_t
holdfast_token_of(const struct holdfast_lock *lock, size_t index)
{
	int64_t token = 0;

	if (handle_is_ours(lock->hf, NULL) && index < lock->count) {
		(void)pthread_mutex_lock(&lock->hf->mutex);
		token = lock->parts[index].token;
		(void)pthread_mutex_unlock(&lock->hf->mutex);
	}
	return token;
}

int64_t
holdfast_token(const struct holdfast_lock *lock)
{
	return holdfast_token_of(lock, 0);
}

/* ---- extend and unlock ---- */

static struct timespec
answer_deadline(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ANSWER_MS / 1000;
	return at;
}

/* The mutex is locked. */
static int
lock_command(struct holdfast_lock *lock, int64_t lease_ms, struct holdfast_error *error)
{
	const struct timespec at = answer_deadline();

	/* Another thread extends it, too. */
	while (lock->extending > 0 && pthread_cond_timedwait(&lock->changed, &lock->hf->mutex, &at) == 0) {
	}
	if (lock->state == LOCK_HELD && lock->hf->ready && lock->extending == 0) {
		(void)error_set(&lock->extended, HOLDFAST_OK, "", "%s", "");
		for (size_t i = 0; i < lock->count; i++) {
			part_extend(&lock->parts[i], lease_ms, clock_ms());
		}
		engine_step(lock->hf, clock_ms());
		while (lock->extending > 0 &&
			pthread_cond_timedwait(&lock->changed, &lock->hf->mutex, &at) == 0) {
		}
		if (lock->extending == 0) {
			return error_copy(error, &lock->extended);
		}
	}
	if (lock->state == LOCK_OVER) {
		return error_copy(error, &lock->error);
	}
	return error_set(error, HOLDFAST_UNREACHABLE, "",
		"cannot %s the lock %.200s: the daemon does not answer at %.100s",
		lease_ms > 0 ? "extend" : "share", lock->parts[0].name, lock->hf->address.text);
}

int
holdfast_extend(struct holdfast_lock *lock, int64_t lease_ms, struct holdfast_error *error)
{
	char room[FAULT_MAX];
	const char *fault = time_fault("lease_ms", lease_ms, 1, room);
	int status;

	if (!handle_is_ours(lock->hf, error)) {
		return HOLDFAST_FORKED;
	}
	if (fault != NULL) {
		return error_set(error, HOLDFAST_INVALID, "", "cannot extend: %s", fault);
	}
	(void)pthread_mutex_lock(&lock->hf->mutex);
	status = lock_command(lock, lease_ms, error);
	(void)pthread_mutex_unlock(&lock->hf->mutex);
	return status;
}

int
holdfast_downgrade(struct holdfast_lock *lock, struct holdfast_error *error)
{
	int status;

	if (!handle_is_ours(lock->hf, error)) {
		return HOLDFAST_FORKED;
	}
	(void)pthread_mutex_lock(&lock->hf->mutex);
	status = lock_command(lock, 0, error);
	(void)pthread_mutex_unlock(&lock->hf->mutex);
	return status;
}

/* The mutex is locked. A lock that was held is given back within ANSWER_MS, or by the thread later. */
static int
lock_unlock(struct holdfast_lock *lock, struct holdfast_error *error)
{
	const struct timespec at = answer_deadline();
	bool held = lock->state == LOCK_HELD;

	for (size_t i = 0; i < lock->count; i++) {
		part_end(&lock->parts[i]);
	}
	engine_step(lock->hf, clock_ms());
	while (held && !lock_is_done(lock) &&
		pthread_cond_timedwait(&lock->changed, &lock->hf->mutex, &at) == 0) {
	}
	if (lock->state == LOCK_OVER && lock->error.status == HOLDFAST_LOST) {
		return error_copy(error, &lock->error);
	}
	for (size_t i = 0; i < lock->count && held; i++) {
		seen_tell(lock->hf, &lock->parts[i], HOLDFAST_RELEASED,
			clock_ms() - lock->parts[i].granted_ms, "");
	}
	if (held && !lock_is_done(lock)) {
		return error_set(error, HOLDFAST_UNREACHABLE, "",
			"the lock %.200s is not given back yet: the daemon does not answer at %.100s",
			lock->parts[0].name, lock->hf->address.text);
	}
	return error_set(error, HOLDFAST_OK, "", "%s", "");
}

int
holdfast_unlock(struct holdfast_lock *lock, struct holdfast_error *error)
{
	struct holdfast *hf;
	int status;

	if (lock == NULL) {
		return error_set(error, HOLDFAST_OK, "", "%s", "");
	}
	hf = lock->hf;
	if (!handle_is_ours(hf, error)) {
		return HOLDFAST_FORKED;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	status = lock_unlock(lock, error);
	lock_drop(lock);
	engine_step(hf, clock_ms());
	(void)pthread_mutex_unlock(&hf->mutex);
	return status;
}
