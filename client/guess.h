/*
 * guess: finds the known word that is nearest to a misspelled one.
 */
#ifndef CLIENT_GUESS_H
#define CLIENT_GUESS_H

#include "proto/slice.h"

#include <stddef.h>

struct guess {
	struct slice text;
	const char *best;  /* nearest word; NULL: none is near enough */
	size_t distance;   /* of best */
	const char *meant; /* our word for what other programs call by this text; NULL: none */
};

struct guess guess_begin(struct slice text);

/* Words of more than GUESS_BYTES_MAX bytes are never chosen. Of equally near words the first is chosen. */
void guess_try(struct guess *g, const char *word);

#define GUESS_BYTES_MAX 32

#endif
