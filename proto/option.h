/*
 * option: reads the values that follow a verb into a struct command, as option.def says. Private to proto/:
 * command_parse() parses with it, and the catalog describes the table with it.
 */
#ifndef PROTO_OPTION_H
#define PROTO_OPTION_H

#include "proto/command.h"

enum field_id {
	FIELD_NONE,
#define FIELD(id, ...) FIELD_##id,
#include "proto/option.def"
#undef FIELD
	FIELD_COUNT_OF
};

/* Reads one positional value from the first of n >= 1 arguments. Returns how many arguments it used, or -1
 * and *error.
 */
ptrdiff_t option_read(enum field_id id, const struct slice *args, size_t n, struct command *out,
	struct reply *error) __attribute__((warn_unused_result));

/* Whether the verb has any option. */
bool option_known(enum verb verb);

/* Whether the verb has an option of this name. */
bool option_is(enum verb verb, struct slice word);

/* Reads all n arguments as options of out->verb. 0, or -1 and *error. */
int option_parse(const struct slice *args, size_t n, struct command *out, struct reply *error)
	__attribute__((warn_unused_result));

struct option_info {
	struct slice word;
	uint64_t verbs;    /* bit 1 << verb */
	uint64_t required; /* the verbs that require it */
	const char *syntax;
	const char *summary;
};

/* The i-th option; NULL after the last one. */
const struct option_info *option_info(size_t i);

/* Compares words without regard to case. */
bool option_word_is(struct slice word, struct slice given);

#endif
