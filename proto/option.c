/*
 * option: one reader for each kind of value, one row for each value, and one row for each option
 * (option.def). A new option needs only a row; a new kind of value needs code.
 */
#include "proto/option.h"

#include "proto/command.h"
#include "proto/escape.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

struct field {
	int (*read)(const struct field *, const struct slice *, size_t, struct command *, struct reply *);
	size_t offset; /* of the member in struct command */
	size_t arguments;
	int64_t min;
	int64_t max;
	const char *label;
};

/* Enough of an unknown word to recognise it in an error. */
#define QUOTE_MAX 80

struct quote {
	char text[QUOTE_MAX];
};

static struct quote
quote_of(struct slice word)
{
	struct quote q = {""};

	(void)escape_text(q.text, sizeof(q.text), word, ESCAPE_PLAIN);
	return q;
}

/* ASCII only, independent of the locale. Nearly always the first byte decides. */
bool
option_word_is(struct slice word, struct slice given)
{
	if (word.n != given.n)
		return false;
	for (size_t i = 0; i < word.n; i++) {
		unsigned a = (unsigned char)word.p[i];
		unsigned b = (unsigned char)given.p[i];

		if (a == b)
			continue;
		/* The two cases of a letter differ only in this bit, but so do other pairs of characters. */
		if ((a ^ b) != 0x20 || (a | 0x20) < 'a' || (a | 0x20) > 'z')
			return false;
	}
	return true;
}

static void *
member(const struct field *f, struct command *out)
{
	return (char *)out + f->offset;
}

static int
read_number(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	if (number_parse(args[0], f->min, f->max, member(f, out)))
		return 0;
	reply_error(error, CODE_ERR, "%s must be a whole number from %lld to %lld, not '%s'", f->label,
		(long long)f->min, (long long)f->max, quote_of(args[0]).text);
	return -1;
}

static int
refuse_value(const struct field *f, struct slice value, const char *fault, struct reply *error)
{
	char bound[64] = "";

	if ((int64_t)value.n > f->max)
		(void)snprintf(bound, sizeof(bound), ", at most %lld bytes", (long long)f->max);
	reply_error(error, CODE_ERR, "bad %s '%s': %s%s", f->label, quote_of(value).text, fault, bound);
	return -1;
}

static int
keep_checked(const struct field *f, struct slice value, const char *fault, struct command *out,
	struct reply *error)
{
	if (fault != NULL)
		return refuse_value(f, value, fault, error);
	*(struct slice *)member(f, out) = value;
	return 0;
}

static int
read_name(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	return keep_checked(f, args[0], name_check(args[0], (size_t)f->max), out, error);
}

static int
read_tag(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	return keep_checked(f, args[0], name_check_tag(args[0], (size_t)f->max), out, error);
}

static int
read_text(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	return keep_checked(f, args[0], name_check_text(args[0], (size_t)f->max), out, error);
}

static int
read_secret(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	if (args[0].n >= (size_t)f->min && args[0].n <= (size_t)f->max) {
		*(struct slice *)member(f, out) = args[0];
		return 0;
	}
	/* Not quoted, because it may be a mistyped secret. */
	reply_error(error, CODE_ERR, "bad %s: use what SESSION SECRET answered", f->label);
	return -1;
}

/* The id is a secret: an error does not quote it. */
static int
read_as(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	const char *fault = name_check_tag(args[0], (size_t)f->max);

	(void)n;
	if (args[0].n >= (size_t)f->min && fault == NULL) {
		*(struct slice *)member(f, out) = args[0];
		return 0;
	}
	reply_error(error, CODE_ERR,
		"bad id behind %s: %lld to %lld bytes of UTF-8 are allowed, without spaces and control "
		"characters; "
		"make it random, as a UUID is",
		f->label, (long long)f->min, (long long)f->max);
	return -1;
}

static int
read_glob(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	const char *fault = args[0].n > (size_t)f->max ? "it is too long" : glob_check(args[0]);

	(void)n;
	if (args[0].n < (size_t)f->min)
		fault = "it is empty; '*' matches everything";
	return keep_checked(f, args[0], fault, out, error);
}

/* A count, followed by that many names. */
static int
read_names(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	int64_t count;

	if (!number_parse(args[0], 1, COMMAND_NAMES_MAX, &count)) {
		reply_error(error, CODE_ERR, "the number of names must be from 1 to %d, not '%s'",
			COMMAND_NAMES_MAX, quote_of(args[0]).text);
		return -1;
	}
	if ((size_t)count > n - 1) {
		reply_error(error, CODE_ERR, "%lld names have to follow, not %zu", (long long)count, n - 1);
		return -1;
	}
	for (size_t i = 1; i <= (size_t)count; i++) {
		const char *fault = name_check(args[i], (size_t)f->max);

		for (size_t j = 1; fault == NULL && j < i; j++)
			fault = slice_equal(args[i], args[j]) ? "it is given twice" : NULL;
		if (fault != NULL)
			return refuse_value(f, args[i], fault, error);
	}
	out->names = args + 1;
	out->name_count = (size_t)count;
	return 0;
}

/* A token for each name of the request. */
static int
read_tokens(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	int64_t token;

	if (n != out->name_count) {
		reply_error(error, CODE_ERR, "%zu tokens have to follow %s, one for each name, not %zu",
			out->name_count, f->label, n);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (number_parse(args[i], f->min, f->max, &token))
			continue;
		reply_error(error, CODE_ERR, "%s must be whole numbers from %lld to %lld, not '%s'", f->label,
			(long long)f->min, (long long)f->max, quote_of(args[i]).text);
		return -1;
	}
	out->tokens = args;
	return 0;
}

static int
read_shared(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)f;
	(void)args;
	(void)n;
	(void)error;
	out->kind = KIND_SHARED;
	return 0;
}

static int
read_flag(const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)args;
	(void)n;
	(void)error;
	*(bool *)member(f, out) = true;
	return 0;
}

static int
read_onloss(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	static const char *const words[] = {"CLOSE", "PUSH", "NEXT"};

	(void)n;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (option_word_is(slice_of(words[i]), args[0])) {
			out->onloss = (enum onloss)i;
			return 0;
		}
	}
	reply_error(error, CODE_ERR, "%s must be CLOSE, PUSH or NEXT, not '%s'", f->label,
		quote_of(args[0]).text);
	return -1;
}

static int
read_protocol(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	int64_t version;

	(void)n;
	if (!number_parse(args[0], INT64_MIN, INT64_MAX, &version)) {
		reply_error(error, CODE_ERR, "Protocol version is not an integer or out of range");
		return -1;
	}
	if (version < f->min || version > f->max) {
		reply_error(error, CODE_NOPROTO, "unsupported protocol version; use HELLO 2 or HELLO 3");
		return -1;
	}
	out->protocol = version;
	return 0;
}

static int
read_database(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	if (number_parse(args[0], f->min, f->max, &out->count))
		return 0;
	reply_error(error, CODE_ERR, "DB index is out of range; there is only one space of names, SELECT 0");
	return -1;
}

/* The verb takes "[user] password", the option "user password". */
static int
read_login(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	for (size_t i = 0; i < n; i++) {
		if (args[i].n > (size_t)f->max) {
			reply_error(error, CODE_WRONGPASS, "user and password have at most %lld bytes each",
				(long long)f->max);
			return -1;
		}
	}
	out->login = true;
	out->user = n == 2 ? args[0] : (struct slice){NULL, 0};
	out->password = args[n - 1];
	return 0;
}

static int
read_label(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)n;
	if (keep_checked(f, args[0], name_check_label(args[0], (size_t)f->max), out, error) != 0)
		return -1;
	out->labelled = true;
	return 0;
}

static int
read_attribute(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	static const char *const words[] = {"LIB-NAME", "LIB-VER"};

	(void)f;
	(void)n;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (option_word_is(slice_of(words[i]), args[0])) {
			out->attribute = (enum attribute)i;
			return 0;
		}
	}
	reply_error(
		error, CODE_ERR, "Unrecognized option '%s'; use LIB-NAME or LIB-VER", quote_of(args[0]).text);
	return -1;
}

static int
read_switch(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	bool on = option_word_is(SLICE("ON"), args[0]);

	(void)n;
	if (on || option_word_is(SLICE("OFF"), args[0])) {
		*(bool *)member(f, out) = on;
		return 0;
	}
	reply_error(error, CODE_ERR, "%s takes ON or OFF, not '%s'", f->label, quote_of(args[0]).text);
	return -1;
}

/* A Redis option without a meaning here. */
static int
read_nothing(
	const struct field *f, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	(void)f;
	(void)args;
	(void)n;
	(void)out;
	(void)error;
	return 0;
}

static const struct field fields[] = {
	[FIELD_NONE] = {NULL, 0, 0, 0, 0, NULL},
#define FIELD(id, reader, member, arguments, min, max, label)                                                \
	[FIELD_##id] = {read_##reader, offsetof(struct command, member), arguments, min, max, label},
#include "proto/option.def"
#undef FIELD
};

/* What an option has to do with the one before it. */
enum option_link { LINK_NONE, LINK_OR, LINK_WITH };

static const struct option {
	struct option_info info;
	enum field_id field;
	enum option_link link;
} options[] = {
#define ROW(word, field, verbs, required, syntax, summary, link)                                             \
	{{{word, sizeof(word) - 1}, verbs, required, syntax, summary}, FIELD_##field, link},
#define OPTION(...)      ROW(__VA_ARGS__, LINK_NONE)
#define OPTION_OR(...)   ROW(__VA_ARGS__, LINK_OR)
#define OPTION_WITH(...) ROW(__VA_ARGS__, LINK_WITH)
#include "proto/option.def"
#undef OPTION
#undef ROW
};

#define OPTION_COUNT (sizeof(options) / sizeof(*options))

/* The verbs that have options. */
static const uint64_t options_known = 0
#define OPTION(word, field, verbs, required, syntax, summary) | (verbs)
#include "proto/option.def"
#undef OPTION
	;

/* The verbs that require an option. */
static const uint64_t options_required = 0
#define OPTION(word, field, verbs, required, syntax, summary) | (required)
#include "proto/option.def"
#undef OPTION
	;

_Static_assert(OPTION_COUNT <= 64, "a set of options is one uint64_t");

const struct option_info *
option_info(size_t i)
{
	return i < OPTION_COUNT ? &options[i].info : NULL;
}

ptrdiff_t
option_read(enum field_id id, const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	const struct field *f = &fields[id];
	size_t take = n < f->arguments ? n : f->arguments;

	assert(id != FIELD_NONE && n >= 1);
	if (f->read(f, args, take, out, error) != 0)
		return -1;
	/* A list begins with its length. */
	return id == FIELD_NAMES ? (ptrdiff_t)out->name_count + 1 : (ptrdiff_t)take;
}

bool
option_known(enum verb verb)
{
	return verbs_have(options_known, verb);
}

static size_t
option_find(enum verb verb, struct slice word)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (verbs_have(options[i].info.verbs, verb) && option_word_is(options[i].info.word, word))
			return i;
	}
	return OPTION_COUNT;
}

/* A link means something only if the verb takes the option before, too. */
static enum option_link
option_linked(enum verb verb, size_t i)
{
	return i > 0 && i < OPTION_COUNT &&
			       verbs_have(options[i - 1].info.verbs & options[i].info.verbs, verb)
		       ? options[i].link
		       : LINK_NONE;
}

size_t
option_usage(enum verb verb, char *out, size_t room)
{
	size_t n = 0;
	unsigned open = 0; /* brackets */

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_info *info = &options[i].info;
		bool either = option_linked(verb, i) == LINK_OR;
		const char *lead = either ? " | " : " ";

		if (!verbs_have(info->verbs, verb))
			continue;
		if (!either && !verbs_have(info->required, verb)) {
			lead = " [";
			open++;
		}
		n += (size_t)snprintf(out + n, room - n, "%s%s%s%s", lead, info->word.p,
			info->syntax[0] != '\0' ? " " : "", info->syntax);
		assert(n < room);
		for (; open > 0 && option_linked(verb, i + 1) == LINK_NONE; open--)
			n += (size_t)snprintf(out + n, room - n, "]");
		assert(n < room);
	}
	return n;
}

bool
option_is(enum verb verb, struct slice word)
{
	return option_find(verb, word) < OPTION_COUNT;
}

void
option_refuse_as(enum verb verb, struct reply *error)
{
	char usage[COMMAND_USAGE_MAX];

	command_usage(verb, usage);
	reply_error(error, CODE_ERR,
		"this verb takes no AS: it speaks for the session of its connection; usage: %s", usage);
}

static int
refuse_unknown(const struct command *c, struct slice word, struct reply *error)
{
	char usage[COMMAND_USAGE_MAX];
	char behind[48] = "";

	if (option_word_is(SLICE("AS"), word)) {
		option_refuse_as(c->verb, error);
		return -1;
	}
	command_usage(c->verb, usage);
	if (c->name_count > 0)
		(void)snprintf(behind, sizeof(behind), " behind %zu name%s", c->name_count,
			c->name_count > 1 ? "s" : "");
	reply_error(error, CODE_ERR, "unknown option '%s'%s; usage: %s", quote_of(word).text, behind, usage);
	return -1;
}

/* Reads one option and its value; returns how many arguments it used, or -1. */
static ptrdiff_t
read_option(const struct slice *args, size_t n, uint64_t *seen, struct command *out, struct reply *error)
{
	size_t i = option_find(out->verb, args[0]);
	const struct field *f;
	size_t values;

	if (i == OPTION_COUNT)
		return refuse_unknown(out, args[0], error);
	/* Redis allows only this option several times. */
	if ((*seen >> i & 1) && options[i].field != FIELD_PREFIX) {
		reply_error(error, CODE_ERR, "%s is given twice", options[i].info.word.p);
		return -1;
	}
	*seen |= UINT64_C(1) << i;
	f = &fields[options[i].field];
	values = f->arguments;
	/* As many as the names, which come before all options. */
	if (options[i].field == FIELD_TOKENS)
		values = out->name_count < n - 1 ? out->name_count : n - 1;
	if (n - 1 < values) {
		reply_error(error, CODE_ERR, "%s needs a value: %s %s", options[i].info.word.p,
			options[i].info.word.p, options[i].info.syntax);
		return -1;
	}
	if (f->read(f, args + 1, values, out, error) != 0)
		return -1;
	return (ptrdiff_t)values + 1;
}

int
option_parse(const struct slice *args, size_t n, struct command *out, struct reply *error)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < n;) {
		ptrdiff_t took = read_option(args + i, n - i, &seen, out, error);

		if (took < 0)
			return -1;
		i += (size_t)took;
	}
	for (size_t i = 0; verbs_have(options_required, out->verb) && i < OPTION_COUNT; i++) {
		if (verbs_have(options[i].info.required, out->verb) && !(seen >> i & 1)) {
			reply_error(error, CODE_ERR, "%s %s is missing", options[i].info.word.p,
				options[i].info.syntax);
			return -1;
		}
	}
	return 0;
}
