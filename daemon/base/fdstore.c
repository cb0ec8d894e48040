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
fdstore_init(struct fdstore *f, const struct notify *notify)
{
	*f = (struct fdstore){.notify = notify};
	if (notify->fd < 0)
		return;
	f->places = calloc(FDSTORE_PLACES, sizeof(*f->places));
	if (f->places != NULL)
		f->most = notify->store_max < FDSTORE_PLACES ? notify->store_max : FDSTORE_PLACES;
}

void
fdstore_done(struct fdstore *f)
{
	descriptors_close(&f->left);
	free(f->places);
	f->places = NULL;
	f->most = 0;
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
place_set(struct fdstore *f, int place, enum place to)
{
	uint8_t *at = &f->places[place];

	f->used += (to != PLACE_FREE) - (size_t)(*at != PLACE_FREE);
	f->leaving += (to == PLACE_LEAVING) - (size_t)(*at == PLACE_LEAVING);
	*at = (uint8_t)to;
}

/* ---- left by the process before ---- */

void
fdstore_take(struct fdstore *f, struct notify_fd *fds, size_t *count)
{
	size_t others = 0;

	for (size_t i = 0; i < *count; i++) {
		int place = f->places == NULL ? FDSTORE_NONE : place_of(fds[i].name);

		if (place == FDSTORE_NONE) {
			fds[others++] = fds[i];
			continue;
		}
		place_set(f, place, PLACE_LEFT);
		if (descriptors_add(&f->left, fds[i].fd) == 0)
			descriptor_end(fds[i].fd);
	}
	*count = others;
}

static bool
place_fits(const struct fdstore *f, int place)
{
	return f->places != NULL && place >= 0 && place < FDSTORE_PLACES;
}

int
fdstore_find(struct fdstore *f, int place, uint64_t identity)
{
	int fd = -1;

	if (place_fits(f, place) && f->places[place] == PLACE_LEFT)
		fd = descriptors_take(&f->left, identity);
	if (fd >= 0)
		place_set(f, place, PLACE_KEPT);
	return fd;
}

bool
fdstore_has(struct fdstore *f, int place)
{
	if (!place_fits(f, place) || f->places[place] != PLACE_FREE)
		return false;
	place_set(f, place, PLACE_KEPT);
	return true;
}

void
fdstore_end_left(struct fdstore *f)
{
	descriptors_close(&f->left);
	for (int i = 0; f->places != NULL && i < FDSTORE_PLACES; i++)
		if (f->places[i] == PLACE_LEFT)
			place_set(f, i, PLACE_LEAVING);
}

/* ---- kept ---- */

int
fdstore_put(struct fdstore *f, int fd)
{
	char name[NOTIFY_NAME_MAX + 1];
	int place;

	/* What is told before has to be heard before. */
	f->behind |= f->most > 0 && f->leaving > 0;
	if (f->used >= f->most || f->leaving > 0)
		return FDSTORE_NONE;
	while (f->places[f->next] != PLACE_FREE)
		f->next = (f->next + 1) % f->most;
	place = (int)f->next;
	place_name(name, place);
	if (!notify_store(f->notify, &fd, 1, name, 0)) {
		f->behind = true;
		return FDSTORE_NONE;
	}
	place_set(f, place, PLACE_KEPT);
	f->next = (f->next + 1) % f->most;
	return place;
}

/* False: the service manager does not listen within most_ms. */
static bool
place_leave(struct fdstore *f, int place, int64_t most_ms)
{
	char name[NOTIFY_NAME_MAX + 1];

	place_name(name, place);
	if (!notify_unstore(f->notify, name, most_ms))
		return false;
	place_set(f, place, PLACE_FREE);
	return true;
}

void
fdstore_drop(struct fdstore *f, int place)
{
	assert(place_fits(f, place) && f->places[place] == PLACE_KEPT);
	place_set(f, place, PLACE_LEAVING);
	if (f->leaving == 1)
		(void)place_leave(f, place, 0);
}

static void
leave(struct fdstore *f, int most, int64_t most_ms)
{
	for (int i = 0; f->leaving > 0 && most > 0 && i < FDSTORE_PLACES; i++) {
		if (f->places[i] != PLACE_LEAVING)
			continue;
		most--;
		if (!place_leave(f, i, most_ms))
			break;
	}
}

bool
fdstore_turn(struct fdstore *f)
{
	leave(f, TURN_MOST, 0);
	return f->leaving > 0;
}

void
fdstore_flush(struct fdstore *f, int64_t most_ms)
{
	leave(f, FDSTORE_PLACES, most_ms);
}
