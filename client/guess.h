/*
 * guess: which of some words somebody meant who wrote one that is not among them.
 */
#ifndef CLIENT_GUESS_H
#define CLIENT_GUESS_H

#include "proto/slice.h"

#include <stddef.h>

struct guess {
	struct slice text;
	const char *best;  /* NULL: none is near enough */
	size_t distance;   /* of that one */
	const char *meant; /* what other programs call by this text; NULL: nothing */
};

struct guess guess_begin(struct slice text);

/* Words are at most GUESS_BYTES_MAX long; longer ones are never meant. Of equally near ones the first is. */
void guess_try(struct guess *g, const char *word);

#define GUESS_BYTES_MAX 32

#endif
