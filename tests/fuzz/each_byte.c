/*
 * each-byte-NOUN FOLDER: changes each byte of the images in this folder in five ways, cuts them before it,
 * and gives each to the fuzz target of the noun. Whatever the target asserts has to hold; else the last line
 * names the image, the byte and the way.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is being tried, for people. */
static char trying[PATH_MAX + 64];

static void
tell(int signal_number)
{
	ssize_t written = write(STDOUT_FILENO, trying, strlen(trying));

	(void)written;
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
}

static void
try(const char *path, const char *way, size_t at, const uint8_t *image, size_t n)
{
	(void)snprintf(trying, sizeof(trying), "not ok 1 - %s: byte %zu %s\n", path, at, way);
	(void)LLVMFuzzerTestOneInput(image, n);
}

/* How many images were tried. */
static unsigned long
change(const char *path, uint8_t *image, size_t n)
{
	unsigned long count = 0;

	for (size_t at = 0; at < n; at++, count += 6) {
		uint8_t was = image[at];

		image[at] = was ^ 0xff;
		try(path, "inverted", at, image, n);
		image[at] = was ^ 0x80;
		try(path, "with another high bit", at, image, n);
		image[at] = (uint8_t)(was + 1);
		try(path, "plus one", at, image, n);
		image[at] = (uint8_t)(was - 1);
		try(path, "less one", at, image, n);
		image[at] = 0;
		try(path, "zero", at, image, n);
		image[at] = was;
		try(path, "and what follows cut", at, image, at);
	}
	return count;
}

/* False, and says so: the image cannot be read. */
static bool
play(const char *path, uint8_t *image, unsigned long *count)
{
	FILE *file = fopen(path, "rb");
	size_t n = file != NULL ? fread(image, 1, IMAGE_MAX, file) : 0;

	if (n == 0)
		perror(path);
	if (file != NULL)
		(void)fclose(file);
	*count += change(path, image, n);
	return n > 0;
}

int
main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	uint8_t *image = malloc(IMAGE_MAX);
	unsigned long images = 0, count = 0;
	const struct dirent *entry;
	char path[PATH_MAX];

	if (folder == NULL || image == NULL) {
		(void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	(void)signal(SIGABRT, tell);
	(void)signal(SIGSEGV, tell);
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (!play(path, image, &count))
			return 2;
		images++;
	}
	(void)closedir(folder);
	free(image);
	printf("ok 1 - %lu images, %lu changes\n1..1\n", images, count);
	return images == 0;
}
