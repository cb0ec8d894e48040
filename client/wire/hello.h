/*
 * hello: what a client says first on a connection, and whether holdfastd answers it.
 */
#ifndef CLIENT_HELLO_H
#define CLIENT_HELLO_H

#include "client/wire/wire.h"

struct answer;

void wire_label(char label[WIRE_LABEL_MAX], const char *command);

/* HELLO 3 with the login of the address; its answer is a map. label names the connection: printable ASCII
 * without spaces. */
void wire_hello(struct wire *w, const struct address *a, const char *label);

/* The answer to HELLO, as wire_answer(). NULL also if the server is not holdfastd. */
const struct answer *wire_welcome(struct wire *w, const struct address *a);

/* The same check for an answer to HELLO that the caller has read; answer may be NULL. */
const struct answer *wire_welcomed(struct wire *w, const struct address *a, const struct answer *answer);

#endif
