/*
 * request: what the programs of the bench send, made once and sent often.
 */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include <stddef.h>

#define REQUEST_BYTES     768 /* a script is sent by its SHA1 but for the first time */
#define REQUEST_WORDS_MAX 8

struct request {
	char text[REQUEST_BYTES];
	size_t n;
};

/* words ends with NULL. */
void request_make(struct request *request, const char *const *words);
/* Whole, or the program ends: the kernel has room for one small request. */
void request_send(const struct request *request, int fd);
/* Where the word stands in the text, after an earlier place or NULL; NULL: no more. Words that are looked for
 * do not occur within others. */
char *request_find(struct request *request, const char *word, char *after);

#endif
