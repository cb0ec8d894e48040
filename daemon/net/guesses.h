/*
 * guesses: slows down who guesses passwords. Logins that failed count for the address that they came from:
 * ten are free, then there is one in a second.
 *
 * An address is that of an IPv4 host, the /64 network of an IPv6 host, or the user of a Unix socket. Many
 * clients may share one; who is in front of them all suffers from who guesses there. The table is of a fixed
 * size: beyond it the address that has the least to wait is forgotten. The verbs that log in call it.
 */
#ifndef NET_GUESSES_H
#define NET_GUESSES_H

#include "daemon/core/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESSES_FREE      10   /* failed logins, of an address and of a connection */
#define GUESSES_EVERY_MS  1000 /* and one more in so long */
#define GUESSES_ADDRESSES 1024

struct guess {
	unsigned char from[16];
	int64_t paid_ms; /* when all its failures are paid for, CLOCK_BOOTTIME; 0: the place is free */
};

struct guesses {
	size_t count; /* places that were ever taken */
	struct guess list[GUESSES_ADDRESSES];
};

/* How long this client has to wait before it may try to log in, ms; 0: not at all. */
int64_t guesses_wait_ms(const struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms);

/* It has tried, and was wrong. */
void guesses_failed(struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms);

#endif
