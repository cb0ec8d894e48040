/*
 * who: reads the keys that INSPECT, LOCKS and SESSIONS have in common.
 */
#include "client/who.h"

#include "proto/escape.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Of a name that is withheld: the process has ended, mostly, and its number may be another's. */
static bool
is_withheld(const struct answer *map)
{
	return answer_get_int(map, "withheld", 0) != 0 ||
	       slice_equal(answer_get_text(map, "state"), SLICE("withheld"));
}

const char *
who_name(char out[WHO_TEXT_MAX], const struct answer *map, bool local)
{
	struct slice client = answer_get_text(map, "client");
	int64_t pid = answer_get_int(map, "pid", 0);

	out[0] = '\0';
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
