/*
 * mac: shows that a text comes from somebody who knows a secret: HMAC-SHA256 of OpenSSL, cut to 128 bits.
 */
#ifndef BASE_MAC_H
#define BASE_MAC_H

#include <stdbool.h>
#include <stddef.h>

#define MAC_SECRET_SIZE 33 /* 128 bits as hexadecimal digits, and a NUL: random_hex32() */
#define MAC_DIGITS      32

/* purpose: a word; the same text has another code for another purpose. Writes MAC_DIGITS bytes, no NUL.
 * False: out of memory. */
bool mac_make(const char *purpose, const char *secret, const void *text, size_t n, char out[MAC_DIGITS])
	__attribute__((warn_unused_result));

/* Whether these MAC_DIGITS bytes are the code. How long it takes does not tell how many of them are right. */
bool mac_is(const char *purpose, const char *secret, const void *text, size_t n, const char *given)
	__attribute__((warn_unused_result));

#endif
