/*
 * secret: reads a password from the first line of a file, or from the environment.
 */
#ifndef CONF_SECRET_H
#define CONF_SECRET_H

#include <stdbool.h>

#define SECRET_WHY_MAX  160
#define SECRET_TEXT_MAX 512

/* Replaces *out with the password, for secret_free(). False: why says what is wrong. */
bool secret_read_file(const char *path, char **out, char why[SECRET_WHY_MAX])
	__attribute__((warn_unused_result));
bool secret_read_env(const char *variable, char **out, char why[SECRET_WHY_MAX])
	__attribute__((warn_unused_result));

/* Wipes and frees it; NULL is allowed. */
void secret_free(char *secret);

#endif
