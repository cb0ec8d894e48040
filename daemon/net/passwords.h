/*
 * passwords: verifies passwords against hashes of crypt(3), beside the loop: one hash takes some 50 ms of
 * CPU.
 *
 *     handshake ── passwords_ask() ──▶ question ──▶ thread ──▶ the request is served again
 *
 * One question is in work at a time, in a thread that lives as long as the hash takes. Connections that ask
 * the same share a question. So when a thousand clients come back after a restart with one password, it is
 * hashed once. The request that asked waits, and is served again when the answer is there: access then knows
 * the password if it was right, and the identity of the connection says that it was compared.
 */
#ifndef NET_PASSWORDS_H
#define NET_PASSWORDS_H

#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/guesses.h"

struct event_base;
struct passwords;

/* Different questions at a time: at 50 ms each, the last one waits for three seconds. */
#define PASSWORDS_QUESTIONS 64

/* access and guesses are read when a question is answered or begun; *access may have been replaced then.
 * NULL: out of memory. */
struct passwords *passwords_new(struct event_base *base, struct connections *connections,
	struct access *const *access, const struct guesses *guesses) __attribute__((warn_unused_result));
/* Waits for the thread, at most as long as a hash takes. NULL is allowed. */
void passwords_free(struct passwords *passwords);

/* Whether this password has this hash is found out for the connection, which waits from now on; request is
 * served again when it is known. False: too many questions, or no memory or thread; nothing waits. */
bool passwords_ask(struct passwords *passwords, struct connection *connection, const char *hash,
	struct slice password, const struct command *request, const struct guess_source *source)
	__attribute__((warn_unused_result));

/* Before the connections are saved: each that waits gets its request back, and asks in the next process. */
void passwords_give_back(struct passwords *passwords);

#endif
