/*
 * who: reads the keys that INSPECT, LOCKS and SESSIONS have in common.
 */
#include "client/who.h"

#include "client/options.h"
#include "proto/escape.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WHO_COMMAND_BYTES 4096 /* of a command line; more is not shown anyway */
#define WHO_WORDS_MAX     256

static const char *
program_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void
who_program(int64_t pid, char name[WHO_PROGRAM_MAX])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, WHO_PROGRAM_MAX - 1);
		(void)close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* If a name is withheld, its process has mostly ended, and the pid may be reused. */
static bool
is_withheld(const struct answer *map)
{
	return answer_get_int(map, "withheld", 0) != 0 ||
	       slice_equal(answer_get_text(map, "state"), SLICE("withheld"));
}

/* The command of the `holdfast run` in that process, in one line. False: it is another program, or may not be
 * read.
 */
static bool
who_command(int64_t pid, char out[WHO_TEXT_MAX])
{
	char path[64], bytes[WHO_COMMAND_BYTES], why[OPTIONS_TEXT_MAX];
	char *argv[WHO_WORDS_MAX + 1];
	struct options o;
	ssize_t n = -1;
	size_t used = 0;
	int fd, argc = 0;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, bytes, sizeof(bytes) - 1);
		(void)close(fd);
	}
	if (n <= 0) {
		return false;
	}
	bytes[n] = '\0';
	for (char *at = bytes; at < bytes + n && argc < WHO_WORDS_MAX; at += strlen(at) + 1) {
		argv[argc++] = at;
	}
	argv[argc] = NULL;
	if (strcmp(program_base(argv[0]), "holdfast") != 0 || !options_parse(&o, argc, argv, why) ||
		o.task != TASK_RUN) {
		return false;
	}
	if (o.shell != NULL) {
		(void)snprintf(out, WHO_TEXT_MAX, "%s", o.shell);
	}
	for (char **word = o.command; o.shell == NULL && *word != NULL && used < WHO_TEXT_MAX; word++) {
		int more = snprintf(
			out + used, WHO_TEXT_MAX - used, "%s%s", word == o.command ? "" : " ", *word);

		used += more > 0 ? (size_t)more : 0;
	}
	return out[0] != '\0';
}

const char *
who_name(char out[WHO_TEXT_MAX], const struct answer *map, bool local)
{
	struct slice client = answer_get_text(map, "client");
	int64_t pid = answer_get_int(map, "pid", 0);

	out[0] = '\0';
	if (local && pid > 0 && who_command(pid, out)) {
		return out;
	}
	if (client.n > 0) {
		(void)escape_text(out, WHO_TEXT_MAX, client, ESCAPE_PLAIN);
	} else if (local && pid > 0 && !is_withheld(map)) {
		who_program(pid, out);
	}
	if (out[0] == '\0') {
		(void)snprintf(out, WHO_TEXT_MAX, "-");
	}
	return out;
}

const char *
who_place(char out[WHO_TEXT_MAX], const struct answer *map)
{
	int64_t pid = answer_get_int(map, "pid", 0);

	if (pid > 0) {
		(void)snprintf(out, WHO_TEXT_MAX, "pid %" PRId64, pid);
	} else {
		(void)escape_text(out, WHO_TEXT_MAX, answer_get_text(map, "address"), ESCAPE_PLAIN);
	}
	return out;
}
