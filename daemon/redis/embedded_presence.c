/*
 * embedded_presence: what shows, after the directory of a private master was removed, that the daemon which
 * had it still runs.
 *
 * It has a file of memory (memfd) that is named after the directory: no other process can hold the name in
 * its place, since the file belongs to the user who made it. A name that is common to all users, as that of
 * an abstract socket, could be taken by anybody, and force a guard at each start or hide that a daemon runs.
 * The daemon that takes the directory checks what the processes of its own user have open. A daemon of
 * another container has a directory of its own under the same name, and is not checked.
 */
#include "daemon/redis/embedded_presence.h"

#include "daemon/redis/embedded_inner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_BYTES 256

/* The directory has few bytes, as that of a socket has (embedded_prepare). */
static void
mark_name(const struct embedded *e, char out[MARK_BYTES])
{
	(void)snprintf(out, MARK_BYTES, "holdfastd:%.200s", e->directory);
}

bool
embedded_show_presence(struct embedded *e)
{
	char name[MARK_BYTES];

	/* One that a daemon of another version has handed over is none. */
	if (e->presence_fd >= 0 && fcntl(e->presence_fd, F_GET_SEALS) >= 0)
		return true;
	if (e->presence_fd >= 0)
		close(e->presence_fd);
	mark_name(e, name);
	e->presence_fd = memfd_create(name, MFD_CLOEXEC);
	return e->presence_fd >= 0;
}

/* Whether the open file at this path of /proc is the mark, and was made by this user. */
static bool
is_mark(const char *path, const char *mark)
{
	char link[MARK_BYTES + 32];
	ssize_t n = readlink(path, link, sizeof(link));
	struct stat st;

	return n == (ssize_t)strlen(mark) && memcmp(link, mark, (size_t)n) == 0 && stat(path, &st) == 0 &&
	       st.st_uid == geteuid();
}

struct status {
	bool ours;   /* all its user ids are ours, and its pid namespace is that of /proc */
	bool daemon; /* by its name */
};

/* False: it has ended. */
static bool
status_read(const char *process, struct status *status)
{
	char path[PATH_BYTES], line[256];
	FILE *file;
	unsigned uid[4];
	int first, second;
	bool same_user = false, same_space = false;

	(void)snprintf(path, sizeof(path), "/proc/%s/status", process);
	file = fopen(path, "re");
	if (!file)
		return false;
	*status = (struct status){0};
	while (fgets(line, sizeof(line), file)) {
		if (strcmp(line, "Name:\tholdfastd\n") == 0)
			status->daemon = true;
		if (sscanf(line, "Uid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4)
			same_user = uid[0] == geteuid() && uid[1] == uid[0] && uid[2] == uid[0] &&
				    uid[3] == uid[0];
		if (strncmp(line, "NSpid:", 6) == 0)
			same_space = sscanf(line, "NSpid: %d %d", &first, &second) == 1;
	}
	fclose(file);
	status->ours = same_user && same_space;
	return true;
}

/* Whether this process shows the mark. A process that cannot be inspected does if its name is that of a
 * daemon. */
static bool
process_shows(const char *process, const char *mark)
{
	char path[PATH_BYTES];
	struct status status;
	struct dirent *entry;
	bool shows = false;
	DIR *open_files;

	if (!status_read(process, &status) || !status.ours)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%s/fd", process);
	open_files = opendir(path);
	if (!open_files)
		return errno != ENOENT && errno != ESRCH && status.daemon;
	while (!shows && (entry = readdir(open_files)) != NULL) {
		(void)snprintf(path, sizeof(path), "/proc/%s/fd/%s", process, entry->d_name);
		shows = is_mark(path, mark);
	}
	closedir(open_files);
	return shows;
}

bool
embedded_is_alone(const struct embedded *e)
{
	char name[MARK_BYTES], mark[MARK_BYTES + 32];
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool alone = processes != NULL;

	mark_name(e, name);
	(void)snprintf(mark, sizeof(mark), "/memfd:%s (deleted)", name);
	while (alone && (entry = readdir(processes)) != NULL) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")] == '\0')
			alone = !process_shows(entry->d_name, mark);
	}
	if (processes)
		closedir(processes);
	return alone;
}
