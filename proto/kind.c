#include "proto/kind.h"

#include <assert.h>

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
