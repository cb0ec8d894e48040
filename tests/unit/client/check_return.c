/*
 * Tests of client/session: how a client comes back to its session. The daemon is this process: it listens on
 * a Unix socket, and answers what the test says. Time is what the test says, too.
 */
#include "client/wire/session.h"

#include "client/wire/address.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW     1000
#define WELCOME "%1\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n"

struct scene {
	struct address a;
	struct wire wire;
	struct session session;
	int listener; /* -1: no daemon */
	int daemon;   /* its end of the connection */
};

static struct tempdir folder;

static void
setup(void)
{
	tempdir_init(&folder);
}

static void
teardown(void)
{
	tempdir_done(&folder);
}

static void
daemon_start(struct scene *t)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	memcpy(at.sun_path, t->a.path, sizeof(at.sun_path));
	(void)unlink(t->a.path);
	t->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert(t->listener >= 0);
	ck_assert_int_eq(bind(t->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(t->listener, 4), 0);
}

static void
daemon_accept(struct scene *t)
{
	t->daemon = accept(t->listener, NULL, NULL);
	ck_assert(t->daemon >= 0);
}

static void
daemon_say(const struct scene *t, const char *text)
{
	ck_assert_int_eq(send(t->daemon, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Everything that was sent has this in it. */
static void
daemon_hears(const struct scene *t, const char *word)
{
	static char text[4096];
	ssize_t n = recv(t->daemon, text, sizeof(text) - 1, 0);

	ck_assert(n > 0);
	text[n] = '\0';
	ck_assert_msg(strstr(text, word) != NULL, "%s is not in %s", word, text);
}

/* A session that was there, and whose daemon has just gone. */
static void
scene_open(struct scene *t, const char *secret)
{
	char why[ADDRESS_TEXT_MAX];
	char path[sizeof(t->a.path)];

	memset(t, 0, sizeof(*t));
	(void)snprintf(path, sizeof(path), "%s/s", folder.path);
	ck_assert(address_parse(&t->a, path, why));
	daemon_start(t);
	ck_assert(wire_open(&t->wire, &t->a));
	daemon_accept(t);
	session_start(&t->session, &t->wire, &t->a, "test", secret, true);
	ck_assert_int_eq(session_next(&t->session), INT64_MAX);
	(void)close(t->daemon);
	(void)close(t->listener);
	ck_assert(!wire_fill(&t->wire));
	session_cut(&t->session, NOW);
}

/* Until the next connection has answered HELLO; returns the time. */
static int64_t
scene_hello(struct scene *t)
{
	int64_t now = session_next(&t->session);

	daemon_start(t);
	ck_assert_int_eq(session_turn(&t->session, false, now), SESSION_NOTHING);
	ck_assert_int_eq(t->session.state, SESSION_CONNECTING);
	daemon_accept(t);
	ck_assert_int_eq(session_turn(&t->session, true, now), SESSION_NOTHING);
	ck_assert_int_eq(t->session.state, SESSION_HELLO);
	return now;
}

static void
scene_close(struct scene *t)
{
	(void)close(t->daemon);
	(void)close(t->listener);
	wire_close(&t->wire);
}

START_TEST(a_daemon_that_is_gone_is_tried_less_and_less_often)
{
	static const int64_t pauses[] = {10, 20, 40, 80, 160, 250, 250};
	struct scene t;
	int64_t now = NOW;
	struct pollfd p;

	scene_open(&t, "secret");
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		ck_assert_int_eq(session_next(&t.session), now + pauses[i]);
		session_watch(&t.session, &p);
		ck_assert_int_eq(p.fd, -1);
		ck_assert_int_eq(session_turn(&t.session, false, now + pauses[i] - 1), SESSION_NOTHING);
		ck_assert_int_eq(session_next(&t.session), now + pauses[i]);
		now += pauses[i];
		ck_assert_int_eq(session_turn(&t.session, false, now), SESSION_NOTHING);
		ck_assert_int_eq(t.session.state, SESSION_AWAY);
	}
	wire_close(&t.wire);
}
END_TEST

START_TEST(a_session_that_is_known_is_joined)
{
	struct scene t;
	struct pollfd p;
	int64_t now;

	scene_open(&t, "secret");
	now = scene_hello(&t);
	session_watch(&t.session, &p);
	ck_assert_int_eq(p.fd, t.wire.fd);
	ck_assert_int_eq(p.events, POLLIN);
	daemon_hears(&t, "JOIN\r\n$6\r\nsecret");
	daemon_say(&t, WELCOME);
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_NOTHING);
	daemon_say(&t, ":1\r\n+OK");
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_NOTHING);
	daemon_say(&t, "\r\n");
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_BACK);
	ck_assert_int_eq(t.session.state, SESSION_THERE);
	/* The next cut begins with short pauses again. */
	session_cut(&t.session, now);
	ck_assert_int_eq(session_next(&t.session), now + SESSION_PAUSE_MIN);
	scene_close(&t);
}
END_TEST

START_TEST(a_session_of_one_connection_is_resumed)
{
	struct scene t;

	scene_open(&t, "secret");
	t.session.alone = true;
	(void)scene_hello(&t);
	daemon_hears(&t, "RESUME\r\n$6\r\nsecret");
	scene_close(&t);
}
END_TEST

START_TEST(a_daemon_that_refuses_is_quoted)
{
	struct scene t;
	int64_t now;

	scene_open(&t, "secret");
	ck_assert_int_eq(t.session.refused, CODE_COUNT);
	now = scene_hello(&t);
	daemon_say(&t, "-WRONGPASS user or password is wrong\r\n");
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_NOTHING);
	ck_assert_int_eq(t.session.refused, CODE_WRONGPASS);
	ck_assert_str_eq(t.wire.why, "user or password is wrong");
	/* The next attempt is another one. */
	(void)close(t.daemon);
	(void)close(t.listener);
	t.daemon = t.listener = -1;
	ck_assert_int_eq(session_turn(&t.session, false, session_next(&t.session)), SESSION_NOTHING);
	ck_assert_int_eq(t.session.refused, CODE_COUNT);
	scene_close(&t);
}
END_TEST

START_TEST(a_session_that_is_unknown_is_told_apart)
{
	struct scene t;
	int64_t now;

	scene_open(&t, "secret");
	now = scene_hello(&t);
	daemon_say(&t, WELCOME "-ERR no session has this secret: it may have ended\r\n+OK\r\n");
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_UNKNOWN);
	scene_close(&t);
}
END_TEST

START_TEST(without_a_secret_a_session_of_its_own_will_do)
{
	struct scene t;
	int64_t now;

	scene_open(&t, "");
	t.session.pushes = false;
	now = scene_hello(&t);
	daemon_say(&t, WELCOME);
	ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_BACK);
	scene_close(&t);
}
END_TEST

START_TEST(a_daemon_that_does_not_serve_is_tried_again)
{
	static const char *const answers[] = {"-LIMIT clients: too many\r\n", "-DRAINING it ends\r\n",
		WELCOME "-DRAINING it ends\r\n+OK\r\n", "nonsense\r\n", ""};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct scene t;
		int64_t now;

		scene_open(&t, "secret");
		now = scene_hello(&t);
		daemon_say(&t, answers[i]);
		(void)close(t.daemon);
		while (t.session.state == SESSION_HELLO) {
			ck_assert_int_eq(session_turn(&t.session, true, now), SESSION_NOTHING);
		}
		ck_assert_int_eq(t.session.state, SESSION_AWAY);
		/* Still the second attempt, since the first one never got that far. */
		ck_assert_int_eq(session_next(&t.session), now + 2 * SESSION_PAUSE_MIN);
		t.daemon = -1;
		scene_close(&t);
	}
}
END_TEST

START_TEST(a_daemon_that_says_nothing_is_left)
{
	struct scene t;
	int64_t now;

	scene_open(&t, "secret");
	now = scene_hello(&t);
	ck_assert_int_eq(session_next(&t.session), now + SESSION_HELLO_MS);
	ck_assert_int_eq(session_turn(&t.session, false, now + SESSION_HELLO_MS), SESSION_NOTHING);
	ck_assert_int_eq(t.session.state, SESSION_AWAY);
	scene_close(&t);
}
END_TEST

START_TEST(goodbye_is_said_and_waited_for)
{
	struct scene t;
	char byte;

	scene_open(&t, "");
	(void)scene_hello(&t);
	daemon_hears(&t, "HELLO");
	daemon_say(&t, "+OK\r\n");
	wire_goodbye(&t.wire);
	daemon_hears(&t, "QUIT");
	ck_assert_int_eq(recv(t.daemon, &byte, 1, 0), 0);
	scene_close(&t);
}
END_TEST

START_TEST(a_signal_says_goodbye_and_ends_the_process)
{
	struct scene t;
	char byte;
	int status;
	pid_t pid;

	scene_open(&t, "");
	(void)scene_hello(&t);
	daemon_hears(&t, "HELLO");
	pid = fork();
	ck_assert(pid >= 0);
	if (pid == 0) {
		(void)close(t.daemon);
		(void)signal(SIGTERM, SIG_DFL);
		(void)signal(SIGHUP, SIG_IGN);
		wire_guard(&t.wire);
		(void)raise(SIGHUP);
		(void)raise(SIGTERM);
		(void)wire_wait(&t.wire, INT64_MAX);
		_exit(1);
	}
	wire_close(&t.wire);
	daemon_hears(&t, "QUIT");
	ck_assert_int_eq(recv(t.daemon, &byte, 1, 0), 0);
	(void)close(t.daemon);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	(void)close(t.listener);
}
END_TEST

START_TEST(a_guard_leaves_the_mask_as_it_was)
{
	struct scene t;
	sigset_t before, after, other;

	(void)signal(SIGTERM, SIG_DFL);
	(void)sigemptyset(&other);
	(void)sigaddset(&other, SIGUSR1);
	(void)sigprocmask(SIG_SETMASK, &other, NULL);
	scene_open(&t, "");
	(void)scene_hello(&t);
	(void)sigprocmask(SIG_BLOCK, NULL, &before);
	wire_guard(&t.wire);
	(void)sigprocmask(SIG_BLOCK, NULL, &after);
	ck_assert_int_eq(sigismember(&after, SIGTERM), 1);
	wire_unguard(&t.wire, NULL);
	(void)sigprocmask(SIG_BLOCK, NULL, &after);
	for (int number = 1; number < 32; number++) {
		ck_assert_int_eq(sigismember(&after, number), sigismember(&before, number));
	}
	wire_guard(&t.wire);
	(void)sigprocmask(SIG_BLOCK, NULL, &other);
	wire_unguard(&t.wire, &other);
	ck_assert_int_eq(sigismember(&other, SIGTERM), 0);
	ck_assert_int_eq(sigismember(&other, SIGUSR1), 1);
	scene_close(&t);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("return", setup, teardown, a_daemon_that_is_gone_is_tried_less_and_less_often,
		a_session_that_is_known_is_joined, a_session_of_one_connection_is_resumed,
		a_daemon_that_refuses_is_quoted, a_session_that_is_unknown_is_told_apart,
		without_a_secret_a_session_of_its_own_will_do, a_daemon_that_does_not_serve_is_tried_again,
		a_daemon_that_says_nothing_is_left, goodbye_is_said_and_waited_for,
		a_signal_says_goodbye_and_ends_the_process, a_guard_leaves_the_mask_as_it_was);
}
