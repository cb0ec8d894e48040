/*
 * user: checks an item of users: how its clients are known, and what they may do. A part of verify.c.
 */
#include "conf/value_inner.h"

#include "proto/slice.h"

#include <pwd.h>
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
		errors_add(v->errors, item_place(v, node, "unix-user"),
			"users: unix-user: there is no user %s on this host; name one that is there, or its "
			"number",
			errors_quote(quoted, user->unix_user));
	if (user->unix_group[0] != '\0' && !group_find(user->unix_group, &user->gid))
		errors_add(v->errors, item_place(v, node, "unix-group"),
			"users: unix-group: there is no group %s on this host; name one that is there, or "
			"its number",
			errors_quote(quoted, user->unix_group));
}

static void
user_verify_rights(const struct verify *v, const struct node *node, struct conf_user *user)
{
	const struct node *names = node_get(node, "names");

	if (names != NULL && user->names.count == 0)
		errors_add(v->errors, node_place(names),
			"users: names: none; leave names: out for all names, or say may: [] for a user that "
			"may do nothing");
	if (user->admin)
		user->may |= CONF_MAY_ADMIN;
	if ((user->may & CONF_MAY_ADMIN) != 0 && names != NULL)
		errors_add(v->errors, node_place(names),
			"users: names: an administrator may do everything with all names; leave names: or "
			"admin out");
}

void
user_verify(const struct verify *v, const struct node *node, struct conf_user *user)
{
	bool password;

	if (user->name[0] == '\0')
		errors_add(v->errors, node_place(node), "users: an item without name; each needs one");
	if (user->password_file[0] != '\0' && user->password_env[0] != '\0') {
		errors_add(v->errors, node_place(node),
			"users: more than one password; give password-file or password-env");
		return;
	}
	password = secret_find(v, node, "users", user->password_file, user->password_env, &user->password);
	if (!password && user->unix_user[0] == '\0' && user->unix_group[0] == '\0')
		errors_add(v->errors, node_place(node),
			"users: an item without password-file, password-env, unix-user or unix-group; each "
			"needs one of them");
	user_verify_accounts(v, node, user);
	user_verify_rights(v, node, user);
}
