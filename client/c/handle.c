/*
 * handle: the functions of holdfast.h that open and close a handle, and what errors say; see library.h.
 */
#include "client/c/handle.h"

#include "client/c/library.h"
#include "client/c/lock.h"
#include "client/c/queue.h"
#include "client/c/seen.h"
#include "client/wire/address.h"
#include "client/wire/descriptor.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define CLOSE_MS 2000 /* how long holdfast_close() waits for the daemon */

/* Whether the same call may succeed later. */
static bool
error_passes(const struct holdfast_error *error)
{
	static const char *const passing[] = {
		"NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST"};

	if (error->status != HOLDFAST_REFUSED) {
		return error->status == HOLDFAST_BUSY || error->status == HOLDFAST_TIMEOUT ||
		       error->status == HOLDFAST_LOST || error->status == HOLDFAST_UNREACHABLE;
	}
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (strcmp(error->code, passing[i]) == 0) {
			/* No name has a space. */
			return strstr(error->text, ": bad name") == NULL;
		}
	}
	return false;
}

int
error_set(
	struct holdfast_error *error, enum holdfast_status status, const char *code, const char *format, ...)
{
	char raw[sizeof(error->text)];
	va_list list;

	if (error == NULL) {
		return (int)status;
	}
	error->status = (int)status;
	error->holder = (struct holdfast_holder){.uid = -1};
	(void)snprintf(error->code, sizeof(error->code), "%s", code);
	va_start(list, format);
	(void)vsnprintf(raw, sizeof(raw), format, list);
	va_end(list);
	/* Names and URLs come from the caller, and may have a line feed. */
	(void)escape_text(error->text, sizeof(error->text), slice_of(raw), ESCAPE_PLAIN);
	error->transient = error_passes(error) ? 1 : 0;
	return error->status;
}

int
error_copy(struct holdfast_error *to, const struct holdfast_error *from)
{
	if (to != NULL) {
		*to = *from;
	}
	return from->status;
}

bool
handle_choose(struct holdfast *hf, char *why)
{
	const char *runtime = hf->runtime[0] != '\0' ? hf->runtime : NULL;

	return address_choose(&hf->address, NULL, NULL, runtime, why);
}

bool
handle_is_ours(const struct holdfast *hf, struct holdfast_error *error)
{
	if (hf->pid == getpid()) {
		return true;
	}
	(void)error_set(error, HOLDFAST_FORKED, "",
		"the handle belongs to the parent process: this process is its child, and has to open its "
		"own");
	return false;
}

void
handle_wake(struct holdfast *hf)
{
	(void)wakeup_set(hf->wake, 1);
}

/* Frees what a handle without a thread has. */
static void
handle_free(struct holdfast *hf)
{
	struct request *request;

	while ((request = STAILQ_FIRST(&hf->requests)) != NULL) {
		STAILQ_REMOVE_HEAD(&hf->requests, next);
		free(request);
	}
	while (!TAILQ_EMPTY(&hf->locks)) {
		lock_free(TAILQ_FIRST(&hf->locks));
	}
	queue_forget(hf);
	seen_forget(hf);
	(void)pthread_cond_destroy(&hf->told_changed);
	if (hf->link == LINK_UP) {
		wire_close(&hf->wire);
	}
	descriptor_close_timer(hf->wake);
	descriptor_close_timer(hf->timer);
	explicit_bzero(&hf->address, sizeof(hf->address));
	free(hf);
}

/* Sets the address that the caller or the environment names, or else chooses a default place. False: why. */
static bool
handle_address(struct holdfast *hf, const char *url, char *why)
{
	const char *variable = getenv("HOLDFAST_URL");
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (url != NULL) {
		return address_parse(&hf->address, url, why);
	}
	if (variable != NULL && variable[0] != '\0') {
		return address_choose(&hf->address, NULL, variable, NULL, why);
	}
	hf->chooses = true;
	/* A directory that is too long for a socket is none. The environment may change later. */
	if (runtime != NULL && runtime[0] == '/' && strlen(runtime) < sizeof(hf->runtime)) {
		memcpy(hf->runtime, runtime, strlen(runtime) + 1);
	}
	return handle_choose(hf, why);
}

/* False: errno. */
static bool
handle_init(struct holdfast *hf)
{
	uint32_t random;

	hf->pid = getpid();
	TAILQ_INIT(&hf->locks);
	LIST_INIT(&hf->queues);
	STAILQ_INIT(&hf->requests);
	STAILQ_INIT(&hf->events);
	(void)pthread_mutex_init(&hf->mutex, NULL);
	(void)pthread_cond_init(&hf->told_changed, NULL);
	wire_label(hf->label, program_invocation_short_name);
	hf->wake = wakeup_open();
	hf->timer = wakeup_open();
	if (hf->wake < 0 || hf->timer < 0 || getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		return false;
	}
	(void)snprintf(hf->prefix, sizeof(hf->prefix), "c#%08x-", random);
	return true;
}

struct holdfast *
holdfast_open(const char *url, struct holdfast_error *error)
{
	char why[ADDRESS_TEXT_MAX] = "";
	struct holdfast *hf = calloc(1, sizeof(*hf));

	(void)error_set(error, HOLDFAST_OK, "", "%s", "");
	if (hf == NULL) {
		(void)error_set(error, HOLDFAST_SYSTEM, "", "cannot open a handle: no memory");
		return NULL;
	}
	if (!handle_address(hf, url, why)) {
		(void)error_set(error, HOLDFAST_INVALID, "", "the address of holdfastd: %s", why);
		free(hf);
		return NULL;
	}
	if (!handle_init(hf)) {
		(void)error_set(error, HOLDFAST_SYSTEM, "", "cannot open a handle: %s", strerror(errno));
		handle_free(hf);
		return NULL;
	}
	return hf;
}

/* In a child of the process that has the handle: closes the copies of its descriptors, and sends nothing. The
 * memory stays, since the threads that used it are not here. If the thread was at work when the process
 * forked, the descriptors are not known, and stay, too. */
static void
handle_forget(struct holdfast *hf)
{
	struct holdfast_lock *lock;

	if (pthread_mutex_trylock(&hf->mutex) != 0 || hf->link == LINK_OPENING) {
		return;
	}
	TAILQ_FOREACH (lock, &hf->locks, next) {
		descriptor_close_timer(lock->fd);
	}
	if (hf->link == LINK_UP) {
		descriptor_close_socket(hf->wire.fd, hf->wire.inode);
	}
	descriptor_close_timer(hf->wake);
	descriptor_close_timer(hf->timer);
}

void
holdfast_close(struct holdfast *hf)
{
	struct holdfast_lock *lock;

	if (hf == NULL) {
		return;
	}
	if (!handle_is_ours(hf, NULL)) {
		handle_forget(hf);
		return;
	}
	(void)pthread_mutex_lock(&hf->mutex);
	hf->close_ms = clock_ms() + CLOSE_MS;
	TAILQ_FOREACH (lock, &hf->locks, next) {
		if (!lock->dropped) {
			lock_drop(lock);
		}
	}
	if (hf->running) {
		handle_wake(hf);
	}
	(void)pthread_mutex_unlock(&hf->mutex);
	if (hf->running) {
		(void)pthread_join(hf->thread, NULL);
	}
	(void)pthread_mutex_destroy(&hf->mutex);
	handle_free(hf);
}
