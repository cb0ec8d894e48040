/*
 * Tests of passwords that are hashed, with the whole daemon but main: they are compared beside the loop, a
 * right one is known from then on, and a wrong one tells nothing.
 */
#include "daemon/driver_context.h"
#include "daemon/net/access.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A cheap hash: tests run on slow machines. */
#define SETTING "$5$rounds=1000$abcdefgh$"
/* One that takes a while anywhere. */
#define SLOW    "$5$rounds=400000$abcdefgh$"

static char *
hash_of(const char *password, const char *setting)
{
	void *data = NULL;
	int size = 0;
	const char *hash = crypt_ra(password, setting, &data, &size);
	ck_assert_ptr_nonnull(hash);
	char *copy = strdup(hash);
	ck_assert_ptr_nonnull(copy);
	free(data);
	return copy;
}

static void
set_users(const char *ann, const char *bob)
{
	struct access_user users[] = {ACCESS_LOGIN("ann", ann, RIGHT_ADMIN),
		ACCESS_LOGIN("plain", "pw", RIGHTS_USUAL), ACCESS_LOGIN("bob", bob, RIGHTS_USUAL)};
	users[0].hashed = users[2].hashed = true;
	ck_assert_int_eq(driver_set_users(rig.driver, users, 3), 0);
}

static void
set_hashed(const char *password, const char *setting)
{
	char *hash = hash_of(password, setting), *other = hash_of("other", setting);
	set_users(hash, other);
	free(hash);
	free(other);
}

START_TEST(a_hashed_password_logs_in)
{
	int tcp = rig_client_tcp();
	set_hashed("right", SETTING);
	rig_ask(tcp, "AUTH ann right", "+OK\r\n");
	rig_ask_line(tcp, "CLIENT KILL ID 99", "-ERR ");
	rig_ask(tcp, "AUTH plain pw", "+OK\r\n");
	rig_ask_line(tcp, "CLIENT KILL ID 99", "-NOPERM ");
	rig_ask_line(tcp, "HELLO 2 AUTH ann right SETNAME x", "*14");
	close(tcp);
}
END_TEST

START_TEST(a_wrong_one_does_not_whoever_it_is_for)
{
	int tcp = rig_client_tcp();
	set_hashed("right", SETTING);
	rig_ask_line(tcp, "AUTH ann wrong", "-WRONGPASS ");
	rig_ask_line(tcp, "AUTH ann wrong", "-WRONGPASS ");
	rig_ask_line(tcp, "AUTH ann other", "-WRONGPASS ");
	rig_ask_line(tcp, "AUTH bob right", "-WRONGPASS ");
	rig_ask_line(tcp, "AUTH nobody right", "-WRONGPASS ");
	rig_ask_line(tcp, "AUTH plain right", "-WRONGPASS ");
	rig_ask_line(tcp, "HELLO 3 AUTH ann right2", "-WRONGPASS ");
	rig_ask_line(tcp, "PING", "-NOAUTH ");
	rig_ask(tcp, "AUTH bob other", "+OK\r\n");
	/* What one user's password is says nothing of another's. */
	rig_ask_line(tcp, "AUTH ann other", "-WRONGPASS ");
	ck_assert_int_eq(rig.stats.auth_failures, 8);
	close(tcp);
}
END_TEST

START_TEST(a_request_that_waits_for_it_is_answered_in_its_order_and_counted_once)
{
	int tcp = rig_client_tcp();
	set_hashed("right", SETTING);
	int64_t before = rig.stats.commands_processed;
	rig_say(tcp, "AUTH ann right\r\nPING one\r\n*2\r\n$4\r\nPING\r\n$3\r\ntwo\r\n");
	ck_assert_str_eq(rig_hear(tcp, 5 + 2 * 9), "+OK\r\n$3\r\none\r\n$3\r\ntwo\r\n");
	ck_assert_int_eq(rig.stats.commands_processed, before + 3);
	close(tcp);
}
END_TEST

START_TEST(other_clients_are_served_meanwhile_and_a_right_one_is_known_from_then_on)
{
	int tcp = rig_client_tcp(), again = rig_client_tcp(), local = rig_client();
	set_hashed("right", SLOW);
	rig_say(tcp, "AUTH ann right\r\n");
	rig_sync_all();
	int64_t turns = rig.stats.turns;
	for (int i = 0; i < 10; i++) {
		rig_ask(local, "PING", "+PONG\r\n");
	}
	ck_assert_int_gt(rig.stats.turns, turns);
	/* Two that ask the same wait for one answer. */
	rig_say(again, "AUTH ann right\r\n");
	ck_assert_str_eq(rig_hear(tcp, 5), "+OK\r\n");
	ck_assert_str_eq(rig_hear(again, 5), "+OK\r\n");
	close(tcp);
	close(again);
	close(local);
}
END_TEST

START_TEST(a_client_that_leaves_and_users_that_change_do_no_harm)
{
	int tcp = rig_client_tcp(), gone = rig_client_tcp();
	set_hashed("right", SLOW);
	rig_say(gone, "AUTH ann right\r\n");
	rig_sync_all();
	rig_say(tcp, "AUTH ann right\r\n");
	close(gone);
	rig_sync_all();
	/* The answer is about the old hash. */
	set_hashed("new", SETTING);
	ck_assert_str_eq(rig_hear_line(tcp), "-WRONGPASS unknown user or wrong password\r\n");
	rig_ask(tcp, "AUTH ann new", "+OK\r\n");
	close(tcp);
}
END_TEST

START_TEST(passwords_that_cannot_be_hashed_are_wrong)
{
	static const char nul[] = "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$7\r\nright\0x\r\n";
	char text[1024] = "AUTH ann ";
	int tcp = rig_client_tcp();
	set_hashed("right", SETTING);
	memset(text + strlen(text), 'x', 512);
	rig_ask_line(tcp, text, "-WRONGPASS ");
	ck_assert_int_eq(write(tcp, nul, sizeof nul - 1), sizeof nul - 1);
	ck_assert_int_eq(strncmp(rig_hear_line(tcp), "-WRONGPASS ", 11), 0);
	close(tcp);
	/* No password has this hash. */
	set_users("*", "*");
	tcp = rig_client_tcp();
	rig_ask_line(tcp, "AUTH ann *", "-WRONGPASS ");
	close(tcp);
}
END_TEST

START_TEST(guesses_are_refused_without_being_hashed)
{
	int fds[GUESSES_FREE + 5], refused = 0;
	char text[64];
	set_hashed("right", SETTING);
	for (int i = 0; i < GUESSES_FREE + 5; i++) {
		fds[i] = rig_client_tcp();
		snprintf(text, sizeof text, "AUTH ann guess%d\r\n", i);
		rig_say(fds[i], text);
	}
	for (int i = 0; i < GUESSES_FREE + 5; i++) {
		refused += strncmp(rig_hear_line(fds[i]), "-LIMIT ", 7) == 0;
		close(fds[i]);
	}
	ck_assert_int_ge(refused, 1);
	ck_assert_int_eq(rig.stats.auth_failures, GUESSES_FREE + 5 - refused);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("passwords", rig_init, rig_done, a_hashed_password_logs_in,
		a_wrong_one_does_not_whoever_it_is_for,
		a_request_that_waits_for_it_is_answered_in_its_order_and_counted_once,
		other_clients_are_served_meanwhile_and_a_right_one_is_known_from_then_on,
		a_client_that_leaves_and_users_that_change_do_no_harm,
		passwords_that_cannot_be_hashed_are_wrong, guesses_are_refused_without_being_hashed);
}
