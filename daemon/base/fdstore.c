/*
 * fdstore: see fdstore.h. It never gives a place away whose old descriptor the service manager may still
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

enum place { PLACE_FREE, PLACE_LEFT, PLACE_KEPT, PLACE_LEAVING };

void
fdstore_init(struct fdstore *store, const struct notify *notify)
{
	*store = (struct fdstore){.notify = notify};
	if (notify->fd < 0)
		return;
	store->places = calloc(FDSTORE_PLACES, sizeof(*store->places));
	if (store->places != NULL)
		store->most = notify->store_max < FDSTORE_PLACES ? notify->store_max : FDSTORE_PLACES;
}

void
fdstore_done(struct fdstore *store)
{
	descriptors_close(&store->left);
	free(store->places);
	store->places = NULL;
	store->most = 0;
}

static void
place_name(char out[NOTIFY_NAME_MAX + 1], int place)
{
	snprintf(out, NOTIFY_NAME_MAX + 1, PREFIX "%x", (unsigned)place);
}

/* FDSTORE_NONE: the name is not of a place. */
static int
place_of(const char *name)
{
	char again[NOTIFY_NAME_MAX + 1];
	unsigned long place;

	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0 || name[sizeof(PREFIX) - 1] == '\0')
		return FDSTORE_NONE;
	place = strtoul(name + sizeof(PREFIX) - 1, NULL, 16);
	if (place >= FDSTORE_PLACES)
		return FDSTORE_NONE;
	place_name(again, (int)place);
	return strcmp(name, again) == 0 ? (int)place : FDSTORE_NONE;
}

static void
place_set(struct fdstore *store, int place, enum place to)
{
	uint8_t *at = &store->places[place];

	store->used += (to != PLACE_FREE) - (size_t)(*at != PLACE_FREE);
	store->leaving += (to == PLACE_LEAVING) - (size_t)(*at == PLACE_LEAVING);
	*at = (uint8_t)to;
}

/* ---- left by the process before ---- */

void
fdstore_take(struct fdstore *store, struct notify_fd *fds, size_t *count)
{
	size_t others = 0;

	for (size_t i = 0; i < *count; i++) {
		int place = store->places == NULL ? FDSTORE_NONE : place_of(fds[i].name);

		if (place == FDSTORE_NONE) {
			fds[others++] = fds[i];
			continue;
		}
		place_set(store, place, PLACE_LEFT);
		if (descriptors_add(&store->left, fds[i].fd) == 0)
			descriptor_end(fds[i].fd);
	}
	*count = others;
}

static bool
place_fits(const struct fdstore *store, int place)
{
	return store->places != NULL && place >= 0 && place < FDSTORE_PLACES;
}

int
fdstore_find(struct fdstore *store, int place, uint64_t identity)
{
	int fd = -1;

	if (place_fits(store, place) && store->places[place] == PLACE_LEFT)
		fd = descriptors_take(&store->left, identity);
	if (fd >= 0)
		place_set(store, place, PLACE_KEPT);
	return fd;
}

bool
fdstore_has(struct fdstore *store, int place)
{
	if (!place_fits(store, place) || store->places[place] != PLACE_FREE)
		return false;
	place_set(store, place, PLACE_KEPT);
	return true;
}

void
fdstore_end_left(struct fdstore *store)
{
	descriptors_close(&store->left);
	for (int i = 0; store->places != NULL && i < FDSTORE_PLACES; i++)
		if (store->places[i] == PLACE_LEFT)
			place_set(store, i, PLACE_LEAVING);
}

/* ---- kept ---- */

int
fdstore_put(struct fdstore *store, int fd)
{
	char name[NOTIFY_NAME_MAX + 1];
	int place;

	/* What is told before has to be heard before. */
	store->behind |= store->most > 0 && store->leaving > 0;
	if (store->used >= store->most || store->leaving > 0)
		return FDSTORE_NONE;
	while (store->places[store->next] != PLACE_FREE)
		store->next = (store->next + 1) % store->most;
	place = (int)store->next;
	place_name(name, place);
	if (!notify_store(store->notify, &fd, 1, name, 0)) {
		store->behind = true;
		return FDSTORE_NONE;
	}
	place_set(store, place, PLACE_KEPT);
	store->next = (store->next + 1) % store->most;
	return place;
}

/* False: the service manager does not listen within most_ms. */
static bool
place_leave(struct fdstore *store, int place, int64_t most_ms)
{
	char name[NOTIFY_NAME_MAX + 1];

	place_name(name, place);
	if (!notify_unstore(store->notify, name, most_ms))
		return false;
	place_set(store, place, PLACE_FREE);
	return true;
}

void
fdstore_drop(struct fdstore *store, int place)
{
	assert(place_fits(store, place) && store->places[place] == PLACE_KEPT);
	place_set(store, place, PLACE_LEAVING);
	if (store->leaving == 1)
		(void)place_leave(store, place, 0);
}

static void
leave(struct fdstore *store, int most, int64_t most_ms)
{
	for (int i = 0; store->leaving > 0 && most > 0 && i < FDSTORE_PLACES; i++) {
		if (store->places[i] != PLACE_LEAVING)
			continue;
		most--;
		if (!place_leave(store, i, most_ms))
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
	leave(store, FDSTORE_PLACES, most_ms);
}
