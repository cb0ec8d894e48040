/*
 * address: parses $HOLDFAST_URL. It resolves no names and makes no connections; it only checks whether a
 * default socket exists, and who could have put it there.
 */
#ifndef CLIENT_ADDRESS_H
#define CLIENT_ADDRESS_H

#include <stdbool.h>

struct address;

/* False if url has none of these forms. why has room for ADDRESS_TEXT_MAX bytes and contains no secrets. */
bool address_parse(struct address *a, const char *url, char *why) __attribute__((warn_unused_result));

/* Chooses socket (--socket; may be NULL), else url ($HOLDFAST_URL; may be NULL), else the first default place
 * that exists. runtime_dir is $XDG_RUNTIME_DIR or NULL; its socket counts only if root or this user put it
 * there. */
bool address_choose(struct address *a, const char *socket, const char *url, const char *runtime_dir,
	char *why) __attribute__((warn_unused_result));

#endif
