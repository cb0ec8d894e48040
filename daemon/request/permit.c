/* permit: see permit.h. */
#include "daemon/request/permit.h"

#include "daemon/net/access.h"
#include "daemon/net/connections.h"

#include <stdio.h>
#include <string.h>

#define PERMIT_FLAGS (COMMAND_ADMIN | COMMAND_TAKES | COMMAND_SHARES | COMMAND_SEES)

/* Words of rights, in the order of their bits. */
static const char *const right_words[] = {"lock", "shared", "see", "break", "admin"};

/* For errors: "lock, see". */
#define RIGHTS_TEXT_MAX 48

static void
rights_print(char out[RIGHTS_TEXT_MAX], unsigned rights)
{
	size_t n = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < sizeof right_words / sizeof *right_words; i++) {
		if (rights & 1U << i) {
			n += (size_t)snprintf(
				out + n, RIGHTS_TEXT_MAX - n, "%s%s", n > 0 ? ", " : "", right_words[i]);
		}
	}
}

/* Which rights each suffice for the request. */
static unsigned
rights_needed(const struct command *command, unsigned flags)
{
	if (flags & COMMAND_BREAKS) {
		return RIGHT_BREAK;
	}
	if (flags & COMMAND_ADMIN) {
		return RIGHT_ADMIN;
	}
	if (flags & COMMAND_SEES) {
		return RIGHT_SEE;
	}
	bool shared = flags & COMMAND_SHARES || command->kind == KIND_SHARED;
	return shared ? RIGHT_LOCK | RIGHT_SHARED : RIGHT_LOCK;
}

static void
permit_refuse_verb(
	struct connection *c, const struct viewer *viewer, const struct command *command, unsigned rights)
{
	char usage[COMMAND_NAME_MAX], needed[RIGHTS_TEXT_MAX], has[RIGHTS_TEXT_MAX];
	if (!viewer->user) {
		connection_error(c, CODE_NOPERM,
			"this takes an administrator: root or the owner of the Unix socket, or a user "
			"with %s in its may:",
			rights == RIGHT_BREAK ? "break or admin" : "admin");
		return;
	}
	command_name(command->verb, usage);
	rights_print(needed, rights & RIGHT_SHARED ? RIGHT_SHARED : rights);
	rights_print(has, viewer->user->rights);
	connection_error(c, CODE_NOPERM, "users: %.64s: may: [%s] does not have %s, which %s takes",
		viewer->user->name, has, needed, usage);
}

static bool
permit_name(struct connection *c, const struct viewer *viewer, struct slice name)
{
	if (viewer_names(viewer, name)) {
		return true;
	}
	connection_error(c, CODE_NOPERM, "users: %.64s: names: has no glob for %.*s", viewer->user->name,
		name.n < 100 ? (int)name.n : 100, name.p);
	return false;
}

bool
permit_request(struct connection *c, const struct command *command, unsigned flags)
{
	if (!(flags & PERMIT_FLAGS)) {
		return true;
	}
	const struct viewer viewer = connection_viewer(c);
	unsigned rights = rights_needed(command, flags);
	if (!viewer_may(&viewer, rights)) {
		permit_refuse_verb(c, &viewer, command, rights);
		return false;
	}
	if (viewer_names_all(&viewer)) {
		return true;
	}
	for (size_t i = 0; i < command->name_count; i++) {
		if (!permit_name(c, &viewer, command->names[i])) {
			return false;
		}
	}
	return command->name.n == 0 || permit_name(c, &viewer, command->name);
}
