/* audit: see audit.h. */
#include "daemon/request/audit.h"

#include "daemon/base/log.h"
#include "daemon/net/access.h"

#include <assert.h>
#include <stdio.h>

/* The fields of a line that name the client. */
#define AUDIT_WHO(who)                                                                                       \
	log_number("by", (int64_t)(who)->id), log_text("address", (who)->peer.address),                      \
		log_number("uid", (who)->peer.uid), log_number("pid", (who)->peer.pid),                      \
		log_text((who)->user ? "user" : NULL, (who)->user ? (who)->user->name : NULL)

/* An unknown name can be as long as a request; the log gets its beginning. */
#define AUDIT_USER_MAX 128

static const char *const events[VERB_COUNT] = {
	[VERB_AUTH] = "client.login",
	[VERB_HELLO] = "client.login",
	[VERB_BREAK] = "lock.break",
	[VERB_CLIENT_KILL] = "client.killed",
	[VERB_SESSION_KILL] = "session.kill",
	[VERB_DRAIN] = "daemon.drain",
	[VERB_RELOAD] = "daemon.reload",
	[VERB_LOG_LEVEL] = "log.level",
	[VERB_RESTART] = "daemon.restart",
	[VERB_MASTERS_REPLACE] = "masters.asked",
	[VERB_MASTERS_ADD] = "masters.asked",
	[VERB_MASTERS_ABORT] = "masters.asked",
	[VERB_MASTERS_FORGET] = "masters.asked",
};

bool
audit_wants(const struct command *command)
{
	bool asks = (command->verb == VERB_HELLO && !command->login) ||
		    (command->verb == VERB_LOG_LEVEL && command->argc == 0);
	return events[command->verb] && !asks;
}

static struct log_field
absent(void)
{
	return log_text(NULL, NULL);
}

static struct log_field
argument_field(const char *key, const struct command *command, size_t index)
{
	return index < command->argc ? log_bytes(key, command->argv[index].p, command->argv[index].n)
				     : absent();
}

/* with: what shows who the user is, other than a password; NULL: nothing. */
static void
audit_login(struct context *context, const struct identity *who, struct slice user, const char *with)
{
	bool wrong = who->answered == CODE_WRONGPASS;
	enum log_level level = who->answered == CODE_COUNT ? LOG_INFO_LEVEL : LOG_WARNING_LEVEL;
	const char *event = wrong ? "client.wrongpass" : events[VERB_AUTH];
	if (!log_gate(context->audit, wrong ? &context->wrongpass : &context->logins, level, event)) {
		return;
	}
	LOG_EVENT(context->audit, level, event, log_number("connection", (int64_t)who->id),
		log_text("address", who->peer.address), log_number("uid", who->peer.uid),
		log_number("pid", who->peer.pid),
		log_bytes("user", user.p, user.n < AUDIT_USER_MAX ? user.n : AUDIT_USER_MAX),
		log_text(with ? "with" : NULL, with),
		log_text("result", who->answered == CODE_COUNT ? "ok" : code_word(who->answered)));
}

void
audit_who(const struct context *context, const struct identity *who, char *out, size_t room)
{
	char name[AUDIT_USER_MAX / 2 + 1] = "";
	if (who->user) {
		slice_text(name, sizeof name, slice_of(who->user->name));
	} else if (who->peer.uid >= 0) {
		snprintf(name, sizeof name, "uid %lld", (long long)who->peer.uid);
	}
	if (who->local) {
		snprintf(out, room, "%s on %s", name[0] != '\0' ? name : "a process", context->facts.host);
	} else {
		snprintf(out, room, "%s%s%s", name, name[0] != '\0' ? " from " : "", who->peer.address);
	}
}

void
audit_certificate(struct context *context, struct connection *c, struct slice user)
{
	audit_login(context, connection_identity(c), user, "certificate");
}

void
audit_page(struct context *context, const struct peer *peer, const char *user)
{
	if (log_gate(context->audit, &context->logins, LOG_INFO_LEVEL, events[VERB_AUTH])) {
		LOG_EVENT(context->audit, LOG_INFO_LEVEL, events[VERB_AUTH],
			log_text("address", peer->address), log_text("user", user),
			log_text("with", "certificate"), log_text("over", "http"), log_text("result", "ok"));
	}
}

void
audit_request(struct context *context, struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	const char *event = events[command->verb];
	const struct command_info *info = command_info(command->verb);
	const char *done = connection_waits(c) ? "begun" : "ok";
	const char *result = who->answered == CODE_COUNT ? done : code_word(who->answered);
	assert(audit_wants(command));
	if (command->verb == VERB_AUTH || command->verb == VERB_HELLO) {
		/* A login that waits is logged when it is known whether it is one. */
		if (!connection_waits(c)) {
			audit_login(context, who,
				command->user.n > 0 ? command->user : SLICE(ACCESS_DEFAULT_USER), NULL);
		}
		return;
	}
	if (who->answered == CODE_NOPERM &&
		!log_gate(context->audit, &context->refusals, LOG_WARNING_LEVEL, event)) {
		return;
	}
	bool waits = command->verb == VERB_DRAIN && command->wait_ms != COMMAND_WAIT_RULE;
	bool masters = slice_equal(info->word, SLICE("MASTERS"));
	LOG_EVENT(context->audit, LOG_WARNING_LEVEL, event, AUDIT_WHO(who),
		command->name.n > 0 ? log_bytes("name", command->name.p, command->name.n) : absent(),
		command->token != 0 ? log_number("token", command->token) : absent(),
		command->session != 0 ? log_number("session", command->session) : absent(),
		command->verb == VERB_CLIENT_KILL ? log_number("connection", command->count) : absent(),
		waits ? log_number("wait_ms", command->wait_ms) : absent(),
		command->verb == VERB_LOG_LEVEL ? argument_field("level", command, 0) : absent(),
		masters ? log_text("what", info->sub.p) : absent(),
		masters ? argument_field("first", command, 0) : absent(),
		masters ? argument_field("second", command, 1) : absent(), log_text("result", result));
}
