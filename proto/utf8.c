/*
 * utf8: decodes one character (RFC 3629). Called by name and escape; never reads beyond n bytes.
 */
#include "proto/utf8.h"

size_t
utf8_next(const char *p, size_t n, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)p[0];
	uint32_t c;
	size_t length;

	if (first < 0x80) {
		*character = first;
		return 1;
	}
	if (first >= 0xc2 && first < 0xe0) {
		length = 2;
		c = first & 0x1f;
	} else if (first >= 0xe0 && first < 0xf0) {
		length = 3;
		c = first & 0x0f;
	} else if (first >= 0xf0 && first < 0xf5) {
		length = 4;
		c = first & 0x07;
	} else {
		return 0;
	}
	if (length > n)
		return 0;
	for (size_t i = 1; i < length; i++) {
		unsigned char next = (unsigned char)p[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (next & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return length;
}
