/*
 * number: decimal numbers in the one form that the wire allows.
 */
#ifndef PROTO_NUMBER_H
#define PROTO_NUMBER_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Room for any int64_t in decimal, with its sign and the closing NUL. */
#define NUMBER_TEXT_MAX 21

/* True if all of text is a decimal number in min..max: an optional '-', digits, no leading zero, no '+', no
 * blanks. *out is set only then. */
bool number_parse(struct slice text, int64_t min, int64_t max, int64_t *out)
	__attribute__((warn_unused_result));

/* Writes n in decimal without NUL, returns the length. out has room for NUMBER_TEXT_MAX bytes. */
size_t number_print(char *out, int64_t n);

/* The value of a hexadecimal digit of either case; -1: not a digit. */
int number_hex(char c);

#endif
