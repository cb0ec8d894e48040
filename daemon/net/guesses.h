/*
 * guesses: slows down the guessing of passwords.
 *
 * Failed logins count for the address that they came from together with the name of the user, and for the
 * address alone. For a user at an address ten are free, then one is allowed in a second. An address, which
 * many clients may share, as behind a proxy, has a wider bound, for who tries one name after the other. It
 * does not stop a user who has logged in from that address before. So who guesses the password of one user,
 * or of none, slows down no other.
 *
 * An address is an IPv4 address, the /64 network of an IPv6 address, or the user of a Unix socket. The tables
 * have a fixed size: if one is full, what has the least time to wait is forgotten, or who has logged in
 * longest ago.
 */
#ifndef NET_GUESSES_H
#define NET_GUESSES_H

#include "daemon/core/base/peer.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESSES_FREE          10 /* failed logins that are free, for a user at an address and for a connection */
#define GUESSES_EVERY_MS      1000 /* one more is free after this time */
#define GUESSES_WIDE_FREE     60   /* the same for an address */
#define GUESSES_WIDE_EVERY_MS 250
#define GUESSES_SLOTS         1024
#define GUESSES_KNOWN         256 /* users with addresses from which they have logged in */

/* An address, and who wants to log in from there. */
struct guess_source {
	unsigned char from[16];
	uint64_t user; /* a secret hash of the name; 0: the address alone */
};

struct guess {
	struct guess_source source;
	int64_t paid_ms; /* when all its failures are worked off, CLOCK_BOOTTIME; 0: the slot is free */
};

/* All zero at first. */
struct guesses {
	uint64_t secret[2]; /* names that share a hash cannot be chosen; 0: not drawn yet */
	size_t count;       /* slots that were ever used */
	struct guess list[GUESSES_SLOTS];
	size_t known_count;
	struct guess known[GUESSES_KNOWN]; /* paid_ms: of the latest login */
};

struct guess_source guesses_source(
	struct guesses *guesses, const struct peer *peer, bool local, struct slice user);

/* How long it has to wait before it may try to log in, ms; 0: it may try now. */
int64_t guesses_wait_ms(const struct guesses *guesses, const struct guess_source *source, int64_t now_ms);
/* It has tried to log in, and failed. */
void guesses_failed(struct guesses *guesses, const struct guess_source *source, int64_t now_ms);
/* It has logged in. */
void guesses_right(struct guesses *guesses, const struct guess_source *source, int64_t now_ms);

#endif
