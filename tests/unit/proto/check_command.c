/*
 * check_command: what verbs and options mean, and what is said about those that mean nothing (PROTOCOL.md 2
 * to 8).
 */
#include "proto/command.h"
#include "proto/request.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define UNTOUCHED 0x55

static struct request request;
static struct command command;
static struct reply error;
static char line[4096];

static int
parse(const char *text)
{
	static const struct request_limits limits = {4096, 128};
	struct request_parser parser = {0};
	size_t n = strlen(text);

	memcpy(line, text, n);
	line[n] = '\n';
	memset(&command, UNTOUCHED, sizeof(command));
	ck_assert_int_eq(request_parse(&parser, line, n + 1, &limits, &request, &error), (ssize_t)n + 1);
	return command_parse(&request, &command, &error);
}

static void
good(const char *text, enum verb verb)
{
	int got = parse(text);

	ck_assert_msg(got == 0, "%s: %s", text, error.text);
	ck_assert_msg(command.verb == verb, "%s is verb %d", text, (int)command.verb);
}

static void
bad(const char *text, const char *expected)
{
	char got[REPLY_TEXT_MAX + 16];
	const unsigned char *bytes = (const unsigned char *)&command;

	ck_assert_msg(parse(text) == -1, "taken: %s", text);
	snprintf(got, sizeof(got), "%s %s", code_word(error.code), error.text);
	ck_assert_str_eq(got, expected);
	ck_assert_int_eq(error.type, REPLY_ERROR);
	for (size_t i = 0; i < sizeof(command); i++)
		ck_assert_msg(bytes[i] == UNTOUCHED, "%s changed the output", text);
}

static void
is(struct slice got, const char *expected)
{
	ck_assert_msg(slice_equal(got, slice_of(expected)), "%.*s is not %s", (int)got.n, got.p, expected);
}

START_TEST(masters_takes_as_many_places_as_its_subcommand_says)
{
	good("MASTERS", VERB_MASTERS);
	good("masters HELP", VERB_MASTERS_HELP);
	good("masters replace a:1 b:1", VERB_MASTERS_REPLACE);
	ck_assert_uint_eq(command.argc, 2);
	good("MASTERS ADD a:1 /b", VERB_MASTERS_ADD);
	good("MASTERS ABORT", VERB_MASTERS_ABORT);
	bad("MASTERS REMOVE a:1", "ERR unknown subcommand 'REMOVE'. Try MASTERS HELP.");
	bad("MASTERS REPLACE a:1", "ERR wrong number of arguments for 'masters|replace' command; usage: "
				   "MASTERS REPLACE old new");
	bad("MASTERS ABORT a:1",
		"ERR wrong number of arguments for 'masters|abort' command; usage: MASTERS ABORT");
}
END_TEST

START_TEST(a_lock_alone_has_every_option_absent)
{
	good("LOCK a", VERB_LOCK);
	is(command.name, "a");
	ck_assert_int_eq(command.wait_ms, COMMAND_WAIT_RULE);
	ck_assert_int_eq(command.lease_ms, 0);
	ck_assert_int_eq(command.max_hold_ms + command.claim_ms, 0);
	ck_assert_int_eq(command.token, 0);
	ck_assert(!command.validity);
	ck_assert_uint_eq(command.owner.n + command.why.n + command.id.n + command.secret.n, 0);
	ck_assert_int_eq(command.onloss, ONLOSS_CLOSE);
}
END_TEST

START_TEST(a_lock_takes_its_options_in_any_order_and_case)
{
	good("lock a why \"release 42\" maxHOLD 7 Validity OWNER t1 claim 8 lease 6 WAIT 5", VERB_LOCK);
	is(command.name, "a");
	is(command.why, "release 42");
	is(command.owner, "t1");
	ck_assert_int_eq(command.wait_ms, 5);
	ck_assert_int_eq(command.lease_ms, 6);
	ck_assert_int_eq(command.max_hold_ms, 7);
	ck_assert_int_eq(command.claim_ms, 8);
	ck_assert(command.validity);
	good("LOCK a ASYNC j1", VERB_LOCK);
	is(command.id, "j1");
	good("LOCK WAIT WAIT 0", VERB_LOCK);
	is(command.name, "WAIT");
	ck_assert_int_eq(command.wait_ms, 0);
}
END_TEST

START_TEST(a_lock_is_of_one_kind)
{
	good("LOCK a", VERB_LOCK);
	ck_assert_int_eq(command.kind, KIND_EXCLUSIVE);
	ck_assert_int_eq(command.retries, COMMAND_RETRIES_ANY);
	good("LOCK a shared WAIT 5 RETRIES 0", VERB_LOCK);
	ck_assert_int_eq(command.kind, KIND_SHARED);
	ck_assert_int_eq(command.limit + command.permits + command.retries, 0);
	good("LOCK a PERMITS 3 LIMIT 3", VERB_LOCK);
	ck_assert_int_eq(command.kind, KIND_PERMITS);
	ck_assert_int_eq(command.limit, 3);
	ck_assert_int_eq(command.permits, 3);
	good("LOCK a LIMIT 10000 RETRIES 1000000", VERB_LOCK);
	ck_assert_int_eq(command.permits, 1);
	ck_assert_int_eq(command.retries, COMMAND_RETRIES_MAX);
	bad("LOCK a PERMITS 1", "ERR PERMITS needs LIMIT: LIMIT n PERMITS k");
	bad("LOCK a PERMITS 4 LIMIT 3", "ERR PERMITS must not be more than LIMIT: 4 of 3");
	bad("LOCK a SHARED LIMIT 3",
		"ERR SHARED and LIMIT exclude each other: a semaphore has permits, no readers");
	bad("LOCK a SHARED PERMITS 3", "ERR PERMITS needs LIMIT: LIMIT n PERMITS k");
	bad("LOCK a LIMIT 0", "ERR LIMIT must be a whole number from 1 to 10000, not '0'");
	bad("LOCK a LIMIT 10001", "ERR LIMIT must be a whole number from 1 to 10000, not '10001'");
	bad("LOCK a LIMIT 3 PERMITS 0", "ERR PERMITS must be a whole number from 1 to 10000, not '0'");
	bad("LOCK a RETRIES -1", "ERR RETRIES must be a whole number from 0 to 1000000, not '-1'");
	bad("UNLOCK a SHARED",
		"ERR unknown option 'SHARED'; usage: UNLOCK name [OWNER tag] [TOKEN n] [AS id]");
	good("DOWNGRADE a OWNER t", VERB_DOWNGRADE);
	is(command.owner, "t");
}
END_TEST

START_TEST(many_names_follow_their_number)
{
	good("MLOCK 2 a b", VERB_MLOCK);
	ck_assert_uint_eq(command.name_count, 2);
	is(command.names[0], "a");
	is(command.names[1], "b");
	ck_assert_uint_eq(command.name.n, 0);
	ck_assert_int_eq(command.wait_ms, COMMAND_WAIT_RULE);
	good("mlock 3 WAIT 5 why WAIT 0 RETRIES 1 LEASE 2 MAXHOLD 3 CLAIM 4 OWNER t WHY x SHARED",
		VERB_MLOCK);
	ck_assert_uint_eq(command.name_count, 3);
	is(command.names[2], "why");
	ck_assert_int_eq(command.wait_ms + command.retries + command.lease_ms + command.max_hold_ms, 6);
	ck_assert_int_eq(command.claim_ms, 4);
	ck_assert_int_eq(command.kind, KIND_SHARED);
	good("MUNLOCK 1 a OWNER t", VERB_MUNLOCK);
	ck_assert_uint_eq(command.name_count, 1);
	is(command.owner, "t");
	bad("MLOCK 2", "ERR wrong number of arguments for 'mlock' command; usage: MLOCK n name [name ...] "
		       "[SHARED] [WAIT ms] [RETRIES n] [LEASE ms] [MAXHOLD ms] [CLAIM ms] [OWNER tag] [WHY "
		       "text] [AS id]");
	bad("MLOCK a b", "ERR the number of names must be from 1 to 64, not 'a'");
	bad("MLOCK 0 a", "ERR the number of names must be from 1 to 64, not '0'");
	bad("MLOCK 65 a", "ERR the number of names must be from 1 to 64, not '65'");
	bad("MLOCK 3 a b", "ERR 3 names have to follow, not 2");
	bad("MLOCK 3 a \"b c\" d", "ERR bad name 'b c': it contains a space");
	bad("MLOCK 3 a b a", "ERR bad name 'a': it is given twice");
	bad("MUNLOCK 1 a b",
		"ERR unknown option 'b' behind 1 name; usage: MUNLOCK n name [name ...] [OWNER tag] "
		"[TOKENS token [token ...]] [AS id]");
	bad("MUNLOCK 2 a OWNER t", "ERR unknown option 't' behind 2 names; usage: MUNLOCK n name [name ...] "
				   "[OWNER tag] [TOKENS token [token ...]] [AS id]");
	good("MUNLOCK 2 a b TOKENS 7 8 OWNER t", VERB_MUNLOCK);
	is(command.tokens[1], "8");
	is(command.owner, "t");
	bad("MUNLOCK 2 a b TOKENS 7", "ERR 2 tokens have to follow TOKENS, one for each name, not 1");
	bad("MUNLOCK 2 a b TOKENS", "ERR 2 tokens have to follow TOKENS, one for each name, not 0");
	bad("MUNLOCK 2 a b TOKENS 7 0",
		"ERR TOKENS must be whole numbers from 1 to 9007199254740992, not '0'");
	bad("MUNLOCK 1 a TOKENS 7 8",
		"ERR unknown option '8' behind 1 name; usage: MUNLOCK n name [name ...] "
		"[OWNER tag] [TOKENS token [token ...]] [AS id]");
	bad("MLOCK 1 a VALIDITY",
		"ERR unknown option 'VALIDITY' behind 1 name; usage: MLOCK n name [name ...] "
		"[SHARED] [WAIT ms] [RETRIES n] [LEASE ms] [MAXHOLD ms] [CLAIM ms] [OWNER tag] [WHY text] "
		"[AS id]");
}
END_TEST

START_TEST(sixty_four_names_are_taken)
{
	char text[1024] = "MLOCK 64";
	size_t n = strlen(text);

	for (int i = 0; i < 64; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " n%d", i);
	good(text, VERB_MLOCK);
	ck_assert_uint_eq(command.name_count, 64);
	is(command.names[63], "n63");
	snprintf(text + n, sizeof(text) - n, " WAIT 7");
	good(text, VERB_MLOCK);
	ck_assert_int_eq(command.wait_ms, 7);
	snprintf(text + n, sizeof(text) - n, " n64");
	ck_assert_int_eq(parse(text), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "unknown option 'n64' behind 64 names; "));
}
END_TEST

START_TEST(a_latch_has_its_subcommand_behind_the_name)
{
	good("LATCH a SET 3", VERB_LATCH_SET);
	is(command.name, "a");
	ck_assert_int_eq(command.steps, 3);
	ck_assert_int_eq(command.lease_ms, 0);
	good("latch HELP set 1000000 lease 5", VERB_LATCH_SET);
	is(command.name, "HELP");
	ck_assert_int_eq(command.steps, COMMAND_STEPS_MAX);
	ck_assert_int_eq(command.lease_ms, 5);
	good("LATCH a DOWN", VERB_LATCH_DOWN);
	ck_assert_int_eq(command.steps, 0);
	good("LATCH a DOWN 2", VERB_LATCH_DOWN);
	ck_assert_int_eq(command.steps, 2);
	good("LATCH a DOWN OWNER t", VERB_LATCH_DOWN);
	is(command.owner, "t");
	good("LATCH a DOWN 2 OWNER t", VERB_LATCH_DOWN);
	ck_assert_int_eq(command.steps, 2);
	good("LATCH a AWAIT", VERB_LATCH_AWAIT);
	ck_assert_int_eq(command.wait_ms, COMMAND_WAIT_RULE);
	good("LATCH a AWAIT WAIT 4", VERB_LATCH_AWAIT);
	ck_assert_int_eq(command.wait_ms, 4);
	good("LATCH a COUNT", VERB_LATCH_COUNT);
	good("LATCH HELP", VERB_LATCH_HELP);
	bad("LATCH", "ERR wrong number of arguments for 'latch' command. Try LATCH HELP.");
	bad("LATCH a", "ERR wrong number of arguments for 'latch' command. Try LATCH HELP.");
	bad("LATCH a UP", "ERR unknown subcommand 'UP'. Try LATCH HELP.");
	bad("LATCH SET a 3", "ERR unknown subcommand 'a'. Try LATCH HELP.");
	bad("LATCH a SET",
		"ERR wrong number of arguments for 'latch|set' command; usage: LATCH name SET n [LEASE ms]");
	bad("LATCH a SET 0", "ERR n must be a whole number from 1 to 1000000, not '0'");
	bad("LATCH a SET LEASE 5", "ERR n must be a whole number from 1 to 1000000, not 'LEASE'");
	bad("LATCH a DOWN -1", "ERR n must be a whole number from 1 to 1000000, not '-1'");
	bad("LATCH a DOWN 1 2", "ERR unknown option '2'; usage: LATCH name DOWN [n] [OWNER tag] [AS id]");
	bad("LATCH a COUNT 1",
		"ERR wrong number of arguments for 'latch|count' command; usage: LATCH name COUNT");
	bad("LATCH \"a b\" COUNT", "ERR bad name 'a b': it contains a space");
}
END_TEST

START_TEST(a_session_outlives_its_connection_when_it_says_so)
{
	good("SESSION GRACE 30000", VERB_SESSION_GRACE);
	ck_assert_int_eq(command.grace_ms, 30000);
	good("SESSION GRACE 0", VERB_SESSION_GRACE);
	ck_assert_int_eq(command.grace_ms, 0);
	good("SESSION RESUME abcdef", VERB_SESSION_RESUME);
	is(command.secret, "abcdef");
	good("SESSION HEARTBEAT 0", VERB_SESSION_HEARTBEAT);
	ck_assert_int_eq(command.heartbeat_ms, 0);
	good("SESSION HEARTBEAT 31536000000", VERB_SESSION_HEARTBEAT);
	ck_assert_int_eq(command.heartbeat_ms, COMMAND_MS_MAX);
	bad("SESSION GRACE x", "ERR GRACE must be a whole number from 0 to 31536000000, not 'x'");
	bad("SESSION HEARTBEAT -1", "ERR HEARTBEAT must be a whole number from 0 to 31536000000, not '-1'");
}
END_TEST

START_TEST(every_verb_finds_its_row)
{
	good("UNLOCK a OWNER o TOKEN 9007199254740992", VERB_UNLOCK);
	ck_assert_int_eq(command.token, COMMAND_TOKEN_MAX);
	good("CHECK a", VERB_CHECK);
	good("EXTEND a 31536000000 OWNER x", VERB_EXTEND);
	ck_assert_int_eq(command.extend_ms, COMMAND_MS_MAX);
	good("CANCEL j1", VERB_CANCEL);
	is(command.id, "j1");
	good("BREAK a TOKEN 4", VERB_BREAK);
	good("SESSION ID", VERB_SESSION_ID);
	good("session secret", VERB_SESSION_SECRET);
	good("SESSION JOIN abcdef", VERB_SESSION_JOIN);
	is(command.secret, "abcdef");
	good("SESSION BIND", VERB_SESSION_BIND);
	ck_assert_int_eq(command.started, 0);
	good("SESSION BIND 4711", VERB_SESSION_BIND);
	ck_assert_int_eq(command.started, 4711);
	good("SESSION ONLOSS next", VERB_SESSION_ONLOSS);
	ck_assert_int_eq(command.onloss, ONLOSS_NEXT);
	good("INSPECT a", VERB_INSPECT);
	good("SESSIONS", VERB_SESSIONS);
	good("INFO server clients", VERB_INFO);
	ck_assert_uint_eq(command.argc, 2);
	is(command.argv[1], "clients");
	good("COMMAND", VERB_COMMAND);
	good("COMMAND COUNT", VERB_COMMAND_COUNT);
	good("COMMAND DOCS lock", VERB_COMMAND_DOCS);
	is(command.argv[0], "lock");
	good("RESTART", VERB_RESTART);
	good("DRAIN", VERB_DRAIN);
	ck_assert_int_eq(command.wait_ms, COMMAND_WAIT_RULE);
	good("DRAIN WAIT 5000", VERB_DRAIN);
	ck_assert_int_eq(command.wait_ms, 5000);
	good("QUIT now", VERB_QUIT);
	good("PING", VERB_PING);
	good("PING hi", VERB_PING);
	good("SELECT 0", VERB_SELECT);
	good("CONFIG GET save appendonly", VERB_CONFIG_GET);
	good("POST / HTTP/1.1", VERB_HTTP_POST);
	good("host: localhost", VERB_HTTP_HOST);
}
END_TEST

START_TEST(lists_take_a_pattern_a_cursor_and_a_bound)
{
	good("LOCKS", VERB_LOCKS);
	ck_assert(command.count == 0 && command.cursor == 0);
	ck_assert_uint_eq(command.match.n, 0);
	ck_assert(!command.fleet);
	good("BREAK a FLEET TOKEN 4", VERB_BREAK);
	ck_assert(command.fleet);
	good("HISTORY a FLEET COUNT 3", VERB_HISTORY);
	ck_assert(command.fleet && command.count == 3 && !command.rows);
	good("LOCKS ROWS", VERB_LOCKS);
	ck_assert(command.rows && !command.fleet);
	good("LOCKS COUNT 5 MATCH a* CURSOR 9223372036854775807", VERB_LOCKS);
	ck_assert(command.count == 5 && command.cursor == INT64_MAX);
	is(command.match, "a*");
	good("SESSIONS CURSOR 0 COUNT 500", VERB_SESSIONS);
	ck_assert(command.count == 500 && command.cursor == 0);
	good("INSPECT a CURSOR 77", VERB_INSPECT);
	ck_assert(command.count == 0 && command.cursor == 77);
	good("EVENTS MATCH *", VERB_EVENTS);
	bad("EVENTS COUNT 4", "ERR unknown option 'COUNT'; usage: EVENTS [MATCH glob]");
	good("TOP", VERB_TOP);
	good("TOP COUNT 500 MATCH a* FLEET", VERB_TOP);
	good("HOUR", VERB_HOUR);
	good("HOUR FLEET", VERB_HOUR);
	bad("HOUR COUNT 3", "ERR unknown option 'COUNT'; usage: HOUR [FLEET]");
	bad("TOP CURSOR 0", "ERR unknown option 'CURSOR'; usage: TOP [MATCH glob] [COUNT n] [FLEET]");
	bad("LOCKS MATCH [a", "ERR bad MATCH '[a': a '[' without its ']'");
	bad("LOCKS MATCH a\\", "ERR bad MATCH 'a\\': a '\\' with nothing behind it");
	bad("LOCKS MATCH \"\"", "ERR bad MATCH '': it is empty; '*' matches everything");
	bad("LOCKS COUNT 0", "ERR COUNT must be a whole number from 1 to 500, not '0'");
	bad("LOCKS CURSOR 9223372036854775808",
		"ERR CURSOR must be a whole number from 0 to 9223372036854775807, not "
		"'9223372036854775808'");
	bad("SESSIONS CURSOR -1",
		"ERR CURSOR must be a whole number from 0 to 9223372036854775807, not '-1'");
	bad("SESSIONS MATCH a",
		"ERR unknown option 'MATCH'; usage: SESSIONS [CURSOR c] [COUNT n] [FLEET] [ROWS]");
}
END_TEST

START_TEST(hello_chooses_logs_in_and_names_at_once)
{
	good("HELLO", VERB_HELLO);
	ck_assert_int_eq(command.protocol, 0);
	ck_assert(!command.login && !command.labelled);
	good("HELLO 3 SETNAME web AUTH u p", VERB_HELLO);
	ck_assert_int_eq(command.protocol, 3);
	ck_assert(command.login && command.labelled);
	is(command.user, "u");
	is(command.password, "p");
	is(command.label, "web");
	bad("HELLO 4", "NOPROTO unsupported protocol version; use HELLO 2 or HELLO 3");
	bad("HELLO x", "ERR Protocol version is not an integer or out of range");
	bad("HELLO 3 AUTH u", "ERR AUTH needs a value: AUTH user password");
	bad("HELLO 3 SETNAME \"a b\"",
		"ERR bad name 'a b': it contains a space, a newline or a special character");
}
END_TEST

START_TEST(auth_takes_a_password_alone_or_with_its_user)
{
	good("AUTH p", VERB_AUTH);
	ck_assert(command.login);
	ck_assert_uint_eq(command.user.n, 0);
	is(command.password, "p");
	good("AUTH u p", VERB_AUTH);
	is(command.user, "u");
	is(command.password, "p");
	bad("AUTH u p q", "ERR wrong number of arguments for 'auth' command; usage: AUTH [user] password");
}
END_TEST

START_TEST(a_client_says_who_it_is)
{
	good("CLIENT SETNAME web-1", VERB_CLIENT_SETNAME);
	ck_assert(command.labelled);
	is(command.label, "web-1");
	good("CLIENT SETNAME \"\"", VERB_CLIENT_SETNAME);
	ck_assert(command.labelled);
	ck_assert_uint_eq(command.label.n, 0);
	good("CLIENT SETINFO lib-ver 5.0", VERB_CLIENT_SETINFO);
	ck_assert_int_eq(command.attribute, ATTRIBUTE_LIB_VER);
	is(command.label, "5.0");
	bad("CLIENT SETINFO lib-foo 5.0", "ERR Unrecognized option 'lib-foo'; use LIB-NAME or LIB-VER");
	good("CLIENT KILL ID 12", VERB_CLIENT_KILL);
	ck_assert_int_eq(command.count, 12);
	bad("CLIENT KILL 1.2.3.4:5 x", "ERR unknown option '1.2.3.4:5'; usage: CLIENT KILL ID n");
}
END_TEST

START_TEST(tracking_takes_the_words_that_redis_knows)
{
	good("CLIENT TRACKING on", VERB_CLIENT_TRACKING);
	ck_assert(command.tracking);
	good("CLIENT TRACKING ON REDIRECT 0 BCAST PREFIX \"\" PREFIX b PREFIX \"\\x01\" NOLOOP",
		VERB_CLIENT_TRACKING);
	ck_assert(command.tracking);
	good("client tracking ON optin", VERB_CLIENT_TRACKING);
	good("CLIENT TRACKING ON OPTOUT", VERB_CLIENT_TRACKING);
	good("CLIENT TRACKING OFF", VERB_CLIENT_TRACKING);
	ck_assert(!command.tracking);
	bad("CLIENT TRACKING",
		"ERR wrong number of arguments for 'client|tracking' command; usage: CLIENT TRACKING ON|OFF "
		"[REDIRECT id] [PREFIX text] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]");
	bad("CLIENT TRACKING YES", "ERR CLIENT TRACKING takes ON or OFF, not 'YES'");
	bad("CLIENT TRACKING ON x",
		"ERR unknown option 'x'; usage: CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX text] "
		"[BCAST] [OPTIN] [OPTOUT] [NOLOOP]");
	bad("CLIENT TRACKING ON REDIRECT me",
		"ERR REDIRECT must be a whole number from 0 to 9223372036854775807, not 'me'");
	bad("CLIENT TRACKING ON BCAST PREFIX", "ERR PREFIX needs a value: PREFIX text");
	bad("CLIENT TRACKING ON BCAST BCAST", "ERR BCAST is given twice");
}
END_TEST

START_TEST(what_redis_does_not_know_is_refused_in_its_words)
{
	bad("FOO", "ERR unknown command 'FOO', with args beginning with: ");
	bad("FOO a \"b c\"", "ERR unknown command 'FOO', with args beginning with: 'a' 'b c' ");
	bad("\"F\\x1bO\" \"\\n\"", "ERR unknown command 'F\\x1bO', with args beginning with: '\\n' ");
	bad("\"\"", "ERR unknown command '', with args beginning with: ");
	bad("\"HOST\\x1a\"", "ERR unknown command 'HOST\\x1a', with args beginning with: ");
	bad("CLIENT", "ERR wrong number of arguments for 'client' command. Try CLIENT HELP.");
	bad("CLIENT PAUSE 4", "ERR unknown subcommand 'PAUSE'. Try CLIENT HELP.");
	bad("SESSION", "ERR wrong number of arguments for 'session' command. Try SESSION HELP.");
	bad("COMMAND GETKEYS x", "ERR unknown subcommand 'GETKEYS'. Try COMMAND HELP.");
	bad("CLIENT SETNAME",
		"ERR wrong number of arguments for 'client|setname' command; usage: CLIENT SETNAME name");
	bad("SELECT 1", "ERR DB index is out of range; there is only one space of names, SELECT 0");
	bad("PING a b", "ERR wrong number of arguments for 'ping' command; usage: PING [message]");
}
END_TEST

START_TEST(an_error_is_cut_not_overrun)
{
	char text[2048] = "FOO ";

	memset(text + 4, 'x', 1500);
	ck_assert_int_eq(parse(text), -1);
	ck_assert_uint_lt(strlen(error.text), REPLY_TEXT_MAX);
	memset(text, 'y', 1500);
	ck_assert_int_eq(parse(text), -1);
	ck_assert_uint_lt(strlen(error.text), REPLY_TEXT_MAX);
	memcpy(text, "SESSION ", 8);
	ck_assert_int_eq(parse(text), -1);
	ck_assert_uint_lt(strlen(error.text), REPLY_TEXT_MAX);
}
END_TEST

START_TEST(an_option_that_is_wrong_names_itself)
{
	bad("LOCK a WAIT", "ERR WAIT needs a value: WAIT ms");
	bad("LOCK a WAIT -1", "ERR WAIT must be a whole number from 0 to 31536000000, not '-1'");
	bad("LOCK a WAIT 1.5", "ERR WAIT must be a whole number from 0 to 31536000000, not '1.5'");
	bad("LOCK a LEASE 0", "ERR LEASE must be a whole number from 1 to 31536000000, not '0'");
	bad("LOCK a CLAIM 0", "ERR CLAIM must be a whole number from 1 to 31536000000, not '0'");
	bad("LOCK a MAXHOLD 31536000001",
		"ERR MAXHOLD must be a whole number from 1 to 31536000000, not '31536000001'");
	bad("LOCK a WAIT 1 wait 2", "ERR WAIT is given twice");
	bad("LOCK a OWNER \"\"", "ERR bad OWNER '': it is empty");
	bad("LOCK a WHY \"\\x01\"", "ERR bad WHY '\\x01': it contains a control character");
	bad("UNLOCK a TOKEN 9007199254740993",
		"ERR TOKEN must be a whole number from 1 to 9007199254740992, not '9007199254740993'");
	bad("BREAK a", "ERR TOKEN n is missing");
	bad("EXTEND a x", "ERR ms must be a whole number from 1 to 31536000000, not 'x'");
	bad("SESSION ONLOSS x", "ERR ONLOSS must be CLOSE, PUSH or NEXT, not 'x'");
	bad("UNLOCK a WAIT 4", "ERR unknown option 'WAIT'; usage: UNLOCK name [OWNER tag] [TOKEN n] [AS id]");
}
END_TEST

START_TEST(a_bad_name_says_what_is_bad_about_it)
{
	char text[2048] = "LOCK ";

	bad("LOCK \"a b\"", "ERR bad name 'a b': it contains a space");
	bad("LOCK }a", "ERR bad name '}a': it begins with '}'");
	bad("LOCK \"\\xff\"", "ERR bad name '\\xff': it is not UTF-8");
	bad("LOCK \"\"", "ERR bad name '': it is empty");
	memset(text + 5, 'a', 512);
	good(text, VERB_LOCK);
	text[517] = 'a';
	ck_assert_int_eq(parse(text), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "it is too long, at most 512 bytes"));
}
END_TEST

START_TEST(a_secret_is_never_repeated)
{
	char text[2048] = "SESSION JOIN ";

	memset(text + 13, 's', 65);
	bad(text, "ERR bad secret: use what SESSION SECRET answered");
}
END_TEST

START_TEST(what_pushes_needs_resp3)
{
	good("LOCK a ASYNC x", VERB_LOCK);
	ck_assert(command_needs_push(&command));
	good("LOCK a", VERB_LOCK);
	ck_assert(!command_needs_push(&command));
	good("SESSION ONLOSS PUSH", VERB_SESSION_ONLOSS);
	ck_assert(command_needs_push(&command));
	good("SESSION ONLOSS CLOSE", VERB_SESSION_ONLOSS);
	ck_assert(!command_needs_push(&command));
	good("CANCEL x", VERB_CANCEL);
	ck_assert(!command_needs_push(&command));
}
END_TEST

START_TEST(an_id_has_its_length_and_is_for_verbs_that_speak_for_its_session)
{
	good("LOCK a AS 6f1c0d8e5b7a4e9f WAIT 5", VERB_LOCK);
	is(command.as, "6f1c0d8e5b7a4e9f");
	good("LATCH a DOWN AS 6f1c0d8e5b7a4e9f", VERB_LATCH_DOWN);
	is(command.as, "6f1c0d8e5b7a4e9f");
	good("SESSION ID as 6f1c0d8e5b7a4e9f", VERB_SESSION_ID);
	good("SESSION ONLOSS NEXT AS 6f1c0d8e5b7a4e9f", VERB_SESSION_ONLOSS);
	good("SESSION TTL 5 AS 6f1c0d8e5b7a4e9f", VERB_SESSION_TTL);
	ck_assert_int_eq(command.ttl_ms, 5);
	good("SESSION END AS 6f1c0d8e5b7a4e9f", VERB_SESSION_END);
	good("LOCK a", VERB_LOCK);
	ck_assert_uint_eq(command.as.n, 0);
	bad("SESSION END", "ERR AS id is missing");
	bad("SESSION TTL 5", "ERR AS id is missing");
	/* The id is not quoted. */
	bad("LOCK a AS 6f1c0d8e5b7a4e9", "ERR bad id behind AS: 16 to 128 bytes of UTF-8 are allowed, "
					 "without spaces and control characters; "
					 "make it random, as a UUID is");
	bad("LOCK a AS '6f1c0d8e 5b7a4e9f'", "ERR bad id behind AS: 16 to 128 bytes of UTF-8 are allowed, "
					     "without spaces and control characters; "
					     "make it random, as a UUID is");
	bad("LOCK a ASYNC j AS 6f1c0d8e5b7a4e9f",
		"ERR AS and ASYNC exclude each other: LOCK ... AS id is answered when its wait is over");
	bad("SESSION BIND AS 6f1c0d8e5b7a4e9f", "ERR this verb takes no AS: it speaks for the session of its "
						"connection; usage: SESSION BIND [started]");
	bad("SESSION JOIN x AS 6f1c0d8e5b7a4e9f", "ERR this verb takes no AS: it speaks for the session of "
						  "its connection; usage: SESSION JOIN secret");
	bad("CANCEL x AS 6f1c0d8e5b7a4e9f",
		"ERR this verb takes no AS: it speaks for the session of its connection; usage: CANCEL id");
	bad("EVENTS AS 6f1c0d8e5b7a4e9f", "ERR this verb takes no AS: it speaks for the session of its "
					  "connection; usage: EVENTS [MATCH glob]");
}
END_TEST

START_TEST(the_table_is_in_order)
{
	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);
		char name[COMMAND_NAME_MAX];

		command_name((enum verb)v, name);
		ck_assert_uint_gt(info->word.n, 0);
		ck_assert(info->max < 0 || info->min <= info->max);
		ck_assert_uint_eq(strlen(info->summary) > 0, 1);
		if (info->flags & COMMAND_NAMED)
			ck_assert_int_eq(strncmp(info->syntax, "name ", 5), 0);
		/* Rows of one word stand together, or the lookup would miss some. */
		for (int w = v + 2; w < VERB_COUNT; w++) {
			if (slice_equal(command_info((enum verb)w)->word, info->word))
				ck_assert(slice_equal(command_info((enum verb)(w - 1))->word, info->word));
		}
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("command", NULL, NULL, a_lock_alone_has_every_option_absent,
		a_lock_takes_its_options_in_any_order_and_case, a_lock_is_of_one_kind,
		many_names_follow_their_number, sixty_four_names_are_taken,
		masters_takes_as_many_places_as_its_subcommand_says,
		a_latch_has_its_subcommand_behind_the_name, a_session_outlives_its_connection_when_it_says_so,
		every_verb_finds_its_row, lists_take_a_pattern_a_cursor_and_a_bound,
		hello_chooses_logs_in_and_names_at_once, auth_takes_a_password_alone_or_with_its_user,
		a_client_says_who_it_is, tracking_takes_the_words_that_redis_knows,
		what_redis_does_not_know_is_refused_in_its_words, an_error_is_cut_not_overrun,
		an_option_that_is_wrong_names_itself, a_bad_name_says_what_is_bad_about_it,
		a_secret_is_never_repeated, an_id_has_its_length_and_is_for_verbs_that_speak_for_its_session,
		what_pushes_needs_resp3, the_table_is_in_order);
}
