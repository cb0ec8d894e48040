/*
 * check_conf: what a configuration file may say, what it means, and what it is told when it is wrong.
 */
#include "conf/conf.h"

#include "conf/loader.h"
#include "conf/tls.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct conf_errors errors;

static void
environment_clear(void)
{
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("STATE_DIRECTORY");
	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("HOLDFAST_MASTER_PASSWORD");
}

static struct conf *
parse(const char *text)
{
	return conf_parse("f.yml", text, strlen(text), &errors);
}

static struct conf *
good(const char *text)
{
	struct conf *conf = parse(text);

	ck_assert_msg(conf != NULL, "%s", errors.text[0]);
	ck_assert_uint_eq(errors.count, 0);
	return conf;
}

/* The file is refused, and some error is exactly, or begins with, what is expected. */
static void
bad(const char *text, const char *expected)
{
	struct conf *conf = parse(text);

	ck_assert_msg(conf == NULL, "taken: %s", text);
	ck_assert_uint_gt(errors.count, 0);
	for (size_t i = 0; i < errors.count; i++)
		if (strncmp(errors.text[i], expected, strlen(expected)) == 0)
			return;
	ck_abort_msg("for %s\nexpected: %s\ngot: %s", text, expected, errors.text[0]);
}

/* The first error has these words. */
static void
says(const char *text, const char *words)
{
	struct conf *conf = parse(text);

	ck_assert_msg(conf == NULL, "taken: %s", text);
	ck_assert_msg(strstr(errors.text[0], words) != NULL, "for %s: %s", text, errors.text[0]);
}

START_TEST(an_empty_file_means_the_defaults)
{
	struct conf *conf = good("");

	ck_assert_uint_eq(conf->listener_count, 1);
	ck_assert_str_eq(conf->listeners[0].path, "/run/holdfast/holdfast.sock");
	ck_assert_int_eq(conf->listeners[0].mode, 0660);
	ck_assert_uint_eq(conf->master_count, 0);
	ck_assert_str_eq(conf->namespace, "holdfast");
	ck_assert_int_eq(conf->lease_ms, 10000);
	ck_assert_int_eq(conf->margin_ms, 1000);
	ck_assert_int_eq(conf->pool, 1);
	ck_assert_int_eq(conf->retain_ms, 100);
	ck_assert_int_eq(conf->handoff.streak, 64);
	ck_assert_int_eq(conf->handoff.time_ms, 100);
	ck_assert_int_eq(conf->restart_guard, CONF_GUARD_AUTO);
	ck_assert_int_eq(conf->limits.request_bytes, 65536);
	ck_assert_int_eq(conf->limits.output_bytes, 1048576);
	ck_assert_int_eq(conf->log.level, CONF_LEVEL_INFO);
	ck_assert_str_eq(conf->log.to, "stderr");
	ck_assert_str_eq(conf->ledger, "/run/holdfast/holdfast.ledger");
	ck_assert_str_eq(conf->embedded.directory, "/run/holdfast/redis");
	ck_assert_str_eq(conf->embedded.redis_server, "");
	conf_free(conf);
}
END_TEST

START_TEST(a_user_s_own_daemon_lives_in_the_runtime_directory)
{
	struct conf *conf;

	setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
	conf = good("");
	ck_assert_str_eq(conf->listeners[0].path, "/run/user/1000/holdfast/holdfast.sock");
	ck_assert_str_eq(conf->embedded.directory, "/run/user/1000/holdfast/redis");
	ck_assert_str_eq(conf->ledger, "/run/user/1000/holdfast/holdfast.ledger");
	conf_free(conf);
	setenv("STATE_DIRECTORY", "/var/lib/holdfast:/var/lib/other", 1);
	conf = good("");
	ck_assert_str_eq(conf->embedded.directory, "/var/lib/holdfast/redis");
	conf_free(conf);
}
END_TEST

START_TEST(the_ledger_is_in_the_runtime_directory_or_beside_the_first_unix_socket)
{
	struct conf *conf = good("listen: [ tcp: 127.0.0.1:1, unix: /tmp/a.sock, unix: /tmp/b.sock ]");
	ck_assert_str_eq(conf->ledger, "/tmp/a.ledger");
	conf_free(conf);
	conf = good("listen: [ unix: /tmp/a ]");
	ck_assert_str_eq(conf->ledger, "/tmp/a.ledger");
	conf_free(conf);
	conf = good("listen: [ tcp: 127.0.0.1:1 ]");
	ck_assert_str_eq(conf->ledger, "/run/holdfast/holdfast.ledger");
	conf_free(conf);
	setenv("RUNTIME_DIRECTORY", "/run/holdfastd:/run/other", 1);
	conf = good("listen: [ unix: /tmp/a.sock ]");
	ck_assert_str_eq(conf->ledger, "/run/holdfastd/holdfast.ledger");
	conf_free(conf);
	unsetenv("RUNTIME_DIRECTORY");
	conf = good("ledger: off");
	ck_assert_str_eq(conf->ledger, CONF_LEDGER_OFF);
	conf_free(conf);
	conf = good("ledger: /dev/shm/x");
	ck_assert_str_eq(conf->ledger, "/dev/shm/x");
	conf_free(conf);
}
END_TEST

START_TEST(every_key_reaches_its_field)
{
	struct conf *conf = good(
		"listen:\n"
		"  - unix: /tmp/a.sock\n    mode: 0600\n    group: root\n    on-close: withhold\n"
		"  - tcp: '[::1]:5625'\n    on-close: release\n"
		"  - { tcp: 0.0.0.0:5626, insecure: yes }\n"
		"namespace: site-a\nmasters: [ 'redis://h:7000/3' ]\nmasters-follow: no\n"
		"pool: 4\n"
		"lease: 3s\nclock-margin: 250ms\nhandoff: { streak: 1, time: 2s }\n"
		"restart-guard: off\n"
		"rules:\n  - { match: 'cron/*', lease: 1m, wait: 5m, max-hold: 1h, crash-delay: 5s, key: "
		"'c:%', interop: string }\n"
		"  - match: '*'\n"
		"limits: { clients: 5, name-bytes: 64, request-bytes: 1m, arguments: 16,\n"
		"  grace-sessions: 7, grace-time: 1h, locks-per-user: 99, latches-per-user: 8, buffer-bytes: "
		"16384m, memory: 1048576m }\n"
		"log: { level: debug, to: /var/log/h.log }\n"
		"embedded: { directory: /d, redis-server: /usr/bin/valkey-server }\n");

	ck_assert_uint_eq(conf->listener_count, 3);
	ck_assert_int_eq(conf->listeners[0].mode, 0600);
	ck_assert_str_eq(conf->listeners[0].group, "root");
	ck_assert_int_eq(conf->listeners[0].gid, 0);
	ck_assert_int_eq(conf->listeners[0].on_close, CONF_ON_CLOSE_WITHHOLD);
	ck_assert_str_eq(conf->listeners[1].tcp.host, "::1");
	ck_assert_int_eq(conf->listeners[1].tcp.port, 5625);
	ck_assert_int_eq(conf->listeners[1].on_close, CONF_ON_CLOSE_RELEASE);
	ck_assert(conf->listeners[2].insecure);
	ck_assert_str_eq(conf->masters[0].url.address.host, "h");
	ck_assert_int_eq(conf->masters[0].url.address.port, 7000);
	ck_assert_int_eq(conf->masters[0].url.database, 3);
	ck_assert(!conf->masters_follow);
	ck_assert_int_eq(conf->pool, 4);
	ck_assert_int_eq(conf->margin_ms, 250);
	ck_assert_int_eq(conf->handoff.time_ms, 2000);
	ck_assert_int_eq(conf->restart_guard, CONF_GUARD_OFF);
	ck_assert_int_eq(conf->rules[0].lease_ms, 60000);
	ck_assert_int_eq(conf->rules[0].wait_ms, 300000);
	ck_assert_int_eq(conf->rules[0].max_hold_ms, 3600000);
	ck_assert_int_eq(conf->rules[0].crash_delay_ms, 5000);
	ck_assert_str_eq(conf->rules[0].key, "c:%");
	ck_assert_int_eq(conf->rules[0].interop, CONF_INTEROP_STRING);
	ck_assert_int_eq(conf->rules[1].interop, CONF_INTEROP_OFF);
	ck_assert_int_eq(conf->rules[1].lease_ms, 3000);
	ck_assert_int_eq(conf->rules[1].wait_ms, CONF_WAIT_FOREVER);
	ck_assert_int_eq(conf->rules[1].max_hold_ms, CONF_HOLD_NONE);
	ck_assert_int_eq(conf->rules[1].crash_delay_ms, 0);
	ck_assert_int_eq(conf->limits.grace_sessions, 7);
	ck_assert_int_eq(conf->limits.grace_ms, 3600000);
	ck_assert_int_eq(conf->limits.locks_per_user, 99);
	ck_assert_int_eq(conf->limits.latches_per_user, 8);
	ck_assert_int_eq(conf->limits.buffer_bytes, INT64_C(16384) << 20);
	ck_assert_int_eq(conf->limits.memory, INT64_C(1) << 40);
	ck_assert_int_eq(conf->limits.arguments, 16);
	ck_assert_int_eq(conf->log.level, CONF_LEVEL_DEBUG);
	ck_assert_str_eq(conf->embedded.redis_server, "/usr/bin/valkey-server");
	ck_assert_int_eq(conf_longest_lease_ms(conf), 60000);
	conf_free(conf);
}
END_TEST

START_TEST(lists_and_mappings_may_be_left_empty)
{
	conf_free(good("listen:\nmasters: []\nrules: []\nlimits:\nusers:\nlog: {}\nembedded:\n"));
}
END_TEST

START_TEST(durations_and_sizes_need_their_unit)
{
	bad("lease: 10\n",
		"f.yml:1:8: lease: \"10\" has no unit: 10ms or 10s?; allowed: a number with a unit: "
		"500ms, 1.5s, 5m, 1h or 2d, from 100ms to 1h");
	bad("lease: 10 s\n", "f.yml:1:8: lease: \"10 s\" has an unknown unit");
	bad("lease: 1.5\n", "f.yml:1:8: lease: \"1.5\" has no unit");
	bad("lease: 1.5x\n", "f.yml:1:8: lease: \"1.5x\" has an unknown unit");
	bad("lease: 1.s\n", "f.yml:1:8: lease: \"1.s\" is not a number with a unit");
	bad("lease: 1.0005s\n", "f.yml:1:8: lease: \"1.0005s\" is finer than the smallest unit");
	bad("lease: 999999999999d\n", "f.yml:1:8: lease: \"999999999999d\" is out of range");
	bad("lease: -3s\n", "f.yml:1:8: lease: \"-3s\" is not a number with a unit");
	bad("lease: 99ms\n", "f.yml:1:8: lease: \"99ms\" is out of range");
	bad("lease: 61m\n", "f.yml:1:8: lease: \"61m\" is out of range");
	bad("lease: 9223372036854775807h\n", "f.yml:1:8: lease: ");
	bad("clock-margin: 9ms\n", "f.yml:1:15: clock-margin: \"9ms\" is out of range");
	bad("clock-margin: 0\n", "f.yml:1:15: clock-margin: \"0\" is out of range");
	bad("rules: [ { match: a, lease: 50ms } ]\n", "f.yml:1:29: rules[0].lease: \"50ms\" is out of range");
	bad("limits:\n  request-bytes: 65536\n",
		"f.yml:2:18: limits.request-bytes: \"65536\" has no unit: 65536b or 65536k?");
	bad("limits: { request-bytes: 4g }\n",
		"f.yml:1:26: limits.request-bytes: \"4g\" has an unknown unit");
	conf_free(good("rules: [ { match: a, wait: 0, lease: 1h } ]\nlimits: { request-bytes: 2048b }\n"));
}
END_TEST

START_TEST(a_number_with_a_unit_may_have_a_fraction)
{
	struct conf *conf = good("limits: { grace-time: 1d, login-time: 1.25s, request-bytes: 1.5k }\n");

	ck_assert_int_eq(conf->limits.grace_ms, 86400000);
	ck_assert_int_eq(conf->limits.login_ms, 1250);
	ck_assert_int_eq(conf->limits.request_bytes, 1536);
	conf_free(conf);
	conf = good("limits: { grace-time: 0.5h, login-time: 0.01m, request-bytes: 2.000000k }\n");
	ck_assert_int_eq(conf->limits.grace_ms, 1800000);
	ck_assert_int_eq(conf->limits.login_ms, 600);
	ck_assert_int_eq(conf->limits.request_bytes, 2048);
	conf_free(conf);
}
END_TEST

START_TEST(an_empty_list_of_masters_is_no_private_one)
{
	bad("masters:\n", "f.yml:1:9: masters: nothing is below it; name the masters, or write masters: []");
	bad("masters: ~\n", "f.yml:1:10: masters: nothing is below it");
	conf_free(good("masters: []\n"));
}
END_TEST

START_TEST(locks_of_other_libraries_have_their_keys)
{
	bad("rules: [ { match: a, interop: string } ]\n", "f.yml:1:31: rules: interop: string needs key:");
	bad("rules: [ { match: a, interop: redisson, key: 'x:%' } ]\n",
		"f.yml:1:46: rules: with interop: redisson");
	bad("masters: [ 'redis://a', 'redis://b', 'redis://c' ]\nrules: [ { match: a, interop: redisson } "
	    "]\n",
		"f.yml:2:31: rules: interop: redisson is for one master, and there are 3");
	bad("rules: [ { match: a, interop: python-redis-lock, key: 'x:%' } ]\n",
		"f.yml:1:55: rules: with interop: python-redis-lock the key is \"lock:%\"");
	bad("masters: [ 'redis://a', 'redis://b', 'redis://c' ]\nrules: [ { match: a, interop: "
	    "python-redis-lock } ]\n",
		"f.yml:2:31: rules: interop: python-redis-lock is for one master, and there are 3");
	bad("rules: [ { match: a, interop: redlock } ]\n",
		"f.yml:1:31: rules[0].interop: \"redlock\" is unknown; allowed: off, string, redisson or "
		"python-redis-lock");
}
END_TEST

START_TEST(keys_that_cannot_be_locked_are_refused)
{
	bad("rules: [ { match: a, key: 'holdfast:{%}' } ]\n",
		"f.yml:1:27: rules: key: keys that begin with holdfast:{ are holdfast's own;");
	bad("namespace: app\nrules: [ { match: a, key: 'app:{x}:%' } ]\n",
		"f.yml:2:27: rules: key: keys that begin with app:{ are");
	bad("rules: [ { match: a, key: 'redisson_lock_token:{%}' } ]\n",
		"f.yml:1:27: rules: key: keys that begin with redisson_lock_token: are");
	bad("rules: [ { match: a, key: 'lock-signal:%' } ]\n",
		"f.yml:1:27: rules: key: keys that begin with lock-signal: are");
	conf_free(good("namespace: app\nrules: [ { match: a, key: 'holdfast:{%}' }, { match: b, key: 'app:%' "
		       "} ]\n"));
	bad("rules: [ { match: billing, key: 'lock:%' }, { match: 'lock:billing', key: '%' } ]\n",
		"f.yml:1:54: rules: the key of lock:billing is also that of billing, by item 1;");
	bad("rules: [ { match: billing, interop: python-redis-lock }, { match: 'lock:billing', key: '%' } "
	    "]\n",
		"f.yml:1:67: rules: the key of lock:billing is also that of billing, by item 1;");
	bad("rules: [ { match: 'lock:billing', interop: redisson }, { match: billing, key: 'lock:%' } ]\n",
		"f.yml:1:65: rules: the key of billing is also that of lock:billing, by item 1;");
	conf_free(good("rules: [ { match: billing, key: 'lock:%' }, { match: 'lock:*', key: '%' } ]\n"));
}
END_TEST

START_TEST(the_nearest_key_is_suggested)
{
	bad("leese: 3s\n", "f.yml:1:1: unknown key \"leese\"; did you mean \"lease\"?");
	bad("clock_margin: 3s\n", "f.yml:1:1: unknown key \"clock_margin\"; did you mean \"clock-margin\"?");
	bad("limits: { Clients: 3 }\n",
		"f.yml:1:11: limits: unknown key \"Clients\"; did you mean \"limits.clients\"?");
	bad("streak: 3\n", "f.yml:1:1: unknown key \"streak\"; did you mean \"handoff.streak\"?");
	bad("log: { lease: 3s }\n",
		"f.yml:1:8: log: unknown key \"lease\"; \"lease\" is a key of the top level");
	bad("zzzzzzzzzzzzzz: 3s\n", "f.yml:1:1: unknown key \"zzzzzzzzzzzzzz\"");
	ck_assert_ptr_null(strstr(errors.text[0], "did you mean"));
}
END_TEST

START_TEST(all_errors_of_a_file_are_told_up_to_a_bound)
{
	char text[4096] = "lease: 1\npool: 9\n";

	ck_assert_ptr_null(parse("lease: 1\npool: 9\nnamespace: 'a b'\nrestart-guard: maybe\n"));
	ck_assert_uint_eq(errors.count, 4);
	ck_assert_uint_eq(errors.dropped, 0);
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "nokey%d: 1\n", i);
	ck_assert_ptr_null(parse(text));
	ck_assert_uint_eq(errors.count, CONF_ERRORS_MAX);
	ck_assert_uint_eq(errors.dropped, 102 - CONF_ERRORS_MAX);
}
END_TEST

START_TEST(a_value_of_the_wrong_shape_is_refused)
{
	bad("lease: [ 3s ]\n", "f.yml:1:8: lease: a list; allowed: a number with a unit");
	bad("lease: { a: 3s }\n", "f.yml:1:8: lease: a mapping; allowed: ");
	bad("lease:\n", "f.yml:1:7: lease: no value; allowed: ");
	bad("listen: /run/h.sock\n", "f.yml:1:9: listen: a single value; allowed: a list");
	bad("listen: [ /run/h.sock ]\n", "f.yml:1:11: listen: a single value as item 1; allowed: a mapping");
	bad("log: stderr\n", "f.yml:1:6: log: a single value; allowed: a mapping");
	bad("- lease\n", "f.yml:1:1: a list: allowed: keys with values");
	bad("lease\n", "f.yml:1:1: a single value: allowed: keys with values");
	bad("? [a]\n: b\n", "f.yml:1:3: a list or a mapping in the place of a key");
	bad("pool: two\n",
		"f.yml:1:7: pool: \"two\" is not a whole number; allowed: a whole number, from 1 to 8");
	bad("pool: 9\n", "f.yml:1:7: pool: \"9\" is out of range");
	bad("restart-guard: on\n", "f.yml:1:16: restart-guard: \"on\" is unknown; allowed: auto or off");
	bad("listen: [ { tcp: '127.0.0.1:1', insecure: 1 } ]\n",
		"f.yml:1:43: listen[0].insecure: \"1\" is neither");
	bad("listen: [ { unix: /a, mode: '0888' } ]\n", "f.yml:1:29: listen[0].mode: \"0888\" is not octal");
	bad("listen: [ { unix: /a, mode: '1777' } ]\n",
		"f.yml:1:29: listen[0].mode: \"1777\" has more than permission bits");
}
END_TEST

START_TEST(yaml_that_hides_what_it_says_is_refused)
{
	bad("lease: 3s\nlease: 4s\n", "f.yml:2:1: lease: given twice, first in line 1; keep one");
	bad("a: &x 3s\nlease: *x\n", "f.yml:1:4: anchors (&name) are not taken here");
	bad("a: &x 3s\nlease: *x\n", "f.yml:2:8: aliases (*name) are not taken here");
	bad("lease: !!str 3s\n", "f.yml:1:8: tags (!name) are not taken here");
	says("rules:\n  - match: *\n", "a text that begins with * is in quotes");
	says("listen:\n  - tcp: [::1]:7420\n", "a text that begins with [ is in quotes");
	says("rules:\n  - match: %x\n", "a text that begins with % is in quotes");
	says("rules:\n  - { match: @x }\n", "a text that begins with @ is in quotes");
	says("rules:\n  - match: \"x\n", "a quote is opened there and not closed");
	bad("rules:\n  - match: \xe2\x80\x9c"
	    "a\xe2\x80\x9d\n",
		"f.yml:2:12: a typographic quote is no quote in YAML");
	bad("lease: 3s\n---\nlease: 4s\n", "f.yml:2:1: a second document");
	bad("lease: \"3s\\0\"\n", "f.yml:1:8: a NUL byte in a value");
	bad("namespace: \"a\\e[31m\"\n", "f.yml:1:12: namespace: \"a\\x1b[31m\" has a control character");
	bad("namespace: \"a\\x9b31m\"\n",
		"f.yml:1:12: namespace: \"a\\xc2\\x9b31m\" has a control character");
	bad("masters: [ \"redis://h:06379\" ]\n",
		"f.yml:1:12: masters[0].url: the URL names no host and port");
	bad("log: { to: \"/a\\u0085b\" }\n", "f.yml:1:12: log.to: ");
	bad("lease: 3s\n\tpool: 1\n", "f.yml:2:");
	bad("handoff:\n\tstreak: 5\n", "f.yml:2:1: not YAML: found character that cannot start any token, "
				       "while scanning for the next token "
				       "(line 2): the line is indented with a tab; YAML takes spaces");
	bad("lease: 3s\n  pool: 1\n", "f.yml:2:7: not YAML: mapping values are not allowed in this context: "
				      "the keys of a mapping begin in "
				      "one column");
	bad("handoff:\n  streak: 5\n time: 1s\n", "f.yml:3:2: not YAML: did not find expected key, while "
						  "parsing a block mapping (line 1): the keys of a "
						  "mapping begin in one column");
	bad("lease: \"3s\n", "f.yml:2:1: not YAML: ");
	bad("lease: \xff\n", "f.yml:1:8: invalid leading UTF-8 octet");
	bad("[[[[[[[[[[[[[[[[", "f.yml:1:9: nested deeper than 8 levels");
}
END_TEST

START_TEST(a_nul_byte_and_a_huge_file_are_refused)
{
	static char text[2 * 1024 * 1024];

	ck_assert_ptr_null(conf_parse("f.yml", "lease:\0 3s", 10, &errors));
	ck_assert_str_eq(errors.text[0], "f.yml:1:7: a NUL byte; the file must be UTF-8 text");
	memset(text, '#', sizeof(text));
	ck_assert_ptr_null(conf_parse("f.yml", text, sizeof(text), &errors));
	ck_assert_str_eq(errors.text[0], "f.yml: larger than 1048576 bytes; a configuration is smaller");
	memset(text, 0, sizeof(text));
	strcpy(text, "users: [");
	for (size_t n = strlen(text); n < 60000; n += 2)
		memcpy(text + n, "a,", 2);
	strcat(text, "a]");
	ck_assert_ptr_null(conf_parse("f.yml", text, strlen(text), &errors));
	ck_assert_msg(strstr(errors.text[0], "more than 20000 values") != NULL, "%s", errors.text[0]);
	memset(text, 0, sizeof(text));
	strcpy(text, "log: { to: /");
	memset(text + strlen(text), 'x', 5000);
	strcat(text, " }");
	bad(text, "f.yml:1:12: a value of 5001 bytes; at most 4096 are allowed");
}
END_TEST

START_TEST(names_keys_and_paths_are_checked)
{
	char text[256] = "listen: [ { unix: /";

	memset(text + strlen(text), 'p', 107);
	strcat(text, " } ]");
	bad(text, "f.yml:1:19: listen[0].unix: ");
	ck_assert_ptr_nonnull(strstr(errors.text[0], "has 108 bytes; its length is 2 to 107 bytes"));
	bad("listen: [ { unix: a.sock } ]\n", "f.yml:1:19: listen[0].unix: \"a.sock\" is not absolute");
	bad("ledger: no\n", "f.yml:1:9: ledger: \"no\" is neither; allowed: off or an absolute path");
	bad("listen: [ unix: /tmp/a ]\nledger: /tmp/a\n",
		"f.yml: ledger: /tmp/a is also the path of a socket or of the log");
	bad("log: { to: /tmp/a }\nledger: /tmp/a\n",
		"f.yml: ledger: /tmp/a is also the path of a socket or of the log");
	bad("namespace: 'a{b'\n", "f.yml:1:12: namespace: \"a{b\" has other characters; allowed: letters");
	bad("namespace: ''\n", "f.yml:1:12: namespace: \"\" is empty");
	bad("rules: [ { match: a, key: abc } ]\n", "f.yml:1:27: rules[0].key: \"abc\" has not exactly one %");
	bad("rules: [ { match: a, key: '%%' } ]\n", "f.yml:1:27: rules[0].key: \"%%\" has not exactly one %");
	bad("rules: [ { match: 'a b' } ]\n", "f.yml:1:19: rules[0].match: \"a b\" has a space");
	bad("rules: [ { match: 'a[b' } ]\n", "f.yml:1:19: rules[0].match: \"a[b\" has a '[' without its ']'");
	bad("rules: [ { match: '[!]' } ]\n", "f.yml:1:19: rules[0].match: \"[!]\" has a '[' without its ']'");
	bad("rules: [ { match: '[\\]' } ]\n",
		"f.yml:1:19: rules[0].match: \"[\\]\" has a '[' without its ']'");
	bad("rules: [ { match: 'a\\' } ]\n",
		"f.yml:1:19: rules[0].match: \"a\\\" has a '\\' with nothing behind it");
	bad("rules: [ { lease: 3s } ]\n", "f.yml:1:10: rules: an item without match");
	bad("rules: [ { match: '*' }, { match: b } ]\n",
		"f.yml:1:35: rules: never reached: item 1 matches all");
	bad("rules: [ { match: b }, { match: b } ]\n", "f.yml:1:33: rules: never reached: item 1");
	bad("log: { to: syslog }\n",
		"f.yml:1:12: log.to: \"syslog\" is neither; allowed: stderr or an absolute");
	bad("embedded: { redis-server: bin/redis }\n", "f.yml:1:27: embedded.redis-server: \"bin/redis\"");
}
END_TEST

START_TEST(a_listener_is_one_socket)
{
	bad("listen: [ { mode: 0600 } ]\n", "f.yml:1:11: listen: an item with neither unix nor tcp");
	bad("listen: [ { unix: /a, tcp: '127.0.0.1:1' } ]\n", "f.yml:1:11: listen: an item with both");
	bad("listen: [ { tcp: '127.0.0.1:1', mode: 0600 } ]\n",
		"f.yml:1:39: listen: mode means nothing for a TCP address; leave it out");
	bad("listen: [ { unix: /a }, { unix: /a } ]\n", "f.yml:1:25: listen: the same as item 1");
	bad("listen: [ { tcp: 'localhost:1' } ]\n", "f.yml:1:18: listen[0].tcp: \"localhost:1\" is no such");
	bad("listen: [ { tcp: '127.0.0.1' } ]\n", "f.yml:1:18: listen[0].tcp: ");
	bad("listen: [ { tcp: '127.0.0.1:0' } ]\n", "f.yml:1:18: listen[0].tcp: ");
	bad("listen: [ { tcp: '127.0.0.1:65536' } ]\n", "f.yml:1:18: listen[0].tcp: \"127.0.0.1:65536\" is "
							"no such address; allowed: a numeric address "
							"and a port from 1 to 65535, ");
	bad("listen: [ { tcp: '::1:5625' } ]\n", "f.yml:1:18: listen[0].tcp: ");
	bad("listen: [ { tcp: '[::1]x' } ]\n", "f.yml:1:18: listen[0].tcp: ");
}
END_TEST

START_TEST(a_group_is_one_of_this_host_or_a_number)
{
	struct conf *conf = good("listen: [ { unix: /a, group: '4711' } ]\n");

	ck_assert_int_eq(conf->listeners[0].gid, 4711);
	conf_free(conf);
	bad("listen: [ { unix: /a, group: no-such-group-here } ]\n",
		"f.yml:1:30: listen: group: there is no group \"no-such-group-here\" on this host; name one "
		"that is there, or its number");
	bad("listen: [ { unix: /a, group: '4294967295' } ]\n", "f.yml:1:30: listen: group: ");
}
END_TEST

START_TEST(an_address_open_to_others_needs_users_or_a_word)
{
	bad("listen: [ { tcp: '0.0.0.0:5625' } ]\n",
		"f.yml:1:18: listen: 0.0.0.0:5625 is open to other "
		"hosts, and anyone there could lock and unlock; "
		"add users: or tls: with client-ca, or say insecure: yes");
	bad("listen: [ { tcp: '[::]:5625' } ]\n", "f.yml:1:18: listen: [::]:5625 is open");
	bad("listen: [ { tcp: '[::ffff:10.0.0.1]:5625' } ]\n", "f.yml:1:18: listen: ");
	conf_free(good("listen: [ { tcp: '127.8.0.1:5625' }, { tcp: '[::1]:1' }, { tcp: "
		       "'[::ffff:127.0.0.1]:1' } ]\n"));
	conf_free(good("listen: [ { tcp: '0.0.0.0:5625', insecure: yes } ]\n"));
	setenv("CHECK_CONF_SECRET", "x", 1);
	conf_free(good("listen: [ { tcp: '0.0.0.0:5625' } ]\nusers: [ { name: a, password-env: "
		       "CHECK_CONF_SECRET } ]\n"));
}
END_TEST

START_TEST(http_open_to_others_needs_a_word_whatever_users_there_are)
{
	struct conf *conf =
		good("http: [ { unix: /h, mode: '0600' }, { tcp: '127.0.0.1:5626', names: yes, fleet: yes } "
		     "]\n");

	ck_assert_uint_eq(conf->http_count, 2);
	ck_assert_str_eq(conf->http[0].path, "/h");
	ck_assert_int_eq(conf->http[0].mode, 0600);
	ck_assert(conf->http[1].names && !conf->http[0].names);
	ck_assert(conf->http[1].fleet && !conf->http[0].fleet);
	conf_free(conf);
	setenv("CHECK_CONF_SECRET", "x", 1);
	bad("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\nhttp: [ { tcp: '0.0.0.0:5626' } ]\n",
		"f.yml:2:16: http: 0.0.0.0:5626 is open to other hosts, and there is no login; name a "
		"loopback "
		"address, add tls: with client-ca, or say insecure: yes");
	conf_free(good("http: [ { tcp: '0.0.0.0:5626', insecure: yes } ]\n"));
	bad("http: [ { tcp: '0.0.0.0:5626', tls: { certificate: /c, key: /k } } ]\n",
		"f.yml:1:16: http: 0.0.0.0:5626 is open to other hosts");
	conf_free(good(
		"http: [ { tcp: '0.0.0.0:5626', tls: { certificate: /c, key: /k, client-ca: /a } } ]\n"));
	bad("http: [ { unix: /h, tls: { certificate: /c, key: /k } } ]\n",
		"f.yml:1:26: http: tls means nothing for a Unix socket; leave it out");
	bad("http: [ { tcp: '127.0.0.1:1', tls: { key: /k } } ]\n",
		"f.yml:1:36: http: tls: key without certificate; give both");
	bad("http: [ { unix: /h }, { unix: /h } ]\n", "f.yml:1:23: http: the same as item 1; name each once");
	bad("listen: [ { unix: /h } ]\nhttp: [ { unix: /h } ]\n",
		"f.yml:2:9: http: lock clients connect to this address; name another");
	bad("http: [ { unix: /h, names: yes } ]\n",
		"f.yml:1:28: http: names means nothing for a Unix socket; leave it out");
	bad("http: [ { unix: /h, fleet: yes } ]\n",
		"f.yml:1:28: http: fleet means nothing for a Unix socket; leave it out");
	bad("http: [ { unix: /h, tcp: '127.0.0.1:1' } ]\n",
		"f.yml:1:9: http: an item with both unix and tcp");
	bad("http: [ { tcp: '127.0.0.1:1', on-close: release } ]\n", "f.yml:1:31: http[]: unknown key");
	bad("ledger: /h\nhttp: [ { unix: /h } ]\n", "f.yml: ledger: /h is also the path");
}
END_TEST

START_TEST(a_master_is_a_url)
{
	char text[160];
	struct conf *conf = good("masters: [ 'redis://us%40er:p%3aw@[fd00::1]' ]\n");

	ck_assert_str_eq(conf->masters[0].url.address.host, "fd00::1");
	ck_assert_int_eq(conf->masters[0].url.address.port, 6379);
	ck_assert_str_eq(conf->masters[0].url.user, "us@er");
	ck_assert_str_eq(conf->masters[0].password, "p:w");
	conf_free(conf);
	conf = good("masters:\n  - url: unix:///run/r.sock?db=2&user=hf\n");
	ck_assert_int_eq(conf->masters[0].url.kind, CONF_URL_UNIX);
	ck_assert_str_eq(conf->masters[0].url.path, "/run/r.sock");
	ck_assert_str_eq(conf->masters[0].url.user, "hf");
	ck_assert_int_eq(conf->masters[0].url.database, 2);
	ck_assert_str_eq(conf->masters[0].password, "");
	conf_free(conf);
	conf = good("masters: [ 'redis://:a@b@10.0.0.1:6380/' ]\n");
	ck_assert_str_eq(conf->masters[0].password, "a@b");
	ck_assert_str_eq(conf->masters[0].url.user, "");
	conf_free(conf);
	bad("masters: [ 'http://h' ]\n", "f.yml:1:12: masters[0].url: the URL is no URL of a master");
	bad("masters: [ 'redis://' ]\n", "f.yml:1:12: masters[0].url: the URL names no host");
	bad("masters: [ 'redis://h:x' ]\n", "f.yml:1:12: masters[0].url: the URL names no host");
	bad("masters: [ 'redis://h:65536' ]\n",
		"f.yml:1:12: masters[0].url: the URL names no host and port from 1 to 65535, such as ");
	bad("masters: [ 'redis://h/x' ]\n",
		"f.yml:1:12: masters[0].url: the URL has no database number from 0 to 15 after the slash; ");
	bad("masters: [ 'redis://h/16' ]\n", "f.yml:1:12: masters[0].url: the URL has no database number");
	bad("masters: [ 'unix:///s?db=16' ]\n",
		"f.yml:1:12: masters[0].url: the URL has no database number from 0 to 15 after db=; ");
	bad("masters: [ 'redis://%zz@h' ]\n", "f.yml:1:12: masters[0].url: the URL has a user or password");
	bad("masters: [ 'unix://relative' ]\n", "f.yml:1:12: masters[0].url: the URL names no absolute path");
	memset(text, 0, sizeof text);
	strcpy(text, "masters: [ 'unix:///");
	memset(text + strlen(text), 'p', 105);
	strcat(text, "' ]\n");
	conf_free(good(text));
	strcpy(text + strlen(text) - 4, "p' ]\n");
	bad(text, "f.yml:1:12: masters[0].url: the URL names no absolute path of at most 106 bytes");
	bad("masters: [ 'unix:///s?password=x' ]\n",
		"f.yml:1:12: masters[0].url: the URL has an option other");
	bad("masters: [ { password-env: A } ]\n", "f.yml:1:12: masters: an item without url");
}
END_TEST

START_TEST(masters_are_one_or_an_odd_number)
{
	struct conf *conf = good("masters: [ 'redis://a', 'redis://b', 'redis://c' ]\n");

	ck_assert_uint_eq(conf->master_count, 3);
	ck_assert_str_eq(conf->masters[2].url.address.host, "c");
	conf_free(conf);
	conf = good(
		"masters: [ 'redis://a', 'redis://b', 'redis://c', 'redis://d', 'redis://e', 'redis://f', "
		"'unix:///g' ]\n");
	ck_assert_uint_eq(conf->master_count, CONF_MASTERS_MAX);
	conf_free(conf);
	bad("masters: [ 'redis://a', 'redis://b' ]\n",
		"f.yml:1:25: masters: 2 of them; allowed: 1, 3, 5 or 7, because a majority has to be left "
		"when some are lost; add one, or leave one out");
	bad("masters:\n  - redis://a\n  - redis://b\n  - redis://c\n  - url: redis://d\n",
		"f.yml:5:10: masters: 4 of them; allowed: 1, 3, 5 or 7");
	bad("masters: [ 'redis://a', 'redis://b', 'redis://c', 'redis://d', 'redis://e', 'redis://f', "
	    "'redis://g', 'redis://h', 'redis://i' ]\n",
		"f.yml:1:116: masters: 9 of them; allowed: 1, 3, 5 or 7, because a majority has to be left "
		"when some are lost; leave some out");
}
END_TEST

START_TEST(a_master_may_be_named_by_its_sentinels)
{
	struct conf *conf = good("masters:\n"
				 "  - sentinel:\n"
				 "      name: mymaster\n"
				 "      sentinels: [10.0.0.7:26380, '[fd00::1]', s.example]\n"
				 "      user: watcher\n"
				 "    user: holdfast\n"
				 "    database: 3\n");
	const struct conf_master *master = &conf->masters[0];

	ck_assert_int_eq(master->url.kind, CONF_URL_NONE);
	ck_assert_str_eq(master->sentinel.name, "mymaster");
	ck_assert_uint_eq(master->sentinel.sentinels.count, 3);
	ck_assert_str_eq(master->sentinel.sentinels.list[0].host, "10.0.0.7");
	ck_assert_int_eq(master->sentinel.sentinels.list[0].port, 26380);
	ck_assert_str_eq(master->sentinel.sentinels.list[1].host, "fd00::1");
	ck_assert_int_eq(master->sentinel.sentinels.list[1].port, 26379);
	ck_assert_str_eq(master->sentinel.sentinels.list[2].host, "s.example");
	ck_assert_str_eq(master->sentinel.user, "watcher");
	ck_assert_str_eq(master->sentinel.password, "");
	ck_assert(master->sentinel.replicas_ack);
	ck_assert_str_eq(master->user, "holdfast");
	ck_assert_int_eq(master->database, 3);
	conf_free(conf);
	setenv("HOLDFAST_MASTER_PASSWORD", "hunter2", 1);
	conf = good("masters: [ sentinel: { name: m, sentinels: [a], replicas-ack: no } ]\n");
	ck_assert(!conf->masters[0].sentinel.replicas_ack);
	ck_assert_str_eq(conf->masters[0].password, "hunter2");
	ck_assert_str_eq(conf->masters[0].sentinel.password, "");
	conf_free(conf);
}
END_TEST

START_TEST(a_master_may_be_a_cluster)
{
	struct conf *conf = good("masters:\n"
				 "  - cluster: { nodes: [10.0.0.7:7001, '[fd00::1]', n.example] }\n"
				 "    user: u\n");
	const struct conf_cluster *cluster = &conf->masters[0].cluster;

	ck_assert_str_eq(cluster->name, "cluster");
	ck_assert_uint_eq(cluster->nodes.count, 3);
	ck_assert_int_eq(cluster->nodes.list[0].port, 7001);
	ck_assert_str_eq(cluster->nodes.list[1].host, "fd00::1");
	ck_assert_int_eq(cluster->nodes.list[1].port, 6379);
	ck_assert(cluster->replicas_ack);
	ck_assert_str_eq(conf->masters[0].user, "u");
	conf_free(conf);
	conf = good("masters: [ cluster: { name: a, nodes: [a] }, cluster: { name: b, nodes: [b] }, "
		    "'redis://c' ]\n");
	ck_assert_str_eq(conf->masters[1].cluster.name, "b");
	conf_free(conf);
}
END_TEST

START_TEST(a_cluster_that_makes_no_sense_is_told_where)
{
	bad("masters: [ { cluster: {} } ]\n",
		"f.yml:1:23: masters: cluster without nodes; it needs the hosts and ports of some, such as");
	bad("masters: [ { cluster: { nodes: [a, A:6379] } } ]\n",
		"f.yml:1:32: masters: nodes 1 and 2 are the same; name each once");
	bad("masters: [ { cluster: { nodes: [a] }, database: 1 } ]\n",
		"f.yml:1:49: masters: database means nothing beside cluster, which has one; leave it out");
	bad("masters: [ { cluster: { nodes: [a] }, url: 'redis://h' } ]\n",
		"f.yml:1:12: masters: an item with more than one of url, sentinel and cluster; allowed: one");
	bad("masters: [ cluster: { nodes: [a] }, cluster: { nodes: [b] }, 'redis://c' ]\n",
		"f.yml:1:37: masters: the same server as item 1; each has to be one of its own");
	bad("masters: [ cluster: { nodes: [a, b] }, cluster: { name: d, nodes: [b] }, 'redis://c' ]\n",
		"f.yml:1:40: masters: the same server as item 1; each has to be one of its own");
	bad("namespace: '{a}'\n", "f.yml:1:12: namespace: ");
}
END_TEST

#define CLUSTERED "masters: [ cluster: { nodes: [a] } ]\nrules: [ { match: b, "

START_TEST(behind_a_cluster_all_keys_have_its_tag)
{
	conf_free(good(CLUSTERED "key: '{holdfast}%' } ]\n"));
	conf_free(good(CLUSTERED "key: '{holdfast}/%', interop: string } ]\n"));
	conf_free(good(CLUSTERED "lease: 1s } ]\n"));
	bad(CLUSTERED "key: '%' } ]\n",
		"f.yml:2:27: rules: key: with a cluster among the masters it begins with the tag");
	bad(CLUSTERED "key: '{holdfas}%' } ]\n", "f.yml:2:27: rules: key: with a cluster among the masters");
	bad(CLUSTERED "key: '{holdfast' } ]\n", "f.yml:2:");
	/* One of these could be that of a lease. */
	bad(CLUSTERED "key: '{holdfast}:%' } ]\n",
		"f.yml:2:27: rules: key: with a cluster among the masters");
	bad(CLUSTERED "interop: redisson } ]\n",
		"f.yml:2:31: rules: the keys of that library are not in one slot");
	bad(CLUSTERED "interop: python-redis-lock } ]\n",
		"f.yml:2:31: rules: the keys of that library are not in one");
}
END_TEST

START_TEST(a_sentinel_that_makes_no_sense_is_told_where)
{
	bad("masters: [ { sentinel: { sentinels: [a] } } ]\n",
		"f.yml:1:24: masters: sentinel without name; it needs the one that the sentinels know");
	bad("masters: [ { sentinel: { name: m } } ]\n",
		"f.yml:1:24: masters: sentinel without sentinels; it needs their hosts and ports, such as");
	bad("masters: [ { sentinel: { name: m, sentinels: [] } } ]\n",
		"f.yml:1:24: masters: sentinel without sentinels;");
	bad("masters: [ { sentinel: { name: m, sentinels: a } } ]\n",
		"f.yml:1:46: masters[0].sentinel.sentinels: a single value; allowed: a list of hosts");
	bad("masters: [ { sentinel: { name: m, sentinels: [a, b:x, c] } } ]\n",
		"f.yml:1:50: masters[0].sentinel.sentinels: \"b:x\" is no host and port; allowed: a list of");
	bad("masters: [ { sentinel: { name: m, sentinels: [a, [b]] } } ]\n",
		"f.yml:1:50: masters[0].sentinel.sentinels: a list; allowed: a list of");
	bad("masters: [ { sentinel: { name: m, sentinels: [a, A:26379] } } ]\n",
		"f.yml:1:46: masters: sentinels 1 and 2 are the same; name each once");
	bad("masters: [ { sentinel: { name: m, sentinels: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17] } } "
	    "]\n",
		"f.yml:1:86: masters[0].sentinel.sentinels: \"17\" is one too many");
	bad("masters: [ { sentinel: { nam: m, sentinels: [a] } } ]\n",
		"f.yml:1:26: masters[].sentinel: unknown key \"nam\"; did you mean "
		"\"masters[].sentinel.name\"?");
	bad("masters: [ { sentinel: m } ]\n", "f.yml:1:24: sentinel: a single value; allowed: a mapping");
	bad("masters: [ { url: 'redis://h', sentinel: { name: m, sentinels: [a] } } ]\n",
		"f.yml:1:12: masters: an item with more than one of url, sentinel and cluster; allowed: one");
	bad("masters: [ { user: u } ]\n", "f.yml:1:12: masters: an item without url, sentinel or cluster");
	bad("masters: [ { url: 'redis://h', user: u } ]\n", "f.yml:1:38: masters: user and database are part "
							    "of the url: redis://user@host:port/database");
	bad("masters: [ { sentinel: { name: m, sentinels: [a], password-env: A, password-file: /a } } ]\n",
		"f.yml:1:24: masters: more than one password of the sentinels; give");
	bad("masters: [ { sentinel: { name: m, sentinels: [a], password-env: NO_SUCH_VARIABLE } } ]\n",
		"f.yml:1:65: masters: password-env: NO_SUCH_VARIABLE is not set in the environment");
}
END_TEST

START_TEST(no_master_is_named_twice)
{
	conf_free(good("masters: [ 'redis://a', 'redis://a:6380', 'unix:///a' ]\n"));
	bad("masters: [ 'redis://a', 'redis://b', 'redis://A:6379/3' ]\n",
		"f.yml:1:38: masters: the same server as item 1; each has to be one of its own: name "
		"another, "
		"or leave it out");
	bad("masters: [ 'unix:///a', 'redis://b', { url: 'unix:///a?db=2' } ]\n",
		"f.yml:1:45: masters: the same server as item 1");
	bad("masters:\n"
	    "  - sentinel: { name: m, sentinels: [a, b] }\n"
	    "  - sentinel: { name: n, sentinels: [a, b] }\n"
	    "  - sentinel: { name: m, sentinels: [c, b] }\n",
		"f.yml:4:5: masters: the same server as item 1");
}
END_TEST

START_TEST(a_master_may_speak_tls)
{
	struct conf *conf = good("masters: [ 'rediss://u:p@h' ]\n");
	ck_assert(conf->masters[0].url.tls);
	ck_assert_str_eq(conf->masters[0].url.address.host, "h");
	ck_assert_int_eq(conf->masters[0].url.address.port, 6379);
	ck_assert(!conf_tls_on(&conf->masters[0].tls));
	conf_free(conf);
	conf = good("masters: [ { url: 'rediss://h', tls: { ca: /c.pem, certificate: /a.pem, key: /a.key, "
		    "name: n } } ]\n");
	ck_assert_str_eq(conf->masters[0].tls.ca, "/c.pem");
	ck_assert_str_eq(conf->masters[0].tls.certificate, "/a.pem");
	ck_assert_str_eq(conf->masters[0].tls.key, "/a.key");
	ck_assert_str_eq(conf->masters[0].tls.name, "n");
	conf_free(conf);
	conf = good("masters: [ { sentinel: { name: m, sentinels: [a], tls: { ca: system } }, tls: { ca: /c "
		    "} } ]\n");
	ck_assert_str_eq(conf->masters[0].sentinel.tls.ca, "system");
	ck_assert_str_eq(conf->masters[0].tls.ca, "/c");
	conf_free(conf);
}
END_TEST

START_TEST(tls_that_makes_no_sense_is_told_where)
{
	bad("masters: [ { url: 'redis://h', tls: { ca: system } } ]\n",
		"f.yml:1:37: masters: tls means nothing beside this url; write rediss://host:port");
	bad("masters: [ { url: 'unix:///s', tls: { ca: system } } ]\n",
		"f.yml:1:37: masters: tls means nothing beside this url");
	bad("masters: [ { url: 'rediss://h', tls: {} } ]\n",
		"f.yml:1:38: masters: tls: nothing is below it; write ca:");
	bad("masters: [ { url: 'rediss://h', tls: { key: /k } } ]\n",
		"f.yml:1:38: masters: tls: key without certificate; give both");
	bad("masters: [ { url: 'rediss://h', tls: { certificate: /k } } ]\n",
		"f.yml:1:38: masters: tls: certificate without key; give both");
	bad("masters: [ { url: 'rediss://h', tls: { ca: mine } } ]\n",
		"f.yml:1:44: masters[0].tls.ca: \"mine\" is neither; allowed: system or an absolute path");
	bad("masters: [ { sentinel: { name: m, sentinels: [a], tls: {} } } ]\n",
		"f.yml:1:56: masters: tls: nothing is below it");
	bad("listen: [ { unix: /s, tls: { certificate: /c, key: /k } } ]\n",
		"f.yml:1:28: listen: tls means nothing for a Unix socket; leave it out");
	bad("listen: [ { tcp: '127.0.0.1:1', tls: {} } ]\n",
		"f.yml:1:38: listen: tls without certificate and key");
	bad("listen: [ { tcp: '127.0.0.1:1', tls: { certificate: /c } } ]\n",
		"f.yml:1:38: listen: tls: certificate without key; give both");
	bad("listen: [ { tcp: '127.0.0.1:1', tls: { certificate: /c, key: /k, client-login: yes } } ]\n",
		"f.yml:1:38: listen: tls: client-login needs client-ca");
	bad("listen: [ { tcp: '127.0.0.1:1', tls: { certificate: /c, key: /k, client-crl: /r } } ]\n",
		"f.yml:1:38: listen: tls: client-crl needs client-ca");
	bad("listen: [ { tcp: '0.0.0.0:1', tls: { certificate: /c, key: /k } } ]\n",
		"f.yml:1:18: listen: 0.0.0.0:1 is open to other hosts");
	conf_free(
		good("listen: [ { tcp: '0.0.0.0:1', tls: { certificate: /c, key: /k, client-ca: /a } } ]\n"));
}
END_TEST

START_TEST(no_error_repeats_a_password)
{
	static const char *const texts[] = {"masters: [ 'redis://u:hunter2@h:99999/0' ]\n",
		"masters: [ 'rediss://u:hunter2@h:x' ]\n", "masters: 'redis://u:hunter2@h'\n",
		"masters: [ 'redis://u:hunter2%@h' ]\n", "masters: [ 'redis://u:hunter2' ]\n",
		"masters: [ 'redis://u:hunter2@a', 'redis://u:hunter2@b' ]\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_ptr_null(parse(texts[i]));
		for (size_t j = 0; j < errors.count; j++)
			ck_assert_msg(strstr(errors.text[j], "hunter2") == NULL, "%s", errors.text[j]);
	}
}
END_TEST

/* A file in a directory of our own; its name in *path. */
static void
file_write(const char *directory, const char *text, size_t n, char path[256])
{
	int fd;

	snprintf(path, 256, "%s/secret", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, n), (ssize_t)n);
	close(fd);
}

START_TEST(a_password_comes_from_one_place)
{
	char directory[] = "/tmp/check_conf.XXXXXX";
	char path[256];
	char text[512];
	struct conf *conf;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	file_write(directory, "hunter2\r\nmore\n", 14, path);
	snprintf(text, sizeof(text), "masters: [ { url: 'redis://h', password-file: %s } ]\n", path);
	conf = good(text);
	ck_assert_str_eq(conf->masters[0].password, "hunter2");
	conf_free(conf);
	file_write(directory, "\n", 1, path);
	bad(text, "f.yml:1:47: masters: password-file: ");
	file_write(directory, "a\0b\n", 4, path);
	bad(text, "f.yml:1:47: masters: password-file: ");
	unlink(path);
	bad(text, "f.yml:1:47: masters: password-file: ");
	ck_assert_ptr_nonnull(strstr(errors.text[0], "cannot be read: No such file"));
	rmdir(directory);
	snprintf(text, sizeof(text), "masters: [ { url: 'redis://h', password-file: /dev/null } ]\n");
	bad(text, "f.yml:1:47: masters: password-file: /dev/null cannot be read: not a regular file");
	bad("masters: [ { url: 'redis://h', password-env: CHECK_CONF_UNSET } ]\n",
		"f.yml:1:46: masters: password-env: CHECK_CONF_UNSET is not set in the environment");
	bad("masters: [ { url: 'redis://:p@h', password-env: PATH } ]\n",
		"f.yml:1:12: masters: more than one");
	setenv("CHECK_CONF_SECRET", "s", 1);
	setenv("HOLDFAST_MASTER_PASSWORD", "general", 1);
	conf = good("masters: [ { url: 'redis://h', password-env: CHECK_CONF_SECRET } ]\n");
	ck_assert_str_eq(conf->masters[0].password, "s");
	conf_free(conf);
	conf = good("masters: [ 'redis://h' ]\n");
	ck_assert_str_eq(conf->masters[0].password, "general");
	conf_free(conf);
}
END_TEST

static void
a_user_has_rights_for_names(void)
{
	struct conf *conf = good("users:\n"
				 "  - { name: a, unix-user: 1000 }\n"
				 "  - { name: b, unix-group: 50, names: [ 'x/*', y ], may: [ see, break ] }\n"
				 "  - { name: c, unix-user: '*', may: [] }\n"
				 "  - { name: d, unix-user: root, may: [ admin ] }\n");
	const struct conf_user *users = conf->users;

	ck_assert_int_eq(users[0].uid, 1000);
	ck_assert_int_eq(users[0].gid, CONF_ID_NONE);
	ck_assert_uint_eq(users[0].may, CONF_MAY_LOCK | CONF_MAY_SEE);
	ck_assert_uint_eq(users[0].names.count, 0);
	ck_assert_int_eq(users[1].uid, CONF_ID_NONE);
	ck_assert_int_eq(users[1].gid, 50);
	ck_assert_uint_eq(users[1].may, CONF_MAY_SEE | CONF_MAY_BREAK);
	ck_assert_uint_eq(users[1].names.count, 2);
	ck_assert_str_eq(users[1].names.list[1], "y");
	ck_assert_int_eq(users[2].uid, CONF_ID_ANY);
	ck_assert_uint_eq(users[2].may, 0);
	ck_assert_int_eq(users[3].uid, 0);
	ck_assert_uint_eq(users[3].may, CONF_MAY_ADMIN);
	conf_free(conf);
	bad("users: [ { name: a, unix-user: no.such.user } ]\n",
		"f.yml:1:32: users: unix-user: there is no user \"no.such.user\" on this host");
	bad("users: [ { name: a, unix-group: no.such.group } ]\n",
		"f.yml:1:33: users: unix-group: there is no group \"no.such.group\" on this host");
	bad("users: [ { name: a, unix-user: 1, names: [] } ]\n",
		"f.yml:1:42: users: names: none; leave names: out");
	bad("users: [ { name: a, unix-user: 1, names: [ '[' ] } ]\n",
		"f.yml:1:44: users[0].names: \"[\" has a '[' without its ']'; allowed: a list of globs");
	bad("users: [ { name: a, unix-user: 1, names: [ x ], may: [ admin ] } ]\n",
		"f.yml:1:42: users: names: an administrator may do everything with all names");
	bad("users: [ { name: a, unix-user: 1, names: x } ]\n",
		"f.yml:1:42: users[0].names: a single value; allowed: a list of globs without spaces");
	bad("users: [ { name: a, unix-user: 1, may: [ read ] } ]\n",
		"f.yml:1:42: users[0].may: \"read\" is unknown; allowed: a list of lock, shared, see, break "
		"and "
		"admin");
}

static void
a_password_may_be_a_hash(void)
{
	static const char hash[] = "$5$rounds=1000$abcdefgh$wUW2y1DAqIYqSBBEJ8FUcQV6rPGR2vCLvNjvM4L2Cq/";
	struct conf *conf = good("users:\n"
				 "  - { name: a, password-hash: '$5$rounds=1000$abcdefgh$x' }\n"
				 "  - { name: b, password-hash: '*' }\n"
				 "  - { name: c, password-env: CHECK_CONF_SECRET }\n");

	ck_assert(conf->users[0].hashed);
	ck_assert_str_eq(conf->users[0].password, "$5$rounds=1000$abcdefgh$x");
	ck_assert_str_eq(conf->users[0].password_hash, "");
	ck_assert(conf->users[1].hashed);
	ck_assert(!conf->users[2].hashed);
	conf_free(conf);
	setenv("CHECK_CONF_SECRET", hash, 1);
	conf = good("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n");
	ck_assert(conf->users[0].hashed);
	ck_assert_str_eq(conf->users[0].password, hash);
	conf_free(conf);
	/* It only looks like one. */
	setenv("CHECK_CONF_SECRET", "$money$", 1);
	conf = good("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n");
	ck_assert(!conf->users[0].hashed);
	conf_free(conf);
	setenv("CHECK_CONF_SECRET", "s", 1);
	bad("users: [ { name: a, password-hash: secret } ]\n",
		"f.yml:1:36: users: password-hash: no hash that crypt(5) knows");
	bad("users: [ { name: a, password-env: CHECK_CONF_SECRET, password-hash: '*' } ]\n",
		"f.yml:1:10: users: more than one password; give password-file, password-env or "
		"password-hash");
}

START_TEST(a_user_may_have_two_passwords)
{
	char most[2 * 514 + 8];
	struct conf *conf;

	setenv("CHECK_CONF_SECRET", "old\r\n$5$rounds=1000$abcdefgh$x\n", 1);
	conf = good("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n");
	ck_assert_str_eq(conf->users[0].password, "old\n$5$rounds=1000$abcdefgh$x");
	ck_assert_uint_eq(conf->users[0].hashed, 2);
	conf_free(conf);
	memset(most, 'x', sizeof(most));
	memcpy(most + 512, "\r\ny", 3);
	memcpy(most + 512 + 2 + 512, "\r\n", 3);
	setenv("CHECK_CONF_SECRET", most, 1);
	conf = good("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n");
	ck_assert_uint_eq(strlen(conf->users[0].password), 512 + 1 + 512);
	conf_free(conf);
	memcpy(most + 512 + 2 + 512, "x", 2);
	setenv("CHECK_CONF_SECRET", most, 1);
	bad("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n",
		"f.yml:1:35: users: password-env: CHECK_CONF_SECRET holds a password of more than 512 bytes");
	static const char *const wrong[][2] = {{"", "holds no password"}, {"\n", "has an empty line"},
		{"a\n\n", "has an empty line"}, {"a\n\nb\n", "has an empty line"},
		{"a\nb\nc", "has more than two lines"}, {"a\na\n", "has the same password in both lines"},
		{"a\r\na", "has the same password in both lines"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char error[128];

		setenv("CHECK_CONF_SECRET", wrong[i][0], 1);
		snprintf(error, sizeof(error), "f.yml:1:35: users: password-env: CHECK_CONF_SECRET %s",
			wrong[i][1]);
		bad("users: [ { name: a, password-env: CHECK_CONF_SECRET } ]\n", error);
	}
}
END_TEST

START_TEST(a_user_has_a_name_and_a_password)
{
	struct conf *conf;

	setenv("CHECK_CONF_SECRET", "s", 1);
	conf = good("users: [ { name: a, password-env: CHECK_CONF_SECRET, admin: yes } ]\n");
	ck_assert_str_eq(conf->users[0].name, "a");
	ck_assert_str_eq(conf->users[0].password, "s");
	ck_assert(conf->users[0].admin);
	conf_free(conf);
	bad("users: [ { name: a } ]\n",
		"f.yml:1:10: users: an item without password-file, password-env, password-hash, unix-user or "
		"unix-group");
	a_user_has_rights_for_names();
	a_password_may_be_a_hash();
	bad("users: [ { password-env: CHECK_CONF_SECRET } ]\n", "f.yml:1:10: users: an item without name");
	bad("users: [ { name: a, password: x } ]\n",
		"f.yml:1:21: users[]: unknown key \"password\"; did you mean \"users[].password-");
	bad("users:\n  - { name: a, password-env: CHECK_CONF_SECRET }\n  - { name: a, password-env: "
	    "CHECK_CONF_SECRET }\n",
		"f.yml:3:13: users: the same name as item 1");
}
END_TEST

START_TEST(a_file_that_cannot_be_read_says_why)
{
	ck_assert_ptr_null(conf_load("/nonexistent/holdfast.yml", true, &errors));
	ck_assert_str_eq(
		errors.text[0], "/nonexistent/holdfast.yml: cannot be read: No such file or directory");
	ck_assert_ptr_null(conf_load("/", true, &errors));
	ck_assert_str_eq(errors.text[0], "/: cannot be read: Is a directory");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("conf");
	TCase *tcase = tcase_create("conf");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, environment_clear, NULL);
	tcase_add_test(tcase, an_empty_file_means_the_defaults);
	tcase_add_test(tcase, a_user_s_own_daemon_lives_in_the_runtime_directory);
	tcase_add_test(tcase, the_ledger_is_in_the_runtime_directory_or_beside_the_first_unix_socket);
	tcase_add_test(tcase, every_key_reaches_its_field);
	tcase_add_test(tcase, lists_and_mappings_may_be_left_empty);
	tcase_add_test(tcase, durations_and_sizes_need_their_unit);
	tcase_add_test(tcase, a_number_with_a_unit_may_have_a_fraction);
	tcase_add_test(tcase, an_empty_list_of_masters_is_no_private_one);
	tcase_add_test(tcase, locks_of_other_libraries_have_their_keys);
	tcase_add_test(tcase, keys_that_cannot_be_locked_are_refused);
	tcase_add_test(tcase, the_nearest_key_is_suggested);
	tcase_add_test(tcase, all_errors_of_a_file_are_told_up_to_a_bound);
	tcase_add_test(tcase, a_value_of_the_wrong_shape_is_refused);
	tcase_add_test(tcase, yaml_that_hides_what_it_says_is_refused);
	tcase_add_test(tcase, a_nul_byte_and_a_huge_file_are_refused);
	tcase_add_test(tcase, names_keys_and_paths_are_checked);
	tcase_add_test(tcase, a_listener_is_one_socket);
	tcase_add_test(tcase, a_group_is_one_of_this_host_or_a_number);
	tcase_add_test(tcase, an_address_open_to_others_needs_users_or_a_word);
	tcase_add_test(tcase, http_open_to_others_needs_a_word_whatever_users_there_are);
	tcase_add_test(tcase, a_master_is_a_url);
	tcase_add_test(tcase, masters_are_one_or_an_odd_number);
	tcase_add_test(tcase, no_master_is_named_twice);
	tcase_add_test(tcase, a_master_may_be_named_by_its_sentinels);
	tcase_add_test(tcase, a_sentinel_that_makes_no_sense_is_told_where);
	tcase_add_test(tcase, a_master_may_be_a_cluster);
	tcase_add_test(tcase, a_cluster_that_makes_no_sense_is_told_where);
	tcase_add_test(tcase, behind_a_cluster_all_keys_have_its_tag);
	tcase_add_test(tcase, a_master_may_speak_tls);
	tcase_add_test(tcase, tls_that_makes_no_sense_is_told_where);
	tcase_add_test(tcase, no_error_repeats_a_password);
	tcase_add_test(tcase, a_password_comes_from_one_place);
	tcase_add_test(tcase, a_user_has_a_name_and_a_password);
	tcase_add_test(tcase, a_user_may_have_two_passwords);
	tcase_add_test(tcase, a_file_that_cannot_be_read_says_why);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
