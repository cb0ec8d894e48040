/*
 * access: see access.h.
 */
#include "daemon/net/access.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- users ---- */

struct access {
	size_t count;
	struct access_user users[];
};

static void
user_done(struct access_user *user)
{
	if (user->password) {
		char *password = (char *)user->password;
		explicit_bzero(password, strlen(password));
		free(password);
	}
	free((char *)user->name);
}

void
access_free(struct access *access)
{
	if (!access) {
		return;
	}
	for (size_t i = 0; i < access->count; i++) {
		user_done(&access->users[i]);
	}
	free(access);
}

struct access *
access_new(const struct access_user *users, size_t count)
{
	struct access *access = calloc(1, sizeof *access + count * sizeof *users);
	if (!access) {
		return NULL;
	}
	access->count = count;
	for (size_t i = 0; i < count; i++) {
		struct access_user *user = &access->users[i];
		user->name = strdup(users[i].name);
		user->password = strdup(users[i].password);
		user->admin = users[i].admin;
		if (!user->name || !user->password) {
			access_free(access);
			return NULL;
		}
	}
	return access;
}

bool
access_required(const struct access *access)
{
	return access->count > 0;
}

const struct access_user *
access_find(const struct access *access, struct slice name)
{
	struct slice wanted = name.n > 0 ? name : SLICE(ACCESS_DEFAULT_USER);
	for (size_t i = 0; i < access->count; i++) {
		if (slice_equal(wanted, slice_of(access->users[i].name))) {
			return &access->users[i];
		}
	}
	return NULL;
}

const struct access_user *
access_at(const struct access *access, size_t index)
{
	return index < access->count ? &access->users[index] : NULL;
}

bool
access_add(struct access **access, struct slice name, struct slice password, bool admin)
{
	struct access *wider =
		realloc(*access, sizeof *wider + ((*access)->count + 1) * sizeof *wider->users);
	if (!wider) {
		return false;
	}
	*access = wider;
	struct access_user user = {
		.name = strndup(name.p, name.n), .password = strndup(password.p, password.n), .admin = admin};
	if (!user.name || !user.password) {
		user_done(&user);
		return false;
	}
	wider->users[wider->count++] = user;
	return true;
}

/* Compares every byte of the given password, wherever the first difference is. */
static bool
password_equal(struct slice given, const char *right)
{
	size_t n = strlen(right);
	volatile unsigned char differs = given.n != n;
	for (size_t i = 0; i < given.n; i++) {
		differs |= (unsigned char)(given.p[i] ^ right[n > 0 ? i % n : 0]);
	}
	return !differs;
}

const struct access_user *
access_login(const struct access *access, struct slice name, struct slice password)
{
	const struct access_user *user = access_find(access, name);
	/* An unknown user costs a comparison too, so that timing does not reveal which names exist. */
	bool equal = password_equal(password, user ? user->password : "no such user");
	return user && equal ? user : NULL;
}

/* ---- failed logins ---- */

#define NETWORK_BYTES 8 /* of an IPv6 address; a host chooses the rest itself */

/* Reads the text of an address: 10.0.0.1:5, [2001:db8::1]:5, [fe80::1%eth0]:5 */
static void
source_tcp(const char *text, unsigned char from[16])
{
	char host[INET6_ADDRSTRLEN] = "";
	const char *begin = text[0] == '[' ? text + 1 : text;
	size_t n = strcspn(begin, text[0] == '[' ? "]%" : ":");

	memset(from, 0, 16);
	memcpy(host, begin, n < sizeof(host) ? n : sizeof(host) - 1);
	if (inet_pton(AF_INET, host, from + 12) == 1) {
		from[10] = from[11] = 0xff;
	} else if (inet_pton(AF_INET6, host, from) != 1) {
		memset(from, 0, 16); /* clients without an address count as one */
	} else if (!IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)from)) {
		memset(from + NETWORK_BYTES, 0, 16 - NETWORK_BYTES);
	}
}

static void
source_of(const struct peer *peer, bool local, unsigned char from[16])
{
	if (!local) {
		source_tcp(peer->address, from);
		return;
	}
	/* No address is stored like this: the second half of an IPv6 network is zero. */
	memset(from, 0, 16);
	from[15] = 1;
	memcpy(from, &peer->uid, sizeof(peer->uid));
}

/* The index of its place; guesses->count: it has none. */
static size_t
guess_find(const struct guesses *guesses, const unsigned char from[16])
{
	size_t i = 0;

	while (i < guesses->count && memcmp(guesses->list[i].from, from, 16) != 0) {
		i++;
	}
	return i;
}

int64_t
guesses_wait_ms(const struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms)
{
	const int64_t credit_ms = (GUESSES_FREE - 1) * GUESSES_EVERY_MS;
	unsigned char from[16];
	size_t at;

	source_of(peer, local, from);
	at = guess_find(guesses, from);
	if (at == guesses->count || guesses->list[at].paid_ms - credit_ms <= now_ms) {
		return 0;
	}
	return guesses->list[at].paid_ms - credit_ms - now_ms;
}

/* Finds a place for a new address. */
static struct guess *
guess_place(struct guesses *guesses, int64_t now_ms)
{
	struct guess *least = &guesses->list[0];

	for (size_t i = 0; i < guesses->count; i++) {
		if (guesses->list[i].paid_ms < least->paid_ms) {
			least = &guesses->list[i];
		}
	}
	if (guesses->count < GUESSES_ADDRESSES && (guesses->count == 0 || least->paid_ms > now_ms)) {
		least = &guesses->list[guesses->count++];
	}
	least->paid_ms = 0;
	return least;
}

void
guesses_failed(struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms)
{
	unsigned char from[16];
	struct guess *guess;
	size_t at;

	source_of(peer, local, from);
	at = guess_find(guesses, from);
	guess = at < guesses->count ? &guesses->list[at] : guess_place(guesses, now_ms);
	memcpy(guess->from, from, 16);
	guess->paid_ms = (guess->paid_ms > now_ms ? guess->paid_ms : now_ms) + GUESSES_EVERY_MS;
}

/* ---- connections of a user ---- */

struct quota_user {
	struct quota_user *next;
	size_t count;
	char key[];
};

void
quota_done(struct quota *quota)
{
	while (quota->first) {
		struct quota_user *user = quota->first;
		quota->first = user->next;
		free(user);
	}
}

static struct quota_user *
quota_add(struct quota *quota, const char *key)
{
	size_t n = strlen(key) + 1;
	struct quota_user *user = calloc(1, sizeof *user + n);
	if (user) {
		memcpy(user->key, key, n);
		user->next = quota->first;
		quota->first = user;
	}
	return user;
}

static struct quota_user *
quota_enter(struct quota *quota, const char *key)
{
	struct quota_user *user = quota->first;
	while (user && strcmp(user->key, key) != 0) {
		user = user->next;
	}
	if ((user ? user->count : 0) >= quota->most) {
		return NULL;
	}
	if (!user) {
		user = quota_add(quota, key);
	}
	if (!user) {
		return NULL;
	}
	user->count++;
	return user;
}

struct quota_user *
quota_enter_uid(struct quota *quota, int64_t uid)
{
	char key[32];
	snprintf(key, sizeof key, "uid %" PRId64, uid);
	return quota_enter(quota, key);
}

struct quota_user *
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
quota_leave(struct quota *quota, struct quota_user *user)
{
	if (!user || --user->count > 0) {
		return;
	}
	struct quota_user **at = &quota->first;
	while (*at != user) {
		at = &(*at)->next;
	}
	*at = user->next;
	free(user);
}
