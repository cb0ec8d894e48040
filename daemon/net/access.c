/*
 * access: see access.h. The verbs that log in call it. Its timing must not reveal how much of a password was
 * right.
 */
#include "daemon/net/access.h"

#include <stdlib.h>
#include <string.h>

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
