/*
 * guesses: see guesses.h. The verbs AUTH and HELLO call it, and passwords.
 */
#include "daemon/net/guesses.h"

#include "daemon/base/random.h"
#include "daemon/core/base/map.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- sources ---- */

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

struct guess_source
guesses_source(struct guesses *guesses, const struct peer *peer, bool local, struct slice user)
{
	struct guess_source source;

	if (guesses->secret[0] == 0) {
		struct random random;
		random_init(&random);
		guesses->secret[0] = random_next(&random) | 1;
		guesses->secret[1] = random_next(&random);
	}
	source_of(peer, local, source.from);
	source.user = hash_secretly(guesses->secret, user) | 1;
	return source;
}

static struct guess_source
source_alone(const struct guess_source *source)
{
	struct guess_source alone = *source;

	alone.user = 0;
	return alone;
}

/* ---- tables ---- */

/* The index of its slot; count: it has none. */
static size_t
guess_find(const struct guess *list, size_t count, const struct guess_source *source)
{
	size_t i = 0;

	while (i < count &&
		(list[i].source.user != source->user || memcmp(list[i].source.from, source->from, 16) != 0)) {
		i++;
	}
	return i;
}

static size_t
guess_least(const struct guess *list, size_t count)
{
	size_t least = 0;

	for (size_t i = 0; i < count; i++) {
		if (list[i].paid_ms < list[least].paid_ms) {
			least = i;
		}
	}
	return least;
}

/* ---- failed logins ---- */

static int64_t
source_wait_ms(const struct guesses *guesses, const struct guess_source *source, int64_t now_ms)
{
	const int64_t credit_ms = source->user != 0 ? (GUESSES_FREE - 1) * GUESSES_EVERY_MS
						    : (GUESSES_WIDE_FREE - 1) * GUESSES_WIDE_EVERY_MS;
	size_t at = guess_find(guesses->list, guesses->count, source);

	if (at == guesses->count || guesses->list[at].paid_ms - credit_ms <= now_ms) {
		return 0;
	}
	return guesses->list[at].paid_ms - credit_ms - now_ms;
}

int64_t
guesses_wait_ms(const struct guesses *guesses, const struct guess_source *source, int64_t now_ms)
{
	const struct guess_source alone = source_alone(source);
	int64_t own_ms = source_wait_ms(guesses, source, now_ms);
	int64_t wide_ms = source_wait_ms(guesses, &alone, now_ms);

	if (wide_ms > 0 && guess_find(guesses->known, guesses->known_count, source) < guesses->known_count) {
		wide_ms = 0;
	}
	return own_ms > wide_ms ? own_ms : wide_ms;
}

/* Finds a slot for a new source. */
static struct guess *
guess_slot(struct guesses *guesses, int64_t now_ms)
{
	struct guess *least = &guesses->list[guess_least(guesses->list, guesses->count)];

	if (guesses->count < GUESSES_SLOTS && (guesses->count == 0 || least->paid_ms > now_ms)) {
		least = &guesses->list[guesses->count++];
	}
	least->paid_ms = 0;
	return least;
}

static void
source_failed(struct guesses *guesses, const struct guess_source *source, int64_t every_ms, int64_t now_ms)
{
	size_t at = guess_find(guesses->list, guesses->count, source);
	struct guess *guess = at < guesses->count ? &guesses->list[at] : guess_slot(guesses, now_ms);

	guess->source = *source;
	guess->paid_ms = (guess->paid_ms > now_ms ? guess->paid_ms : now_ms) + every_ms;
}

void
guesses_failed(struct guesses *guesses, const struct guess_source *source, int64_t now_ms)
{
	const struct guess_source alone = source_alone(source);

	source_failed(guesses, source, GUESSES_EVERY_MS, now_ms);
	source_failed(guesses, &alone, GUESSES_WIDE_EVERY_MS, now_ms);
}

void
guesses_right(struct guesses *guesses, const struct guess_source *source, int64_t now_ms)
{
	size_t at = guess_find(guesses->known, guesses->known_count, source);

	if (at == guesses->known_count && guesses->known_count < GUESSES_KNOWN) {
		guesses->known_count++;
	} else if (at == guesses->known_count) {
		at = guess_least(guesses->known, guesses->known_count);
	}
	guesses->known[at] = (struct guess){.source = *source, .paid_ms = now_ms};
}
