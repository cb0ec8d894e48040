/*
 * secrets: files with secrets of the configuration that every user of this host may read or write. holdfastd
 * -t, the start and a reload warn of them; INFO shows them, and so does holdfast doctor.
 *
 * The group may read: so Kubernetes mounts a secret with fsGroup, and so packages install one. A file below a
 * directory that others may not enter is not open to them.
 */
#ifndef HOLDFAST_DAEMON_BASE_SECRETS_H
#define HOLDFAST_DAEMON_BASE_SECRETS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SECRETS_MAX      16 /* open ones; further ones are left out */
#define SECRETS_TEXT_MAX (PATH_MAX + 128)

/* Which file, what its mode means, and what to do. With the path twice and the mode. */
#define SECRETS_WHAT "%s has a secret, and its mode %04o lets every user of this host read or write it"
#define SECRETS_DO   "chmod o= %s"

struct secret_file {
	char path[PATH_MAX];
	unsigned mode;
};

/* Zeroed: none. */
struct secrets {
	size_t n;
	struct secret_file list[SECRETS_MAX];
};

/* Adds a file if it is open to others and not there yet. NULL and "" are no file; one that cannot be
 * examined is not open. */
void secrets_add(struct secrets *secrets, const char *path);

/* Examines them again, and drops those that are closed now: a chmod needs no reload. */
void secrets_refresh(struct secrets *secrets);

#endif
