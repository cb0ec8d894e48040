/*
 * credentials: see credentials.h.
 */
#include "daemon/redis/credentials.h"

#include <stdlib.h>
#include <string.h>

static void
password_free(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}

static bool
password_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool
credentials_set(struct credentials *c, const char *password)
{
	char *copy = password ? strdup(password) : NULL;

	if (password && !copy)
		return false;
	if (password_same(c->password, password)) {
		password_free(copy);
		return true;
	}
	/* After several changes in a row, the password before the first change is the one that worked. */
	if (c->changed)
		password_free(c->password);
	else
		c->before = c->password;
	c->password = copy;
	c->changed = true;
	c->fallback = false;
	return true;
}

void
credentials_done(struct credentials *c)
{
	password_free(c->password);
	password_free(c->before);
	*c = (struct credentials){0};
}

const char *
credentials_password(const struct credentials *c)
{
	return c->fallback ? c->before : c->password;
}

void
credentials_refused(struct credentials *c)
{
	c->fallback = c->changed && !c->fallback;
}

void
credentials_worked(struct credentials *c)
{
	if (c->fallback)
		return;
	password_free(c->before);
	c->before = NULL;
	c->changed = false;
}
