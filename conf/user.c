/*
 * user: checks an item of users: how its clients are known, and what they may do. A part of verify.c.
 */
#include "conf/user.h"

#include "conf/url.h"
#include "conf/value_inner.h"
#include "conf/verify.h"
#include "proto/slice.h"

#include <crypt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

/* A user is a name that the host knows, a number, or * for any. */
static bool
account_find(const char *account, int64_t *uid)
{
	const struct passwd *entry;

	if (strcmp(account, "*") == 0) {
		*uid = CONF_ID_ANY;
		return true;
	}
	if (number_parse(slice_of(account), 0, UINT32_MAX - 1, uid))
		return true;
	entry = getpwnam(account);
	if (entry != NULL)
		*uid = (int64_t)entry->pw_uid;
	return entry != NULL;
}

/* Finds the accounts of this host that are the user on a Unix socket. */
static void
user_verify_accounts(const struct verify *v, const struct node *node, struct conf_user *user)
{
	char quoted[QUOTE_MAX];

	user->uid = CONF_ID_NONE;
	user->gid = CONF_ID_NONE;
	if (user->unix_user[0] != '\0' && !account_find(user->unix_user, &user->uid))
		errors_add(v->errors, item_position(v, node, "unix-user"),
			"users: unix-user: there is no user %s on this host; name one that is there, or its "
			"number",
			errors_quote(quoted, user->unix_user));
	if (user->unix_group[0] != '\0' && !group_find(user->unix_group, &user->gid))
		errors_add(v->errors, item_position(v, node, "unix-group"),
			"users: unix-group: there is no group %s on this host; name one that is there, or "
			"its number",
			errors_quote(quoted, user->unix_group));
}

/* No password has this hash. */
#define HASH_NONE "*"

/* Whether this is a hash, and not a password: it begins with $, and crypt(3) can compare with it. */
static bool
is_hash(const char *text)
{
	int salt = text[0] == '$' ? crypt_checksalt(text) : CRYPT_SALT_INVALID;

	return salt == CRYPT_SALT_OK || salt == CRYPT_SALT_METHOD_LEGACY || salt == CRYPT_SALT_TOO_CHEAP;
}

/* Which lines are hashes, a bit for each. */
static unsigned
hashes_in(char *text)
{
	char *end = strchr(text, '\n');
	unsigned bits;

	if (end == NULL)
		return is_hash(text) ? 1 : 0;
	*end = '\0';
	bits = is_hash(text) ? 1 : 0;
	*end = '\n';
	return bits | (is_hash(end + 1) ? 2 : 0);
}

/* Takes the password, or its hash, from where the item has it. False: the item has none. */
static bool
user_find_password(const struct verify *v, const struct node *node, struct conf_user *user)
{
	if (user->password_hash[0] == '\0') {
		const struct secret_source source = {
			"users", user->password_file, user->password_env, SECRET_ONE_OR_TWO};
		bool found = secret_find(v, node, &source, &user->password);

		user->hashed = hashes_in(user->password);
		return found;
	}
	if (!is_hash(user->password_hash) && strcmp(user->password_hash, HASH_NONE) != 0)
		errors_add(v->errors, item_position(v, node, "password-hash"),
			"users: password-hash: no hash that crypt(5) knows; take one that holdfastd "
			"--hash-password or mkpasswd prints, in quotes");
	/* It is a secret from here on: it is not printed, and a change of it is not shown. */
	secret_free(user->password);
	user->password = user->password_hash;
	user->password_hash = strdup("");
	user->hashed = 1;
	if (user->password_hash == NULL)
		errors_add(v->errors, (struct position){v->file, 0, 0}, "out of memory");
	return true;
}

static void
user_verify_rights(const struct verify *v, const struct node *node, struct conf_user *user)
{
	const struct node *names = node_get(node, "names");

	if (names != NULL && user->names.count == 0)
		errors_add(v->errors, node_position(names),
			"users: names: none; leave names: out for all names, or say may: [] for a user that "
			"may do nothing");
	if (user->admin)
		user->may |= CONF_MAY_ADMIN;
	if ((user->may & CONF_MAY_ADMIN) != 0 && names != NULL)
		errors_add(v->errors, node_position(names),
			"users: names: an administrator may do everything with all names; leave names: or "
			"admin out");
}

void
user_verify(const struct verify *v, const struct node *node, struct conf_user *user)
{
	int sources = (user->password_file[0] != '\0') + (user->password_env[0] != '\0') +
		      (user->password_hash[0] != '\0');

	if (user->name[0] == '\0')
		errors_add(v->errors, node_position(node), "users: an item without name; each needs one");
	if (sources > 1) {
		errors_add(v->errors, node_position(node),
			"users: more than one password; give password-file, password-env or password-hash");
		return;
	}
	if (!user_find_password(v, node, user) && user->unix_user[0] == '\0' && user->unix_group[0] == '\0')
		errors_add(v->errors, node_position(node),
			"users: an item without password-file, password-env, password-hash, unix-user or "
			"unix-group; each needs one of them");
	user_verify_accounts(v, node, user);
	user_verify_rights(v, node, user);
}
