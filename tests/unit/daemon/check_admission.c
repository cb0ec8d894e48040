/*
 * Tests of who gets in and how many: limits, logins, unauthenticated clients, bound sessions; with the whole
 * daemon but main.
 */
#include "daemon/driver_context.h"
#include "daemon/driver_inner.h"
#include "daemon/net/admission.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct access_user bob[] = {ACCESS_LOGIN("bob", "pw", RIGHTS_USUAL)};

static void
limit_clients(size_t clients, size_t per_user, int64_t login_ms)
{
	struct driver_limits limits = rig_settings().limits;
	limits.admission =
		(struct admission_limits){.clients = clients, .per_user = per_user, .login_ms = login_ms};
	driver_set_limits(rig.driver, &limits);
}

/* Clients that come until one is turned away, whoever they are; how many came in. */
static size_t
come_until_refused(int (*come)(void), int *fds, const char *refusal)
{
	for (size_t n = 0;; n++) {
		ck_assert_uint_lt(n, 40);
		fds[n] = come();
		rig_say(fds[n], "PING\r\n");
		if (rig_hear(fds[n], 1)[0] == '-') {
			ck_assert_str_eq(rig_hear(fds[n], 0), refusal);
			close(fds[n]);
			return n;
		}
		ck_assert_str_eq(rig_hear(fds[n], 6), "PONG\r\n");
	}
}

START_TEST(a_stranger_logs_in_first)
{
	static const struct access_user users[] = {
		ACCESS_LOGIN("ann", "pw", RIGHT_ADMIN), ACCESS_LOGIN("bob", "pw2", RIGHTS_USUAL)};
	int tcp = rig_client_tcp(), local = rig_client();
	rig_ask(tcp, "PING", "+PONG\r\n");
	ck_assert_int_eq(driver_set_users(rig.driver, users, 2), 0);
	rig_ask_line(tcp, "PING", "-NOAUTH ");
	rig_ask_line(tcp, "NONSENSE", "-NOAUTH ");
	rig_ask_line(tcp, "LOCK a", "-NOAUTH ");
	rig_ask_line(tcp, "HELLO 3", "-NOAUTH ");
	rig_ask_line(tcp, "AUTH bob pw", "-WRONGPASS ");
	rig_ask_line(tcp, "HELLO 3 AUTH bob pw", "-WRONGPASS ");
	rig_ask(tcp, "AUTH bob pw2", "+OK\r\n");
	rig_ask(tcp, "PING", "+PONG\r\n");
	rig_ask_line(tcp, "CLIENT KILL ID 99", "-NOPERM ");
	rig_ask(tcp, "AUTH ann pw", "+OK\r\n");
	rig_ask_line(tcp, "CLIENT KILL ID 99", "-ERR ");
	rig_ask_line(tcp, "BREAK a TOKEN 1", "-NOTHELD ");
	rig_ask(tcp, "AUTH bob pw2", "+OK\r\n");
	rig_ask_line(tcp, "BREAK a TOKEN 1", "-NOPERM ");
	rig_ask(tcp, "RESET", "+RESET\r\n");
	rig_ask_line(tcp, "PING", "-NOAUTH ");
	rig_ask(local, "PING", "+PONG\r\n");
	rig_ask(tcp, "AUTH bob pw2", "+OK\r\n");
	ck_assert_int_eq(driver_set_users(rig.driver, users, 1), 0);
	ck_assert_str_eq(rig_hear(tcp, 0), "");
	rig_ask(local, "PING", "+PONG\r\n");
	close(tcp);
	close(local);
}
END_TEST

START_TEST(nobody_takes_all_connections)
{
	int local[40], remote[40];
	/* The owner of the socket is an administrator. */
	limit_clients(50, 2, 3600000);
	ck_assert_uint_eq(
		come_until_refused(rig_client, local,
			"LIMIT this user has as many clients as limits.sessions-per-user allows\r\n"),
		2 + ADMISSION_ADMIN_ROOM);
	limit_clients(4, 2, 3600000);
	ck_assert_uint_eq(come_until_refused(rig_client_tcp, remote,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		2);
	close(local[0]);
	for (bool in = false; !in;) {
		int again = rig_client_tcp();
		rig_say(again, "PING\r\n");
		in = rig_hear(again, 7)[0] == '+';
		close(again);
	}
	ck_assert_int_ge(rig.stats.connections_rejected, 2);
	for (int i = 1; i < 2 + ADMISSION_ADMIN_ROOM; i++) {
		close(local[i]);
	}
	close(remote[0]);
	close(remote[1]);
}
END_TEST

static int
come_as(const char *login)
{
	int fd = rig_client_tcp();
	rig_ask(fd, login, "+OK\r\n");
	return fd;
}

static void
say_kill(int fd, int id)
{
	char request[64];
	snprintf(request, sizeof request, "CLIENT KILL ID %d\r\n", id);
	rig_say(fd, request);
}

#define TOO_MANY "-LIMIT this user has as many clients as limits.sessions-per-user allows\r\n"

/* What is said before the first answer is heard is served in one turn, in this order. */
START_TEST(a_connection_that_has_ended_makes_room_where_its_user_logs_in)
{
	static const struct access_user users[] = {
		ACCESS_LOGIN("ann", "pw", RIGHTS_USUAL), ACCESS_LOGIN("bob", "pw", RIGHTS_USUAL)};
	int anns[2], bobs[2], late[3], local = rig_client();
	limit_clients(50, 2, 3600000);
	ck_assert_int_eq(driver_set_users(rig.driver, users, 2), 0);
	for (int i = 0; i < 2; i++) {
		anns[i] = come_as("AUTH ann pw");
		bobs[i] = come_as("AUTH bob pw");
	}
	for (int i = 0; i < 3; i++) {
		late[i] = rig_client_tcp();
		rig_ask_line(late[i], "PING", "-NOAUTH ");
	}
	say_kill(local, atoi(rig_ask_line(bobs[0], "CLIENT ID", ":") + 1));
	rig_say(late[0], "AUTH ann pw\r\n");
	rig_say(late[1], "AUTH bob pw\r\n");
	rig_say(late[2], "AUTH bob pw\r\n");
	ck_assert_str_eq(rig_hear_line(local), ":1\r\n");
	ck_assert_str_eq(rig_hear(late[0], 0), TOO_MANY);
	ck_assert_str_eq(rig_hear(late[1], 5), "+OK\r\n");
	ck_assert_str_eq(rig_hear(late[2], 0), TOO_MANY);
	rig_ask(bobs[1], "PING", "+PONG\r\n");
	close(local);
	for (int i = 0; i < 2; i++) {
		close(anns[i]);
		close(bobs[i]);
	}
	for (int i = 0; i < 3; i++) {
		close(late[i]);
	}
}
END_TEST

/* Users take turns: a local one and one that has not logged in. */
START_TEST(connections_that_have_ended_at_most_double_what_a_user_may_have)
{
	int late[2], local[2] = {rig_client(), rig_client()};
	limit_clients(50, 1, 3600000);
	ck_assert_int_eq(driver_set_users(rig.driver, bob, 1), 0);
	rig_ask(local[0], "PING", "+PONG\r\n");
	rig_ask(local[1], "PING", "+PONG\r\n");
	int first = come_as("AUTH bob pw");
	int id = atoi(rig_ask_line(first, "CLIENT ID", ":") + 1);
	for (int i = 0; i < 2; i++) {
		late[i] = rig_client_tcp();
		rig_ask_line(late[i], "PING", "-NOAUTH ");
	}
	say_kill(local[0], id);
	rig_say(late[0], "AUTH bob pw\r\n");
	say_kill(local[1], id + 1);
	rig_say(late[1], "AUTH bob pw\r\n");
	ck_assert_str_eq(rig_hear_line(local[0]), ":1\r\n");
	ck_assert_str_eq(rig_hear_line(local[1]), ":1\r\n");
	ck_assert_str_eq(rig_hear(late[0], 0), ""); /* killed before its answer was written */
	ck_assert_str_eq(rig_hear(late[1], 0), TOO_MANY);
	close(first);
	for (int i = 0; i < 2; i++) {
		close(local[i]);
		close(late[i]);
	}
}
END_TEST

START_TEST(an_administrator_finds_room_when_all_is_taken)
{
	int remote[40], local[40];
	limit_clients(3, 40, 3600000);
	ck_assert_uint_eq(come_until_refused(rig_client_tcp, remote,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		3);
	ck_assert_uint_eq(come_until_refused(rig_client, local,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		ADMISSION_ADMIN_ROOM);
	for (int i = 0; i < ADMISSION_ADMIN_ROOM; i++) {
		close(local[i]);
	}
	for (bool in = false; !in;) {
		int again = rig_client();
		rig_say(again, "PING\r\n");
		in = rig_hear(again, 7)[0] == '+';
		close(again);
	}
	for (int i = 0; i < 3; i++) {
		close(remote[i]);
	}
}
END_TEST

START_TEST(unauthenticated_make_way_the_oldest_first)
{
	int fds[10], known[6], local;
	limit_clients(8, 40, 3600000);
	ck_assert_int_eq(driver_set_users(rig.driver, bob, 1), 0);
	for (int i = 0; i < 6; i++) {
		known[i] = rig_client_tcp();
		rig_ask(known[i], "AUTH bob pw", "+OK\r\n");
	}
	for (int i = 0; i < 10; i++) {
		fds[i] = rig_client_tcp();
		rig_ask_line(fds[i], "PING", "-NOAUTH ");
	}
	/* A quarter of eight. */
	for (int i = 0; i < 8; i++) {
		ck_assert_ptr_eq(
			strstr(rig_hear(fds[i], 0), "-LIMIT more clients than have room"), rig.heard);
	}
	ck_assert_ptr_nonnull(
		strstr(rig_ask_bulk(known[0], "INFO clients"), "unauthenticated_clients:2\r\n"));
	/* All eight places are taken: who has a right to one gets that of an unauthenticated client. */
	local = rig_client();
	rig_ask(local, "PING", "+PONG\r\n");
	ck_assert_ptr_eq(strstr(rig_hear(fds[8], 0), "-LIMIT "), rig.heard);
	rig_ask(fds[9], "AUTH bob pw", "+OK\r\n");
	rig_ask(fds[9], "PING", "+PONG\r\n");
	for (int i = 0; i < 6; i++) {
		rig_ask(known[i], "PING", "+PONG\r\n");
		close(known[i]);
	}
	for (int i = 0; i < 10; i++) {
		close(fds[i]);
	}
	close(local);
}
END_TEST

START_TEST(an_unauthenticated_client_has_its_time_to_log_in)
{
	int known = rig_client_tcp(), early = rig_client_tcp(), local = rig_client();
	rig_ask(early, "PING", "+PONG\r\n");
	ck_assert_int_eq(driver_set_users(rig.driver, bob, 1), 0);
	rig_ask(known, "AUTH bob pw", "+OK\r\n");
	int late = rig_client_tcp();
	rig_ask_line(late, "PING", "-NOAUTH ");
	limit_clients(50, 40, 1);
	ck_assert_str_eq(rig_hear(late, 0),
		"-NOAUTH nobody logged in for 1 ms: connect again, and begin with AUTH\r\n");
	ck_assert_ptr_eq(strstr(rig_hear(early, 0), "-NOAUTH nobody logged in"), rig.heard);
	rig_ask(known, "PING", "+PONG\r\n");
	rig_ask(local, "PING", "+PONG\r\n");
	rig_ask(known, "RESET", "+RESET\r\n");
	ck_assert_ptr_eq(strstr(rig_hear(known, 0), "-NOAUTH nobody logged in"), rig.heard);
	close(known);
	close(early);
	close(late);
	/* Without users nobody has to log in. */
	limit_clients(50, 40, 3600000);
	late = rig_client_tcp();
	rig_ask_line(late, "PING", "-NOAUTH ");
	ck_assert_int_eq(driver_set_users(rig.driver, NULL, 0), 0);
	limit_clients(50, 40, 1);
	rig_ask(late, "PING", "+PONG\r\n");
	ck_assert_ptr_nonnull(strstr(rig_ask_bulk(late, "INFO clients"), "unauthenticated_clients:0\r\n"));
	close(late);
	close(local);
}
END_TEST

START_TEST(time_in_which_no_client_is_read_does_not_count_for_a_login)
{
	int early = rig_client_tcp(), late = rig_client_tcp();
	struct admission *admission = &rig.driver->admission;
	rig_ask(early, "PING", "+PONG\r\n");
	rig_ask(late, "PING", "+PONG\r\n");
	ck_assert_int_eq(driver_set_users(rig.driver, bob, 1), 0);
	limit_clients(50, 40, 60000);
	int64_t due_ms = admission_wake_at(admission);
	admission_unread(admission, 5000);
	ck_assert_int_eq(admission_wake_at(admission), due_ms + 5000);
	rig_ask(early, "AUTH bob pw", "+OK\r\n");
	ck_assert_int_ge(admission_wake_at(admission), due_ms + 5000);
	close(early);
	close(late);
}
END_TEST

START_TEST(bound_sessions_are_limited)
{
	struct driver_limits limits = rig_settings().limits;
	pid_t first = rig_child(), second = rig_child();
	int one = rig_client(), other = rig_client();
	limits.processes.most = 1;
	driver_set_limits(rig.driver, &limits);
	rig_bind(one, first, ":0\r\n");
	rig_bind(one, first, ":0\r\n");
	rig_bind(other, second,
		"-LIMIT 1 sessions are bound to processes, as many as limits.bound-sessions allows\r\n");
	kill(first, SIGKILL);
	ck_assert_str_eq(rig_hear(one, 0), "");
	rig_bind(other, second, ":0\r\n");
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
	close(one);
	close(other);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("admission", rig_init, rig_done, a_stranger_logs_in_first,
		nobody_takes_all_connections, a_connection_that_has_ended_makes_room_where_its_user_logs_in,
		connections_that_have_ended_at_most_double_what_a_user_may_have,
		an_administrator_finds_room_when_all_is_taken, unauthenticated_make_way_the_oldest_first,
		an_unauthenticated_client_has_its_time_to_log_in,
		time_in_which_no_client_is_read_does_not_count_for_a_login, bound_sessions_are_limited);
}
