/*
 * Tests of the whole daemon but main: what each verb answers, byte for byte where proto/BYTES.md says so.
 */
#include "daemon/base/clock.h"
#include "daemon/driver_context.h"
#include "daemon/driver_ledger.h"
#include "daemon/handover.h"
#include "proto/glob.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

START_TEST(a_lock_is_taken_checked_and_given_back)
{
	int fd = rig_client();
	rig_ask_line(fd, "LOCK a", ":1");
	rig_ask_line(fd, "CHECK a", ":");
	rig_ask(fd, "LOCK a", "-HELD ");
	rig_hear_line(fd);
	rig_ask(fd, "UNLOCK a", ":0\r\n");
	rig_ask(fd, "CHECK a", "$-1\r\n");
	rig_ask_line(fd, "UNLOCK a", "-NOTHELD ");
	close(fd);
}
END_TEST

START_TEST(a_lock_passes_on_when_its_holder_dies)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a", ":1");
	rig_say(second, "LOCK a\r\nCHECK a\r\n");
	rig_sync_all();
	close(first);
	ck_assert_int_eq(rig_hear_line(second)[0], ':');
	ck_assert_int_eq(rig_hear_line(second)[0], ':');
	close(second);
}
END_TEST

START_TEST(an_end_of_file_makes_a_wait_give_up)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a", ":1");
	rig_say(second, "LOCK a\r\nLOCK b\r\nLOCK a\r\n");
	shutdown(second, SHUT_WR);
	ck_assert_str_eq(rig_hear_line(second), "$-1\r\n");
	ck_assert_int_eq(rig_hear_line(second)[0], ':');
	ck_assert_str_eq(rig_hear_line(second), "$-1\r\n");
	ck_assert_str_eq(rig_hear(second, 0), "");
	close(first);
	close(second);
}
END_TEST

/* The request and the reset are one arrival, and nothing is written to this client while it waits. */
START_TEST(a_reset_that_came_with_a_lock_ends_its_wait)
{
	int holder = rig_client(), waiter = rig_client_tcp();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(waiter, "PING\r\n");
	rig_sync_all();
	rig_say(waiter, "LOCK a WAIT 60000\r\n");
	close(waiter); /* a reset: it has not read its answer */
	for (int64_t until_ms = clock_ms() + 10000; rig.stats.clients_connected > 1;) {
		ck_assert_int_lt(clock_ms(), until_ms);
		driver_turn(rig.driver);
	}
	close(holder);
}
END_TEST

START_TEST(what_libraries_send_is_answered_as_redis_does)
{
	int fd = rig_client();
	rig_ask(fd, "PING", "+PONG\r\n");
	rig_ask(fd, "PING hi", "$2\r\nhi\r\n");
	rig_ask(fd, "ECHO hi", "$2\r\nhi\r\n");
	rig_ask(fd, "SELECT 0", "+OK\r\n");
	rig_ask_line(fd, "SELECT 1", "-ERR DB index is out of range");
	rig_ask(fd, "CLIENT ID", ":1\r\n");
	rig_ask(fd, "CLIENT GETNAME", "$-1\r\n");
	rig_ask(fd, "CLIENT SETNAME me", "+OK\r\n");
	rig_ask(fd, "CLIENT GETNAME", "$2\r\nme\r\n");
	rig_ask(fd, "CLIENT SETINFO LIB-NAME x", "+OK\r\n");
	rig_ask(fd, "CLIENT SETINFO lib-ver 1", "+OK\r\n");
	rig_ask(fd, "CLIENT TRACKING ON OPTIN", "+OK\r\n");
	rig_ask(fd, "CLIENT TRACKING OFF", "+OK\r\n");
	rig_ask_line(fd, "CLIENT TRACKING MAYBE", "-ERR CLIENT TRACKING takes ON or OFF, not 'MAYBE'");
	rig_ask(fd, "CONFIG GET save", "*0\r\n");
	rig_ask_line(fd, "CLIENT PAUSE", "-ERR unknown subcommand 'PAUSE'");
	rig_ask_line(fd, "SET a 1", "-ERR unknown command 'SET'");
	rig_ask_line(fd, "COMMAND COUNT", ":");
	ck_assert_ptr_nonnull(strstr(rig_ask_bulk(fd, "CLIENT INFO"), "id=1 addr=unix name=me "));
	ck_assert_ptr_nonnull(strstr(rig.heard, " lib-name=x lib-ver=1 cmd=client|info "));
	rig_ask_line(fd, "AUTH x", "-ERR AUTH");
	rig_ask(fd, "QUIT", "+OK\r\n");
	ck_assert_str_eq(rig_hear(fd, 0), "");
	close(fd);
}
END_TEST

START_TEST(hello_switches_the_protocol_and_back)
{
	int fd = rig_client();
	rig_ask(fd, "HELLO 3 SETNAME me",
		"%7\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n$7\r\nversion\r\n$5\r\n9.8.7\r\n$5\r\nproto\r\n:"
		"3\r\n"
		"$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
		"$7\r\nmodules\r\n*0\r\n");
	rig_ask(fd, "CHECK a", "_\r\n");
	rig_ask(fd, "CONFIG GET save", "%0\r\n");
	rig_ask(fd, "CLIENT GETNAME", "$2\r\nme\r\n");
	rig_ask_line(fd, "HELLO 4", "-NOPROTO ");
	rig_ask(fd, "HELLO 2", "*14\r\n");
	rig_hear_until(fd, "modules\r\n*0\r\n");
	close(fd);
	fd = rig_client();
	rig_ask_line(fd, "LOCK a ASYNC j", "-ERR ");
	rig_ask_line(fd, "SESSION ONLOSS PUSH", "-ERR ");
	close(fd);
}
END_TEST

START_TEST(an_asynchronous_lock_is_pushed)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a", ":1");
	rig_hello3(second);
	rig_ask(second, "LOCK a ASYNC j1", "+QUEUED\r\n");
	rig_ask(second, "LOCK a WAIT 1 OWNER x ASYNC j2", "+QUEUED\r\n");
	ck_assert_str_eq(rig_hear(second, 33), ">4\r\n$6\r\nfailed\r\n$2\r\nj2\r\n_\r\n$0\r\n\r\n");
	rig_ask(second, "PING", "+PONG\r\n");
	rig_ask(first, "UNLOCK a", ":0\r\n");
	ck_assert_str_eq(rig_hear(second, 23), ">3\r\n$5\r\ngrant\r\n$2\r\nj1\r\n");
	ck_assert_int_eq(rig_hear_line(second)[0], ':');
	close(first);
	close(second);
}
END_TEST

START_TEST(an_end_of_file_waits_for_the_pushes_that_are_due)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a", ":1");
	rig_hello3(second);
	rig_ask(second, "LOCK a ASYNC j1", "+QUEUED\r\n");
	rig_ask(second, "LOCK a OWNER x ASYNC j2", "+QUEUED\r\n");
	rig_ask(second, "CANCEL j2", ":1\r\n");
	rig_say(second, "LOCK b ASYNC j3\r\nPING\r\n");
	shutdown(second, SHUT_WR);
	/* In no promised order. */
	const char *all = rig_hear(second, 0);
	ck_assert_ptr_nonnull(strstr(all, ">4\r\n$6\r\nfailed\r\n$2\r\nj1\r\n_\r\n$0\r\n\r\n"));
	ck_assert_ptr_nonnull(strstr(all, "+QUEUED\r\n"));
	ck_assert_ptr_nonnull(strstr(all, ">3\r\n$5\r\ngrant\r\n$2\r\nj3\r\n:1"));
	ck_assert_ptr_nonnull(strstr(all, "+PONG\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(reset_ends_the_session_and_begins_another)
{
	int fd = rig_client(), other = rig_client();
	rig_ask(fd, "SESSION ID", ":1\r\n");
	rig_ask(other, "PING", "+PONG\r\n");
	rig_ask(fd, "CLIENT SETNAME me", "+OK\r\n");
	rig_hello3(fd);
	rig_ask_line(fd, "LOCK a", ":1");
	rig_ask(fd, "EVENTS", "+OK\r\n");
	rig_ask(fd, "RESET", "+RESET\r\n");
	rig_ask(fd, "CHECK a", "$-1\r\n");
	rig_ask(fd, "CLIENT GETNAME", "$-1\r\n");
	rig_ask(fd, "SESSION ID", ":3\r\n");
	rig_ask(fd, "CLIENT ID", ":3\r\n");
	rig_ask_line(other, "LOCK a WAIT 0", ":");
	rig_ask(fd, "PING", "+PONG\r\n");
	close(fd);
	close(other);
}
END_TEST

START_TEST(events_come_as_lines_or_pushes)
{
	int plain = rig_client(), pushed = rig_client(), some = rig_client(), actor = rig_client();
	rig_ask_line(actor, "LOCK the-master-is-in-use", ":1");
	rig_ask(plain, "EVENTS", "+OK\r\n");
	rig_hello3(pushed);
	rig_ask(pushed, "EVENTS", "+OK\r\n");
	rig_ask(some, "EVENTS MATCH b*", "+OK\r\n");
	rig_ask_line(actor, "LOCK a", ":1");
	ck_assert_ptr_eq(strstr(rig_hear_line(plain), "+lease.acquired name=a "), rig.heard);
	ck_assert_ptr_eq(strstr(rig_hear_line(plain), "+lock.granted name=a session=4 token="), rig.heard);
	ck_assert_ptr_nonnull(strstr(rig.heard, " at_ms="));
	ck_assert_str_eq(rig_hear(pushed, 15), ">2\r\n$5\r\nevent\r\n");
	rig_ask_line(plain, "LOCK b", "-ERR ");
	rig_ask(plain, "PING", "+PONG\r\n");
	rig_ask_line(actor, "LOCK b", ":1");
	ck_assert_ptr_eq(strstr(rig_hear_line(some), "+lease.acquired name=b "), rig.heard);
	close(plain);
	rig_ask(actor, "UNLOCK a", ":0\r\n");
	rig_ask(actor, "UNLOCK b", ":0\r\n");
	close(pushed);
	close(some);
	close(actor);
}
END_TEST

START_TEST(a_watcher_that_does_not_read_is_cut)
{
	int watcher = rig_client(), actor = rig_client();
	rig_ask(watcher, "EVENTS", "+OK\r\n");
	for (int i = 0; i < 20000 && rig.stats.client_output_closed == 0; i++) {
		rig_ask_line(actor, "LOCK a", ":");
		rig_ask(actor, "UNLOCK a", ":0\r\n");
	}
	ck_assert_int_eq(rig.stats.client_output_closed, 1);
	ck_assert_ptr_nonnull(strstr(rig_ask_bulk(actor, "INFO clients"), "event_streams:0"));
	close(watcher);
	close(actor);
}
END_TEST

START_TEST(inspect_shows_holder_and_waiters)
{
	int first = rig_client(), second = rig_client();
	rig_ask(first, "CLIENT SETNAME one", "+OK\r\n");
	rig_ask_line(first, "LOCK a WHY \"some work\" OWNER t", ":1");
	rig_say(second, "LOCK a WHY patience\r\n");
	rig_sync_all();
	rig_ask(first, "INSPECT a",
		"*42\r\n$4\r\nname\r\n$1\r\na\r\n$4\r\nkind\r\n$9\r\nexclusive\r\n$5\r\nlimit\r\n:0\r\n$"
		"5\r\ntaken\r\n:0\r\n$5\r\nstate\r\n$"
		"4\r\nheld\r\n");
	const char *rest = rig_hear_until(first, "patience\r\n");
	ck_assert_ptr_nonnull(
		strstr(rest, "$6\r\nholder\r\n*28\r\n$7\r\nsession\r\n:1\r\n$6\r\nclient\r\n$3\r\none\r\n"));
	ck_assert_ptr_nonnull(strstr(rest, "$3\r\nwhy\r\n$9\r\nsome work\r\n"));
	ck_assert_ptr_nonnull(strstr(rest, "$7\r\nwaiters\r\n*1\r\n*24\r\n$8\r\nposition\r\n:1\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(inspect_shows_every_reader)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a SHARED OWNER one", ":1");
	rig_ask_line(first, "LOCK a SHARED OWNER two", ":1");
	rig_say(second, "LOCK a WHY patience\r\n");
	rig_sync_all();
	rig_ask(first, "INSPECT a", "*42\r\n$4\r\nname\r\n$1\r\na\r\n$4\r\nkind\r\n$6\r\nshared\r\n");
	const char *rest = rig_hear_until(first, "patience\r\n");
	const char *one = strstr(rest, "$5\r\nowner\r\n$3\r\none\r\n");
	const char *all = strstr(rest, "$7\r\nholders\r\n*2\r\n*28\r\n$7\r\nsession\r\n:1\r\n");
	ck_assert(one != NULL && all != NULL && one < all);
	ck_assert_ptr_nonnull(strstr(all, "$5\r\nowner\r\n$3\r\none\r\n"));
	ck_assert_ptr_nonnull(strstr(
		all, "$4\r\nkind\r\n$6\r\nshared\r\n$7\r\npermits\r\n:0\r\n$5\r\nowner\r\n$3\r\ntwo\r\n"));
	ck_assert_ptr_nonnull(
		strstr(all, "$4\r\nkind\r\n$9\r\nexclusive\r\n$7\r\npermits\r\n:0\r\n$5\r\nowner\r\n$0\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(inspect_shows_how_many_permits_are_taken)
{
	int first = rig_client(), second = rig_client();
	rig_ask_line(first, "LOCK a LIMIT 5 PERMITS 2", ":1");
	rig_ask_line(second, "LOCK a LIMIT 5 PERMITS 3", ":1");
	rig_ask(first, "INSPECT a",
		"*42\r\n$4\r\nname\r\n$1\r\na\r\n$4\r\nkind\r\n$7\r\npermits\r\n$5\r\nlimit\r\n:5\r\n$"
		"5\r\ntaken\r\n:5\r\n");
	const char *rest = rig_hear_until(first, "waiters\r\n*0\r\n");
	const char *two = strstr(rest, "$7\r\nholders\r\n*2\r\n");
	ck_assert_ptr_nonnull(two);
	ck_assert_ptr_nonnull(strstr(two, "$7\r\npermits\r\n:2\r\n"));
	ck_assert_ptr_nonnull(strstr(two, "$7\r\npermits\r\n:3\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(info_tells_each_master)
{
	char expected[256];
	int fd = rig_client();
	rig_ask_line(fd, "LOCK a", ":");
	const char *info = rig_ask_bulk(fd, "INFO masters");
	ck_assert_ptr_nonnull(strstr(info, "masters:1\r\nmasters_usable:1/1\r\nmasters_state:admitted\r\n"));
	snprintf(expected, sizeof expected,
		"master0_address:%s\r\nmaster0_user:\r\nmaster0_state:admitted\r\nmaster0_reason:\r\nmaster0_"
		"guard_ms:0\r\n",
		rig.redis.path);
	ck_assert_ptr_nonnull(strstr(info, expected));
	ck_assert_ptr_nonnull(strstr(info, "master0_links_up:1\r\nmaster0_down:0\r\n"));
	redis_kill(&rig.redis);
	rig_ask_line(fd, "LOCK b WAIT 0", "-NOMASTER the master is not reachable");
	info = rig_ask_bulk(fd, "INFO masters");
	ck_assert_ptr_nonnull(strstr(info, "masters:1\r\nmasters_usable:0/1\r\nmasters_state:away\r\n"));
	ck_assert_ptr_nonnull(strstr(info, "master0_links_up:0\r\n"));
	close(fd);
}
END_TEST

START_TEST(a_name_nobody_knows_is_free)
{
	int fd = rig_client();
	rig_ask(fd, "INSPECT nobody",
		"*42\r\n$4\r\nname\r\n$6\r\nnobody\r\n$4\r\nkind\r\n$9\r\nexclusive\r\n$5\r\nlimit\r\n:0\r\n$"
		"5\r\ntaken\r\n:0\r\n$5\r\nstate\r\n$"
		"4\r\nfree\r\n"
		"$5\r\nlease\r\n$4\r\nnone\r\n$8\r\nlease_ms\r\n:0\r\n$9\r\nelsewhere\r\n$-1\r\n$"
		"8\r\nposition\r\n:0\r\n"
		"$6\r\nwanted\r\n:0\r\n$11\r\ntokens_left\r\n:0\r\n$6\r\nmaster\r\n");
	close(fd);
}
END_TEST

/* Asks for a page of LOCKS or SESSIONS that begins so, up to its first element. Returns the next cursor. */
static const char *
ask_page(int fd, const char *request, const char *elements)
{
	static char cursor[32];
	rig_ask_line(fd, request, "*2\r\n");
	ck_assert_int_eq(*rig_hear_line(fd), '$');
	snprintf(cursor, sizeof cursor, "%s", rig_hear_line(fd));
	cursor[strcspn(cursor, "\r")] = '\0';
	ck_assert_ptr_eq(strstr(rig_hear_line(fd), elements), rig.heard);
	return cursor;
}

START_TEST(locks_are_listed_as_far_as_asked)
{
	int fd = rig_client();
	for (int i = 0; i < 20; i++) {
		char request[64];
		snprintf(request, sizeof request, "LOCK %s%d", i < 10 ? "job/" : "x/", i);
		rig_ask_line(fd, request, ":");
	}
	ck_assert_str_eq(ask_page(fd, "LOCKS", "*20\r\n"), "0");
	close(fd);
	fd = rig_client();
	rig_ask_line(fd, "LOCK job/1", ":");
	rig_ask_line(fd, "LOCK y", ":");
	ck_assert_str_eq(ask_page(fd, "LOCKS MATCH job/*", "*1\r\n"), "0");
	close(fd);
	fd = rig_client();
	for (int i = 0; i < 5; i++) {
		char request[64];
		snprintf(request, sizeof request, "LOCK z%d", i);
		rig_ask_line(fd, request, ":");
	}
	ck_assert_str_ne(ask_page(fd, "LOCKS COUNT 3", "*"), "0");
	ck_assert_int_ge(atoi(rig.heard + 1), 3);
	ck_assert_int_lt(atoi(rig.heard + 1), 5);
	close(fd);
}
END_TEST

START_TEST(info_has_the_fields_libraries_look_for)
{
	int fd = rig_client();
	const char *text = rig_ask_bulk(fd, "INFO");
	static const char *const wanted[] = {"# Server\r\n", "redis_version:7", "redis_mode:standalone",
		"role:master", "loading:0", "connected_clients:1", "# Masters\r\n", "# Stats\r\n",
		"# Commandstats\r\n", "holdfast_version:9.8.7", "maxclients:800"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		ck_assert_msg(strstr(text, wanted[i]) != NULL, "%s is not in %s", wanted[i], text);
	}
	text = rig_ask_bulk(fd, "INFO CLIENTS locks");
	ck_assert_ptr_eq(strstr(text, "# Clients\r\n"), text);
	ck_assert_ptr_nonnull(strstr(text, "\r\n\r\n# Locks\r\n"));
	ck_assert_ptr_null(strstr(text, "# Server"));
	/* StackExchange.Redis and others ask for sections of Redis by themselves. */
	ck_assert_ptr_nonnull(strstr(rig_ask_bulk(fd, "INFO SERVER"), "redis_version:7"));
	ck_assert_ptr_nonnull(strstr(rig_ask_bulk(fd, "INFO Everything"), "# Commandstats\r\n"));
	ck_assert_str_eq(rig_ask_bulk(fd, "INFO persistence"), "");
	/* valkey-glide looks here for a master before it sends anything. */
	ck_assert_str_eq(rig_ask_bulk(fd, "INFO REPLICATION"),
		"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
		"master_failover_state:no-failover\r\nmaster_repl_offset:0\r\nrepl_backlog_active:0\r\n");
	ck_assert_str_eq(rig_ask_line(fd, "INFO server nothing", "-ERR "),
		"-ERR INFO: there is no section 'nothing': Server, Clients, Locks, Masters, Stats, "
		"Replication, Commandstats, Memory, "
		"or all\r\n");
	close(fd);
}
END_TEST

START_TEST(an_admin_may_kill_a_client)
{
	int admin = rig_client(), victim = rig_client(), waiter = rig_client();
	rig_ask(victim, "CLIENT ID", ":2\r\n");
	rig_ask_line(victim, "LOCK short/a", ":1");
	rig_ask(waiter, "LOCK short/a WAIT 0", "$-1\r\n");
	rig_ask(admin, "CLIENT KILL ID 2", ":1\r\n");
	ck_assert_str_eq(rig_hear(victim, 0), "");
	/* It may still be working: its lock is withheld. */
	rig_ask(waiter, "LOCK short/a WAIT 0", "$-1\r\n");
	rig_ask_line(waiter, "LOCK short/a WAIT 20000", ":");
	rig_ask_line(admin, "CLIENT KILL ID 2", "-ERR ");
	rig_ask(admin, "CLIENT KILL ID 1", ":1\r\n");
	ck_assert_str_eq(rig_hear(admin, 0), "");
	close(admin);
	close(victim);
	close(waiter);
}
END_TEST

START_TEST(a_bound_session_lives_as_long_as_its_process)
{
	pid_t pid = rig_child();
	int first = rig_client(), other = rig_client();
	rig_bind(first, pid, ":0\r\n");
	rig_ask_line(first, "LOCK a", ":1");
	close(first);
	rig_ask(other, "LOCK a WAIT 0", "$-1\r\n");
	int second = rig_client();
	rig_bind(second, pid, ":1\r\n");
	rig_ask_line(second, "CHECK a", ":");
	rig_ask(other, "LOCK a WAIT 10", "$-1\r\n");
	rig_say(other, "LOCK a\r\n");
	rig_sync_all();
	kill(pid, SIGKILL);
	ck_assert_int_eq(rig_hear_line(other)[0], ':');
	ck_assert_str_eq(rig_hear(second, 0), "");
	waitpid(pid, NULL, 0);
	close(second);
	close(other);
}
END_TEST

START_TEST(a_binding_without_a_process_is_refused)
{
	int local = rig_client(), tcp = rig_client_tcp();
	rig_ask_line(tcp, "SESSION BIND", "-ERR SESSION BIND is for Unix sockets");
	pid_t first = rig_child(), second = rig_child();
	rig_bind(local, first, ":0\r\n");
	rig_bind(local, second, "-ERR this session is bound to process ");
	rig_hear_line(local);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
	close(local);
	close(tcp);
}
END_TEST

/* The descriptor of a connection that a process of its own has made, which does nothing else. */
static int
connected_by(pid_t *pid)
{
	int pair[2];
	char nothing = 0;
	struct iovec bytes = {.iov_base = &nothing, .iov_len = 1};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	*pid = fork();
	if (*pid == 0) {
		int own = rig_client();
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &own, sizeof(int));
		(void)sendmsg(pair[1], &message, 0);
		close(own);
		for (;;) {
			pause();
		}
	}
	ck_assert_int_eq(recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC), 1);
	int fd = -1;
	const struct cmsghdr *came = CMSG_FIRSTHDR(&message);
	if (came) {
		memcpy(&fd, CMSG_DATA(came), sizeof fd);
	}
	ck_assert_int_ge(fd, 0);
	close(pair[0]);
	close(pair[1]);
	return fd;
}

/* SESSION BIND by the start time of this process. */
static const char *
started_request(pid_t pid)
{
	static char request[64];
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *stat = fopen(path, "r");
	ck_assert_ptr_nonnull(stat);
	size_t n = fread(text, 1, sizeof text - 1, stat);
	fclose(stat);
	text[n] = '\0';
	/* The name in parentheses, the second field, may have spaces. */
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
	}
	ck_assert_ptr_nonnull(at);
	snprintf(request, sizeof request, "SESSION BIND %llu", strtoull(at, NULL, 10));
	return request;
}

START_TEST(without_a_descriptor_the_process_that_connected_is_bound)
{
	pid_t pid;
	int first = connected_by(&pid), other = rig_client();
	rig_ask_line(first, "SESSION BIND", "-ERR no descriptor came with SESSION BIND: pass a pidfd");
	rig_ask(first, started_request(pid), ":0\r\n");
	rig_ask_line(first, "LOCK a", ":1");
	close(first);
	rig_ask(other, "LOCK a WAIT 0", "$-1\r\n");
	int second = rig_client();
	rig_bind(second, pid, ":1\r\n");
	close(second);
	rig_say(other, "LOCK a\r\n");
	rig_sync_all();
	kill(pid, SIGKILL);
	ck_assert_int_eq(rig_hear_line(other)[0], ':');
	waitpid(pid, NULL, 0);
	close(other);
}
END_TEST

START_TEST(a_process_that_began_at_another_time_is_not_bound)
{
	int own = rig_client();
	/* A proxy that has connected answers so. */
	rig_ask_line(
		own, "SESSION BIND 1", "-ERR the process that connected did not begin at tick 1 but at ");
	rig_ask_line(own, "SESSION BIND 0", "-ERR ");
	rig_ask(own, started_request(getpid()), ":0\r\n");
	close(own);
}
END_TEST

START_TEST(a_process_that_connected_and_ended_is_not_bound)
{
	pid_t pid;
	int inherited = connected_by(&pid);
	const char *request = started_request(pid);
	rig_ask(inherited, "PING", "+PONG\r\n");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rig_ask_line(inherited, request, "-ERR the process that connected has ended, or is not visible");
	rig_ask(inherited, "PING", "+PONG\r\n");
	close(inherited);
}
END_TEST

START_TEST(who_a_bound_session_was_is_known_without_a_connection)
{
	pid_t pid = rig_child();
	int first = rig_client(), second = rig_client(), viewer = rig_client();
	rig_bind(first, pid, ":0\r\n");
	rig_bind(second, pid, ":0\r\n");
	rig_ask(first, "CLIENT SETNAME early", "+OK\r\n");
	rig_ask(second, "CLIENT SETNAME late", "+OK\r\n");
	rig_ask_line(second, "LOCK a", ":1");
	close(first);
	close(second);
	rig_sync_all();
	rig_ask_line(viewer, "INSPECT a", "*42");
	ck_assert_ptr_nonnull(
		strstr(rig_hear_until(viewer, "cursor\r\n$1\r\n0\r\n"), "client\r\n$4\r\nlate\r\n"));
	ask_page(viewer, "LOCKS", "*1\r\n");
	ck_assert_ptr_nonnull(
		strstr(rig_hear_until(viewer, "longest_wait_ms\r\n:0\r\n"), "client\r\n$4\r\nlate\r\n"));
	second = rig_client();
	rig_bind(second, pid, ":1\r\n");
	rig_ask(second, "CLIENT SETNAME again", "+OK\r\n");
	rig_ask(second, "RESET", "+RESET\r\n");
	ask_page(viewer, "LOCKS", "*1\r\n");
	ck_assert_ptr_nonnull(
		strstr(rig_hear_until(viewer, "longest_wait_ms\r\n:0\r\n"), "client\r\n$5\r\nagain\r\n"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(second);
	close(viewer);
}
END_TEST

START_TEST(a_session_is_shown_by_the_name_of_its_latest_connection_that_has_one)
{
	int first = rig_client(), second = rig_client(), viewer = rig_client();
	char join[128];
	rig_ask(first, "CLIENT SETNAME early", "+OK\r\n");
	snprintf(join, sizeof join, "SESSION JOIN %s", rig_ask_bulk(first, "SESSION SECRET"));
	rig_ask(second, join, ":0\r\n");
	rig_ask_line(first, "LOCK a", ":1");
	ask_page(viewer, "LOCKS", "*1\r\n");
	ck_assert_ptr_nonnull(
		strstr(rig_hear_until(viewer, "longest_wait_ms\r\n:0\r\n"), "client\r\n$5\r\nearly\r\n"));
	rig_ask(second, "CLIENT SETNAME late", "+OK\r\n");
	ask_page(viewer, "LOCKS", "*1\r\n");
	ck_assert_ptr_nonnull(
		strstr(rig_hear_until(viewer, "longest_wait_ms\r\n:0\r\n"), "client\r\n$4\r\nlate\r\n"));
	close(first);
	close(second);
	close(viewer);
}
END_TEST

START_TEST(a_reload_is_asked_for_by_verb_and_by_signal)
{
	int fd = rig_client();
	rig_ask(fd, "RELOAD", "$8\r\nreloaded\r\n");
	rig.reload_fails = true;
	rig_ask(fd, "RELOAD", "-ERR line 3 is wrong\r\n");
	kill(getpid(), SIGHUP);
	while (rig.reloads < 3) {
		driver_turn(rig.driver);
	}
	rig_ask(fd, "PING", "+PONG\r\n");
	close(fd);
}
END_TEST

/* A process that goes on from a ledger after a crash tells the same clients of the same locks. */
START_TEST(the_record_of_a_private_master_covers_what_is_in_the_ledger)
{
	char path[128];
	int fd = rig_client();
	snprintf(path, sizeof path, "%s.ledger", rig.path);
	driver_take_ledger(rig.driver, path, 0);
	rig_ask_line(fd, "SESSION GRACE 5000", "$");
	rig_hear_line(fd);
	ck_assert_int_eq(rig.relied, 0);
	/* From then on its set of masters is in the ledger, too. */
	rig_ask_line(fd, "LOCK b", ":1");
	rig_ask_line(fd, "UNLOCK b", ":0");
	rig_sync_all();
	ck_assert_int_eq(rig.stats.ledger_kept, 1);
	int64_t before = rig.stats.ledger_bytes;
	rig.relied = 0;
	rig_ask_line(fd, "LOCK a", ":1");
	ck_assert_int_gt(rig.stats.ledger_bytes, before);
	ck_assert_int_gt(rig.relied, 0);
	ck_assert_int_eq(rig.relied_bytes, before);
	close(fd);
}
END_TEST

/* The next program is a script of the shell. */
static void
use_program(const char *script)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/run/program", rig.redis.dir.path);
	FILE *program = fopen(path, "w");
	ck_assert_ptr_nonnull(program);
	fprintf(program, "#!/bin/sh\n%s\n", script);
	ck_assert_int_eq(fclose(program), 0);
	ck_assert_int_eq(chmod(path, 0700), 0);
	rig.program.path = path;
}

/* What a restart does that can be done is in tests/e2e/check_restart.py: it replaces the process. */
START_TEST(a_restart_that_cannot_be_is_told_and_changes_nothing)
{
	int holder = rig_client(), waiter = rig_client(), admin = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(waiter, "LOCK a\r\n");
	rig_ask(admin, "RESTART",
		"-ERR /nowhere/holdfastd: No such file or directory; this process goes on\r\n");
	rig.program.path = "/bin/false";
	rig_ask(admin, "RESTART", "-ERR /bin/false -t: exit status 1; this process goes on\r\n");
	ck_assert_int_eq(rig.reloads, 0);
	rig.reload_fails = true;
	use_program("[ $1 = -t ] || exit 9");
	rig_ask(admin, "RESTART", "-ERR line 3 is wrong; this process goes on\r\n");
	ck_assert_int_eq(rig.reloads, 1);
	rig_ask_line(holder, "CHECK a", ":");
	kill(getpid(), SIGUSR2);
	while (rig.reloads < 2) {
		driver_turn(rig.driver);
	}
	rig_ask(holder, "UNLOCK a", ":0\r\n");
	ck_assert_int_eq(rig_hear_line(waiter)[0], ':');
	ck_assert_int_eq(rig.stats.handovers, 0);
	close(holder);
	close(waiter);
	close(admin);
}
END_TEST

START_TEST(while_the_program_is_tried_clients_are_served_until_the_daemon_ends)
{
	int admin = rig_client(), second = rig_client(), client = rig_client();
	int64_t begun_ms = clock_ms();
	use_program("exec sleep 60");
	rig_say(admin, "RESTART\r\n");
	rig_ask_line(client, "LOCK a", ":1");
	rig_say(second, "RESTART\r\n");
	rig_ask(client, "UNLOCK a", ":0\r\n");
	rig_say(client, "DRAIN\r\n");
	ck_assert_str_eq(rig_hear_line(admin), "-DRAINING this daemon is ending\r\n");
	ck_assert_str_eq(rig_hear_line(second), "-DRAINING this daemon is ending\r\n");
	ck_assert_int_lt(clock_ms() - begun_ms, HANDOVER_TRY_MS); /* the trial does not go on until then */
	driver_run(rig.driver);
	close(admin);
	close(second);
	close(client);
}
END_TEST

START_TEST(a_daemon_that_drains_is_not_handed_over)
{
	int holder = rig_client(), first = rig_client(), second = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(first, "DRAIN WAIT 3600000\r\n");
	rig_sync_all();
	rig_ask_line(second, "RESTART", "-DRAINING this daemon is ending");
	ck_assert_int_eq(rig.reloads, 0);
	rig_say(holder, "UNLOCK a\r\n");
	driver_run(rig.driver);
	close(holder);
	close(first);
	close(second);
}
END_TEST

START_TEST(the_set_of_masters_is_described)
{
	int fd = rig_client();
	const char *told;
	rig_ask_line(fd, "LOCK a", ":1");
	rig_ask_line(fd, "MASTERS", "*12");
	told = rig_hear_until(fd, "$14\r\nunacknowledged\r\n$0\r\n\r\n");
	ck_assert_ptr_nonnull(strstr(told, "$10\r\ngeneration\r\n:1\r\n"));
	ck_assert_ptr_nonnull(strstr(told, "$6\r\nchange\r\n$4\r\nnone\r\n"));
	ck_assert_ptr_nonnull(
		strstr(told, "$7\r\nmasters\r\n*1\r\n*18\r\n$5\r\nplace\r\n$8\r\nmaster-1\r\n"));
	ck_assert_ptr_nonnull(
		strstr(told, "$4\r\nrole\r\n$6\r\nmember\r\n$5\r\nstate\r\n$8\r\nadmitted\r\n"));
	close(fd);
}
END_TEST

START_TEST(a_new_master_that_is_no_place_is_refused_before_the_core_hears_of_it)
{
	int fd = rig_client();
	rig_ask_line(fd, "LOCK a", ":1");
	rig_ask(fd, "MASTERS REPLACE master-1 ?x", "-ERR ?x: no such place\r\n");
	rig_ask(fd, "MASTERS ADD b:1 ?y", "-ERR ?y: no such place\r\n");
	rig_ask(fd, "PING", "+PONG\r\n");
	close(fd);
}
END_TEST

START_TEST(a_drain_tells_holders_frees_the_rest_and_ends)
{
	int holder = rig_client(), admin = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_ask_line(admin, "LOCK b", ":1");
	rig_ask(admin, "UNLOCK b", ":0\r\n");
	rig_say(admin, "DRAIN\r\nLOCK c WAIT 0\r\nRELOAD\r\n");
	driver_run(rig.driver);
	ck_assert_str_eq(rig_hear(holder, 0), "");
	ck_assert_str_eq(rig_hear_line(admin), "+OK\r\n");
	ck_assert_int_eq(strncmp(rig_hear_line(admin), "-DRAINING ", 10), 0);
	/* It would listen again. */
	ck_assert_str_eq(rig_hear_line(admin), "-ERR the daemon is ending: reload the next one\r\n");
	ck_assert_int_ne(access(rig.path, F_OK), 0);
	ck_assert_int_eq(redis_integer(&rig.redis, "EXISTS holdfast:{a}"), 1);
	ck_assert_int_eq(redis_integer(&rig.redis, "EXISTS holdfast:{b}"), 0);
	ck_assert(!driver_is_clean(rig.driver));
	close(holder);
	close(admin);
}
END_TEST

START_TEST(a_drain_that_waits_serves_holders_and_ends_when_they_have_finished)
{
	int holder = rig_client(), admin = rig_client(), second = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(admin, "DRAIN WAIT 3600000\r\n");
	rig_say(second, "DRAIN WAIT 1800000\r\n");
	driver_turn(rig.driver);
	rig_ask_line(holder, "LOCK b", "-DRAINING ");
	/* Sockets are open. */
	int late = rig_client();
	rig_ask_line(late, "LOCK c WAIT 60000", "-DRAINING ");
	rig_ask_line(late, "RELOAD", "$");
	rig_hear_line(late);
	rig_ask_line(late, "CHECK a", "$-1");
	rig_ask_line(holder, "CHECK a", ":");
	rig_ask(holder, "UNLOCK a", ":0\r\n");
	ck_assert_int_eq(driver_run(rig.driver), 0);
	ck_assert_str_eq(rig_hear_line(admin), ":0\r\n");
	ck_assert_str_eq(rig_hear_line(second), ":0\r\n");
	ck_assert_int_ne(access(rig.path, F_OK), 0);
	ck_assert_int_eq(redis_integer(&rig.redis, "EXISTS holdfast:{a}"), 0);
	ck_assert(driver_is_clean(rig.driver));
	close(holder);
	close(admin);
	close(second);
	close(late);
}
END_TEST

START_TEST(a_drain_waits_no_longer_than_it_was_told_to)
{
	int holder = rig_client(), admin = rig_client(), second = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(admin, "DRAIN WAIT 3600000\r\n");
	driver_turn(rig.driver);
	rig_ask_line(holder, "LOCK b", "-DRAINING ");
	rig_say(second, "DRAIN WAIT 50\r\n");
	driver_run(rig.driver);
	ck_assert_str_eq(rig_hear_line(admin), ":1\r\n");
	ck_assert_str_eq(rig_hear_line(second), ":1\r\n");
	ck_assert_str_eq(rig_hear(holder, 0), "");
	ck_assert_int_eq(redis_integer(&rig.redis, "EXISTS holdfast:{a}"), 1);
	close(holder);
	close(admin);
	close(second);
}
END_TEST

START_TEST(a_signal_ends_the_wait_of_a_drain)
{
	int holder = rig_client(), admin = rig_client();
	rig_ask_line(holder, "LOCK a", ":1");
	rig_say(admin, "DRAIN WAIT 3600000\r\n");
	driver_turn(rig.driver);
	rig_ask_line(holder, "LOCK b", "-DRAINING ");
	kill(getpid(), SIGTERM);
	driver_run(rig.driver);
	ck_assert_str_eq(rig_hear_line(admin), ":1\r\n");
	ck_assert_str_eq(rig_hear(holder, 0), "");
	close(holder);
	close(admin);
}
END_TEST

START_TEST(a_signal_ends_an_idle_daemon_cleanly)
{
	int fd = rig_client();
	rig_ask_line(fd, "LOCK a", ":1");
	rig_ask(fd, "UNLOCK a", ":0\r\n");
	kill(getpid(), SIGTERM);
	driver_run(rig.driver);
	ck_assert(driver_is_clean(rig.driver));
	ck_assert_int_eq(redis_integer(&rig.redis, "EXISTS holdfast:{a}"), 0);
	close(fd);
}
END_TEST

START_TEST(a_late_turn_looks_at_its_leases_before_its_clients)
{
	const struct timespec stall = {
		.tv_sec = RIG_SHORT_MS / 1000, .tv_nsec = 200000000}; /* longer than the lease */
	int fd = rig_client(), watcher = rig_client();
	rig_ask(fd, "SESSION ONLOSS NEXT", "+OK\r\n");
	rig_ask_line(fd, "LOCK short/a", ":1");
	rig_ask(watcher, "EVENTS", "+OK\r\n");
	rig_say(fd, "UNLOCK short/a\r\n");
	nanosleep(&stall, NULL);
	ck_assert_ptr_eq(strstr(rig_hear_line(fd), "-LOST expired"), rig.heard);
	ck_assert_ptr_eq(strstr(rig_hear_line(watcher), "+lock.lost name=short/a "), rig.heard);
	ck_assert_ptr_nonnull(strstr(rig.heard, "text=expired"));
	ck_assert_ptr_eq(strstr(rig_hear_line(watcher), "+daemon.stalled late_ms="), rig.heard);
	close(fd);
	close(watcher);
}
END_TEST

START_TEST(a_browser_is_cut_off)
{
	int fd = rig_client_tcp();
	rig_say(fd, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nLOCK a\r\n");
	ck_assert_str_eq(rig_hear(fd, 0), "");
	close(fd);
}
END_TEST

/* Reads the elements of the page that was asked for, up to the answer to PING. How many have this line in
 * them. They are read at once: holders live on while the daemon turns. */
static size_t
count_elements(int fd, const char *line)
{
	static char bytes[1 << 20];
	size_t have = 0, found = 0;
	rig_say(fd, "PING\r\n");
	do {
		ssize_t got = recv(fd, bytes + have, sizeof bytes - 1 - have, MSG_DONTWAIT);
		have += got > 0 ? (size_t)got : 0;
		bytes[have] = '\0';
		if (got < 0) {
			driver_turn(rig.driver);
		}
	} while (have < 7 || strcmp(bytes + have - 7, "+PONG\r\n") != 0);
	for (const char *at = bytes; (at = strstr(at, line)) != NULL; at++) {
		found++;
	}
	return found;
}

/* Pages through it all, and meanwhile names come and go. Elements with this line, in pages that have `most`
 * of them, and a few more. */
static size_t
count_list(const char *words, const char *line, size_t most)
{
	int fd = rig_client(), other = rig_client();
	char request[128], cursor[32] = "0";
	size_t all = 0;
	do {
		snprintf(request, sizeof request, "%s CURSOR %s", words, cursor);
		snprintf(cursor, sizeof cursor, "%s", ask_page(fd, request, "*"));
		size_t page = count_elements(fd, line);
		ck_assert_uint_le(page, most + 20);
		all += page;
		snprintf(request, sizeof request, "LOCK other/%zu", all);
		rig_ask_line(other, request, "");
	} while (strcmp(cursor, "0") != 0);
	close(fd);
	close(other);
	return all;
}

/* So many names, of a client each, as an MLOCK takes. */
#define HOLDERS 12

static void
hold_many(int holders[HOLDERS])
{
	char request[2048];
	for (int i = 0; i < HOLDERS; i++) {
		size_t n = (size_t)snprintf(request, sizeof request, "MLOCK %d", COMMAND_NAMES_MAX);
		for (int name = 0; name < COMMAND_NAMES_MAX; name++) {
			n += (size_t)snprintf(request + n, sizeof request - n, " many/%d/%d", i, name);
		}
		holders[i] = rig_client();
		rig_ask_line(holders[i], request, "*64");
		for (int line = 0; line < COMMAND_NAMES_MAX; line++) {
			rig_hear_line(holders[i]);
		}
	}
}

START_TEST(a_list_of_many_names_is_whole_page_by_page)
{
	int holders[HOLDERS];
	hold_many(holders);
	ck_assert_uint_eq(count_list("LOCKS MATCH many/*", "\r\nmany/", COMMAND_COUNT_MAX), 768);
	/* A page is short of work, too, not of elements alone. */
	int fd = rig_client();
	ck_assert_str_ne(ask_page(fd, "LOCKS MATCH nothing", "*0\r\n"), "0");
	close(fd);
	ck_assert_uint_eq(count_list("LOCKS MATCH many/* COUNT 1", "\r\nmany/", 1), 768);
	ck_assert_uint_eq(count_list("LOCKS MATCH many/3/*", "\r\nmany/", COMMAND_COUNT_MAX), 64);
	for (int i = 0; i < HOLDERS; i++) {
		close(holders[i]);
	}
}
END_TEST

/* Pages that it takes to see that no lock matches. */
static size_t
count_pages(const char *glob)
{
	char request[GLOB_BYTES_MAX + 64];
	char cursor[32] = "0";
	size_t pages = 0;
	int fd = rig_client();
	do {
		snprintf(request, sizeof request, "LOCKS MATCH %s CURSOR %s", glob, cursor);
		snprintf(cursor, sizeof cursor, "%s", ask_page(fd, request, "*0\r\n"));
		pages++;
	} while (strcmp(cursor, "0") != 0);
	close(fd);
	return pages;
}

START_TEST(a_page_looks_at_fewer_names_if_its_pattern_is_long)
{
	int holders[HOLDERS];
	char glob[GLOB_BYTES_MAX + 1];
	hold_many(holders);
	memset(glob, '?', sizeof glob - 1);
	glob[0] = '*';
	glob[sizeof glob - 1] = 0;
	size_t few = count_pages("nothing"), many = count_pages(glob);
	ck_assert_uint_gt(few, 0);
	/* It takes eight times as long to compare a name with it. */
	ck_assert_uint_ge(many, 4 * few);
	for (int i = 0; i < HOLDERS; i++) {
		close(holders[i]);
	}
}
END_TEST

/* Bytes of a name that is long. */
#define LONG_NAME 500

START_TEST(a_page_looks_at_fewer_names_if_they_are_long)
{
	char request[LONG_NAME + 16], cursor[32] = "0";
	size_t pages = 0;
	int holders[3], reader = rig_client();
	for (int i = 0; i < 180; i++) {
		if (i % 60 == 0) {
			holders[i / 60] = rig_client();
		}
		snprintf(request, sizeof request, "LOCK %0*d", LONG_NAME, i);
		rig_ask_line(holders[i / 60], request, ":");
	}
	/* So many short names make one page. */
	do {
		snprintf(request, sizeof request, "LOCKS MATCH *nothing ROWS CURSOR %s", cursor);
		snprintf(cursor, sizeof cursor, "%s", ask_page(reader, request, "*0\r\n"));
		pages++;
	} while (strcmp(cursor, "0") != 0);
	ck_assert_uint_ge(pages, 2);
	close(reader);
	for (int i = 0; i < 3; i++) {
		close(holders[i]);
	}
}
END_TEST

START_TEST(a_list_of_many_latches_is_whole_page_by_page)
{
	int fd = rig_client();
	char request[64];
	for (int i = 0; i < 800; i++) {
		snprintf(request, sizeof request, "LATCH l%d SET 1", i);
		rig_ask_line(fd, request, ":1");
	}
	ck_assert_uint_eq(count_list("LOCKS MATCH l*", "\r\nlatch\r\n", COMMAND_COUNT_MAX), 800);
	ck_assert_uint_eq(count_list("LOCKS MATCH l* COUNT 10", "\r\nlatch\r\n", 10), 800);
	close(fd);
}
END_TEST

START_TEST(a_list_of_many_sessions_is_whole_page_by_page)
{
	static int clients[600];
	for (int i = 0; i < 600; i++) {
		clients[i] = rig_client();
	}
	ck_assert_uint_eq(count_list("SESSIONS", "\r\nsession\r\n", COMMAND_COUNT_MAX), 602);
	ck_assert_uint_eq(count_list("SESSIONS COUNT 50", "\r\nsession\r\n", 50), 602);
	for (int i = 0; i < 600; i++) {
		close(clients[i]);
	}
}
END_TEST

START_TEST(any_number_is_a_cursor)
{
	static const char *const cursors[] = {
		"1", "4294967295", "4294967296", "4294967297", "9223372036854775807"};
	static const char *const lists[] = {"LOCKS", "LOCKS MATCH *", "SESSIONS"};
	int fd = rig_client();
	char request[128];
	rig_ask_line(fd, "LOCK a", ":");
	rig_ask_line(fd, "LATCH l SET 1", ":1");
	for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
		for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
			snprintf(request, sizeof request, "%s CURSOR %s", lists[list], cursors[i]);
			ck_assert_str_eq(ask_page(fd, request, "*"), "0");
			count_elements(fd, "\n");
		}
		for (const char *name = "abl"; *name; name++) {
			snprintf(request, sizeof request, "INSPECT %c CURSOR %s", *name, cursors[i]);
			rig_ask_line(fd, request, *name == 'l' ? "*20" : "*42");
			ck_assert_uint_eq(count_elements(fd, "cursor\r\n"), 1);
		}
	}
	close(fd);
}
END_TEST

/* The next cursor of INSPECT, and how many holders and waiters its page has. */
static const char *
inspect_page(int fd, const char *name, const char *cursor, size_t *holders, size_t *waiters)
{
	static char next[32];
	char request[128];
	size_t *of = holders, peek = 0;
	snprintf(request, sizeof request, "INSPECT %s CURSOR %s COUNT 7\r\nPING\r\n", name, cursor);
	rig_say(fd, request);
	*holders = *waiters = 0;
	while (strcmp(rig_hear_line(fd), "+PONG\r\n") != 0) {
		if (strcmp(rig.heard, "holder\r\n") == 0) {
			of = &peek;
		} else if (strcmp(rig.heard, "holders\r\n") == 0) {
			of = rig_hear_line(fd)[1] == '0' ? &peek : holders;
		} else if (strcmp(rig.heard, "waiters\r\n") == 0) {
			of = waiters;
		} else if (strcmp(rig.heard, "session\r\n") == 0) {
			++*of;
		} else if (strcmp(rig.heard, "cursor\r\n") == 0) {
			rig_hear_line(fd);
			snprintf(next, sizeof next, "%s", rig_hear_line(fd));
			next[strcspn(next, "\r")] = '\0';
		}
	}
	return next;
}

static void
expect_inspected(const char *name, size_t holders, size_t waiters)
{
	int fd = rig_client();
	char cursor[32] = "0";
	size_t page[2], all[2] = {0}, pages = 0;
	do {
		snprintf(cursor, sizeof cursor, "%s", inspect_page(fd, name, cursor, &page[0], &page[1]));
		ck_assert_uint_le(page[0], 14);
		ck_assert_uint_le(page[1], 14);
		all[0] += page[0];
		all[1] += page[1];
		pages++;
	} while (strcmp(cursor, "0") != 0);
	ck_assert_uint_eq(all[0], holders);
	ck_assert_uint_eq(all[1], waiters);
	ck_assert_uint_ge(pages, (holders + waiters) / 14);
	close(fd);
}

START_TEST(holders_and_waiters_of_a_name_come_page_by_page)
{
	static int clients[100];
	int fd = rig_client();
	for (int i = 0; i < 100; i++) {
		clients[i] = rig_client();
		rig_say(clients[i],
			i < 60 ? "LOCK a SHARED\r\nLOCK s LIMIT 60\r\nLATCH l AWAIT\r\n" : "LOCK a\r\n");
	}
	rig_ask(fd, "LATCH l SET 1", ":1\r\n");
	for (int i = 0; i < 60; i++) {
		ck_assert_int_eq(*rig_hear_line(clients[i]), ':');
		ck_assert_int_eq(*rig_hear_line(clients[i]), ':');
	}
	rig_sync_all();
	expect_inspected("a", 60, 40);
	expect_inspected("s", 60, 0);
	expect_inspected("l", 0, 60);
	for (int i = 0; i < 100; i++) {
		close(clients[i]);
	}
	close(fd);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("driver", rig_init, rig_done, a_lock_is_taken_checked_and_given_back,
		a_lock_passes_on_when_its_holder_dies, an_end_of_file_makes_a_wait_give_up,
		a_reset_that_came_with_a_lock_ends_its_wait, what_libraries_send_is_answered_as_redis_does,
		hello_switches_the_protocol_and_back, an_asynchronous_lock_is_pushed,
		an_end_of_file_waits_for_the_pushes_that_are_due, reset_ends_the_session_and_begins_another,
		events_come_as_lines_or_pushes, a_watcher_that_does_not_read_is_cut,
		inspect_shows_holder_and_waiters, inspect_shows_every_reader,
		inspect_shows_how_many_permits_are_taken, info_tells_each_master, a_name_nobody_knows_is_free,
		locks_are_listed_as_far_as_asked, info_has_the_fields_libraries_look_for,
		an_admin_may_kill_a_client, a_bound_session_lives_as_long_as_its_process,
		a_binding_without_a_process_is_refused,
		without_a_descriptor_the_process_that_connected_is_bound,
		a_process_that_began_at_another_time_is_not_bound,
		a_process_that_connected_and_ended_is_not_bound,
		who_a_bound_session_was_is_known_without_a_connection,
		a_session_is_shown_by_the_name_of_its_latest_connection_that_has_one,
		a_reload_is_asked_for_by_verb_and_by_signal,
		the_record_of_a_private_master_covers_what_is_in_the_ledger,
		a_restart_that_cannot_be_is_told_and_changes_nothing,
		while_the_program_is_tried_clients_are_served_until_the_daemon_ends,
		a_daemon_that_drains_is_not_handed_over, the_set_of_masters_is_described,
		a_new_master_that_is_no_place_is_refused_before_the_core_hears_of_it,
		a_drain_tells_holders_frees_the_rest_and_ends,
		a_drain_that_waits_serves_holders_and_ends_when_they_have_finished,
		a_drain_waits_no_longer_than_it_was_told_to, a_signal_ends_the_wait_of_a_drain,
		a_signal_ends_an_idle_daemon_cleanly, a_late_turn_looks_at_its_leases_before_its_clients,
		a_browser_is_cut_off, a_list_of_many_names_is_whole_page_by_page,
		a_page_looks_at_fewer_names_if_its_pattern_is_long,
		a_page_looks_at_fewer_names_if_they_are_long, a_list_of_many_latches_is_whole_page_by_page,
		a_list_of_many_sessions_is_whole_page_by_page, any_number_is_a_cursor,
		holders_and_waiters_of_a_name_come_page_by_page);
}
