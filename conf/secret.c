/*
 * secret: reads a password from the first line of a file, or from the environment.
 *
 * Called by verify.c. It must never block (a FIFO is refused) and never put a password into a message.
 */
#include "conf/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
refuse(char why[SECRET_WHY_MAX], const char *text)
{
	snprintf(why, SECRET_WHY_MAX, "%s", text);
	return false;
}

static bool
secret_take(const char *text, char **out, char why[SECRET_WHY_MAX])
{
	char *copy;

	if (text[0] == '\0')
		return refuse(why, "holds no password");
	if (strlen(text) > SECRET_TEXT_MAX)
		return refuse(why, "holds a password of more than 512 bytes");
	copy = strdup(text);
	if (copy == NULL)
		return refuse(why, "does not fit into memory");
	secret_free(*out);
	*out = copy;
	return true;
}

/* Reads the start of a regular file; -1 and errno. */
static ssize_t
file_read(const char *path, char *buffer, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;
	int saved;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0) {
		errno = EINVAL;
		if (S_ISREG(st.st_mode))
			n = read(fd, buffer, room);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return n;
}

bool
secret_read_file(const char *path, char **out, char why[SECRET_WHY_MAX])
{
	char buffer[SECRET_TEXT_MAX + 3];
	ssize_t n = file_read(path, buffer, sizeof(buffer) - 1);
	bool good;

	if (n < 0) {
		snprintf(why, SECRET_WHY_MAX, "cannot be read: %s",
			errno == EINVAL ? "not a regular file" : strerror(errno));
		return false;
	}
	if (memchr(buffer, '\0', (size_t)n) != NULL)
		good = refuse(why, "has a NUL byte");
	else {
		buffer[n] = '\0';
		buffer[strcspn(buffer, "\r\n")] = '\0';
		good = secret_take(buffer, out, why);
	}
	explicit_bzero(buffer, sizeof(buffer));
	return good;
}

bool
secret_read_env(const char *variable, char **out, char why[SECRET_WHY_MAX])
{
	const char *text = getenv(variable);

	if (text == NULL)
		return refuse(why, "is not set in the environment");
	return secret_take(text, out, why);
}

void
secret_free(char *secret)
{
	if (secret == NULL)
		return;
	explicit_bzero(secret, strlen(secret));
	free(secret);
}
