/* secrets: files with secrets that others may read; see secrets.h. */
#include "daemon/base/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether all directories above let others in. path: absolute, without symbolic links; it is cut. */
static bool
others_reach(char *path)
{
	struct stat st;
	char *slash;
	while ((slash = strrchr(path, '/')) != NULL) {
		slash[slash == path ? 1 : 0] = '\0';
		if (stat(path, &st) != 0 || (st.st_mode & S_IXOTH) == 0) {
			return false;
		}
		if (slash == path) {
			return true;
		}
	}
	return false;
}

static bool
is_open(const char *path, unsigned *mode)
{
	struct stat st;
	char real[PATH_MAX];
	if (!realpath(path, real) || stat(real, &st) != 0 || !S_ISREG(st.st_mode) ||
		(st.st_mode & (S_IROTH | S_IWOTH)) == 0) {
		return false;
	}
	*mode = (unsigned)st.st_mode & 07777;
	return others_reach(real);
}

static bool
is_listed(const struct secrets *secrets, const char *path)
{
	for (size_t i = 0; i < secrets->n; i++) {
		if (strcmp(secrets->list[i].path, path) == 0) {
			return true;
		}
	}
	return false;
}

void
secrets_add(struct secrets *secrets, const char *path)
{
	unsigned mode;
	if (!path || path[0] == '\0' || strlen(path) >= PATH_MAX || secrets->n == SECRETS_MAX ||
		is_listed(secrets, path) || !is_open(path, &mode)) {
		return;
	}
	struct secret_file *file = &secrets->list[secrets->n++];
	snprintf(file->path, sizeof file->path, "%s", path);
	file->mode = mode;
}

void
secrets_refresh(struct secrets *secrets)
{
	size_t n = 0;
	for (size_t i = 0; i < secrets->n; i++) {
		unsigned mode;
		if (!is_open(secrets->list[i].path, &mode)) {
			continue;
		}
		if (n != i) {
			secrets->list[n] = secrets->list[i];
		}
		secrets->list[n++].mode = mode;
	}
	secrets->n = n;
}
