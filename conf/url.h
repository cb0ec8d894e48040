/*
 * url: addresses, of a listener and of a master, as text and as a struct.
 */
#ifndef CONF_URL_H
#define CONF_URL_H

#include "conf/conf.h"

#define URL_WHY_MAX  200
#define URL_TEXT_MAX 1400 /* of a URL that was read and is written again, escapes included */

/*
 * "redis://user:password@host:port/db" or "unix:///path?db=n&user=name" into an empty *out, whose texts the
 * caller frees with url_free(). False: why says what is wrong and quotes nothing that may be a password;
 * *out stays empty.
 */
bool url_parse(const char *text, int64_t database_most, struct conf_url *out, char why[URL_WHY_MAX])
	__attribute__((warn_unused_result));
void url_free(struct conf_url *url);

/* Without the password. */
void url_format(char out[URL_TEXT_MAX], const struct conf_url *url);

/* "127.0.0.1:5625" or "[::1]:5625"; *out is left alone on failure. */
bool address_parse(const char *text, struct conf_address *out) __attribute__((warn_unused_result));
/* "10.0.0.7:26379", "[::1]:26379" or "name.example:26379"; without a port it is the fallback. *out is left
 * alone on failure. */
bool place_parse(const char *text, int fallback, struct conf_address *out)
	__attribute__((warn_unused_result));
void address_format(char out[CONF_HOST_MAX + 16], const struct conf_address *address);

/* Only programs of this host can reach it. */
bool address_is_loopback(const struct conf_address *address);

#endif
