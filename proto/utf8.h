/*
 * utf8: finds the end of one character. It knows no scripts, widths or normal forms.
 */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the character at p, 1..4, and its code point; 0: the bytes are not UTF-8: overlong, a
 * surrogate, beyond U+10FFFF or cut off. n >= 1. */
size_t utf8_next(const char *p, size_t n, uint32_t *character);

#endif
