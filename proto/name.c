/*
 * name: the rules for texts that clients choose, and the words of the kinds. Called by the command parser for
 * every name, so that no code after the parser has to check again.
 */
#include "proto/name.h"

#include "proto/escape.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A number of leading bytes that are certainly visible ASCII characters. Checks eight at a time. */
static size_t
plain_bytes(struct slice text)
{
	const uint64_t each = UINT64_C(0x0101010101010101), high = each * 0x80;
	size_t n = 0;
	uint64_t word;

	for (; text.n - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, text.p + n, sizeof(word));
		/* In each byte: below 0x80, above ' ', and no DEL. */
		if ((~word & (word + each * (0x7f - ' ')) & ~(word + each) & high) != high)
			break;
	}
	return n;
}

static const char *
check_characters(struct slice text, bool spaces)
{
	for (size_t i = plain_bytes(text); i < text.n;) {
		uint32_t c;
		size_t step;

		/* The common case. */
		if (text.p[i] > ' ' && text.p[i] < 0x7f) {
			i++;
			continue;
		}
		step = utf8_next(text.p + i, text.n - i, &c);
		if (step == 0)
			return "it is not UTF-8";
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return "it contains a control character";
		if (c == ' ' && !spaces)
			return "it contains a space";
		i += step;
	}
	return NULL;
}

const char *
name_check_tag(struct slice tag, size_t max)
{
	if (tag.n == 0)
		return "it is empty";
	if (tag.n > max)
		return "it is too long";
	return check_characters(tag, false);
}

const char *
name_check(struct slice name, size_t max)
{
	if (name.n > 0 && name.p[0] == '}')
		return "it begins with '}'";
	return name_check_tag(name, max);
}

const char *
name_check_text(struct slice text, size_t max)
{
	if (text.n > max)
		return "it is too long";
	return check_characters(text, true);
}

const char *
name_check_label(struct slice label, size_t max)
{
	if (label.n > max)
		return "it is too long";
	for (size_t i = 0; i < label.n; i++) {
		if (label.p[i] < '!' || label.p[i] > '~')
			return "it contains a space, a newline or a special character";
	}
	return NULL;
}

const char *
kind_word(enum kind kind)
{
	static const char *const words[] = {
#define KIND(id, word) word,
		KINDS(KIND)
#undef KIND
	};

	assert((unsigned)kind < KIND_COUNT);
	return words[kind];
}
