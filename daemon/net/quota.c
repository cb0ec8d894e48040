/*
 * quota: see quota.h.
 */
#include "daemon/net/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct quota_seat {
	struct quota_seat *next;
	size_t count;
	char key[];
};

void
quota_done(struct quota *quota)
{
	while (quota->first) {
		struct quota_seat *seat = quota->first;
		quota->first = seat->next;
		free(seat);
	}
}

static struct quota_seat *
quota_add(struct quota *quota, const char *key)
{
	size_t n = strlen(key) + 1;
	struct quota_seat *seat = calloc(1, sizeof *seat + n);
	if (seat) {
		memcpy(seat->key, key, n);
		seat->next = quota->first;
		quota->first = seat;
	}
	return seat;
}

static struct quota_seat *
quota_enter(struct quota *quota, const char *key)
{
	struct quota_seat *seat = quota->first;
	while (seat && strcmp(seat->key, key) != 0) {
		seat = seat->next;
	}
	if ((seat ? seat->count : 0) >= quota->most) {
		return NULL;
	}
	if (!seat) {
		seat = quota_add(quota, key);
	}
	if (!seat) {
		return NULL;
	}
	seat->count++;
	return seat;
}

struct quota_seat *
quota_enter_uid(struct quota *quota, int64_t uid)
{
	char key[32];
	snprintf(key, sizeof key, "uid %" PRId64, uid);
	return quota_enter(quota, key);
}

struct quota_seat *
quota_enter_name(struct quota *quota, const char *name)
{
	char key[1024];
	snprintf(key, sizeof key, "user %s", name);
	return quota_enter(quota, key);
}

uint64_t
quota_uid_number(int64_t uid)
{
	return (uint64_t)uid + 1;
}

/* FNV-1a, in a range without uids. Names come from the configuration, so no client can provoke a
 * collision. */
uint64_t
quota_name_number(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *name != '\0'; name++) {
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	}
	return hash | UINT64_C(1) << 63;
}

void
quota_leave(struct quota *quota, struct quota_seat *seat)
{
	if (!seat || --seat->count > 0) {
		return;
	}
	struct quota_seat **at = &quota->first;
	while (*at != seat) {
		at = &(*at)->next;
	}
	*at = seat->next;
	free(seat);
}
