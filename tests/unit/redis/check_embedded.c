/*
 * Tests of daemon/embedded: the private master starts, comes back, ends with us, and is trusted only when it
 * may be.
 */
#include "daemon/base/clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/embedded.h"
#include "daemon/redis/embedded_directory.h"
#include "daemon/redis/embedded_inner.h"
#include "proto/record.h"
#include "tests/support/await.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct house {
	struct tempdir dir;
	char directory[96];
	char program[96];
	struct event_base *base;
	struct log log;
	struct stats stats;
	struct embedded_settings settings;
	char why[EMBEDDED_WHY_MAX];
	struct embedded *embedded;
	pid_t before;
};

static void
house_init(struct house *house)
{
	memset(house, 0, sizeof *house);
	tempdir_init(&house->dir);
	snprintf(house->directory, sizeof house->directory, "%s/redis", house->dir.path);
	house->base = event_base_new();
	log_init(&house->log, -1, LOG_DEBUG_LEVEL, 0);
	stats_init(&house->stats);
	house->settings.directory = house->directory;
}

static void
house_done(struct house *house)
{
	char mark[ENDING_MARK_MAX];

	ending_mark_path(house->directory, mark);
	(void)unlink(mark);
	event_base_free(house->base);
	tempdir_done(&house->dir);
}

static bool
house_try(struct house *house)
{
	house->why[0] = 0;
	house->embedded = embedded_new(house->base, &house->settings, &house->log, &house->stats, house->why);
	return house->embedded != NULL;
}

static void
house_open(struct house *house)
{
	if (!house_try(house))
		ck_abort_msg("%s", house->why);
}

static void
house_close(struct house *house, bool clean)
{
	embedded_free(house->embedded, clean, INT64_MAX);
	house->embedded = NULL;
}

/* A command at its socket; what it answers, as text. */
static void
ask(struct house *house, char out[256], const char *command)
{
	redisContext *redis = redisConnectUnix(embedded_path(house->embedded));
	redisReply *reply;

	ck_assert(redis && !redis->err);
	reply = redisCommand(redis, command);
	ck_assert_ptr_nonnull(reply);
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
		snprintf(out, 256, "%s", reply->element[1]->str);
	else
		snprintf(out, 256, "%s", reply->str ? reply->str : "");
	freeReplyObject(reply);
	redisFree(redis);
}

static void
expect_answer(struct house *house, const char *command, const char *answer)
{
	char out[256];

	ask(house, out, command);
	ck_assert_str_eq(out, answer);
}

/* A wrapper around the real server that fails while the file `fail` is there. */
static void
use_fragile_program(struct house *house)
{
	FILE *file;

	snprintf(house->program, sizeof house->program, "%s/server", house->dir.path);
	file = fopen(house->program, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"#!/bin/sh\n[ -e %s/fail ] && { echo 'out of order'; exit 3; }\n"
		"exec \"$(command -v redis-server || command -v valkey-server)\" \"$@\"\n",
		house->dir.path);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(house->program, 0700), 0);
	house->settings.program = house->program;
}

static void
set_failing(struct house *house, bool failing)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/fail", house->dir.path);
	if (!failing) {
		unlink(path);
		return;
	}
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

START_TEST(it_starts_private_without_port_persistence_or_eviction)
{
	struct house house;
	struct stat st;

	house_init(&house);
	house_open(&house);
	expect_answer(&house, "PING", "PONG");
	expect_answer(&house, "CONFIG GET port", "0");
	expect_answer(&house, "CONFIG GET save", "");
	expect_answer(&house, "CONFIG GET appendonly", "no");
	expect_answer(&house, "CONFIG GET maxmemory-policy", "noeviction");
	ck_assert_int_eq(stat(house.directory, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(stat(embedded_path(house.embedded), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0077, 0);
	ck_assert_int_eq(house.stats.embedded_starts, 1);
	house_close(&house, true);
	house_done(&house);
}
END_TEST

/* Clients rely on locks for a minute from now. */
static void
rely(struct house *house)
{
	embedded_relied_on(house->embedded, clock_ms() + 60000);
}

START_TEST(the_first_start_and_a_clean_end_are_trusted_and_locks_are_not)
{
	struct house house;

	house_init(&house);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	rely(&house);
	house_close(&house, true);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	rely(&house);
	house_close(&house, false);
	house_open(&house);
	ck_assert(!embedded_trusted(house.embedded));
	house_close(&house, true);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(locks_are_relied_on_until_the_deadline_on_record)
{
	struct house house;
	int64_t now_ms = clock_ms();

	house_init(&house);
	house_open(&house);
	embedded_relied_on(house.embedded, now_ms + 60000);
	embedded_relied_on(house.embedded, now_ms + 20000); /* of another lock */
	house_close(&house, false);
	house_open(&house);
	ck_assert_str_eq(embedded_doubt(house.embedded), "clients may rely on locks of the last daemon here");
	ck_assert_int_ge(embedded_doubted_until(house.embedded), now_ms + 60000);
	ck_assert_int_le(embedded_doubted_until(house.embedded), now_ms + 60250);
	/* Those of the first one still do, though this one ends in order and says that nobody relies on it.
	 */
	embedded_free(house.embedded, false, 0);
	house_open(&house);
	ck_assert_int_ge(embedded_doubted_until(house.embedded), now_ms + 60000);
	house_close(&house, true);
	house_open(&house);
	rely(&house);
	embedded_free(house.embedded, false, clock_ms());
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_guard_without_a_known_end_is_on_record_too)
{
	struct house house;
	int64_t now_ms = clock_ms();

	house_init(&house);
	house.settings.doubt = "clients may have come from afar";
	house.settings.guard_ms = 30000;
	house_open(&house);
	ck_assert_int_eq(embedded_doubted_until(house.embedded), 0);
	house_close(&house, false);
	house_open(&house);
	ck_assert_int_ge(embedded_doubted_until(house.embedded), now_ms + 30000);
	house_close(&house, true);
	house_done(&house);
}
END_TEST

/* Changes the record. */
static void
edit_record(struct house *house, const char *from, const char *to)
{
	char path[128], text[ENDING_BYTES + 1] = "", *at;
	FILE *file;

	snprintf(path, sizeof path, "%s/ending", house->directory);
	file = fopen(path, "r+");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
	at = strstr(text, from);
	ck_assert_ptr_nonnull(at);
	memcpy(at, to, strlen(to));
	rewind(file);
	ck_assert_uint_eq(fwrite(text, 1, strlen(text), file), strlen(text));
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(locks_of_another_boot_count_where_clients_outlive_it)
{
	struct house house;

	house_init(&house);
	house_open(&house);
	rely(&house);
	house_close(&house, false);
	edit_record(&house, "clock=", "clock=x");
	house.settings.doubt = "clients may have come from afar";
	house_open(&house);
	ck_assert_str_eq(embedded_doubt(house.embedded), "clients may have come from afar");
	ck_assert_int_eq(embedded_doubted_until(house.embedded), 0);
	house_close(&house, false);
	edit_record(&house, "clock=", "clock=x");
	house.settings.doubt = NULL;
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	/* Nobody relied on anything when that daemon ended. Which daemon came after it, the record cannot
	 * know. */
	edit_record(&house, "clock=", "clock=x");
	house.settings.doubt = "clients may have come from afar";
	house_open(&house);
	ck_assert_str_eq(embedded_doubt(house.embedded), "clients may have come from afar");
	house_close(&house, true);
	house_done(&house);
}
END_TEST

static void
shell(const struct house *house, const char *command)
{
	char line[1024];

	snprintf(line, sizeof line, "d=%s; %s", house->directory, command);
	ck_assert_int_eq(system(line), 0); /* NOLINT(cert-env33-c): the test's own words */
}

/* The last daemon was killed, and its clients rely on its locks; the record is that of the daemon before it,
 * which ended cleanly. However it came back, it is not believed. */
START_TEST(a_record_that_was_copied_or_taken_back_is_not_believed)
{
	static const char *const ways[][2] = {
		/* Of an image: each file is another one. */
		{"cp -a $d $d.image", "rm -r $d && cp -a $d.image $d"},
		{"cp -a $d $d.image", "rm -r $d && mv $d.image $d"},
		/* The same file, with what it said: of a backup or a snapshot. */
		{"cp $d/ending $d.saved", "cat $d.saved > $d/ending"},
		{"ln $d/ending $d.saved && cp $d/ending $d.copy", "cat $d.copy > $d/ending"},
		/* The file itself, that had been put aside. */
		{"cp $d/ending $d.new && mv $d/ending $d.saved && mv $d.new $d/ending",
			"mv $d.saved $d/ending"},
	};

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct house house;

		house_init(&house);
		house_open(&house);
		house_close(&house, true);
		shell(&house, ways[i][0]);
		house_open(&house);
		rely(&house);
		house_close(&house, false);
		shell(&house, ways[i][1]);
		house.settings.doubt = "clients may have come from afar";
		house_open(&house);
		ck_assert_msg(!embedded_trusted(house.embedded), "way %zu", i);
		house_close(&house, true);
		/* Where no client can have known an earlier daemon, a copy costs nothing. */
		shell(&house, "cp -a $d $d.again && rm -r $d && mv $d.again $d");
		house.settings.doubt = NULL;
		house_open(&house);
		ck_assert_msg(embedded_trusted(house.embedded), "way %zu", i);
		house_close(&house, true);
		house_done(&house);
	}
}
END_TEST

/* A snapshot of a daemon that ran: it went on, and told of later deadlines. */
START_TEST(a_record_that_was_taken_back_while_its_daemon_ran_says_no_earlier_deadline)
{
	struct house house;
	int64_t now_ms = clock_ms();

	house_init(&house);
	house_open(&house);
	shell(&house, "cp $d/ending $d.saved");
	embedded_relied_on(house.embedded, now_ms + 60000);
	house_close(&house, false);
	shell(&house, "cat $d.saved > $d/ending");
	house_open(&house);
	ck_assert_int_ge(embedded_doubted_until(house.embedded), now_ms + 60000);
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_record_that_says_nothing_counts_as_locks)
{
	static const char *const wrong[][2] = {{"clean", "clear"}, {"until_ms=", "until_ms=-"},
		{"until_ms=", "until_ms=x"}, {"clock=", "clack="}};
	char clock[CLOCK_NAME_MAX], known[CLOCK_NAME_MAX + 8], unknown[CLOCK_NAME_MAX + 8];
	struct house house;

	house_init(&house);
	house_open(&house);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		house_close(&house, true);
		edit_record(&house, wrong[i][0], wrong[i][1]);
		house_open(&house);
		ck_assert_str_eq(
			embedded_doubt(house.embedded), "it is not known how the last daemon here ended");
	}
	house_close(&house, false);
	/* Which clock it was is not known. */
	clock_name(clock);
	snprintf(known, sizeof known, "clock=%s", clock);
	snprintf(unknown, sizeof unknown, "%-*s", (int)strlen(known), "clock=?");
	edit_record(&house, known, unknown);
	house_open(&house);
	ck_assert_str_eq(embedded_doubt(house.embedded), "it is not known how the last daemon here ended");
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_first_start_is_guarded_where_somebody_may_have_known_another)
{
	struct house house;

	house_init(&house);
	house.settings.doubt = "clients may have come from afar";
	house_open(&house);
	ck_assert(!embedded_trusted(house.embedded));
	ck_assert_str_eq(embedded_doubt(house.embedded), "clients may have come from afar");
	house_close(&house, true);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded)); /* that is on record */
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_directory_that_is_made_anew_is_not_the_first_while_the_last_daemon_is_there)
{
	struct house house;
	struct embedded *last;
	char away[128];

	house_init(&house);
	house_open(&house);
	last = house.embedded;
	snprintf(away, sizeof away, "%s/away", house.dir.path);
	ck_assert_int_eq(rename(house.directory, away), 0);
	house_open(&house);
	ck_assert_str_eq(embedded_doubt(house.embedded), "an earlier daemon of this directory still runs");
	house_close(&house, false);
	embedded_free(last, false, INT64_MAX);
	ck_assert_int_eq(rename(house.directory, strcat(away, "2")), 0);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, false);
	house_done(&house);
}
END_TEST

/* Abstract names have no owner. */
START_TEST(a_name_that_everybody_can_take_shows_no_daemon)
{
	struct house house;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int names[8], n;

	house_init(&house);
	for (int i = 0; i < 8; i++) {
		names[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		n = snprintf(
			at.sun_path + 1, sizeof at.sun_path - 1, "hf%u/%d%s", geteuid(), i, house.directory);
		ck_assert_int_lt(n, (int)sizeof at.sun_path - 1);
		n += (int)offsetof(struct sockaddr_un, sun_path) + 1;
		ck_assert_int_eq(bind(names[i], (struct sockaddr *)&at, (socklen_t)n), 0);
	}
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	for (int i = 0; i < 8; i++)
		close(names[i]);
	house_done(&house);
}
END_TEST

/* Another process of this user shows the daemon only by the mark of this very directory. */
START_TEST(a_process_with_the_mark_of_the_directory_shows_a_daemon)
{
	struct house house;
	char name[192];
	int status, pipe_fds[2];
	pid_t child;

	house_init(&house);
	for (int longer = 1; longer >= 0; longer--) {
		snprintf(name, sizeof name, "holdfastd:%s%s", house.directory, longer ? "2" : "");
		ck_assert_int_eq(pipe(pipe_fds), 0);
		child = fork();
		if (child == 0) {
			close(pipe_fds[0]);
			_exit(memfd_create(name, 0) < 0 || write(pipe_fds[1], "", 1) != 1 || pause() == 0);
		}
		close(pipe_fds[1]);
		ck_assert_int_eq(read(pipe_fds[0], name, 1), 1);
		house_open(&house);
		ck_assert_int_eq(embedded_trusted(house.embedded), longer);
		house_close(&house, true);
		ck_assert_int_eq(kill(child, SIGKILL), 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		close(pipe_fds[0]);
	}
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_start_that_fails_keeps_what_was_trusted)
{
	struct house house;

	house_init(&house);
	use_fragile_program(&house);
	house_open(&house);
	house_close(&house, true);
	set_failing(&house, true);
	ck_assert(!house_try(&house));
	ck_assert_ptr_nonnull(strstr(house.why, "ended at once (exit status 3); it said: out of order"));
	set_failing(&house, false);
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	rely(&house);
	house_close(&house, false);
	set_failing(&house, true);
	ck_assert(!house_try(&house));
	set_failing(&house, false);
	house_open(&house);
	ck_assert(!embedded_trusted(house.embedded));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(nothing_is_kept_across_a_restart)
{
	struct house house;

	house_init(&house);
	house_open(&house);
	expect_answer(&house, "SET a 1", "OK");
	house_close(&house, true);
	house_open(&house);
	expect_answer(&house, "GET a", "");
	house_close(&house, true);
	house_done(&house);
}
END_TEST

static bool
is_another(void *arg)
{
	struct house *house = arg;

	return embedded_pid(house->embedded) > 0 && embedded_pid(house->embedded) != house->before;
}

static bool
listens(void *arg)
{
	struct house *house = arg;
	redisContext *redis = redisConnectUnix(embedded_path(house->embedded));
	bool ok = redis && !redis->err;

	redisFree(redis);
	return ok;
}

START_TEST(it_is_started_again_when_it_dies)
{
	struct house house;

	house_init(&house);
	house_open(&house);
	house.before = embedded_pid(house.embedded);
	kill(house.before, SIGKILL);
	ck_assert(await(house.base, is_another, &house));
	ck_assert(await(house.base, listens, &house));
	expect_answer(&house, "PING", "PONG");
	ck_assert_int_eq(house.stats.embedded_starts, 2);
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_server_that_somebody_else_has_waited_for_is_told_and_started_again_likewise)
{
	struct house house;
	int said[2];
	char text[2048] = "";
	int status;

	house_init(&house);
	house_open(&house);
	house.before = embedded_pid(house.embedded);
	ck_assert_int_eq(pipe(said), 0);
	house.log.fd = said[1];
	kill(house.before, SIGKILL);
	ck_assert_int_eq(waitpid(house.before, &status, 0), house.before);
	ck_assert(!embedded_reaped(house.embedded, house.before + 1, status));
	ck_assert(embedded_reaped(house.embedded, house.before, status));
	ck_assert(await(house.base, is_another, &house));
	ck_assert(!embedded_reaped(house.embedded, house.before, status));
	ck_assert_int_gt(read(said[0], text, sizeof(text) - 1), 0);
	ck_assert_ptr_nonnull(strstr(text, "why=\"killed by signal 9\""));
	house_close(&house, true);
	house_done(&house);
	close(said[0]);
	close(said[1]);
}
END_TEST

/* As process 1, a moment before the end of its output is seen. */
START_TEST(a_server_that_was_waited_for_before_a_hand_over_is_started_again_after_it)
{
	struct house house;
	struct buffer bytes;
	struct record r;
	struct descriptors given = {0}, passed = {0};
	int status;

	house_init(&house);
	house_open(&house);
	house.before = embedded_pid(house.embedded);
	kill(house.before, SIGKILL);
	ck_assert_int_eq(waitpid(house.before, &status, 0), house.before);
	ck_assert(embedded_reaped(house.embedded, house.before, status));
	buffer_init(&bytes, 4096);
	record_save(&r, &bytes);
	embedded_save(house.embedded, &r, &given);
	for (size_t i = 0; i < given.count; i++)
		ck_assert_uint_ne(descriptors_add(&passed, dup(given.list[i].fd)), 0);
	house_close(&house, false);
	ck_assert(record_load(&r, (struct slice){buffer_bytes(&bytes), buffer_length(&bytes)}));
	ck_assert_uint_eq(record_next(&r), RECORD_PRIVATE_MASTER);
	house.embedded = embedded_load(house.base, &house.settings, &house.log, &house.stats, &r, &passed);
	ck_assert_msg(house.embedded != NULL, "%s", r.why);
	ck_assert_int_eq(embedded_pid(house.embedded), 0);
	ck_assert(await(house.base, is_another, &house));
	ck_assert(!embedded_trusted(house.embedded));
	house_close(&house, true);
	descriptors_close(&passed);
	descriptors_done(&given);
	buffer_done(&bytes);
	house_done(&house);
}
END_TEST

START_TEST(a_server_that_keeps_dying_is_not_hammered)
{
	struct house house;
	int64_t start_ms;

	house_init(&house);
	use_fragile_program(&house);
	house_open(&house);
	house.before = embedded_pid(house.embedded);
	set_failing(&house, true);
	kill(house.before, SIGKILL);
	start_ms = clock_ms();
	while (house.stats.embedded_starts < 5)
		event_base_loop(house.base, EVLOOP_ONCE);
	/* 0, 100, 200, 400 ms before the four */
	ck_assert_int_ge(clock_ms() - start_ms, 700 - 10);
	set_failing(&house, false);
	ck_assert(await(house.base, is_another, &house));
	ck_assert(await(house.base, listens, &house));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(it_is_gone_when_we_stop_and_so_is_its_socket)
{
	struct house house;
	char path[128];
	pid_t pid;

	house_init(&house);
	house_open(&house);
	pid = embedded_pid(house.embedded);
	snprintf(path, sizeof path, "%s", embedded_path(house.embedded));
	house_close(&house, true);
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_int_eq(access(path, F_OK), -1);
	house_done(&house);
}
END_TEST

START_TEST(it_dies_with_a_daemon_that_is_killed)
{
	struct pollfd poller = {.events = POLLIN};
	struct house house;
	pid_t daemon, server = 0;
	int ends[2];

	house_init(&house);
	ck_assert_int_eq(pipe(ends), 0);
	daemon = fork();
	if (daemon == 0) {
		if (house_try(&house)) {
			server = embedded_pid(house.embedded);
			rely(&house);
			if (write(ends[1], &server, sizeof server) == sizeof server)
				pause();
		}
		_exit(1);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &server, sizeof server), sizeof server);
	poller.fd = (int)syscall(SYS_pidfd_open, server, 0);
	ck_assert_int_ge(poller.fd, 0);
	kill(daemon, SIGKILL);
	ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
	ck_assert_int_eq(poll(&poller, 1, AWAIT_LIMIT_MS), 1);
	close(poller.fd);

	house_open(&house); /* and leaves a directory that the next one can use, but not trust */
	ck_assert(!embedded_trusted(house.embedded));
	house_close(&house, true);
	close(ends[0]);
	house_done(&house);
}
END_TEST

START_TEST(the_signals_of_a_terminal_do_not_reach_it)
{
	struct house house;

	house_init(&house);
	house_open(&house);
	ck_assert_int_eq(getsid(embedded_pid(house.embedded)), embedded_pid(house.embedded));
	house_close(&house, true);
	house_done(&house);
}
END_TEST

/* A child that has not begun its program yet has what the daemon had. It goes on for a moment. */
static pid_t
leave_child(void)
{
	const struct timespec moment = {.tv_nsec = 200000000};
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		nanosleep(&moment, NULL);
		_exit(0);
	}
	return child;
}

START_TEST(a_child_of_a_killed_daemon_that_has_its_directory_for_a_moment_is_waited_for)
{
	struct house house;
	pid_t child;

	house_init(&house);
	house_open(&house);
	child = leave_child();
	house_close(&house, true);
	ck_assert(!house_try(&house));
	house.settings.patient_until_ms = clock_ms() + 30000;
	house_open(&house);
	ck_assert(embedded_trusted(house.embedded));
	house_close(&house, true);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	house_done(&house);
}
END_TEST

START_TEST(two_daemons_cannot_share_a_directory)
{
	struct house house;
	struct embedded *first;

	house_init(&house);
	house_open(&house);
	first = house.embedded;
	ck_assert(!house_try(&house));
	ck_assert_ptr_nonnull(strstr(house.why, "is in use by another holdfastd"));
	house.embedded = first;
	expect_answer(&house, "PING", "PONG");
	house_close(&house, true);
	house_done(&house);
}
END_TEST

/* The server that this host has, or NULL. */
static char *
find_server(void)
{
	static const char *const places[] = {"/usr/bin", "/usr/local/bin"};
	static const char *const names[] = {"redis-server", "valkey-server"};
	char path[64];

	for (size_t i = 0; i < 4; i++) {
		char *real;

		snprintf(path, sizeof path, "%s/%s", places[i / 2], names[i % 2]);
		real = realpath(path, NULL);
		if (real)
			return real;
	}
	return NULL;
}

/* As redis-tools and valkey-tools of Debian have it, without a server's package. */
START_TEST(a_server_that_is_there_under_the_name_of_a_checker_alone_will_do)
{
	static const char *const names[] = {"redis-check-rdb", "valkey-check-rdb"};
	char *server = find_server();
	char link[128];
	struct house house;

	ck_assert_ptr_nonnull(server);
	for (size_t i = 0; i < 2; i++) {
		house_init(&house);
		setenv("PATH", house.dir.path, 1);
		snprintf(link, sizeof link, "%s/%s", house.dir.path, names[i]);
		ck_assert_int_eq(symlink(server, link), 0);
		ck_assert_msg(house_try(&house), "%s", house.why);
		expect_answer(&house, "PING", "PONG");
		house_close(&house, true);
		house_done(&house);
	}
	free(server);
}
END_TEST

START_TEST(a_missing_server_is_told_with_what_to_do)
{
	struct house house;

	house_init(&house);
	setenv("PATH", "/nowhere:", 1);
	ck_assert(!house_try(&house));
	ck_assert_ptr_nonnull(strstr(house.why, "no redis-server or valkey-server found"));
	ck_assert_ptr_nonnull(strstr(house.why, "apt install redis-tools"));
	ck_assert_ptr_nonnull(strstr(house.why, "masters:"));
	house.settings.program = "/nowhere/redis-server";
	ck_assert(!house_try(&house));
	ck_assert_str_eq(house.why, "cannot run /nowhere/redis-server: No such file or directory");
	house_done(&house);
}
END_TEST

START_TEST(a_directory_that_cannot_be_used_is_told)
{
	char longer[160];
	struct house house;

	house_init(&house);
	house.settings.directory = "/proc/nowhere/at/all";
	ck_assert(!house_try(&house));
	ck_assert_str_eq(house.why, "cannot make /proc/nowhere/at/all: No such file or directory");
	memset(longer, 'x', sizeof longer);
	longer[0] = '/';
	longer[sizeof longer - 1] = 0;
	house.settings.directory = longer;
	ck_assert(!house_try(&house));
	ck_assert_ptr_nonnull(strstr(house.why, "choose a shorter directory"));
	house.settings.directory = house.directory;
	ck_assert_int_eq(symlink(house.dir.path, house.directory), 0);
	ck_assert(!house_try(&house));
	ck_assert_ptr_nonnull(strstr(house.why, "cannot open"));
	house_done(&house);
}
END_TEST

START_TEST(missing_parents_are_made)
{
	struct house house;

	house_init(&house);
	snprintf(house.directory, sizeof house.directory, "%s/a/b//c", house.dir.path);
	house_open(&house);
	expect_answer(&house, "PING", "PONG");
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(an_open_directory_is_made_private)
{
	struct house house;
	struct stat st;

	house_init(&house);
	ck_assert_int_eq(mkdir(house.directory, 0700), 0);
	ck_assert_int_eq(chmod(house.directory, 0777), 0);
	house_open(&house);
	ck_assert_int_eq(stat(house.directory, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	house_close(&house, true);
	house_done(&house);
}
END_TEST

START_TEST(a_directory_of_another_user_is_refused)
{
	struct house house;

	house_init(&house);
	ck_assert_int_eq(mkdir(house.directory, 0700), 0);
	if (chown(house.directory, 65534, 65534) == 0) { /* only root can make the case */
		ck_assert(!house_try(&house));
		ck_assert_ptr_nonnull(strstr(house.why, "belongs to user 65534"));
	}
	house_done(&house);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("embedded", NULL, NULL, it_starts_private_without_port_persistence_or_eviction,
		the_first_start_and_a_clean_end_are_trusted_and_locks_are_not,
		locks_are_relied_on_until_the_deadline_on_record,
		a_guard_without_a_known_end_is_on_record_too,
		locks_of_another_boot_count_where_clients_outlive_it,
		a_record_that_was_copied_or_taken_back_is_not_believed,
		a_record_that_was_taken_back_while_its_daemon_ran_says_no_earlier_deadline,
		a_record_that_says_nothing_counts_as_locks,
		a_first_start_is_guarded_where_somebody_may_have_known_another,
		a_directory_that_is_made_anew_is_not_the_first_while_the_last_daemon_is_there,
		a_name_that_everybody_can_take_shows_no_daemon,
		a_process_with_the_mark_of_the_directory_shows_a_daemon,
		a_start_that_fails_keeps_what_was_trusted, nothing_is_kept_across_a_restart,
		it_is_started_again_when_it_dies,
		a_server_that_somebody_else_has_waited_for_is_told_and_started_again_likewise,
		a_server_that_was_waited_for_before_a_hand_over_is_started_again_after_it,
		a_server_that_keeps_dying_is_not_hammered, it_is_gone_when_we_stop_and_so_is_its_socket,
		it_dies_with_a_daemon_that_is_killed, the_signals_of_a_terminal_do_not_reach_it,
		two_daemons_cannot_share_a_directory,
		a_child_of_a_killed_daemon_that_has_its_directory_for_a_moment_is_waited_for,
		a_server_that_is_there_under_the_name_of_a_checker_alone_will_do,
		a_missing_server_is_told_with_what_to_do, a_directory_that_cannot_be_used_is_told,
		missing_parents_are_made, an_open_directory_is_made_private,
		a_directory_of_another_user_is_refused);
}
