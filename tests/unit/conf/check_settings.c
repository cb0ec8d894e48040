/*
 * check_settings: what a crash or a hand-over does if the next process reads another value: of each key of
 * the configuration. A key that is new has to be looked at, and gets a row.
 */
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum after {
	APART, /* nothing that a client was told depends on it: the new value counts at once */
	NEXT,  /* what was told has its own value with it, which goes on; the new one counts for what comes
		  next */
	BOTH,  /* what was told depends on it: the old value counts beside the new one until that is over */
	SET, /* the masters of the set that has the leases count, if the configuration names an earlier set */
	LOST, /* the locks of these names cannot be kept: they are lost, and their sessions are told */
	ANEW, /* the next process begins with nothing, and says so */
};

static const struct row {
	const char *key;
	enum after after;
	const char *how;
} rows[] = {
	{"ROOT.lease", BOTH, "registered, guarded and told as the longer of both"},
	{"RULE.lease", BOTH, "likewise; a rule that is gone is one with a shorter lease"},
	{"ROOT.clock-margin", BOTH, "guards add the greater one, clocks may step by the smaller one"},
	{"ROOT.masters", SET,
		"a lease is adopted where it is; another list than an earlier set counts itself"},
	{"ROOT.masters-follow", SET, "no: the configuration counts, and the set of the masters refuses it"},
	{"MASTER.url", SET, "as masters"},
	{"MASTER.sentinel", SET, "as masters"},
	{"MASTER.cluster", SET, "as masters"},
	{"MASTER.database", SET, "another way is another master"},
	{"SENTINEL.replicas-ack", SET, "another way is another master"},
	{"CLUSTER.replicas-ack", SET, "another way is another master"},
	{"SENTINEL.name", SET, "another place is another master"},
	{"CLUSTER.name", SET, "another place is another master"},
	{"EMBEDDED.directory", SET, "another private server, which is guarded and has none of the leases"},
	{"ROOT.namespace", ANEW, "all keys are other ones"},
	{"ROOT.ledger", ANEW, "nothing is found there"},
	{"RULE.key", LOST, "another key at the master, which no daemon may use beside the old one"},
	{"RULE.interop", LOST, "likewise"},
	{"RULE.match", LOST, "where it decides on the key; else as the keys of the rule"},
	{"ROOT.rules", LOST, "likewise"},
	{"ROOT.restart-guard", NEXT, "off: the next master that restarts is trusted; part of the layout"},
	{"RULE.wait", NEXT, "waits end with the process, or have their end"},
	{"RULE.max-hold", NEXT, "a hold has its ceiling"},
	{"RULE.crash-delay", NEXT, "what is withheld has its end; of other holds the rule of now counts"},
	{"RULE.slow-wait", APART, "what is noted"},
	{"RULE.long-hold", APART, "what is noted"},
	{"RULE.metrics", APART, "what is counted"},
	{"ROOT.pool", NEXT, "links are made anew"},
	{"ROOT.retain", NEXT, "unused leases are in no ledger"},
	{"ROOT.handoff", NEXT, "streaks begin anew"},
	{"HANDOFF.streak", NEXT, "likewise"},
	{"HANDOFF.time", NEXT, "likewise"},
	{"ROOT.limits", NEXT, "what is there already stays, also above a limit"},
	{"LIMITS.clients", NEXT, "connections stay"},
	{"LIMITS.login-time", APART, "logins"},
	{"LIMITS.sessions-per-user", NEXT, "sessions stay"},
	{"LIMITS.bound-sessions", NEXT, "sessions stay"},
	{"LIMITS.grace-sessions", NEXT, "sessions stay"},
	{"LIMITS.grace-time", NEXT, "a session has its grace"},
	{"LIMITS.named-session-ttl", NEXT, "a session has its TTL"},
	{"LIMITS.locks-per-user", NEXT, "holds stay; losses above it are forgotten, the oldest first"},
	{"LIMITS.latches-per-user", NEXT, "latches are at the master"},
	{"LIMITS.grants-per-session", NEXT, "holds stay"},
	{"LIMITS.waiters-per-session", NEXT, "waits stay"},
	{"LIMITS.lost-per-session", NEXT, "losses above it are forgotten, the oldest first"},
	{"LIMITS.name-bytes", NEXT, "names that are held stay, and can be released"},
	{"LIMITS.request-bytes", APART, "requests"},
	{"LIMITS.arguments", APART, "requests"},
	{"LIMITS.output-bytes", APART, "answers"},
	{"LIMITS.buffer-bytes", APART, "answers"},
	{"LIMITS.memory", NEXT, "what is there stays"},
	{"LIMITS.history", APART, "what is shown"},
	{"EMBEDDED.redis-server", APART, "its memory is another one with each start"},
	{"ROOT.embedded", APART, "its keys"},
	{"ROOT.users", APART, "a connection is logged in again, or ends"},
	{"USER.*", APART, "who may do what"},
	{"ROOT.listen", APART, "connections"},
	{"ROOT.http", APART, "connections"},
	{"LISTEN.*", APART, "connections; what on-close has withheld has its end"},
	{"LISTEN_TLS.*", APART, "connections"},
	{"HTTP.*", APART, "connections"},
	{"HTTP_TLS.*", APART, "connections"},
	{"SENTINEL_TLS.*", APART, "how a master is reached"},
	{"MASTER_TLS.*", APART, "how a master is reached"},
	{"MASTER.tls", APART, "how a master is reached"},
	{"MASTER.user", APART, "how a master is reached"},
	{"MASTER.password-file", APART, "how a master is reached"},
	{"MASTER.password-env", APART, "how a master is reached"},
	{"SENTINEL.sentinels", APART, "how a master is found"},
	{"SENTINEL.user", APART, "how a master is found"},
	{"SENTINEL.password-file", APART, "how a master is found"},
	{"SENTINEL.password-env", APART, "how a master is found"},
	{"SENTINEL.tls", APART, "how a master is found"},
	{"CLUSTER.nodes", APART, "how a master is found"},
	{"ROOT.log", APART, "what is logged"},
	{"LOG.*", APART, "what is logged"},
	{"ROOT.audit", APART, "what is logged"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* "SCOPE.*" stands for all keys of the scope. */
static bool
row_is_of(const struct row *row, const char *scope, const char *name)
{
	size_t n = strlen(scope);

	if (strncmp(row->key, scope, n) != 0 || row->key[n] != '.')
		return false;
	return strcmp(row->key + n + 1, "*") == 0 || strcmp(row->key + n + 1, name) == 0;
}

static bool used[ROWS];

static void
look_at(const char *scope, const char *name)
{
	unsigned found = 0;

	for (size_t i = 0; i < ROWS; i++) {
		if (row_is_of(&rows[i], scope, name)) {
			used[i] = true;
			found++;
		}
	}
	ck_assert_msg(found == 1,
		"%s.%s has %u rows: say what a crash does after which the configuration has another value",
		scope, name, found);
}

START_TEST(every_key_says_what_a_crash_with_another_value_does)
{
	memset(used, 0, sizeof(used));
#define KEY(scope, name, type, field, low, high, fallback, change, help) look_at(#scope, name);
#define MAP(scope, id, name, field, help)                                look_at(#scope, name);
#define LIST(id, name, field, count, most, change, help)                 look_at("ROOT", name);
#include "conf/schema.def"
	for (size_t i = 0; i < ROWS; i++)
		ck_assert_msg(used[i], "no key is %s", rows[i].key);
}
END_TEST

START_TEST(every_row_says_how)
{
	for (size_t i = 0; i < ROWS; i++) {
		ck_assert_int_ge(rows[i].after, APART);
		ck_assert_int_le(rows[i].after, ANEW);
		ck_assert_uint_gt(strlen(rows[i].how), 0);
	}
}
END_TEST

/* What a reload takes up is a member of struct driver_limits, and driver_set_limits() passes it on: the
 * struct of a room as a whole. */
static void
reaches_its_room(const char *key, const char *to, const char *change, const char *source)
{
	static const char limits[] = "limits.";
	char passed[64];
	int n;

	if (strncmp(to, limits, strlen(limits)) != 0) {
		ck_assert_msg(strncmp(to, "core.", 5) != 0 || strcmp(change, "RESTART") == 0,
			"%s is %s, and a reload passes on no %s: it has to be in limits", key, change, to);
		return;
	}
	to += strlen(limits);
	n = snprintf(passed, sizeof(passed), "limits->%.*s", (int)strcspn(to, "."), to);
	ck_assert_int_lt(n, (int)sizeof(passed));
	ck_assert_msg(strstr(source, passed) != NULL,
		"%s reaches no room: driver_set_limits() in daemon/driver_context.c has to pass limits.%s on",
		key, to);
}

START_TEST(every_value_that_a_reload_takes_up_reaches_its_room)
{
	char *source = calloc(1, 1 << 20);
	FILE *file = fopen("daemon/driver_context.c", "r");

	ck_assert(source != NULL && file != NULL);
	ck_assert_uint_gt(fread(source, 1, (1 << 20) - 1, file), 0);
	fclose(file);
#define KEY_TO(scope, name, type, field, low, high, fallback, change, to, help)                              \
	reaches_its_room(#scope "." name, #to, #change, source);
#include "conf/schema.def"
	free(source);
}
END_TEST

static void
nothing(void)
{
}

int
main(void)
{
	return SUITE_RUN("settings", nothing, nothing, every_key_says_what_a_crash_with_another_value_does,
		every_row_says_how, every_value_that_a_reload_takes_up_reaches_its_room);
}
