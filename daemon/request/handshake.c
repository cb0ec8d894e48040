/*
 * handshake: what client libraries send on their own when they connect. Each is answered as Redis answers it.
 */
#include "daemon/request/handshake.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/net/access.h"
#include "daemon/net/admission.h"
#include "daemon/net/connection_tls.h"
#include "daemon/net/connections.h"
#include "daemon/net/guesses.h"
#include "daemon/net/passwords.h"
#include "daemon/request/audit.h"
#include "proto/catalog.h"
#include "proto/command.h"
#include "proto/reply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
answer_ok(struct connection *c)
{
	reply_write_simple(connection_out(c), "OK");
	connection_written(c);
}

/* Keeps a text of the client; an empty one removes it. False: out of memory; c was answered. */
static bool
text_keep(struct connection *c, char **place, struct slice text)
{
	char *copy = text.n > 0 ? strndup(text.p, text.n) : NULL;
	if (text.n > 0 && !copy) {
		connection_error(c, CODE_LIMIT, "out of memory");
		return false;
	}
	free(*place);
	*place = copy;
	return true;
}

/* CLIENT SETNAME: the core names the client in its texts. */
static bool
label_keep(struct context *context, struct connection *c, struct slice label)
{
	struct identity *who = connection_identity(c);
	size_t n = label.n < PEER_NAME_MAX ? label.n : PEER_NAME_MAX - 1;
	if (!text_keep(c, &who->label, label)) {
		return false;
	}
	if (n > 0) {
		memcpy(who->peer.name, label.p, n);
	}
	who->peer.name[n] = '\0';
	context->hooks->peer(context->arg, c);
	return true;
}

static void
handshake_ping(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	struct buffer *out = connection_out(c);
	if (command->argc > 0) {
		reply_write_bulk(out, command->argv[0]);
	} else {
		reply_write_simple(out, "PONG");
	}
	connection_written(c);
}

static void
handshake_echo(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	reply_write_bulk(connection_out(c), command->argv[0]);
	connection_written(c);
}

static void
handshake_wrongpass(struct context *context, struct connection *c, const struct guess_source *source)
{
	struct identity *who = connection_identity(c);
	bool last = ++who->failures >= GUESSES_FREE;
	context->stats->auth_failures++;
	guesses_failed(&context->guesses, source, clock_ms());
	connection_error(c, CODE_WRONGPASS, "unknown user or wrong password%s",
		last ? ": this connection has tried too often" : "");
	if (last) {
		connection_close(c, END_ABANDONED, "failed logins");
	}
}

/* The request waits until the password was compared with this hash, and counts when it is served again. */
static void
handshake_ask(struct context *context, struct connection *c, const struct command *command, const char *hash,
	const struct guess_source *source)
{
	struct identity *who = connection_identity(c);
	if (!passwords_ask(context->passwords, c, hash, command->password, command, source)) {
		connection_error(c, CODE_LIMIT,
			"too many passwords wait to be compared, or memory is short: try again in a moment");
		return;
	}
	context->stats->commands_processed--;
	context->calls[command->verb]--;
	who->requests--;
}

/* The user, if it is known now, and *login is the mark of its password. NULL: c was answered, or waits. */
static const struct access_user *
handshake_user(struct context *context, struct connection *c, const struct command *command,
	const struct guess_source *source, uint64_t *login)
{
	struct identity *who = connection_identity(c);
	const char *hash;
	const struct access_login asked = {command->user, command->password, who->compared};
	const struct access_user *user = access_login(context->access, &asked, &hash);
	who->compared = 0;
	if (!user && hash) {
		handshake_ask(context, c, command, hash, source);
	} else if (!user) {
		handshake_wrongpass(context, c, source);
	} else {
		guesses_right(&context->guesses, source, clock_ms());
		*login = connection_password_mark(who, hash);
	}
	return user;
}

/* Logging in never takes away rights that the kernel's word gives a local user. login: the mark of the
 * password; 0: by a certificate. False: the user has as many clients as allowed, and c was answered. */
static bool
handshake_enter(struct context *context, struct connection *c, const struct access_user *user, uint64_t login)
{
	struct identity *who = connection_identity(c);
	uint64_t before = who->peer.user;
	if (!admission_login(context->admission, c, user)) {
		return false;
	}
	who->user = user;
	who->login = login;
	who->local_user = false;
	bool admin = who->native_admin || user->rights & RIGHT_ADMIN;
	if (admin != who->peer.admin || before != who->peer.user) {
		who->peer.admin = admin;
		context->hooks->peer(context->arg, c);
	}
	return true;
}

/* The user that the certificate names. NULL: none, which is no login: the client may still send AUTH. */
static const struct access_user *
handshake_certify(struct context *context, struct connection *c)
{
	char name[TLS_NAME_MAX];
	const struct access_user *user = NULL;
	if (connection_certificate(c, name)) {
		user = access_find(context->access, slice_of(name));
	}
	if (user) {
		(void)handshake_enter(context, c, user, 0);
	}
	return user;
}

/* The login by the certificate, if there is one, is in the audit log, the one after a RESET too. */
static void
handshake_by_certificate(struct context *context, struct connection *c)
{
	connection_identity(c)->answered = CODE_COUNT;
	const struct access_user *user = handshake_certify(context, c);
	if (user) {
		audit_certificate(context, c, slice_of(user->name));
	}
}

void
handshake_secured(struct context *context, struct connection *c)
{
	handshake_by_certificate(context, c);
	admission_secured(context->admission, c);
}

void
handshake_ended(struct context *context, struct connection *c, const char *why)
{
	const struct identity *who = connection_identity(c);
	if (who->handshaking &&
		log_gate(context->log, &context->tls_failed, LOG_WARNING_LEVEL, "client.no_tls")) {
		LOG_EVENT(context->log, LOG_WARNING_LEVEL, "client.no_tls",
			log_number("connection", (int64_t)who->id), log_text("address", who->peer.address),
			log_text("why", why));
	}
}

/* False: c was answered, or waits. */
static bool
handshake_login(struct context *context, struct connection *c, const struct command *command)
{
	struct identity *who = connection_identity(c);
	struct slice name = command->user.n > 0 ? command->user : SLICE(ACCESS_DEFAULT_USER);
	const struct guess_source source = guesses_source(&context->guesses, &who->peer, who->local, name);
	int64_t wait_ms = guesses_wait_ms(&context->guesses, &source, clock_ms());
	if (wait_ms > 0) {
		connection_error(c, CODE_LIMIT,
			"too many logins of this user, or of many users, have failed from this address: try "
			"again in "
			"%" PRId64 " ms",
			wait_ms);
		return false;
	}
	uint64_t login = 0;
	const struct access_user *user = handshake_user(context, c, command, &source, &login);
	if (!user) {
		return false;
	}
	return handshake_enter(context, c, user, login);
}

static void
handshake_auth(struct context *context, struct connection *c, const struct command *command)
{
	if (!access_required(context->access)) {
		connection_error(c, CODE_ERR, "AUTH: no users are configured, so nobody has to log in");
	} else if (handshake_login(context, c, command)) {
		answer_ok(c);
	}
}

static void
handshake_banner(struct context *context, struct connection *c)
{
	const struct identity *who = connection_identity(c);
	struct buffer *out = connection_out(c);
	reply_write_map(out, who->protocol, 7);
	reply_write_pair_text(out, "server", "holdfast");
	reply_write_pair_text(out, "version", context->facts.version);
	reply_write_pair_int(out, "proto", who->protocol);
	reply_write_pair_int(out, "id", (int64_t)who->id);
	reply_write_pair_text(out, "mode", "standalone");
	reply_write_pair_text(out, "role", "master");
	reply_write_text(out, "modules");
	reply_write_array(out, 0);
	connection_written(c);
}

/* While the core believes that it can push, the connection speaks RESP3, which has pushes. */
static void
handshake_speak(struct context *context, struct connection *c, int protocol)
{
	struct identity *who = connection_identity(c);
	if (protocol < 3) {
		context->hooks->no_push(context->arg, c, true);
		who->protocol = protocol;
	} else {
		who->protocol = protocol;
		context->hooks->no_push(context->arg, c, false);
	}
}

/* Either all of HELLO takes effect, or none of it. */
static void
handshake_hello(struct context *context, struct connection *c, const struct command *command)
{
	struct identity *who = connection_identity(c);
	if (command->login && !handshake_login(context, c, command)) {
		return;
	}
	if (who->unauthenticated) {
		connection_error(c, CODE_NOAUTH, "log in first: HELLO 3 AUTH user password");
		return;
	}
	if (command->labelled && !label_keep(context, c, command->label)) {
		return;
	}
	if (command->protocol != 0 && command->protocol != who->protocol) {
		handshake_speak(context, c, (int)command->protocol);
	}
	handshake_banner(context, c);
}

static void
handshake_select(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	answer_ok(c);
}

static void
handshake_reset(struct context *context, struct connection *c, const struct command *command)
{
	(void)command;
	struct identity *who = connection_identity(c);
	who->user = NULL;
	who->login = 0;
	who->local_user = false;
	admission_logout(context->admission, c);
	who->peer.admin = who->native_admin;
	who->peer.name[0] = '\0';
	who->protocol = 2;
	context->hooks->reset(context->arg, c);
	handshake_by_certificate(context, c);
	free(who->label);
	who->label = NULL;
	reply_write_simple(connection_out(c), "RESET");
	connection_written(c);
}

static void
handshake_quit(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	answer_ok(c);
	connection_close(c, END_CLEAN, "quit");
}

static void
handshake_config_get(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	reply_write_map(connection_out(c), connection_identity(c)->protocol, 0);
	connection_written(c);
}

static void
handshake_catalog(struct context *context, struct connection *c, const struct command *command)
{
	catalog_write(&context->catalog, connection_out(c), connection_identity(c)->protocol, command);
	connection_written(c);
}

static void
handshake_client_id(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	reply_write_int(connection_out(c), (int64_t)connection_identity(c)->id);
	connection_written(c);
}

static void
handshake_client_getname(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	const struct identity *who = connection_identity(c);
	if (who->label) {
		reply_write_text(connection_out(c), who->label);
	} else {
		reply_write_null(connection_out(c), who->protocol);
	}
	connection_written(c);
}

static void
handshake_client_setname(struct context *context, struct connection *c, const struct command *command)
{
	if (label_keep(context, c, command->label)) {
		answer_ok(c);
	}
}

/* Client tracking tells a client of changes to what it has cached. No answer of this daemon may be cached: a
 * lock is requested anew each time. So there is never a change to tell of, and OK is true. */
static void
handshake_client_tracking(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	(void)command;
	answer_ok(c);
}

static void
handshake_client_setinfo(struct context *context, struct connection *c, const struct command *command)
{
	(void)context;
	struct identity *who = connection_identity(c);
	char **place = command->attribute == ATTRIBUTE_LIB_NAME ? &who->lib_name : &who->lib_ver;
	if (text_keep(c, place, command->label)) {
		answer_ok(c);
	}
}

context_verb *const handshake_verbs[VERB_COUNT] = {
	[VERB_PING] = handshake_ping,
	[VERB_ECHO] = handshake_echo,
	[VERB_HELLO] = handshake_hello,
	[VERB_AUTH] = handshake_auth,
	[VERB_SELECT] = handshake_select,
	[VERB_RESET] = handshake_reset,
	[VERB_QUIT] = handshake_quit,
	[VERB_CONFIG_GET] = handshake_config_get,
	[VERB_CLIENT_ID] = handshake_client_id,
	[VERB_CLIENT_GETNAME] = handshake_client_getname,
	[VERB_CLIENT_SETNAME] = handshake_client_setname,
	[VERB_CLIENT_SETINFO] = handshake_client_setinfo,
	[VERB_CLIENT_TRACKING] = handshake_client_tracking,
	[VERB_COMMAND] = handshake_catalog,
	[VERB_COMMAND_COUNT] = handshake_catalog,
	[VERB_COMMAND_DOCS] = handshake_catalog,
	[VERB_COMMAND_INFO] = handshake_catalog,
	[VERB_COMMAND_LIST] = handshake_catalog,
	[VERB_LATCH_HELP] = handshake_catalog,
	[VERB_SESSION_HELP] = handshake_catalog,
	[VERB_CLIENT_HELP] = handshake_catalog,
	[VERB_COMMAND_HELP] = handshake_catalog,
	[VERB_CONFIG_HELP] = handshake_catalog,
	[VERB_MASTERS_HELP] = handshake_catalog,
	[VERB_LOG_HELP] = handshake_catalog,
};
