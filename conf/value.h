/*
 * value: parses one scalar of the file into the field of its key, formats it, and checks values against each
 * other. Some have a form of their own: addresses, the URLs of masters, and passwords.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/conf.h"
#include "conf/schema.h"

#include <stdbool.h>

#define VALUE_WHY_MAX  400
#define VALUE_TEXT_MAX (9 * 4096) /* 32 globs, each byte of them escaped */

/*
 * Parses text into the key's field, which value_init() has initialised. The new value replaces the old one;
 * in a list it is appended, and in a set it is added. False: the field is unchanged, and why says what was
 * read and what is allowed, without secrets.
 */
bool value_parse(const struct schema_key *key, const char *text, void *field, char why[VALUE_WHY_MAX])
	__attribute__((warn_unused_result));

/* Sets the default in a zeroed field. False: out of memory. Does nothing for LIST and MAP. */
bool value_init(const struct schema_key *key, void *field) __attribute__((warn_unused_result));
/* A list follows that takes the place of the default. */
void value_begin_list(const struct schema_key *key, void *field);
void value_free(const struct schema_key *key, void *field);

/* The value in the form of a file, quoted if YAML requires it, without passwords. */
void value_format(char out[VALUE_TEXT_MAX], const struct schema_key *key, const void *field);

/* Whether a text, an address or a URL is empty. */
bool value_is_absent(const struct schema_key *key, const void *field);

#define WHY_MAX      200
#define URL_TEXT_MAX 1400 /* of a formatted URL, escapes included */

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
bool place_parse(const char *text, int fallback, struct conf_address *out)
	__attribute__((warn_unused_result));
void address_format(char out[CONF_HOST_MAX + 16], const struct conf_address *address);

/* Whether only programs of this host can reach it. */
bool address_is_loopback(const struct conf_address *address);

#define SECRET_TEXT_MAX 512

/* How many passwords a file or a variable may have. One is the first line of a file, and all of a variable.
 * Otherwise each line is a password, and two stay apart by one newline. */
enum secret_lines { SECRET_ONE, SECRET_ONE_OR_TWO };

/* The password in a file, or in the environment, replaces *out, for secret_free(). False: why says what is
 * wrong. */
bool secret_read_file(const char *path, enum secret_lines lines, char **out, char why[WHY_MAX])
	__attribute__((warn_unused_result));
bool secret_read_env(const char *variable, enum secret_lines lines, char **out, char why[WHY_MAX])
	__attribute__((warn_unused_result));

/* Wipes and frees it; NULL is allowed. */
void secret_free(char *secret);

struct node;

/* The context of every check: the error list, and the source of the values. */
struct verify {
	const char *file; /* the first file, for an error without a place */
	struct conf_errors *errors;
	struct node *roots; /* of each file, in the order they were read */
};

/* Checks one item of a list whose values are all valid, against its mapping; reads its password. */
void verify_item(const struct verify *v, enum schema_scope scope, const struct node *node, void *item);

/* Checks the whole configuration if every part is valid: fills in missing values, and compares the parts. */
void verify_conf(const struct verify *v, struct conf *conf);

/* defaults.c: fills in what no file says and what follows from other values or from the environment. */
void defaults_fill(const struct verify *v, struct conf *conf);

/* tls.c: checks the mapping `tls` of an item; item is the mapping that has it, list the key of its list. */
void tls_verify_listener(const struct verify *v, const char *list, const struct node *item,
	const struct conf_listener *listener);
void tls_verify_master(const struct verify *v, const struct node *item, const struct conf_master *master);
void tls_verify_server(const struct verify *v, const struct node *item, const struct conf_tls *tls);

/* False if the key has no meaning in this item: `mode` of a TCP listener. */
bool verify_applies(const struct schema_key *key, const void *item);

#endif
