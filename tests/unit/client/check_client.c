/*
 * The client's parts that need no daemon: options, addresses, completions, and the manual that has
 * to know them all.
 */
#include "client/completion.h"
#include "client/help.h"
#include "client/message.h"
#include "client/options.h"
#include "client/wire/address.h"
#include "client/wire/wire.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 16

/* Splits at spaces; the words live until the next call. */
static int
words(char **argv, const char *line)
{
	static char copy[4096];
	int argc = 0;

	ck_assert_uint_lt(strlen(line), sizeof(copy));
	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word != NULL && argc < ARGS_MAX; word = strtok(NULL, " ")) {
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

static struct options
parsed(const char *line)
{
	static char *argv[ARGS_MAX + 1];
	char why[OPTIONS_TEXT_MAX] = "";
	struct options o;

	ck_assert_msg(options_parse(&o, words(argv, line), argv, why), "%s: %s", line, why);
	return o;
}

/* The complaint about a line that has to be refused; lives until the next call. */
static const char *
refused(const char *line)
{
	static char why[OPTIONS_TEXT_MAX];
	char *argv[ARGS_MAX + 1];
	struct options o;

	why[0] = '\0';
	ck_assert_msg(!options_parse(&o, words(argv, line), argv, why), "%s was taken", line);
	return why;
}

START_TEST(run_takes_options_before_and_after_the_name_and_leaves_the_command_alone)
{
	struct options o = parsed("holdfast run -w 5 deploy -q -- sh -c -n");

	ck_assert_int_eq(o.task, TASK_RUN);
	ck_assert_str_eq(o.name, "deploy");
	ck_assert_int_eq(o.wait_ms, 5000);
	ck_assert(o.quiet);
	ck_assert(!o.nonblock);
	ck_assert_str_eq(o.command[0], "sh");
	ck_assert_str_eq(o.command[2], "-n");
	ck_assert_ptr_null(o.command[3]);
}
END_TEST

START_TEST(the_two_dashes_before_a_command_may_be_left_out)
{
	struct options o = parsed("holdfast run deploy make -j4 -- x");

	ck_assert_str_eq(o.command[0], "make");
	ck_assert_str_eq(o.command[1], "-j4");
	ck_assert_str_eq(o.command[2], "--");
}
END_TEST

START_TEST(a_name_that_looks_like_an_option_follows_two_dashes)
{
	struct options o = parsed("holdfast run -- -odd true");

	ck_assert_str_eq(o.name, "-odd");
	ck_assert_str_eq(o.command[0], "true");
	ck_assert_str_eq(parsed("holdfast lock -- -odd").name, "-odd");
}
END_TEST

START_TEST(options_may_stand_before_the_verb)
{
	struct options o = parsed("holdfast -q -w 5 --why ls run -n a true");

	ck_assert_int_eq(o.task, TASK_RUN);
	ck_assert_str_eq(o.why, "ls");
	ck_assert_str_eq(o.name, "a");
	ck_assert(o.quiet && o.nonblock);
	ck_assert_int_eq(parsed("holdfast -nS /a lock run").task, TASK_LOCK);
	ck_assert_str_eq(parsed("holdfast --socket=/a ping").socket, "/a");
	ck_assert_int_eq(parsed("holdfast -c 3 bench").clients, 3);
	o = parsed("holdfast -q -- run -n a -- true");
	ck_assert(o.quiet && o.nonblock);
	ck_assert_str_eq(o.name, "a");
	ck_assert_str_eq(o.command[0], "true");
}
END_TEST

START_TEST(a_line_for_the_shell_takes_the_place_of_the_command)
{
	struct options o = parsed("holdfast run a -c true");

	ck_assert_str_eq(o.shell, "true");
	ck_assert_ptr_null(o.command[0]);
	ck_assert_str_eq(parsed("holdfast run --command=true a").shell, "true");
}
END_TEST

START_TEST(days_and_fractions_are_times)
{
	ck_assert_int_eq(parsed("holdfast lock -w 1.5d a").wait_ms, 129600000);
	ck_assert_int_eq(parsed("holdfast lock -w 0.5h a").wait_ms, 1800000);
	ck_assert_int_eq(parsed("holdfast lock -w 365d a").wait_ms, OPTION_SECONDS_MAX);
	/* As the packages count it. */
	ck_assert_int_eq(parsed("holdfast lock -w 366d a").wait_ms, OPTION_SECONDS_MAX);
	ck_assert_int_eq(parsed("holdfast lock -w 99999999999999999999d a").wait_ms, OPTION_SECONDS_MAX);
}
END_TEST

START_TEST(values_stand_behind_a_letter_a_space_or_an_equals_sign)
{
	ck_assert_int_eq(parsed("holdfast lock -w5 a").wait_ms, 5000);
	ck_assert_int_eq(parsed("holdfast lock -w 0.25 a").wait_ms, 250);
	ck_assert_int_eq(parsed("holdfast lock --timeout=2m a").wait_ms, 120000);
	ck_assert_int_eq(parsed("holdfast lock --timeout 1h a").wait_ms, 3600000);
	ck_assert_int_eq(parsed("holdfast lock -qE 3 a").busy_status, 3);
	ck_assert_int_eq(parsed("holdfast lock x --pid 4711").pid, 4711);
}
END_TEST

START_TEST(absent_options_have_the_documented_values)
{
	struct options o = parsed("holdfast run a true");

	ck_assert_int_eq(o.wait_ms, -1);
	ck_assert_int_eq(o.busy_status, 75);
	ck_assert_int_eq(o.lease_ms, 0);
	ck_assert_int_eq(o.master_wait_ms, 30000);
	ck_assert_int_eq(o.kill_after_ms, 5000);
	ck_assert_int_eq(o.on_lost.way, LOSS_TERM);
	ck_assert_int_eq(o.pid, 0);
	ck_assert_int_eq(o.token, 0);
}
END_TEST

START_TEST(not_waiting_is_a_wait_of_zero)
{
	ck_assert_int_eq(parsed("holdfast run -n a true").wait_ms, 0);
	ck_assert_int_eq(parsed("holdfast run -n -w 5 a true").wait_ms, 0);
}
END_TEST

START_TEST(flocks_letters_are_taken)
{
	struct options o = parsed("holdfast run -eFn -w 5 -o -E 1 a true");

	ck_assert_int_eq(o.task, TASK_RUN);
	ck_assert(o.exclusive && o.no_fork && o.nonblock && o.close);
	ck_assert_int_eq(o.busy_status, 1);
	ck_assert(parsed("holdfast -e lock a").exclusive);
	o = parsed("holdfast run -u a");
	ck_assert_int_eq(o.task, TASK_UNLOCK);
	ck_assert_str_eq(o.name, "a");
	ck_assert_int_eq(parsed("holdfast run a --unlock").task, TASK_UNLOCK);
}
END_TEST

START_TEST(a_short_wait_is_not_rounded_to_none)
{
	ck_assert_int_eq(parsed("holdfast lock -w 0.0001 a").wait_ms, 1);
}
END_TEST

START_TEST(what_to_do_on_loss_has_four_ways)
{
	ck_assert_int_eq(parsed("holdfast run --on-lost kill a true").on_lost.way, LOSS_KILL);
	ck_assert_int_eq(parsed("holdfast run --on-lost warn a true").on_lost.way, LOSS_WARN);
	ck_assert_int_eq(parsed("holdfast run --on-lost term a true").on_lost.way, LOSS_TERM);
	ck_assert_int_eq(parsed("holdfast run --on-lost signal:USR1 a true").on_lost.signal, SIGUSR1);
	ck_assert_int_eq(parsed("holdfast run --on-lost signal:SIGHUP a true").on_lost.signal, SIGHUP);
	ck_assert_int_eq(parsed("holdfast run --on-lost signal:10 a true").on_lost.signal, 10);
	for (int number = 1; number < NSIG; number++) {
		char line[64];

		if (sigabbrev_np(number) == NULL)
			continue;
		snprintf(line, sizeof(line), "holdfast run --on-lost signal:%s a true", sigabbrev_np(number));
		ck_assert_int_eq(parsed(line).on_lost.signal, number);
	}
}
END_TEST

static const struct {
	const char *line;
	const char *says;
} bad_lines[] = {
	{"holdfast", "a verb is missing"},
	{"holdfast frobnicate", "frobnicate: there is no such verb; holdfast --help"},
	{"holdfast lokc a", "lokc: there is no such verb; did you mean lock?"},
	{"holdfast sess", "sess: there is no such verb; did you mean sessions?"},
	{"holdfast release a", "release: there is no such verb; did you mean unlock?"},
	{"holdfast list", "list: there is no such verb; did you mean ls?"},
	{"holdfast run", "holdfast run needs NAME"},
	{"holdfast run deploy", "the command to run is missing"},
	{"holdfast run deploy --", "the command to run is missing"},
	{"holdfast lock", "holdfast lock needs NAME"},
	{"holdfast lock a b", "b: one argument too many"},
	{"holdfast sessions a", "a: one argument too many"},
	{"holdfast masters now", "masters now: status, replace OLD NEW, add NEW NEW or abort is allowed"},
	{"holdfast masters replace a:1", "masters replace takes OLD NEW"},
	{"holdfast masters add a:1", "masters add takes NEW NEW"},
	{"holdfast masters abort a:1", "masters abort takes no argument"},
	{"holdfast masters remove a:1", "the set shrinks only while all daemons are stopped"},
	{"holdfast masters add a:1 b:2 c:3", "c:3: one argument too many"},
	{"holdfast lock --frob a", "--frob: there is no such option"},
	{"holdfast lock -Z a", "-Z: there is no such option"},
	{"holdfast ls -n", "--nonblock is not an option of holdfast ls"},
	{"holdfast lock --noblock a", "--noblock: there is no such option; did you mean --nonblock?"},
	{"holdfast run --wait 5 a true", "--wait: there is no such option; did you mean --timeout?"},
	{"holdfast run --nowait a true", "--nowait: there is no such option; did you mean --nonblock?"},
	{"holdfast ls --wait 5", "--wait: there is no such option; holdfast --help lists them"},
	{"holdfast --tiemout 5 run a true", "--tiemout: there is no such option; did you mean --timeout?"},
	{"holdfast -Z 5 run a true", "-Z: there is no such option"},
	{"holdfast ls --lease a", "--lease is not an option of holdfast ls"},
	{"holdfast -n ls", "--nonblock is not an option of holdfast ls"},
	{"holdfast -w 5", "a verb is missing"},
	{"holdfast run -c true a true", "--command LINE or COMMAND is allowed, not both"},
	{"holdfast run -u a true", "no command is allowed (true)"},
	{"holdfast run -u -c true a", "no command is allowed (true)"},
	{"holdfast run -e -s a true", "exclude each other"},
	{"holdfast lock -u a", "--unlock is not an option of holdfast lock"},
	{"holdfast lock -c true a", "--command is not an option of holdfast lock"},
	{"holdfast lock -w", "--timeout needs a value: SECS"},
	{"holdfast lock a --why", "--why needs a value: TEXT"},
	{"holdfast lock --quiet=1 a", "--quiet takes no value"},
	{"holdfast lock -w soon a", "--timeout soon: a time from 0 to 31536000 seconds"},
	{"holdfast lock -w 1e3 a", "--timeout 1e3"},
	{"holdfast lock -w 0x10 a", "--timeout 0x10"},
	{"holdfast lock -w -1 a", "--timeout -1"},
	{"holdfast lock -w inf a", "--timeout inf"},
	{"holdfast lock -w 1y a", "--timeout 1y"},
	{"holdfast lock -t 366d a", "--lease 366d"},
	{"holdfast lock -t 99999999999999999999999 a", "--lease 999"},
	{"holdfast lock -E 256 a", "--conflict-exit-code 256: a number from 0 to 255"},
	{"holdfast lock -t 0 a", "--lease 0: a time from 0.001 to 31536000 seconds"},
	{"holdfast run --max-run 0 a true", "--max-run 0: a time from 0.001 to 31536000 seconds"},
	{"holdfast lock --pid 0 a", "--pid 0"},
	{"holdfast run --on-lost cry a true", "--on-lost cry: term, kill, warn or signal:NAME"},
	{"holdfast run --on-lost signal:NONE a true", "--on-lost signal:NONE"},
	{"holdfast break a", "holdfast show a prints the token"},
	{"holdfast break a --token 0", "--token 0"},
};

START_TEST(a_wrong_line_is_refused_and_told_why)
{
	const char *why = refused(bad_lines[_i].line);

	ck_assert_msg(strstr(why, bad_lines[_i].says) != NULL, "%s: \"%s\" does not say \"%s\"",
		bad_lines[_i].line, why, bad_lines[_i].says);
}
END_TEST

START_TEST(a_long_wrong_word_does_not_overflow_the_complaint)
{
	char line[2000] = "holdfast lock --";

	memset(line + strlen(line), 'x', 1900 - strlen(line));
	ck_assert_uint_lt(strlen(refused(line)), OPTIONS_TEXT_MAX);
}
END_TEST

START_TEST(help_and_version_need_no_verb_and_no_name)
{
	ck_assert(parsed("holdfast --help").help);
	ck_assert(parsed("holdfast -V").version);
	ck_assert(parsed("holdfast run --help").help);
	ck_assert_int_eq(parsed("holdfast run --help").task, TASK_RUN);
}
END_TEST

/* --- addresses --- */

static struct address
address(const char *url)
{
	char why[ADDRESS_TEXT_MAX] = "";
	struct address a;

	ck_assert_msg(address_parse(&a, url, why), "%s: %s", url, why);
	return a;
}

START_TEST(a_path_is_a_unix_socket)
{
	ck_assert_str_eq(address("/run/a.sock").path, "/run/a.sock");
	ck_assert_str_eq(address("./a.sock").path, "./a.sock");
	ck_assert_str_eq(address("unix:/a").path, "/a");
	ck_assert_str_eq(address("unix:///a/b").path, "/a/b");
	ck_assert(!address("/a").tcp);
}
END_TEST

START_TEST(host_and_port_are_tcp)
{
	struct address a = address("db1:7000");

	ck_assert(a.tcp);
	ck_assert_str_eq(a.host, "db1");
	ck_assert_str_eq(a.port, "7000");
	ck_assert_str_eq(address("tcp://db1").port, ADDRESS_PORT);
	ck_assert_str_eq(address("tcp://[::1]:7").host, "::1");
	ck_assert_str_eq(address("[::1]").host, "::1");
	ck_assert_str_eq(address("[::1]").text, "tcp://[::1]:" ADDRESS_PORT);
}
END_TEST

START_TEST(a_redis_url_may_carry_a_login)
{
	struct address a = address("redis://deploy:p%40ss:w@rd@db1:7000/0");

	ck_assert_str_eq(a.user, "deploy");
	ck_assert_str_eq(a.password, "p@ss:w@rd");
	ck_assert_str_eq(a.host, "db1");
	ck_assert_str_eq(a.text, "tcp://db1:7000");
	ck_assert_str_eq(address("redis://:secret@db1").password, "secret");
	ck_assert_str_eq(address("redis://:secret@db1").user, "");
}
END_TEST

static const char *const bad_urls[] = {"", "localhost", "unix:", "http://a", "rediss://a:1/1",
	"tls://a:1?ca=", "tls://a:1?x=1", "tls://a:1?key=/k", "tls://a?ca=%zz", "tcp://a:1?ca=/c", "tcp://",
	"tcp://:1", "a:0", "a:65536", "a:x", "a:", "tcp://[::1", "tcp://[::1]x", "redis://a:1/1",
	"redis://user@a:1", "redis://u:%zz@a:1", "redis://u:%00@a:1"};

START_TEST(an_address_may_speak_tls)
{
	struct address a = address("tls://h:1?ca=/c%20a.pem&name=n.example");
	ck_assert(a.tls && a.tcp);
	ck_assert_str_eq(a.host, "h");
	ck_assert_str_eq(a.port, "1");
	ck_assert_str_eq(a.ca, "/c a.pem");
	ck_assert_str_eq(a.name, "n.example");
	ck_assert_str_eq(a.text, "tls://h:1?ca=/c%20a.pem&name=n.example");
	a = address("rediss://u:p%3f@[::1]/0?certificate=/c&key=/k");
	ck_assert_str_eq(a.user, "u");
	ck_assert_str_eq(a.password, "p?");
	ck_assert_str_eq(a.port, "5625");
	ck_assert_str_eq(a.certificate, "/c");
	ck_assert_str_eq(a.key, "/k");
	ck_assert_str_eq(a.text, "tls://[::1]:5625?certificate=/c&key=/k");
	ck_assert(!address("tcp://h:1").tls);
}
END_TEST

START_TEST(a_wrong_address_is_refused_and_told_why)
{
	char why[ADDRESS_TEXT_MAX] = "";
	struct address a;

	ck_assert_msg(!address_parse(&a, bad_urls[_i], why), "%s was taken", bad_urls[_i]);
	ck_assert_uint_gt(strlen(why), 10);
}
END_TEST

START_TEST(a_path_longer_than_a_socket_address_is_refused)
{
	char why[ADDRESS_TEXT_MAX];
	char path[300] = "/";
	struct address a;

	memset(path + 1, 'x', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	ck_assert(!address_parse(&a, path, why));
	ck_assert_ptr_nonnull(strstr(why, "107"));
}
END_TEST

START_TEST(a_complaint_never_repeats_a_password)
{
	char why[ADDRESS_TEXT_MAX];
	struct address a;

	ck_assert(!address_choose(&a, NULL, "redis://u:hunter2@a:1/7", NULL, why));
	ck_assert_ptr_null(strstr(why, "hunter2"));
	ck_assert(!address_choose(&a, NULL, "hunter2@a:1:2", NULL, why));
	ck_assert_ptr_null(strstr(why, "hunter2"));
	ck_assert(!address_choose(&a, NULL, "hunter2@a", NULL, why));
	ck_assert_ptr_null(strstr(why, "hunter2"));
}
END_TEST

START_TEST(a_path_without_its_beginning_is_named)
{
	char why[ADDRESS_TEXT_MAX];
	struct address a;

	ck_assert(!address_choose(&a, NULL, "run/holdfast.sock", NULL, why));
	ck_assert_str_eq(why,
		"HOLDFAST_URL: 'run/holdfast.sock' is neither a path, which begins with / or ., nor "
		"unix:PATH, host:port or a URL");
}
END_TEST

START_TEST(a_password_on_the_command_line_is_refused)
{
	char why[ADDRESS_TEXT_MAX];
	struct address a;

	ck_assert(!address_choose(&a, "redis://u:p@a:1", NULL, NULL, why));
	ck_assert_ptr_nonnull(strstr(why, "HOLDFAST_URL"));
	ck_assert(address_choose(&a, NULL, "redis://u:p@a:1", NULL, why));
}
END_TEST

START_TEST(the_option_comes_before_the_environment_and_that_before_the_default)
{
	char why[ADDRESS_TEXT_MAX];
	struct address a;

	ck_assert(address_choose(&a, "/one", "/two", "/three", why));
	ck_assert_str_eq(a.path, "/one");
	ck_assert(address_choose(&a, NULL, "/two", "/three", why));
	ck_assert_str_eq(a.path, "/two");
	ck_assert(address_choose(&a, NULL, "", "/nowhere", why));
	ck_assert_str_eq(a.path, "/run/holdfast/holdfast.sock");
}
END_TEST

/* --- texts --- */

static char *
printed(void (*print)(FILE *out, const void *arg), const void *arg)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(out);
	print(out, arg);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static char *
file_text(const char *path)
{
	char *text = NULL;
	size_t room = 0;
	FILE *in = fopen(path, "r");

	ck_assert_msg(in != NULL, "%s: run the tests from the top of the tree", path);
	ck_assert(getdelim(&text, &room, '\0', in) > 0);
	(void)fclose(in);
	return text;
}

static void
print_help(FILE *out, const void *task)
{
	help_print(out, *(const enum task *)task);
}

static void
print_completion(FILE *out, const void *shell)
{
	ck_assert(completion_print(out, shell));
}

START_TEST(help_lists_every_verb_and_exit_code)
{
	enum task none = TASK_COUNT;
	char *text = printed(print_help, &none);

	for (unsigned i = 0; i < TASK_COUNT; i++) {
		ck_assert_ptr_nonnull(strstr(text, options_task((enum task)i)->summary));
	}
	for (const struct status_entry *s = status_list(); s->meaning != NULL; s++) {
		ck_assert_ptr_nonnull(strstr(text, s->meaning));
	}
	free(text);
}
END_TEST

START_TEST(help_of_a_verb_says_all_that_the_table_does)
{
	enum task task = (enum task)_i;
	char *text = printed(print_help, &task);

	for (char *at = strchr(text, '\n'); at != NULL; at = strchr(at, '\n'))
		*at = ' ';
	ck_assert_ptr_nonnull(strstr(text, options_task(task)->about));
	free(text);
}
END_TEST

START_TEST(help_of_a_verb_lists_its_options_and_no_others)
{
	enum task task = (enum task)_i;
	char *text = printed(print_help, &task);

	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		char word[64];

		(void)snprintf(word, sizeof(word), "--%s", e->word);
		ck_assert_msg(
			(strstr(text, e->help) != NULL) == ((e->tasks & (1u << task)) != 0), "%s", word);
	}
	free(text);
}
END_TEST

static const char *const shells[][2] = {{"bash", "--"}, {"zsh", "--"}, {"fish", "-l "}};

START_TEST(a_completion_has_each_verb_and_option)
{
	char *text = printed(print_completion, shells[_i][0]);

	for (unsigned i = 0; i < TASK_COUNT; i++)
		ck_assert_ptr_nonnull(strstr(text, options_task((enum task)i)->word));
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		char word[WORD_BYTES_MAX + 4];

		(void)snprintf(word, sizeof(word), "%s%s", shells[_i][1], e->word);
		ck_assert_msg(strstr(text, word) != NULL, "%s", word);
	}
	free(text);
}
END_TEST

START_TEST(there_is_no_completion_for_other_shells)
{
	ck_assert(!completion_print(stderr, "tcsh"));
}
END_TEST

/* Hyphens are written \- in a manual. */
static void
manual_word(char *out, size_t room, const char *word)
{
	size_t n = 0;

	for (; *word != '\0' && n + 3 < room; word++) {
		if (*word == '-') {
			out[n++] = '\\';
		}
		out[n++] = *word;
	}
	out[n] = '\0';
}

START_TEST(the_manual_knows_every_verb_option_and_exit_code)
{
	const char *build = getenv("HOLDFAST_BUILD");
	char path[4096];
	char *text;
	char word[128];
	char line[160];

	(void)snprintf(path, sizeof(path), "%s/man/holdfast.1", build != NULL ? build : "build");
	text = file_text(path);

	for (unsigned i = 0; i < TASK_COUNT; i++) {
		(void)snprintf(line, sizeof(line), ".It Cm %s", options_task((enum task)i)->word);
		ck_assert_msg(strstr(text, line) != NULL, "the manual has no line \"%s\"", line);
	}
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		manual_word(word, sizeof(word), e->word);
		(void)snprintf(line, sizeof(line), "Fl \\-%s", word);
		ck_assert_msg(strstr(text, line) != NULL, "the manual does not have \"%s\"", line);
	}
	for (const struct status_entry *s = status_list(); s->meaning != NULL; s++) {
		(void)snprintf(line, sizeof(line), ".It %d\n", s->number);
		ck_assert_msg(strstr(text, line) != NULL, "the manual has no exit code %d", s->number);
	}
	free(text);
}
END_TEST

START_TEST(every_error_code_becomes_an_exit_code_of_the_table)
{
	for (unsigned code = 0; code <= CODE_COUNT; code++) {
		int status = status_of_code((enum code)code);
		const struct status_entry *s = status_list();

		while (s->meaning != NULL && s->number != status) {
			s++;
		}
		ck_assert_msg(s->meaning != NULL && status != 0, "code %u becomes %d", code, status);
	}
	ck_assert_int_eq(status_of_code(CODE_UPGRADE), 64);
	ck_assert_int_eq(status_of_code(CODE_NOMASTER), 69);
	ck_assert_int_eq(status_of_code(CODE_LOST), 76);
	ck_assert_int_eq(status_of_code(CODE_NOPERM), 77);
}
END_TEST

static TCase *
options_case(void)
{
	TCase *tc = tcase_create("options");

	tcase_add_test(tc, run_takes_options_before_and_after_the_name_and_leaves_the_command_alone);
	tcase_add_test(tc, the_two_dashes_before_a_command_may_be_left_out);
	tcase_add_test(tc, a_name_that_looks_like_an_option_follows_two_dashes);
	tcase_add_test(tc, options_may_stand_before_the_verb);
	tcase_add_test(tc, a_line_for_the_shell_takes_the_place_of_the_command);
	tcase_add_test(tc, days_and_fractions_are_times);
	tcase_add_test(tc, values_stand_behind_a_letter_a_space_or_an_equals_sign);
	tcase_add_test(tc, absent_options_have_the_documented_values);
	tcase_add_test(tc, not_waiting_is_a_wait_of_zero);
	tcase_add_test(tc, flocks_letters_are_taken);
	tcase_add_test(tc, a_short_wait_is_not_rounded_to_none);
	tcase_add_test(tc, what_to_do_on_loss_has_four_ways);
	tcase_add_loop_test(
		tc, a_wrong_line_is_refused_and_told_why, 0, sizeof(bad_lines) / sizeof(bad_lines[0]));
	tcase_add_test(tc, a_long_wrong_word_does_not_overflow_the_complaint);
	tcase_add_test(tc, help_and_version_need_no_verb_and_no_name);
	return tc;
}

static TCase *
address_case(void)
{
	TCase *tc = tcase_create("address");

	tcase_add_test(tc, a_path_is_a_unix_socket);
	tcase_add_test(tc, host_and_port_are_tcp);
	tcase_add_test(tc, a_redis_url_may_carry_a_login);
	tcase_add_loop_test(
		tc, a_wrong_address_is_refused_and_told_why, 0, sizeof(bad_urls) / sizeof(bad_urls[0]));
	tcase_add_test(tc, an_address_may_speak_tls);
	tcase_add_test(tc, a_path_longer_than_a_socket_address_is_refused);
	tcase_add_test(tc, a_complaint_never_repeats_a_password);
	tcase_add_test(tc, a_path_without_its_beginning_is_named);
	tcase_add_test(tc, a_password_on_the_command_line_is_refused);
	tcase_add_test(tc, the_option_comes_before_the_environment_and_that_before_the_default);
	return tc;
}

static TCase *
texts_case(void)
{
	TCase *tc = tcase_create("texts");

	tcase_add_test(tc, help_lists_every_verb_and_exit_code);
	tcase_add_loop_test(tc, help_of_a_verb_says_all_that_the_table_does, 0, TASK_COUNT);
	tcase_add_loop_test(tc, help_of_a_verb_lists_its_options_and_no_others, 0, TASK_COUNT);
	tcase_add_loop_test(tc, a_completion_has_each_verb_and_option, 0, 3);
	tcase_add_test(tc, there_is_no_completion_for_other_shells);
	tcase_add_test(tc, the_manual_knows_every_verb_option_and_exit_code);
	tcase_add_test(tc, every_error_code_becomes_an_exit_code_of_the_table);
	return tc;
}

int
main(void)
{
	Suite *suite = suite_create("client");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, options_case());
	suite_add_tcase(suite, address_case());
	suite_add_tcase(suite, texts_case());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
