/*
 * source: reads the files of a configuration as trees.
 *
 * Called by the loader. It does not interpret the files, and must not keep their texts, which may contain
 * passwords.
 */
#include "conf/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX      ".yml"
#define SUFFIX_SIZE (sizeof(SUFFIX) - 1)

void
source_init(struct source *source, struct conf_errors *errors)
{
	errors_init(errors);
	*source = (struct source){.errors = errors};
}

void
source_done(struct source *source)
{
	node_free(source->roots);
	for (size_t i = 0; i < source->count; i++)
		free(source->files[i]);
}

static void
complain(struct source *source, const char *file, const char *why)
{
	errors_add(source->errors, (struct place){file, 0, 0}, "%s", why);
}

void
source_add(struct source *source, const char *file, const char *text, size_t n)
{
	char *name = strdup(file);
	struct node *root;

	if (name == NULL) {
		complain(source, file, "out of memory");
		return;
	}
	source->files[source->count++] = name;
	root = node_parse(name, text, n, source->errors);
	if (root == NULL)
		return;
	if (source->last == NULL)
		source->roots = root;
	else
		source->last->next = root;
	source->last = root;
}

/* Reads at most one byte more than allowed, so that the parser detects a file that is too long. -1 and
 * errno. */
static ssize_t
fd_read(int fd, char *buffer, size_t room)
{
	size_t n = 0;

	while (n < room) {
		ssize_t got = read(fd, buffer + n, room - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static void
file_read(struct source *source, const char *file, bool needed)
{
	size_t room = NODE_BYTES_MAX + 1;
	char *buffer = malloc(room);
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd >= 0 && buffer != NULL ? fd_read(fd, buffer, room) : -1;

	if (n >= 0)
		source_add(source, file, buffer, (size_t)n);
	else if (buffer == NULL)
		complain(source, file, "cannot be read: out of memory");
	else if (needed || errno != ENOENT)
		errors_add(source->errors, (struct place){file, 0, 0}, "cannot be read: %s", strerror(errno));
	if (buffer != NULL)
		explicit_bzero(buffer, room);
	free(buffer);
	if (fd >= 0)
		close(fd);
}

static bool
has_suffix(const char *name)
{
	size_t n = strlen(name);

	return n > SUFFIX_SIZE && strcmp(name + n - SUFFIX_SIZE, SUFFIX) == 0;
}

static int
entry_wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && has_suffix(entry->d_name);
}

/* In byte order: the meaning of a configuration must not depend on the locale. */
static int
entry_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
entry_read(struct source *source, const char *directory, const char *name)
{
	char *file;

	if (asprintf(&file, "%s/%s", directory, name) < 0) {
		complain(source, directory, "out of memory");
		return;
	}
	file_read(source, file, true);
	free(file);
}

static void
directory_read(struct source *source, const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, entry_wanted, entry_compare);

	if (n < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			errors_add(source->errors, (struct place){directory, 0, 0}, "cannot be read: %s",
				strerror(errno));
		return;
	}
	if ((size_t)n > SOURCE_FILES_MAX - 1)
		errors_add(source->errors, (struct place){directory, 0, 0},
			"%d files; at most %d are read, so put some into one", n, SOURCE_FILES_MAX - 1);
	for (int i = 0; i < n; i++) {
		if ((size_t)n < SOURCE_FILES_MAX)
			entry_read(source, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

void
source_read(struct source *source, const char *file, bool needed)
{
	char *directory;

	file_read(source, file, needed);
	if (!has_suffix(file))
		return;
	if (asprintf(&directory, "%.*s.d", (int)(strlen(file) - SUFFIX_SIZE), file) < 0) {
		complain(source, file, "out of memory");
		return;
	}
	directory_read(source, directory);
	free(directory);
}

char *
source_names(const struct source *source)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	if (to == NULL)
		return NULL;
	for (size_t i = 0; i < source->count; i++)
		fprintf(to, "%s%s", i > 0 ? ", " : "", source->files[i]);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
