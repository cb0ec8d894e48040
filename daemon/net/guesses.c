/*
 * guesses: see guesses.h.
 */
#include "daemon/net/guesses.h"

#include <arpa/inet.h>
#include <string.h>

#define NETWORK_BYTES 8 /* of an IPv6 address; a host chooses the rest itself */

/* Reads the text of an address: 10.0.0.1:5, [2001:db8::1]:5, [fe80::1%eth0]:5 */
static void
source_tcp(const char *text, unsigned char from[16])
{
	char host[INET6_ADDRSTRLEN] = "";
	const char *begin = text[0] == '[' ? text + 1 : text;
	size_t n = strcspn(begin, text[0] == '[' ? "]%" : ":");

	memset(from, 0, 16);
	memcpy(host, begin, n < sizeof(host) ? n : sizeof(host) - 1);
	if (inet_pton(AF_INET, host, from + 12) == 1) {
		from[10] = from[11] = 0xff;
	} else if (inet_pton(AF_INET6, host, from) != 1) {
		memset(from, 0, 16); /* clients without an address count as one */
	} else if (!IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)from)) {
		memset(from + NETWORK_BYTES, 0, 16 - NETWORK_BYTES);
	}
}

static void
source_of(const struct peer *peer, bool local, unsigned char from[16])
{
	if (!local) {
		source_tcp(peer->address, from);
		return;
	}
	/* No address is stored like this: the second half of an IPv6 network is zero. */
	memset(from, 0, 16);
	from[15] = 1;
	memcpy(from, &peer->uid, sizeof(peer->uid));
}

/* The index of its place; guesses->count: it has none. */
static size_t
guess_find(const struct guesses *guesses, const unsigned char from[16])
{
	size_t i = 0;

	while (i < guesses->count && memcmp(guesses->list[i].from, from, 16) != 0) {
		i++;
	}
	return i;
}

int64_t
guesses_wait_ms(const struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms)
{
	const int64_t credit_ms = (GUESSES_FREE - 1) * GUESSES_EVERY_MS;
	unsigned char from[16];
	size_t at;

	source_of(peer, local, from);
	at = guess_find(guesses, from);
	if (at == guesses->count || guesses->list[at].paid_ms - credit_ms <= now_ms) {
		return 0;
	}
	return guesses->list[at].paid_ms - credit_ms - now_ms;
}

/* Finds a place for a new address. */
static struct guess *
guess_place(struct guesses *guesses, int64_t now_ms)
{
	struct guess *least = &guesses->list[0];

	for (size_t i = 0; i < guesses->count; i++) {
		if (guesses->list[i].paid_ms < least->paid_ms) {
			least = &guesses->list[i];
		}
	}
	if (guesses->count < GUESSES_ADDRESSES && (guesses->count == 0 || least->paid_ms > now_ms)) {
		least = &guesses->list[guesses->count++];
	}
	least->paid_ms = 0;
	return least;
}

void
guesses_failed(struct guesses *guesses, const struct peer *peer, bool local, int64_t now_ms)
{
	unsigned char from[16];
	struct guess *guess;
	size_t at;

	source_of(peer, local, from);
	at = guess_find(guesses, from);
	guess = at < guesses->count ? &guesses->list[at] : guess_place(guesses, now_ms);
	memcpy(guess->from, from, 16);
	guess->paid_ms = (guess->paid_ms > now_ms ? guess->paid_ms : now_ms) + GUESSES_EVERY_MS;
}
