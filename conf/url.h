/*
 * url: parses and formats the addresses of listeners and of masters, and reads passwords.
 */
#ifndef CONF_URL_H
#define CONF_URL_H

#include "conf/conf.h"
#include "conf/value.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * "redis://user:password@host:port/db" or "unix:///path?db=n&user=name" into an empty *out, which the caller
 * frees with url_free(). False: why says what is wrong without quoting a possible password; *out remains
 * empty.
 */
bool url_parse(const char *text, int64_t database_most, struct conf_url *out, char why[WHY_MAX])
	__attribute__((warn_unused_result));
void url_free(struct conf_url *url);

/* Omits the password. */
void url_format(char out[URL_TEXT_MAX], const struct conf_url *url);

/* "127.0.0.1:5625" or "[::1]:5625"; *out is unchanged on failure. */
bool address_parse(const char *text, struct conf_address *out) __attribute__((warn_unused_result));
/* "10.0.0.7:26379", "[::1]:26379" or "name.example:26379"; without a port, fallback is used. *out is
 * unchanged on failure. */
bool server_parse(const char *text, int fallback, struct conf_address *out)
	__attribute__((warn_unused_result));
void address_format(char out[CONF_HOST_MAX + 16], const struct conf_address *address);

/* Whether only programs of this host can reach it. */
bool address_is_loopback(const struct conf_address *address);

/* The password in a file, or in the environment, replaces *out, for secret_free(). False: why says what is
 * wrong. */
bool secret_read_file(const char *path, enum secret_lines lines, char **out, char why[WHY_MAX])
	__attribute__((warn_unused_result));
bool secret_read_env(const char *variable, enum secret_lines lines, char **out, char why[WHY_MAX])
	__attribute__((warn_unused_result));

/* Wipes and frees it; NULL is allowed. */
void secret_free(char *secret);

#endif
