/*
 * access: see access.h.
 */
#include "daemon/net/access.h"

#include "daemon/base/random.h"
#include "daemon/core/base/map.h"
#include "daemon/net/socket.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- users ---- */

struct access {
	size_t count;
	bool knows_local;
	uint64_t secret[2]; /* of marks */
	struct access_user users[];
};

static void
secret_done(const char *secret)
{
	if (secret) {
		explicit_bzero((char *)secret, strlen(secret));
		free((char *)secret);
	}
}

static void
user_done(struct access_user *user)
{
	for (size_t i = 0; i < user->name_count && user->globs; i++) {
		glob_free(user->globs[i]);
		free((char *)user->names[i]);
	}
	free(user->globs);
	free((void *)user->names);
	for (size_t i = 0; i < ACCESS_PASSWORDS_MAX; i++) {
		secret_done(user->passwords[i].text);
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

/* The globs of a user, copied and compiled. False: out of memory; what there is is for user_done(). */
static bool
user_copy_names(struct access_user *to, const struct access_user *from)
{
	size_t count = from->name_count;
	const char **names = calloc(count + 1, sizeof *names);
	to->globs = calloc(count + 1, sizeof(struct glob *));
	to->names = names;
	to->name_count = count;
	for (size_t i = 0; i < count && names && to->globs; i++) {
		names[i] = strdup(from->names[i]);
		to->globs[i] = glob_new(slice_of(from->names[i]));
		if (!names[i] || !to->globs[i]) {
			return false;
		}
	}
	return names && to->globs;
}

/* Each line is a password. False: out of memory; what there is is for user_done(). */
static bool
user_take_passwords(struct access_user *user, const char *lines, unsigned hashed)
{
	const char *line = lines;
	for (size_t i = 0; i < ACCESS_PASSWORDS_MAX && line[0] != '\0'; i++) {
		size_t n = strcspn(line, "\n");
		user->passwords[i] =
			(struct access_password){.text = strndup(line, n), .hashed = hashed >> i & 1U};
		if (!user->passwords[i].text) {
			return false;
		}
		line += n + (line[n] != '\0');
	}
	return true;
}

static bool
user_copy(struct access_user *to, const struct access_user *from)
{
	to->name = strdup(from->name);
	to->rights = from->rights;
	to->uid = from->uid;
	to->gid = from->gid;
	to->connections = from->connections;
	to->sessions = from->sessions;
	to->locks = from->locks;
	return to->name && user_take_passwords(to, from->password, from->hashed) && user_copy_names(to, from);
}

struct access *
access_new(const struct access_user *users, size_t count)
{
	struct access *access = calloc(1, sizeof *access + count * sizeof *users);
	if (!access) {
		return NULL;
	}
	struct random random;
	random_init(&random);
	access->secret[0] = random_next(&random);
	access->secret[1] = random_next(&random);
	access->count = count;
	for (size_t i = 0; i < count; i++) {
		if (!user_copy(&access->users[i], &users[i])) {
			access_free(access);
			return NULL;
		}
		access->knows_local |= users[i].uid != ACCESS_NOBODY || users[i].gid != ACCESS_NOBODY;
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
access_add(struct access **access, struct slice name, struct slice password, unsigned rights)
{
	struct access *wider =
		realloc(*access, sizeof *wider + ((*access)->count + 1) * sizeof *wider->users);
	if (!wider) {
		return false;
	}
	*access = wider;
	struct access_user user = ACCESS_LOGIN(strndup(name.p, name.n), NULL, rights);
	user.passwords[0].text = strndup(password.p, password.n);
	if (!user.name || !user.passwords[0].text) {
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

static bool
is_compared(const struct access_password *password)
{
	return password->hashed && password->text[0] == '$';
}

/* The nth hash of the user. NULL: it has fewer. */
static const char *
user_hash(const struct access_user *user, size_t n)
{
	for (size_t i = 0; i < ACCESS_PASSWORDS_MAX && user; i++) {
		if (is_compared(&user->passwords[i]) && n-- == 0) {
			return user->passwords[i].text;
		}
	}
	return NULL;
}

/* What wrong passwords of this user are compared with in turn: its hashes, and then those of others, up to as
 * many as any user has. NULL: that is all. */
static const char *
access_hash(const struct access *access, const struct access_user *user, size_t n)
{
	const char *hash = user_hash(user, n);
	for (size_t i = 0; i < access->count && !hash; i++) {
		hash = user_hash(&access->users[i], n);
	}
	return hash;
}

uint64_t
access_mark(const struct access *access, const char *hash, struct slice password)
{
	const uint64_t secret[2] = {
		access->secret[0], access->secret[1] ^ hash_secretly(access->secret, slice_of(hash))};
	uint64_t mark = hash_secretly(secret, password);
	return mark != 0 ? mark : 1;
}

void
access_remember(struct access *access, const char *hash, struct slice password)
{
	for (size_t i = 0; i < access->count * ACCESS_PASSWORDS_MAX; i++) {
		struct access_password *own =
			&access->users[i / ACCESS_PASSWORDS_MAX].passwords[i % ACCESS_PASSWORDS_MAX];
		if (own->text && own->hashed && strcmp(own->text, hash) == 0) {
			own->remembered = true;
			own->right = access_mark(access, hash, password);
		}
	}
}

uint64_t
access_text_mark(const uint64_t salt[2], struct slice text)
{
	uint64_t mark = hash_secretly(salt, text);
	return mark != 0 ? mark : 1;
}

bool
access_has(const struct access_user *user, const uint64_t salt[2], uint64_t mark)
{
	for (size_t i = 0; i < ACCESS_PASSWORDS_MAX; i++) {
		const char *text = user->passwords[i].text;
		if (text && access_text_mark(salt, slice_of(text)) == mark) {
			return true;
		}
	}
	return false;
}

/* Whether the password is known to be the right one. */
static bool
password_takes(const struct access *access, const struct access_password *own, struct slice password)
{
	/* What is not there costs a comparison, too, so that timing does not reveal which names exist. */
	const char *text = own->text ? own->text : "no such user";
	if (own->hashed) {
		return own->remembered && own->right == access_mark(access, text, password);
	}
	return password_equal(password, text) && own->text && text[0] != '\0';
}

/* What the password is to be compared with next. NULL: it was compared with everything. If a hash comes
 * twice, the comparison counts as the later one. */
static const char *
access_next_hash(
	const struct access *access, const struct access_user *user, const struct access_login *login)
{
	for (size_t i = ACCESS_PASSWORDS_MAX; i > 0; i--) {
		const char *hash = access_hash(access, user, i - 1);
		if (hash && access_mark(access, hash, login->password) == login->compared) {
			return i < ACCESS_PASSWORDS_MAX ? access_hash(access, user, i) : NULL;
		}
	}
	return access_hash(access, user, 0);
}

const struct access_user *
access_login(const struct access *access, const struct access_login *login, const char **hash)
{
	static const struct access_password none[ACCESS_PASSWORDS_MAX];
	const struct access_user *user = access_find(access, login->name);
	const struct access_password *own = user ? user->passwords : none;
	struct slice password = login->password;
	*hash = NULL;
	for (size_t i = 0; i < ACCESS_PASSWORDS_MAX; i++) {
		if (password_takes(access, &own[i], password)) {
			*hash = own[i].text;
		}
	}
	if (*hash) {
		return user;
	}
	if (password.n <= ACCESS_PASSWORD_MAX && !memchr(password.p, '\0', password.n)) {
		*hash = access_next_hash(access, user, login);
	}
	return NULL;
}

static bool
user_is_local(const struct access_user *user, int64_t uid, const uint32_t *groups, size_t count)
{
	if (user->uid == ACCESS_ANYONE || (user->uid == uid && uid != ACCESS_NOBODY)) {
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (user->gid == (int64_t)groups[i]) {
			return true;
		}
	}
	return false;
}

const struct access_user *
access_local(const struct access *access, int64_t uid, const uint32_t *groups, size_t count)
{
	for (size_t i = 0; i < access->count; i++) {
		if (user_is_local(&access->users[i], uid, groups, count)) {
			return &access->users[i];
		}
	}
	return NULL;
}

const struct access_user *
access_of_socket(const struct access *access, int fd, int64_t uid)
{
	size_t count = 0;
	if (!access->knows_local) {
		return NULL;
	}
	uint32_t *groups = socket_groups(fd, &count);
	const struct access_user *user = access_local(access, uid, groups, count);
	free(groups);
	return user;
}

bool
viewer_may(const struct viewer *viewer, unsigned rights)
{
	unsigned has = viewer->user ? viewer->user->rights : RIGHTS_USUAL;
	return viewer->admin || (has & rights) != 0;
}

bool
viewer_names_all(const struct viewer *viewer)
{
	return viewer->admin || !viewer->user || viewer->user->name_count == 0;
}

bool
viewer_names(const struct viewer *viewer, struct slice name)
{
	if (viewer_names_all(viewer)) {
		return true;
	}
	for (size_t i = 0; i < viewer->user->name_count; i++) {
		if (glob_takes(viewer->user->globs[i], name)) {
			return true;
		}
	}
	return false;
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
quota_enter(struct quota *quota, const char *key, size_t most)
{
	struct quota_user *user = quota->first;
	while (user && strcmp(user->key, key) != 0) {
		user = user->next;
	}
	if ((user ? user->count : 0) >= most) {
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
quota_enter_uid(struct quota *quota, int64_t uid, size_t own)
{
	char key[32];
	snprintf(key, sizeof key, "uid %" PRId64, uid);
	return quota_enter(quota, key, own > 0 ? own : quota->most);
}

struct quota_user *
quota_enter_name(struct quota *quota, const char *name, size_t own)
{
	char key[1024];
	snprintf(key, sizeof key, "user %s", name);
	return quota_enter(quota, key, own > 0 ? own : quota->most);
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
