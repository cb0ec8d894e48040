/*
 * guesses: slows down the guessing of passwords. Failed logins count for the address that they came from: ten
 * are free, then one is allowed in a second.
 *
 * An address is an IPv4 address, the /64 network of an IPv6 address, or the user of a Unix socket. Many
 * clients may share one address, as behind a proxy; then guesses by one of them slow down all. The table has
 * a fixed size: if it is full, the address with the least time to wait is forgotten. The verbs that log in
 * call it.
 */
#ifndef NET_GUESSES_H
#define NET_GUESSES_H

#include "daemon/core/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESSES_FREE      10   /* failed logins that are free, for an address and for a connection */
#define GUESSES_EVERY_MS  1000 /* one more is free after this time */
#define GUESSES_ADDRESSES 1024

struct guess {
	unsigned char from[16];
	int64_t paid_ms; /* when all its failures are worked off, CLOCK_BOOTTIME; 0: the place is free */
};

struct guesses {
	size_t count; /* places that were ever used */
	struct guess list[GUESSES_ADDRESSES];
};

/* How long this client has to wait before it may try to log in, ms; 0: it may try now. */
int64_t guesses_wait_ms(const struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms);

/* The client has tried to log in, and failed. */
void guesses_failed(struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms);

#endif
