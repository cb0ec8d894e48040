/*
 * Tests of daemon/ledger_file: what one process has written the next one reads, whole; and nothing is used
 * that is not this very file, of this boot and user, and unused.
 */
#include "daemon/ledger_file.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

/* Where the fields of the header are. */
#define AT_CLOCK     24
#define AT_UID       120
#define AT_INODE     128
#define AT_DEVICE    136
#define AT_BEGUN     144
#define AT_COMMITTED 152
#define AT_VOID      160
#define AT_END       164

static struct tempdir dir;
static char path[TEMPDIR_PATH_MAX + 16];
static char other[TEMPDIR_PATH_MAX + 16];
static char why[LEDGER_WHY_MAX];

static void
setup(void)
{
	tempdir_init(&dir);
	snprintf(path, sizeof path, "%s/ledger", dir.path);
	snprintf(other, sizeof other, "%s/other", dir.path);
	signal(SIGXFSZ, SIG_IGN); /* as main does */
}

static void
teardown(void)
{
	tempdir_done(&dir);
}

static struct ledger_file *
begun(const char *text)
{
	struct ledger_file *f = ledger_file_new(path, why);
	ck_assert_msg(f != NULL, "%s", why);
	ck_assert(ledger_file_append(f, text, strlen(text)));
	return f;
}

static struct ledger_file *
published(const char *text)
{
	struct ledger_file *f = begun(text);
	ck_assert_msg(ledger_file_publish(f, NULL, why), "%s", why);
	return f;
}

/* A process has left it. */
static void
leave(const char *text)
{
	ledger_file_close(published(text));
}

static void
expect_entries(const struct ledger_file *f, const char *text)
{
	struct slice entries = ledger_file_entries(f);
	ck_assert_uint_eq(entries.n, strlen(text));
	ck_assert_mem_eq(entries.p, text, entries.n);
}

static void
expect_taken(const char *at, const char *text)
{
	struct ledger_file *f;
	enum ledger_found found = ledger_file_take(at, &f, why);
	ck_assert_msg(found == LEDGER_TAKEN, "%d %s", found, why);
	expect_entries(f, text);
	ledger_file_close(f);
}

static void
expect_not_taken(const char *at, enum ledger_found wanted, const char *reason)
{
	struct ledger_file *f;
	enum ledger_found found = ledger_file_take(at, &f, why);
	ck_assert_ptr_null(f);
	ck_assert_msg(found == wanted && strstr(why, reason) != NULL, "%d %s, not %d %s", found, why, wanted,
		reason);
}

static void
patch(const char *at, long offset, const void *bytes, size_t n)
{
	int fd = open(at, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, n, offset), (ssize_t)n);
	close(fd);
}

static void
copy(const char *from, const char *to)
{
	char command[256];
	snprintf(command, sizeof command, "cp -a %s %s", from, to);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(what_a_process_writes_the_next_one_reads)
{
	struct stat seen;
	struct ledger_file *f = begun("one ");
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert(ledger_file_append(f, "two ", 4));
	ck_assert(ledger_file_publish(f, NULL, why));
	ck_assert(ledger_file_append(f, "three", 5));
	ck_assert_uint_eq(ledger_file_begun(f), 8);
	ck_assert_uint_eq(ledger_file_bytes(f), 13);
	ck_assert_int_eq(stat(path, &seen), 0);
	ck_assert_uint_eq(seen.st_mode & 07777, 0600);
	ledger_file_close(f);
	expect_taken(path, "one two three");
	expect_taken(path, "one two three"); /* a process that could not start has left it as it was */
	ck_assert_int_ne(unlink(other), 0);
	expect_not_taken(other, LEDGER_NONE, "");
}
END_TEST

START_TEST(a_long_ledger_grows)
{
	struct ledger_file *f = published("");
	char line[1000];
	for (uint32_t i = 0; i < 5000; i++) {
		memset(line, (int)('a' + i % 26), sizeof line);
		ck_assert(ledger_file_append(f, line, sizeof line));
	}
	char *large = malloc(3 << 20);
	memset(large, 'L', 3 << 20);
	ck_assert(ledger_file_append(f, large, 3 << 20));
	free(large);
	ledger_file_close(f);
	ck_assert_int_eq(ledger_file_take(path, &f, why), LEDGER_TAKEN);
	struct slice entries = ledger_file_entries(f);
	ck_assert_uint_eq(entries.n, 5000 * sizeof line + (3 << 20));
	for (uint32_t i = 0; i < 5000; i++) {
		ck_assert_int_eq(entries.p[i * sizeof line], (char)('a' + i % 26));
		ck_assert_int_eq(entries.p[(i + 1) * sizeof line - 1], (char)('a' + i % 26));
	}
	ck_assert_int_eq(entries.p[entries.n - 1], 'L');
	ledger_file_close(f);
}
END_TEST

/* Each entry is its number, so that a missing or torn one shows. */
START_TEST(a_process_that_is_killed_leaves_whole_entries)
{
	for (int round = 0; round < 20; round++) {
		struct ledger_file *f = published("");
		int ready[2];
		ck_assert_int_eq(pipe(ready), 0);
		pid_t writer = fork();
		if (writer == 0) {
			for (uint64_t i = 0;; i++) {
				uint64_t entry[5] = {i, i, i, i, i};
				if (!ledger_file_append(f, entry, sizeof entry) ||
					(i == 1000 && write(ready[1], "x", 1) != 1)) {
					_exit(1);
				}
			}
		}
		char byte;
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
		kill(writer, SIGKILL);
		ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
		close(ready[0]);
		close(ready[1]);
		ledger_file_close(f);
		ck_assert_int_eq(ledger_file_take(path, &f, why), LEDGER_TAKEN);
		struct slice entries = ledger_file_entries(f);
		ck_assert_uint_eq(entries.n % 40, 0);
		ck_assert_uint_gt(entries.n / 40, 1000);
		for (uint64_t i = 0; i < entries.n / 40; i++) {
			const uint64_t entry[5] = {i, i, i, i, i};
			if (memcmp(entries.p + i * sizeof entry, entry, sizeof entry) != 0) {
				ck_abort_msg("entry %" PRIu64, i);
			}
		}
		ledger_file_remove(f);
	}
}
END_TEST

START_TEST(a_ledger_that_is_cut_is_refused)
{
	static const char text[] = "what was told";
	leave(text);
	for (long n = PAGE + 40; n >= 0; n--) {
		ck_assert_int_eq(truncate(path, n), 0);
		if (n < PAGE) {
			expect_not_taken(path, LEDGER_REFUSED, "it ends within its header");
		} else if (n < PAGE + (long)strlen(text)) {
			expect_not_taken(path, LEDGER_REFUSED, "a part of it is missing");
		} else {
			expect_taken(path, text);
		}
	}
}
END_TEST

/* Also the void flag, the inode, the boot, and a length that is greater than the file. */
START_TEST(a_header_with_a_changed_byte_is_refused)
{
	leave("what was told");
	for (long at = 0; at < AT_END; at++) {
		struct ledger_file *f;
		char byte, changed;
		int fd = open(path, O_RDONLY);
		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		close(fd);
		changed = (char)(byte ^ 0x40);
		patch(path, at, &changed, 1);
		enum ledger_found found = ledger_file_take(path, &f, why);
		/* An empty boot ends before the other bytes of its field. */
		bool unused = at >= 18 && at < AT_CLOCK;
		bool counts = at < AT_BEGUN || (at >= AT_COMMITTED && at < AT_END);
		if (found == LEDGER_TAKEN) {
			ck_assert_msg(!counts || unused || (at >= AT_CLOCK + 36 && at < AT_UID) ||
					      ledger_file_bytes(f) != strlen("what was told"),
				"byte %ld", at);
			ledger_file_close(f);
		} else if (at < 16) {
			ck_assert_msg(found == LEDGER_LEFT, "byte %ld: %s", at, why);
		} else {
			ck_assert_msg(found == LEDGER_REFUSED, "byte %ld: %s", at, why);
		}
		patch(path, at, &byte, 1);
	}
	expect_taken(path, "what was told");
}
END_TEST

START_TEST(a_ledger_of_another_version_boot_or_user_is_refused)
{
	uint64_t uid = geteuid() + 1;
	leave("what was told");
	copy(path, other);
	patch(path, AT_CLOCK, "00000000-0000-0000-0000-000000000000", 36);
	expect_not_taken(path, LEDGER_REFUSED, "it is of another boot");
	unlink(path);
	leave("what was told");
	patch(path, AT_UID, &uid, sizeof uid);
	expect_not_taken(path, LEDGER_REFUSED, "it is of another user");
	unlink(path);
	leave("what was told");
	patch(path, 16, "2", 1);
	expect_not_taken(path, LEDGER_REFUSED, "it is of another version");
}
END_TEST

START_TEST(a_copy_is_refused_and_what_was_moved_is_not)
{
	leave("what was told");
	copy(path, other);
	expect_not_taken(other, LEDGER_REFUSED, "it is a copy");
	ck_assert_int_eq(rename(other, path), 0);
	expect_not_taken(path, LEDGER_REFUSED, "it is a copy");
	ck_assert_int_eq(unlink(path), 0);
	leave("what was told");
	ck_assert_int_eq(rename(path, other), 0);
	expect_taken(other, "what was told");
}
END_TEST

START_TEST(a_ledger_that_a_process_keeps_is_left_alone)
{
	struct ledger_file *f = published("what was told"), *next;
	expect_not_taken(path, LEDGER_LEFT, "another process keeps it");
	ck_assert(ledger_file_is_held(path));
	next = begun("of another daemon");
	ck_assert(!ledger_file_publish(next, NULL, why));
	ck_assert_ptr_nonnull(strstr(why, "another process keeps it"));
	ledger_file_close(f);
	/* The one that would have replaced it is still kept. */
	ck_assert(ledger_file_is_held(path));
	ledger_file_close(next);
	ck_assert(!ledger_file_is_held(path));
	expect_taken(path, "what was told");
	/* Nor is one replaced that the daemon may come back for. */
	next = begun("of another daemon");
	ck_assert(!ledger_file_publish(next, NULL, why));
	ck_assert_ptr_nonnull(strstr(why, "it is the ledger of another process"));
	ledger_file_close(next);
	expect_taken(path, "what was told");
}
END_TEST

/* An operator empties it, or a tool that rotates files. */
START_TEST(a_ledger_that_another_program_cuts_ends_and_ends_nothing_else)
{
	for (off_t left = 0; left <= 8192; left += 4096) {
		struct ledger_file *f = published("what was told"), *next = begun("what goes on");
		ck_assert(ledger_file_whole(f));
		ck_assert_int_eq(truncate(path, left), 0);
		ck_assert(!ledger_file_append(f, "more", 4));
		ck_assert_int_eq(errno, EIO);
		ck_assert(!ledger_file_whole(f));
		memset(ledger_file_marks(f), 1, LEDGER_MARK_BYTES);
		ck_assert_uint_eq(ledger_file_entries(f).n, strlen("what was told"));
		ck_assert(!ledger_file_publish(next, f, why));
		ck_assert_str_eq(why, "another program has cut it");
		ledger_file_close(next);
		ledger_file_remove(f);
		ck_assert_int_ne(access(path, F_OK), 0);
		leave("what was told later");
		expect_taken(path, "what was told later");
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

START_TEST(a_ledger_is_used_once)
{
	struct ledger_file *past, *next;
	leave("what was told");
	ck_assert_int_eq(link(path, other), 0);
	ck_assert_int_eq(ledger_file_take(path, &past, why), LEDGER_TAKEN);
	next = begun("what goes on");
	expect_not_taken(other, LEDGER_LEFT, "another process keeps it");
	ck_assert_msg(ledger_file_publish(next, past, why), "%s", why);
	expect_not_taken(other, LEDGER_LEFT, "another process keeps it");
	ledger_file_close(past);
	expect_not_taken(other, LEDGER_REFUSED, "it is void");
	expect_not_taken(path, LEDGER_LEFT, "another process keeps it");
	ledger_file_close(next);
	expect_taken(path, "what goes on");
}
END_TEST

START_TEST(a_ledger_that_no_process_can_use_is_replaced)
{
	leave("what was told");
	patch(path, AT_CLOCK, "00000000-0000-0000-0000-000000000000", 36);
	expect_not_taken(path, LEDGER_REFUSED, "it is of another boot");
	leave("of this boot");
	expect_taken(path, "of this boot");
	ck_assert_int_eq(truncate(path, 10), 0);
	leave("anew");
	expect_taken(path, "anew");
}
END_TEST

static void
put_file(const char *at, const char *text)
{
	FILE *file = fopen(at, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(what_is_no_ledger_is_left_alone)
{
	char text[64] = "";
	struct ledger_file *next;
	put_file(path, "the only copy of a thesis");
	expect_not_taken(path, LEDGER_LEFT, "it is not a ledger");
	next = begun("");
	ck_assert(!ledger_file_publish(next, NULL, why));
	ck_assert_ptr_nonnull(strstr(why, "it is not a ledger"));
	ledger_file_close(next);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
	fclose(file);
	ck_assert_str_eq(text, "the only copy of a thesis");
	unlink(path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	expect_not_taken(path, LEDGER_LEFT, "it cannot be opened: Is a directory");
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_not_taken(path, LEDGER_LEFT, "it is not a regular file");
	unlink(path);
	put_file(other, "");
	ck_assert_int_eq(symlink(other, path), 0);
	expect_not_taken(path, LEDGER_LEFT, "it is a link");
	next = begun("");
	ck_assert(!ledger_file_publish(next, NULL, why));
	ledger_file_close(next);
}
END_TEST

static unsigned
files(void)
{
	char command[128];
	unsigned n = 99;
	snprintf(command, sizeof command, "ls -A %s | wc -l", dir.path);
	FILE *pipe = popen(command, "r");
	ck_assert_int_eq(fscanf(pipe, "%u", &n), 1);
	pclose(pipe);
	return n;
}

START_TEST(nothing_is_left_behind)
{
	struct ledger_file *f = begun("never published"), *second;
	ck_assert_ptr_null(ledger_file_new(path, why)); /* the other one is still at work */
	ck_assert_uint_eq(files(), 1);
	ledger_file_close(f);
	ck_assert_uint_eq(files(), 0);
	pid_t pid = fork();
	if (pid == 0) {
		_exit(ledger_file_new(path, why) ? 0 : 1); /* killed before it published */
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_eq(files(), 1);
	f = published("first");
	ck_assert_uint_eq(files(), 1);
	second = begun("second");
	ck_assert_uint_eq(files(), 2);
	ck_assert(ledger_file_publish(second, f, why));
	ck_assert_uint_eq(files(), 2); /* the first one is kept for the next one */
	ledger_file_close(f);
	ck_assert_uint_eq(files(), 1);
	ledger_file_remove(second);
	ck_assert_uint_eq(files(), 0);
	ledger_file_close(NULL);
	ledger_file_remove(NULL);
}
END_TEST

START_TEST(what_was_removed_is_void)
{
	struct ledger_file *f = published("what was told");
	ck_assert_int_eq(link(path, other), 0);
	ledger_file_remove(f);
	expect_not_taken(path, LEDGER_NONE, "");
	expect_not_taken(other, LEDGER_REFUSED, "it is void");
	f = published("what was told");
	ledger_file_void(f);
	ledger_file_close(f);
	expect_not_taken(path, LEDGER_REFUSED, "it is void");
}
END_TEST

/* As by exec: the descriptor stays open, and with it the lock. */
START_TEST(a_ledger_goes_on_after_a_hand_over)
{
	struct ledger_file *f = published("before");
	int fd = dup(ledger_file_descriptor(f));
	ledger_file_close(f);
	expect_not_taken(path, LEDGER_LEFT, "another process keeps it");
	f = ledger_file_adopt(path, fd, why);
	ck_assert_msg(f != NULL, "%s", why);
	ck_assert(ledger_file_append(f, " and after", 10));
	fd = dup(ledger_file_descriptor(f));
	ledger_file_close(f);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_ptr_null(ledger_file_adopt(path, dup(fd), why));
	ck_assert_ptr_nonnull(strstr(why, "removed or replaced"));
	f = ledger_file_adopt(other, fd, why);
	expect_entries(f, "before and after");
	ledger_file_void(f);
	fd = dup(ledger_file_descriptor(f));
	ledger_file_close(f);
	ck_assert_ptr_null(ledger_file_adopt(other, fd, why));
	ck_assert_ptr_nonnull(strstr(why, "it is void"));
}
END_TEST

/* Appends until there is no room. What was appended before is there, and nothing else. */
static void
fill(int reason)
{
	struct ledger_file *f = published("");
	char line[1500];
	size_t n = 0;
	memset(line, 'x', sizeof line);
	while (n < 10000 && ledger_file_append(f, line, sizeof line)) {
		n++;
	}
	ck_assert_int_eq(errno, reason);
	ck_assert_uint_gt(n, 20);
	ck_assert_uint_eq(ledger_file_bytes(f), n * sizeof line);
	ledger_file_close(f);
	ck_assert_int_eq(ledger_file_take(path, &f, why), LEDGER_TAKEN);
	ck_assert_uint_eq(ledger_file_entries(f).n, n * sizeof line);
	for (size_t i = 0; i < n; i++) {
		ck_assert_mem_eq(ledger_file_entries(f).p + i * sizeof line, line, sizeof line);
	}
	ledger_file_remove(f);
}

START_TEST(a_file_at_its_limit_is_told)
{
	const struct rlimit limit = {.rlim_cur = 500000, .rlim_max = RLIM_INFINITY};
	const struct rlimit small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
	struct ledger_file *f;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill(EFBIG);
	/* The framework needs a file for the result. */
	setrlimit(RLIMIT_FSIZE, &small);
	f = ledger_file_new(path, why);
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_ptr_null(f);
	ck_assert_ptr_nonnull(strstr(why, "has no room: File too large"));
	ck_assert_uint_eq(files(), 0);
}
END_TEST

/* In a mount namespace of its own; without the rights for it only the limit is tested. */
START_TEST(a_full_file_system_is_told)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", dir.path, "tmpfs", 0, "size=512k") != 0) {
		fprintf(stderr, "# no tmpfs can be mounted here\n");
		return;
	}
	fill(ENOSPC);
	ck_assert_uint_eq(files(), 0);
	fill(ENOSPC); /* its room is free again */
	put_file(other, "");
	ck_assert_int_eq(truncate(other, 0), 0);
	int fd = open(other, O_WRONLY);
	ck_assert_int_eq(posix_fallocate(fd, 0, 508 << 10), 0);
	close(fd);
	ck_assert_ptr_null(ledger_file_new(path, why));
	ck_assert_ptr_nonnull(strstr(why, "has no room: No space left on device"));
	ck_assert_uint_eq(files(), 1);
	ck_assert_int_eq(umount2(dir.path, MNT_DETACH), 0);
}
END_TEST

START_TEST(a_ledger_that_was_replaced_gives_its_memory_back)
{
	struct ledger_file *f = published("");
	char *large = calloc(1, 10 << 20);
	struct stat seen;
	ck_assert(ledger_file_append(f, large, 10 << 20));
	free(large);
	int fd = dup(ledger_file_descriptor(f));
	unlink(path);
	int parts = 1;
	while (ledger_file_shrink(f)) {
		parts++;
	}
	ck_assert_int_ge(parts, 4);
	ck_assert_int_eq(fstat(fd, &seen), 0);
	ck_assert_int_le(seen.st_size, 2 << 20);
	ck_assert(!ledger_file_shrink(f));
	ck_assert(!ledger_file_again(f)); /* it has no name */
	ledger_file_close(f);
	close(fd);
}
END_TEST

START_TEST(a_ledger_that_is_not_whole_cannot_be_used)
{
	struct ledger_file *f = begun("half of it");
	char at[sizeof path + 8];
	snprintf(at, sizeof at, "%s.new", path);
	ck_assert_ptr_null(ledger_file_adopt(at, dup(ledger_file_descriptor(f)), why));
	ck_assert_ptr_nonnull(strstr(why, "it is void"));
	ck_assert(ledger_file_publish(f, NULL, why));
	int fd = dup(ledger_file_descriptor(f));
	ledger_file_close(f);
	f = ledger_file_adopt(path, fd, why);
	ck_assert_msg(f != NULL, "%s", why);
	ledger_file_remove(f);
}
END_TEST

START_TEST(a_ledger_that_is_written_again_begins_with_nothing)
{
	struct ledger_file *f = published("first"), *second = begun("second");
	ck_assert(ledger_file_publish(second, f, why));
	ck_assert(ledger_file_again(f));
	ck_assert(ledger_file_publish(f, second, why));
	ledger_file_close(second);
	ledger_file_close(f);
	expect_taken(path, "");
}
END_TEST

START_TEST(marks_are_at_one_address_and_for_the_next_process)
{
	static const char zeros[LEDGER_MARK_BYTES];
	char line[5000];
	struct ledger_file *f = published("first"), *second;
	unsigned char *marks = ledger_file_marks(f);
	memset(line, 'x', sizeof line);
	ck_assert_mem_eq(marks, zeros, sizeof zeros);
	/* It grows, and is mapped elsewhere. */
	for (int i = 0; i < 200; i++) {
		ck_assert(ledger_file_append(f, line, sizeof line));
	}
	ck_assert_ptr_eq(ledger_file_marks(f), marks);
	marks[0] = 1;
	marks[LEDGER_MARK_BYTES - 1] = 2;
	ledger_file_close(f);
	ck_assert_int_eq(ledger_file_take(path, &f, why), LEDGER_TAKEN);
	marks = ledger_file_marks(f);
	ck_assert_uint_eq(marks[0], 1);
	ck_assert_uint_eq(marks[LEDGER_MARK_BYTES - 1], 2);
	second = begun("second");
	ck_assert(ledger_file_publish(second, f, why));
	ck_assert(ledger_file_again(f));
	ck_assert_mem_eq(ledger_file_marks(f), zeros, sizeof zeros);
	ledger_file_close(f);
	ledger_file_remove(second);
}
END_TEST

/* Two files take turns. */
START_TEST(a_ledger_that_was_replaced_is_written_again)
{
	struct ledger_file *f = published("a long text that is the first one"), *second = begun("second");
	char line[5000];
	memset(line, 'x', sizeof line);
	ck_assert(ledger_file_publish(second, f, why));
	for (int i = 0; i < 10; i++) {
		struct ledger_file *next = f;
		ck_assert(ledger_file_again(next));
		ck_assert_uint_eq(ledger_file_bytes(next), 0);
		for (int j = 0; j < 20 * i; j++) {
			ck_assert(ledger_file_append(next, line, sizeof line));
		}
		/* Until it is whole no process can use it, whoever finds it. */
		unlink(other);
		ck_assert_int_eq(link(strcat(strcpy(line, path), ".new"), other), 0);
		int fd = dup(ledger_file_descriptor(next));
		ck_assert_ptr_null(ledger_file_adopt(other, fd, why));
		ck_assert_ptr_nonnull(strstr(why, "it is void"));
		unlink(other);
		memset(line, 'x', sizeof line);
		ck_assert(ledger_file_append(next, "end", 3));
		ck_assert_msg(ledger_file_publish(next, second, why), "%s", why);
		ck_assert_uint_eq(ledger_file_begun(next), 20U * (unsigned)i * sizeof line + 3);
		f = second;
		second = next;
		ck_assert_uint_eq(files(), 2);
	}
	ledger_file_close(f);
	ledger_file_close(second);
	ck_assert_uint_eq(files(), 1);
	ck_assert_int_eq(ledger_file_take(path, &f, why), LEDGER_TAKEN);
	ck_assert_uint_eq(ledger_file_entries(f).n, 180U * sizeof line + 3);
	ck_assert_mem_eq(ledger_file_entries(f).p + 180U * sizeof line, "end", 3);
	ledger_file_close(f);
}
END_TEST

START_TEST(the_directory_is_made)
{
	char below[sizeof path + 16];
	struct ledger_file *f;
	snprintf(below, sizeof below, "%s/run/ledger", dir.path);
	expect_not_taken(below, LEDGER_NONE, "");
	f = ledger_file_new(below, why);
	ck_assert_msg(f != NULL, "%s", why);
	ck_assert(ledger_file_publish(f, NULL, why));
	ck_assert_str_eq(ledger_file_path(f), below);
	ledger_file_close(f);
	expect_taken(below, "");
	snprintf(below, sizeof below, "%s/no/such/ledger", dir.path);
	ck_assert_ptr_null(ledger_file_new(below, why));
	ck_assert_ptr_nonnull(strstr(why, "cannot be made: No such file or directory"));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("ledger_file", setup, teardown, what_a_process_writes_the_next_one_reads,
		a_long_ledger_grows, a_process_that_is_killed_leaves_whole_entries,
		a_ledger_that_is_cut_is_refused, a_header_with_a_changed_byte_is_refused,
		a_ledger_of_another_version_boot_or_user_is_refused,
		a_copy_is_refused_and_what_was_moved_is_not, a_ledger_that_a_process_keeps_is_left_alone,
		a_ledger_is_used_once, a_ledger_that_another_program_cuts_ends_and_ends_nothing_else,
		a_ledger_that_no_process_can_use_is_replaced, what_is_no_ledger_is_left_alone,
		nothing_is_left_behind, what_was_removed_is_void, a_ledger_goes_on_after_a_hand_over,
		a_file_at_its_limit_is_told, a_full_file_system_is_told,
		a_ledger_that_is_not_whole_cannot_be_used, a_ledger_that_is_written_again_begins_with_nothing,
		a_ledger_that_was_replaced_gives_its_memory_back,
		marks_are_at_one_address_and_for_the_next_process,
		a_ledger_that_was_replaced_is_written_again, the_directory_is_made);
}
