/*
 * slice: a pointer to bytes of another owner, with their number; and what all parts of the programs read from
 * it: numbers in the one form that the wire allows, host and port, bytes that a URL escapes, words nearly
 * right.
 *
 * Not NUL-terminated; valid as long as its owner says. An absent value has n == 0.
 */
#ifndef PROTO_SLICE_H
#define PROTO_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *p;
	size_t n;
};

#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

/* The arguments for %.*s; s is evaluated several times. */
#define SLICE_ARG(s) (int)(s).n, (s).n > 0 ? (s).p : ""

static inline struct slice
slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static inline bool
slice_equal(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* For tables in which a chain of clients' choice is no harm; eight bytes at a time, as names may be long. */
static inline uint32_t
slice_hash(struct slice s)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = s.n * odd, word;

	for (; s.n >= sizeof(word); s.n -= sizeof(word), s.p += sizeof(word)) {
		memcpy(&word, s.p, sizeof(word));
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	for (word = 0; s.n > 0; s.n--)
		word = word << 8 | (unsigned char)s.p[s.n - 1];
	hash = (hash ^ word) * odd;
	return (uint32_t)(hash >> 32);
}

/* Copies at most the first room - 1 bytes, and adds NUL. */
static inline void
slice_text(char *to, size_t room, struct slice from)
{
	size_t n = from.n < room ? from.n : room - 1;

	if (n > 0)
		memcpy(to, from.p, n);
	to[n] = '\0';
}

/* Room for any int64_t in decimal, with its sign and the closing NUL. */
#define NUMBER_TEXT_MAX 21

/* True if all of text is a decimal number in min..max: an optional '-', digits, no leading zero, no '+', no
 * blanks. *out is set only then. */
bool number_parse(struct slice text, int64_t min, int64_t max, int64_t *out)
	__attribute__((warn_unused_result));

/* Writes n in decimal without NUL, returns the length. out has room for NUMBER_TEXT_MAX bytes. */
size_t number_print(char *out, int64_t n);

/* The same, with NUL; returns out. */
const char *number_text(char out[NUMBER_TEXT_MAX], int64_t n);

/* The value of a hexadecimal digit of either case; -1: not a digit. */
int number_hex(char c);

/*
 * Divides "host", "host:port", "[v6]" or "[v6]:port"; the brackets are left out, and port->p is NULL if there
 * is none. Returns NULL, or a literal for people that says what is wrong. It checks neither part.
 */
const char *slice_endpoint(struct slice text, struct slice *host, struct slice *port);

/* Copies text with its %XX decoded, and NUL; out has `room` bytes. The length; -1: a % that is not %XX, a
 * NUL, or text that does not fit. */
ptrdiff_t slice_decode(char *out, size_t room, struct slice text);

/* Cuts the first word off the text, and the blank behind it. */
struct slice slice_word(struct slice *text);

/* How far two words are apart: insertions, deletions, replacements and swaps of neighbours. Both have at most
 * WORD_BYTES_MAX bytes. */
#define WORD_BYTES_MAX 32
size_t slice_distance(struct slice a, struct slice b);

#endif
