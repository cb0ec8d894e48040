/*
 * option: one reader for each kind of value, one row for each value, and one row for each option
 * (option.def). A new option needs only a row; a new kind of value needs code.
 */
#ifndef PROTO_OPTION_H
#define PROTO_OPTION_H

#include "proto/command.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct reply;

/* Reads one positional value from the first of n >= 1 arguments. Returns how many arguments it used, or -1
 * and *error. */
ptrdiff_t option_read(enum field_id id, const struct slice *args, size_t n, struct command *out,
	struct reply *error) __attribute__((warn_unused_result));

/* Whether the verb has any option. */
bool option_known(enum verb verb);

/* Writes the options of the verb as a usage text: " [WAIT ms] [OWNER tag]". Returns its length. */
size_t option_usage(enum verb verb, char *out, size_t room);

/* Whether the verb has an option of this name. */
bool option_is(enum verb verb, struct slice word);

/* The verb takes no AS id. */
void option_refuse_as(enum verb verb, struct reply *error);

/* Reads all n arguments as options of out->verb. 0, or -1 and *error. */
int option_parse(const struct slice *args, size_t n, struct command *out, struct reply *error)
	__attribute__((warn_unused_result));

/* The i-th option; NULL after the last one. */
const struct option_info *option_info(size_t i);

/* Compares words without regard to case. */
bool option_word_is(struct slice word, struct slice given);

#endif
