/*
 * utf8: where one character ends. Knows nothing of scripts, widths or normal forms.
 */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the character that starts at p, 1..4, and what it is; 0 when the bytes are not UTF-8: overlong,
 * a surrogate, beyond U+10FFFF or cut off. n >= 1. */
size_t utf8_next(const char *p, size_t n, uint32_t *character);

#endif
