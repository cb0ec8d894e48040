/*
 * record: makes the object with jansson and writes it.
 */
#include "client/record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

int
record_open(int64_t fd)
{
	int ours = fcntl((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	/* The command keeps its standard streams. Any other descriptor is closed for it, so that the reader
	 * sees the end. */
	if (ours >= 0 && fd > STDERR_FILENO) {
		(void)close((int)fd);
	}
	return ours;
}

static json_t *
number_or_null(bool there, int64_t n)
{
	return there ? json_integer(n) : json_null();
}

static json_t *
record_json(const struct record *r)
{
	static const char *const words[] = {
#define OUTCOME(id, word) word,
		OUTCOMES(OUTCOME)
#undef OUTCOME
	};
	bool exited = r->ended && WIFEXITED(r->child_status);
	bool killed = r->ended && WIFSIGNALED(r->child_status);

	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:I, s:I}", "name", r->name, "outcome",
		words[r->outcome], "exit", r->exit, "command_exit",
		number_or_null(exited, exited ? WEXITSTATUS(r->child_status) : 0), "command_signal",
		number_or_null(killed, killed ? WTERMSIG(r->child_status) : 0), "token",
		number_or_null(r->token != 0, r->token), "waited_ms", (json_int_t)r->waited_ms, "held_ms",
		(json_int_t)r->held_ms);
}

bool
record_write(int fd, const struct record *r)
{
	json_t *value = record_json(r);
	bool written;

	errno = ENOMEM;
	written = value != NULL && json_dumpfd(value, fd, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0 &&
		  write(fd, "\n", 1) == 1;
	json_decref(value);
	return written;
}
