/*
 * fdstore: see fdstore.h. It never gives a slot away whose old descriptor the service manager may still
 * have.
 */
#include "daemon/base/fdstore.h"

#include "daemon/base/notify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX    "hf"
#define TURN_MOST 16 /* messages; the queue of the service manager has room for other ones, too */

enum slot { SLOT_FREE, SLOT_LEFT, SLOT_STORED, SLOT_LEAVING };

void
fdstore_init(struct fdstore *store, const struct notify *notify)
{
	*store = (struct fdstore){.notify = notify};
	if (notify->fd < 0)
		return;
	store->slots = calloc(FDSTORE_SLOTS, sizeof(*store->slots));
	if (store->slots != NULL)
		store->most = notify->store_max < FDSTORE_SLOTS ? notify->store_max : FDSTORE_SLOTS;
}

void
fdstore_done(struct fdstore *store)
{
	descriptors_close(&store->left);
	free(store->slots);
	store->slots = NULL;
	store->most = 0;
}

static void
slot_name(char out[NOTIFY_NAME_MAX + 1], int slot)
{
	snprintf(out, NOTIFY_NAME_MAX + 1, PREFIX "%x", (unsigned)slot);
}

/* FDSTORE_NONE: the name is not of a slot. */
static int
slot_of_name(const char *name)
{
	char again[NOTIFY_NAME_MAX + 1];
	unsigned long slot;

	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0 || name[sizeof(PREFIX) - 1] == '\0')
		return FDSTORE_NONE;
	slot = strtoul(name + sizeof(PREFIX) - 1, NULL, 16);
	if (slot >= FDSTORE_SLOTS)
		return FDSTORE_NONE;
	slot_name(again, (int)slot);
	return strcmp(name, again) == 0 ? (int)slot : FDSTORE_NONE;
}

static void
slot_set(struct fdstore *store, int slot, enum slot to)
{
	uint8_t *at = &store->slots[slot];

	store->used += (to != SLOT_FREE) - (size_t)(*at != SLOT_FREE);
	store->leaving += (to == SLOT_LEAVING) - (size_t)(*at == SLOT_LEAVING);
	*at = (uint8_t)to;
}

/* ---- left by the process before ---- */

void
fdstore_take(struct fdstore *store, struct notify_fd *fds, size_t *count)
{
	size_t others = 0;

	for (size_t i = 0; i < *count; i++) {
		int slot = store->slots == NULL ? FDSTORE_NONE : slot_of_name(fds[i].name);

		if (slot == FDSTORE_NONE) {
			fds[others++] = fds[i];
			continue;
		}
		slot_set(store, slot, SLOT_LEFT);
		if (descriptors_add(&store->left, fds[i].fd) == 0)
			descriptor_end(fds[i].fd);
	}
	*count = others;
}

static bool
slot_is_valid(const struct fdstore *store, int slot)
{
	return store->slots != NULL && slot >= 0 && slot < FDSTORE_SLOTS;
}

int
fdstore_find(struct fdstore *store, int slot, uint64_t identity)
{
	int fd = -1;

	if (slot_is_valid(store, slot) && store->slots[slot] == SLOT_LEFT)
		fd = descriptors_take(&store->left, identity);
	if (fd >= 0)
		slot_set(store, slot, SLOT_STORED);
	return fd;
}

bool
fdstore_has(struct fdstore *store, int slot)
{
	if (!slot_is_valid(store, slot) || store->slots[slot] != SLOT_FREE)
		return false;
	slot_set(store, slot, SLOT_STORED);
	return true;
}

void
fdstore_end_left(struct fdstore *store)
{
	descriptors_close(&store->left);
	for (int i = 0; store->slots != NULL && i < FDSTORE_SLOTS; i++)
		if (store->slots[i] == SLOT_LEFT)
			slot_set(store, i, SLOT_LEAVING);
}

/* ---- stored ---- */

int
fdstore_put(struct fdstore *store, int fd)
{
	char name[NOTIFY_NAME_MAX + 1];
	int slot;

	/* What was sent before has to be read before. */
	store->behind |= store->most > 0 && store->leaving > 0;
	if (store->used >= store->most || store->leaving > 0)
		return FDSTORE_NONE;
	while (store->slots[store->next] != SLOT_FREE)
		store->next = (store->next + 1) % store->most;
	slot = (int)store->next;
	slot_name(name, slot);
	if (!notify_store(store->notify, &fd, 1, name, 0)) {
		store->behind = true;
		return FDSTORE_NONE;
	}
	slot_set(store, slot, SLOT_STORED);
	store->next = (store->next + 1) % store->most;
	return slot;
}

/* False: the service manager does not listen within most_ms. */
static bool
slot_leave(struct fdstore *store, int slot, int64_t most_ms)
{
	char name[NOTIFY_NAME_MAX + 1];

	slot_name(name, slot);
	if (!notify_unstore(store->notify, name, most_ms))
		return false;
	slot_set(store, slot, SLOT_FREE);
	return true;
}

void
fdstore_drop(struct fdstore *store, int slot)
{
	assert(slot_is_valid(store, slot) && store->slots[slot] == SLOT_STORED);
	slot_set(store, slot, SLOT_LEAVING);
	if (store->leaving == 1)
		(void)slot_leave(store, slot, 0);
}

static void
leave(struct fdstore *store, int most, int64_t most_ms)
{
	for (int i = 0; store->leaving > 0 && most > 0 && i < FDSTORE_SLOTS; i++) {
		if (store->slots[i] != SLOT_LEAVING)
			continue;
		most--;
		if (!slot_leave(store, i, most_ms))
			break;
	}
}

bool
fdstore_turn(struct fdstore *store)
{
	leave(store, TURN_MOST, 0);
	return store->leaving > 0;
}

void
fdstore_flush(struct fdstore *store, int64_t most_ms)
{
	leave(store, FDSTORE_SLOTS, most_ms);
}
